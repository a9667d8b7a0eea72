// SPDX-License-Identifier: Apache-2.0
// A file descriptor with an owner, errors in the system's own words, and help with creating files
// in folders that other users share.
#pragma once

#include <sys/stat.h>

#include <string>
#include <string_view>
#include <utility>

#include "paes/error.hpp"

namespace paes {

class Descriptor {
 public:
  Descriptor() noexcept = default;
  explicit Descriptor(int number, bool owned = true) noexcept : number_(number), owned_(owned) {}
  ~Descriptor();
  Descriptor(Descriptor&& other) noexcept
      : number_(std::exchange(other.number_, -1)), owned_(other.owned_) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    std::swap(owned_, other.owned_);
    return *this;
  }
  [[nodiscard]] int number() const noexcept { return number_; }
  [[nodiscard]] bool is_open() const noexcept { return number_ >= 0; }

 private:
  int number_ = -1;
  bool owned_ = true;
};

// The open file's path below /proc, which works where /proc is mounted.
[[nodiscard]] std::string path_of_descriptor(int descriptor);

// Throws Error(usage) for a path that contains a zero byte, where the system would cut it.
void refuse_zero_byte(const std::string& path);

// Throws Error(failure) "WHAT: strerror(errno)".
[[noreturn]] void throw_errno(const std::string& what);

// Some file systems report only at a close that written data is lost. This asks for that report and
// leaves the descriptor open. Throws like throw_errno(what).
void check_as_if_closed(int descriptor, const std::string& what);

// Syncs a regular file or block device, then checks it like check_as_if_closed(). What cannot be
// synced counts as synced.
void sync_written(int descriptor, const std::string& what);

// Thrown when nobody reads standard output any more, where SIGPIPE would end other programs.
class ClosedOutput : public Error {
 public:
  using Error::Error;
};

// Throws ClosedOutput for EPIPE, and otherwise throw_errno("standard output").
[[noreturn]] void throw_standard_output_errno();

// Temporary files are named with this prefix and 16 hexadecimal digits.
inline constexpr std::string_view temporary_prefix = ".paes-";
[[nodiscard]] std::string new_temporary_name();

// Why an open file is not one that only this user can have made and can change, or null. For
// example "is another user's".
[[nodiscard]] const char* why_not_own(const struct stat& status) noexcept;

}  // namespace paes
