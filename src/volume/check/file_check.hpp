// SPDX-License-Identifier: Apache-2.0
// The check of one regular file: its header and all its blocks, from any number of threads.
#pragma once

#include <sys/stat.h>

#include <atomic>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/range.hpp"
#include "volume/read/volume.hpp"

namespace paes::volume {

// What is wrong with a file, in words, and why if the system would not let it be read.
struct FileFault {
  std::string what;
  std::optional<Errno> error = std::nullopt;
};

class FileCheck {
 public:
  // `descriptor` is open for reading, of a regular file of the backing tree; `status` is its own.
  FileCheck(const Volume& volume, Descriptor descriptor, const struct stat& status)
      : volume_(&volume), descriptor_(std::move(descriptor)), status_(status) {}

  [[nodiscard]] FileRef descriptor() const noexcept { return FileRef(descriptor_); }

  // Checks the header and the first run of blocks, which is all of a short file; call it first. The
  // answer is how many bytes of text were checked.
  [[nodiscard]] std::uint64_t begin();
  // How many runs of blocks are left to check after begin().
  [[nodiscard]] std::uint64_t runs() const noexcept { return runs_; }
  // What a step of the check has got through. No runs: none was left.
  struct Step {
    std::uint64_t runs = 0;
    std::uint64_t text_bytes = 0;
  };
  // Checks the next run of blocks, and passes over all the runs after it that lie in the same hole.
  // From any thread. All steps together have runs() runs.
  [[nodiscard]] Step check_next();

  [[nodiscard]] std::uint64_t text_bytes() const noexcept;  // of the whole file

  // The rest is for after the last run.

  // What is wrong, in the order of the file.
  [[nodiscard]] std::vector<FileFault> faults();
  // If something is wrong that may come of a change during the check: what the file is now.
  [[nodiscard]] std::optional<struct stat> status_if_changed() const;
  // The file, for another check.
  [[nodiscard]] Descriptor release() noexcept { return std::move(descriptor_); }

 private:
  [[nodiscard]] std::uint64_t text_bytes(Range blocks) const noexcept;
  // How much of the backing file these blocks are.
  [[nodiscard]] std::size_t sealed_bytes(Range blocks) const noexcept;
  [[nodiscard]] Range blocks_of_runs(Range runs) const noexcept;
  void check(Range blocks, Bytes sealed);
  void read_and_check(Range blocks);
  // The first block at `block` or after it that is no hole, where that can be known without
  // reading; blocks_ if all the rest is a hole.
  [[nodiscard]] std::uint64_t after_hole(std::uint64_t block) const;
  // Takes the runs before `run` that nobody has taken. The answer is which.
  [[nodiscard]] Range skip_to(std::uint64_t run) noexcept;
  void note_damaged(std::uint64_t block);
  void note(std::uint64_t order, std::string what, std::optional<Errno> error = std::nullopt);

  struct NotedFault {
    std::uint64_t order;  // a block's number and one; of the header 0
    FileFault fault;
  };

  const Volume* volume_;
  Descriptor descriptor_;
  struct stat status_;
  vault::FileId id_{};
  std::uint64_t blocks_ = 0;
  std::uint64_t runs_ = 0;  // after the first
  std::atomic<std::uint64_t> next_run_{1};
  std::mutex mutex_;
  std::vector<Range> damaged_;      // blocks, in any order
  std::uint64_t more_damaged_ = 0;  // blocks that are not in `damaged_`
  std::vector<NotedFault> noted_;
};

}  // namespace paes::volume
