// SPDX-License-Identifier: Apache-2.0
#include "paes-mount/privileges.hpp"

#include <linux/fuse.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <utility>

#include "paes-mount/init_flags.hpp"

namespace paes::mount {

namespace {

struct PrivilegeFlags {
  bool is_first = false;  // and the system knows the flag
  bool takes = false;
};

thread_local PrivilegeFlags received;
std::atomic<bool> is_offered{false};

// What follows a request's header, as far as it was received.
template <typename Body>
bool read_body(const void* request, std::size_t bytes, std::size_t body_bytes,
               Body& body) noexcept {
  if (bytes < sizeof(fuse_in_header) + body_bytes) {
    return false;
  }
  std::memcpy(&body, static_cast<const std::uint8_t*>(request) + sizeof(fuse_in_header),
              body_bytes);
  return true;
}

}  // namespace

void note_request(const void* request, std::size_t bytes) noexcept {
  received = {};
  fuse_in_header header{};
  if (bytes < sizeof header) {
    return;
  }
  std::memcpy(&header, request, sizeof header);
  if (header.opcode == FUSE_INIT) {
    received.is_first = (offered_flags(request, bytes) & FUSE_HANDLE_KILLPRIV_V2) != 0;
  } else if (header.opcode == FUSE_WRITE) {
    fuse_write_in write{};
    received.takes = read_body(request, bytes, sizeof write, write) &&
                     (write.write_flags & FUSE_WRITE_KILL_SUIDGID) != 0;
  } else if (header.opcode == FUSE_SETATTR) {
    fuse_setattr_in attributes{};
    received.takes = read_body(request, bytes, sizeof attributes, attributes) &&
                     (attributes.valid & FATTR_KILL_SUIDGID) != 0;
  }
}

void offer_to_take_privileges(const iovec* parts, std::size_t count) noexcept {
  if (std::exchange(received.is_first, false) &&
      add_to_answer(parts, count, FUSE_HANDLE_KILLPRIV_V2)) {
    is_offered.store(true);
  }
}

void note_offer() noexcept { is_offered.store(true); }
bool takes_privileges() noexcept { return received.takes; }
bool has_to_take_privileges() noexcept { return is_offered.load(std::memory_order_relaxed); }

}  // namespace paes::mount
