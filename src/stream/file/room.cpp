// SPDX-License-Identifier: Apache-2.0
#include "stream/file/room.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "stream/file/file_system.hpp"

namespace paes::stream {

namespace {

constexpr const char* no_room_hint = "make room, or name an output elsewhere with -o";

std::string needs(const Need& need) {
  return std::string(need.filling == Filling::whole ? "needs " : "needs up to ") +
         std::to_string(need.bytes) + " bytes";
}

}  // namespace

std::string check_room(const std::string& name, int descriptor, const Need& need,
                       std::uint64_t taken_bytes) {
  const FileSystem found = file_system_of(descriptor);
  const std::uint64_t more_bytes = need.bytes - std::min(need.bytes, taken_bytes);
  if (!found.free_bytes || more_bytes <= *found.free_bytes) {
    return "";
  }
  const bool is_certain = found.counts_blocks && more_bytes > found.most_free_bytes &&
                          (need.filling == Filling::whole ||
                           (need.filling == Filling::compressible && found.keeps_lengths));
  const std::string figures =
      (is_certain ? "needs " + std::to_string(need.bytes) + " bytes" : needs(need)) +
      (taken_bytes == 0 ? "" : ", has " + std::to_string(taken_bytes) + " of them") + ", and " +
      std::to_string(*found.free_bytes) + " are free";
  if (is_certain) {
    throw Error(ErrorCode::failure, name + ": " + std::strerror(ENOSPC) + ": " + figures,
                no_room_hint);
  }
  return name + ": may not fit: " + figures;
}

std::uint64_t taken_bytes(int descriptor) noexcept {
  constexpr std::uint64_t block_bytes = 512;
  struct stat status = {};
  return fstat(descriptor, &status) == 0
             ? static_cast<std::uint64_t>(status.st_blocks) * block_bytes
             : 0;
}

Error write_error(const std::string& name, int descriptor, const std::optional<Need>& need,
                  std::uint64_t before_bytes) {
  const int error = errno;
  std::string what = name + ": " + std::strerror(error);
  if (error != ENOSPC && error != EDQUOT) {
    return {ErrorCode::failure, what};
  }
  const std::uint64_t taken = taken_bytes(descriptor);
  const std::string room = std::to_string(taken - std::min(taken, before_bytes));
  what += need ? ": " + needs(*need) + ", and found room for " + room
               : ": found room for " + room + " bytes";
  return {ErrorCode::failure, what, no_room_hint};
}

}  // namespace paes::stream
