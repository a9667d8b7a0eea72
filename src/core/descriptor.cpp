// SPDX-License-Identifier: Apache-2.0
#include "core/descriptor.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "core/bytes.hpp"
#include "core/secret.hpp"

namespace paes {

Descriptor::~Descriptor() {
  if (owned_ && number_ >= 0) {
    (void)close(number_);
  }
}

std::string path_of_descriptor(int descriptor) {
  return "/proc/self/fd/" + std::to_string(descriptor);
}

void refuse_zero_byte(const std::string& path) {
  if (path.find('\0') != std::string::npos) {
    throw Error(ErrorCode::usage, "path: has a zero byte in it");
  }
}

void throw_errno(const std::string& what) {
  const int error = errno;
  throw Error(ErrorCode::failure, what + ": " + std::strerror(error));
}

void check_as_if_closed(int descriptor, const std::string& what) {
  // Closing any copy flushes the file. That there is no descriptor for a copy says nothing about
  // it.
  const int copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
  if (copy < 0 ? errno != EMFILE && errno != ENFILE : close(copy) != 0) {
    throw_errno(what);
  }
}

void sync_written(int descriptor, const std::string& what) {
  struct stat status = {};
  if (fstat(descriptor, &status) != 0) {
    throw_errno(what);
  }
  if ((S_ISREG(status.st_mode) || S_ISBLK(status.st_mode)) && fsync(descriptor) != 0 &&
      errno != EINVAL) {
    throw_errno(what);
  }
  check_as_if_closed(descriptor, what);
}

void throw_standard_output_errno() {
  const std::string name = "standard output";
  if (errno == EPIPE) {
    throw ClosedOutput(ErrorCode::failure, name + ": " + std::strerror(EPIPE));
  }
  throw_errno(name);
}

std::string new_temporary_name() {
  std::uint8_t random[8] = {};
  random_bytes(random);
  char digits[32];
  (void)std::snprintf(digits, sizeof digits, "%016llx",
                      static_cast<unsigned long long>(load_be64(random)));
  return std::string(temporary_prefix) + digits;
}

const char* why_not_own(const struct stat& status) noexcept {
  if (!S_ISREG(status.st_mode)) {
    return "is not a regular file";
  }
  if (status.st_uid != geteuid()) {
    return "is another user's";
  }
  return (status.st_mode & (S_IWGRP | S_IWOTH)) != 0 ? "can be written by other users" : nullptr;
}

}  // namespace paes
