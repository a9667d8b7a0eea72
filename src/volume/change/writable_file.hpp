// SPDX-License-Identifier: Apache-2.0
// A regular file of a volume, open to be read and written. What it does is on the backing file when
// a call returns; nothing is kept in memory but the file's id.
#pragma once

#include <memory>
#include <string_view>

#include "volume/change/writable_volume.hpp"
#include "volume/read/volume_file.hpp"

namespace paes::volume {

// Any number of threads may use it, and several objects may have the same backing file. If a block
// that a call needs is damaged, the call reports `path` and returns EIO. A call that fails leaves
// the text as it was, or has written as much as it says, if the old bytes can be written back. The
// system writes no block in one step, so a power failure may damage a block that is being written.
class WritableFile {
 public:
  // `descriptor` is open for reading and writing, without O_APPEND and O_DIRECT. EINVAL if it is no
  // regular file.
  [[nodiscard]] static Result<WritableFile> open(WritableVolume& volume, Descriptor descriptor);

  WritableFile(WritableFile&&) = default;
  WritableFile& operator=(WritableFile&&) = delete;

  [[nodiscard]] FileRef descriptor() const noexcept { return file_.descriptor(); }

  // Whether both are the same backing file.
  [[nodiscard]] bool shares_file_with(const WritableFile& other) const noexcept {
    return shared_ == other.shared_;
  }

  // The length of the text.
  [[nodiscard]] Result<std::uint64_t> length() const;
  // As File::read.
  [[nodiscard]] Result<std::size_t> read(std::uint64_t offset, MutableBytes into,
                                         std::string_view path) const;

  // The answer is how much was written, which is less than everything only if there was an error
  // in the middle. What lies between the old end and `offset` reads as zeros. EFBIG beyond what a
  // backing file can hold.
  [[nodiscard]] Result<std::size_t> write(std::uint64_t offset, Bytes text, std::string_view path);

  [[nodiscard]] Result<void> set_length(std::uint64_t bytes, std::string_view path);
  // As fallocate(2) with a mode of 0, or of FALLOC_FL_ KEEP_SIZE, PUNCH_HOLE with KEEP_SIZE,
  // ZERO_RANGE with or without KEEP_SIZE. EOPNOTSUPP for others.
  [[nodiscard]] Result<void> allocate(int mode, std::uint64_t offset, std::uint64_t bytes,
                                      std::string_view path);
  // With the volume's own files on which this one depends.
  [[nodiscard]] Result<void> sync(bool data_only);

 private:
  WritableFile(WritableVolume& volume, Descriptor descriptor, std::shared_ptr<OpenFile> shared,
               std::unique_ptr<WrittenFiles::File> written)
      : volume_(&volume),
        file_(volume.volume(), std::move(descriptor)),
        shared_(std::move(shared)),
        written_(std::move(written)) {}

  // The caller holds a lock on the file's length.
  [[nodiscard]] Result<std::uint64_t> locked_length() const;
  // After something was written.
  void note_write() noexcept {
    if (written_ != nullptr) {
      written_->note_write();
    }
  }
  // One request that touches no more blocks than a run has.
  [[nodiscard]] Result<std::size_t> write_run(std::uint64_t offset, Bytes text,
                                              std::string_view path);
  // The id if the file has text. Reads the header at most once.
  [[nodiscard]] std::optional<vault::FileId> known_id() const;

  WritableVolume* volume_;
  File file_;
  std::shared_ptr<OpenFile> shared_;  // destroyed before the descriptor is closed
  // Null where the sync of the whole file system answers for the file. Destroyed first.
  std::unique_ptr<WrittenFiles::File> written_;
};

// As copy_file_range(2), also within one file if the ranges do not overlap (EINVAL). The answer is
// how much was copied: less if `from` ends, or after an error in the middle.
[[nodiscard]] Result<std::size_t> copy_range(const WritableFile& from, std::uint64_t from_offset,
                                             std::string_view from_path, WritableFile& to,
                                             std::uint64_t to_offset, std::string_view to_path,
                                             std::size_t bytes);

}  // namespace paes::volume
