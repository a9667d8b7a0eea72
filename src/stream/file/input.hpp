// SPDX-License-Identifier: Apache-2.0
// Inputs: a file, which any thread reads at offsets, or a pipe, which is read in order. A request
// to stop ends a wait for a pipe. Standard input that is a file counts as a file that begins at its
// current offset.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "core/bytes.hpp"
#include "core/descriptor.hpp"
#include "stream/file/file_identity.hpp"
#include "stream/file/file_place.hpp"
#include "stream/transfer/cancel.hpp"
#include "stream/transfer/ends.hpp"

namespace paes::stream {

// Shows later, without reading the file, that its content is still the same. Every change moves the
// time of the last status change (ctime), which programs cannot set back, where the file system has
// such a time (stream/file/change_time.hpp).
struct SourceStamp {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t bytes = 0;
  std::uint64_t modified_s = 0;
  std::uint64_t modified_ns = 0;
  std::uint64_t changed_s = 0;
  std::uint64_t changed_ns = 0;
  bool operator==(const SourceStamp&) const = default;
};

class Input : public Source {
 public:
  // Both throw Error "PATH: why"; a directory is refused. `cancel` may be null and must outlive the
  // Input.
  [[nodiscard]] static Input open(const std::string& path, const Cancel* cancel = nullptr);
  [[nodiscard]] static Input standard_input(const Cancel* cancel = nullptr);
  // Nothing if it is not a regular file. A symbolic link is not followed, and a FIFO not waited
  // for.
  [[nodiscard]] static std::optional<Input> open_regular(const FilePlace& place,
                                                         const Cancel* cancel = nullptr);
  // A file that is open already, from where it stands.
  [[nodiscard]] static Input of(Descriptor descriptor, std::string name,
                                const Cancel* cancel = nullptr);

  [[nodiscard]] const std::string& name() const noexcept override { return name_; }
  [[nodiscard]] int descriptor() const noexcept { return descriptor_.number(); }
  [[nodiscard]] FileIdentity identity() const noexcept { return identity_of(opened_); }
  [[nodiscard]] bool is_regular() const noexcept { return S_ISREG(opened_.st_mode); }
  [[nodiscard]] bool is_storage() const noexcept { return stream::is_storage(opened_.st_mode); }
  // True when read_at takes any offset and bytes() is known: for regular files (also as standard
  // input) that hold as much as they say, and block devices, unless nothing is left to read.
  [[nodiscard]] bool is_seekable() const noexcept override { return seekable_; }
  [[nodiscard]] std::uint64_t bytes() const noexcept override { return bytes_; }
  // When a regular file was last modified; nothing for anything else.
  [[nodiscard]] std::optional<struct timespec> modified() const noexcept;
  // Permission bits without the set-id bits (permissions.hpp); for what is not a regular file 0666.
  [[nodiscard]] mode_t permissions() const noexcept;
  // Those of its owner alone, which no ACL changes.
  [[nodiscard]] mode_t owner_permissions() const noexcept {
    return (is_regular() ? opened_.st_mode : 0666) & S_IRWXU;
  }
  [[nodiscard]] bool is_terminal() const noexcept;

  // The next bytes in order; fewer than asked for only at the end. Not for concurrent callers.
  [[nodiscard]] std::size_t read(std::span<const iovec> to) const;
  [[nodiscard]] std::size_t read(MutableBytes to) const;
  // Throws when the file has become shorter.
  std::size_t read_at(std::uint64_t offset, std::span<const iovec> to) const override;
  using Source::read_at;
  void stop_waiting() noexcept override;
  // Throws when a regular file no longer has the size it had when it was opened.
  void check_same_size() const override;
  // The same, and throws if it was modified since: what was read may be half old and half new. A
  // new name or new permissions do not count, so that a chmod does not waste hours of work.
  void check_unchanged() const override;
  // As the file is now.
  [[nodiscard]] SourceStamp stamp() const;
  // For pipes: more room between us and the writer. For files: tells the system how it is read.
  void expect_sequential() const noexcept override;

 private:
  enum class Opened { here, elsewhere };  // what was opened elsewhere may have a position but 0
  Input(std::string name, Descriptor descriptor, const struct stat& status, Opened opened,
        const Cancel* cancel);
  void require_same_size(std::uint64_t bytes) const;

  std::string name_;
  Descriptor descriptor_;
  const Cancel* cancel_;
  std::unique_ptr<Cancel> stop_;  // only where reads can wait
  struct stat opened_;            // what it was then
  bool seekable_ = false;
  std::uint64_t start_ = 0;  // where standard input stood when we got it
  std::uint64_t bytes_ = 0;
};

}  // namespace paes::stream
