// SPDX-License-Identifier: Apache-2.0
// How a request of the system is answered. A request gets one answer, as the last thing that is
// done for it. If nobody waits for the answer any more, there is nothing to be done about that,
// unless the answer gives the system something to hold: those functions say whether it arrived.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>

#include "core/bytes.hpp"
#include "core/result.hpp"
#include "paes-mount/fuse.hpp"

namespace paes::mount {

inline void reply_ok(fuse_req_t request) noexcept { (void)fuse_reply_err(request, 0); }

inline void reply_error(fuse_req_t request, Errno error) noexcept {
  (void)fuse_reply_err(request, error.number());
}

// For what has no other answer than whether it was done.
inline void reply_status(fuse_req_t request, Result<void> done) noexcept {
  done ? reply_ok(request) : reply_error(request, done.error());
}

// Whether the system has the node of the entry from now on.
[[nodiscard]] inline bool reply_entry(fuse_req_t request, const fuse_entry_param& entry) noexcept {
  return fuse_reply_entry(request, &entry) == 0;
}

// There is no such name, which the system may believe for so long.
inline void reply_absent(fuse_req_t request, double lifetime_s) noexcept {
  fuse_entry_param nothing{};
  nothing.entry_timeout = lifetime_s;
  (void)fuse_reply_entry(request, &nothing);
}

inline void reply_attributes(fuse_req_t request, const struct stat& shown,
                             double lifetime_s) noexcept {
  (void)fuse_reply_attr(request, &shown, lifetime_s);
}

// How many bytes were written.
inline void reply_written(fuse_req_t request, Result<std::size_t> bytes) noexcept {
  bytes ? (void)fuse_reply_write(request, *bytes) : reply_error(request, bytes.error());
}

inline void reply_bytes(fuse_req_t request, Bytes bytes) noexcept {
  (void)fuse_reply_buf(request, reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

// As getxattr(2) answers: the length alone if `room` is 0, and ERANGE if the bytes need more room.
void reply_sized(fuse_req_t request, Bytes bytes, std::size_t room) noexcept;

// Where this thread puts the text that it answers with. libfuse gives it to the system from here,
// so there is no other copy. Valid until the thread asks for another one.
[[nodiscard]] MutableBytes reply_buffer(std::size_t bytes);

}  // namespace paes::mount
