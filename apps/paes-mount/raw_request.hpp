// A request as the system sends it (linux/fuse.h), for what libfuse does not tell.
#pragma once

#include <linux/fuse.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace paes::mount {

// False if the request is too short to have a header.
inline bool read_header(const void* request, std::size_t bytes, fuse_in_header& header) noexcept {
  if (bytes < sizeof header) {
    return false;
  }
  std::memcpy(&header, request, sizeof header);
  return true;
}

// The first bytes of what follows the header. False if they were not received.
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

}  // namespace paes::mount
