// SPDX-License-Identifier: Apache-2.0
// A file descriptor with an owner, errors in the system's own words, and what is needed to make
// files in folders that other users share.
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

// The path under which /proc has the open file, where /proc is mounted.
[[nodiscard]] std::string path_of_descriptor(int descriptor);

// Throws Error(usage) for a path with a zero byte in it, which the system would cut there.
void refuse_zero_byte(const std::string& path);

// Throws Error(failure) "WHAT: strerror(errno)".
[[noreturn]] void throw_errno(const std::string& what);

// Some file systems say only at a close that what was written is lost. This asks for that answer
// and leaves the descriptor open. Throws as throw_errno(what) does.
void check_as_if_closed(int descriptor, const std::string& what);

// The same, after a sync of a regular file or block device; one that cannot be synced counts as
// synced.
void sync_written(int descriptor, const std::string& what);

// Thrown when nobody reads standard output any more; SIGPIPE ends other programs then.
class ClosedOutput : public Error {
 public:
  using Error::Error;
};

// Throws throw_errno("standard output"), or ClosedOutput for EPIPE.
[[noreturn]] void throw_standard_output_errno();

// For a file that has its name only for a short time: the prefix and 16 hexadecimal digits.
inline constexpr std::string_view temporary_prefix = ".paes-";
[[nodiscard]] std::string new_temporary_name();

// Why an open file is not one that this user alone has made and can change ("is another user's"),
// or null.
[[nodiscard]] const char* why_not_own(const struct stat& status) noexcept;

}  // namespace paes
