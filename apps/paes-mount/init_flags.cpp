// SPDX-License-Identifier: Apache-2.0
#include "paes-mount/init_flags.hpp"

#include <linux/fuse.h>
#include <sys/uio.h>

#include <cstring>

namespace paes::mount {

namespace {

// The flags have 64 bits since Linux 5.17, which is later than some systems' headers: a second
// word, and a bit of the first that says that it counts.
constexpr std::uint32_t has_second_word = 1U << 30;
constexpr std::size_t offered_at = sizeof(fuse_in_header) + offsetof(fuse_init_in, flags);
constexpr std::size_t offered_second_at = offered_at + sizeof(std::uint32_t);
constexpr std::size_t answered_at = offsetof(fuse_init_out, flags);
constexpr std::size_t answered_second_at = 32;

std::uint32_t word_at(const void* bytes, std::size_t at) noexcept {
  std::uint32_t word = 0;
  std::memcpy(&word, static_cast<const std::uint8_t*>(bytes) + at, sizeof word);
  return word;
}

void add_to_word(void* bytes, std::size_t at, std::uint32_t flags) noexcept {
  flags |= word_at(bytes, at);
  std::memcpy(static_cast<std::uint8_t*>(bytes) + at, &flags, sizeof flags);
}

}  // namespace

std::uint64_t offered_flags(const void* request, std::size_t bytes) noexcept {
  fuse_in_header header{};
  if (bytes < offered_at + sizeof(std::uint32_t)) {
    return 0;
  }
  std::memcpy(&header, request, sizeof header);
  if (header.opcode != FUSE_INIT) {
    return 0;
  }
  std::uint64_t flags = word_at(request, offered_at);
  if ((flags & has_second_word) != 0 && bytes >= offered_second_at + sizeof(std::uint32_t)) {
    flags |= std::uint64_t{word_at(request, offered_second_at)} << 32;
  }
  return flags;
}

bool add_to_answer(const iovec* parts, std::size_t count, std::uint64_t flags) noexcept {
  // libfuse's answer: a header, and then the body in a part of its own.
  const auto second = static_cast<std::uint32_t>(flags >> 32);
  const std::size_t last_at = second == 0 ? answered_at : answered_second_at;
  if (count != 2 || parts[0].iov_len != sizeof(fuse_out_header) ||
      parts[1].iov_len < last_at + sizeof(std::uint32_t)) {
    return false;
  }
  void* const body = parts[1].iov_base;
  add_to_word(body, answered_at, static_cast<std::uint32_t>(flags));
  if (second != 0) {
    add_to_word(body, answered_at, has_second_word);
    add_to_word(body, answered_second_at, second);
  }
  return true;
}

}  // namespace paes::mount
