// SPDX-License-Identifier: Apache-2.0
#include "paes-mount/replies.hpp"

#include <cerrno>
#include <memory>
#include <utility>

#include "core/secret.hpp"
#include "paes-mount/request_ring.hpp"

namespace paes::mount {

namespace {

class ReplyBuffer {
 public:
  ReplyBuffer() = default;
  ~ReplyBuffer() { wipe(bytes_.get(), size_); }
  ReplyBuffer(const ReplyBuffer&) = delete;
  ReplyBuffer& operator=(const ReplyBuffer&) = delete;

  [[nodiscard]] MutableBytes of(std::size_t bytes) {
    if (bytes > size_) {
      auto larger = std::make_unique_for_overwrite<std::uint8_t[]>(bytes);
      wipe(bytes_.get(), size_);
      bytes_ = std::move(larger);
      size_ = bytes;
    }
    return {bytes_.get(), bytes};
  }

 private:
  std::unique_ptr<std::uint8_t[]> bytes_;
  std::size_t size_ = 0;
};

}  // namespace

void reply_sized(fuse_req_t request, Bytes bytes, std::size_t room) noexcept {
  if (room == 0) {
    (void)fuse_reply_xattr(request, bytes.size());
  } else if (bytes.size() > room) {
    reply_error(request, Errno(ERANGE));
  } else {
    reply_bytes(request, bytes);
  }
}

MutableBytes reply_buffer(std::size_t bytes) {
  if (RequestRing* const ring = own_ring()) {
    if (const MutableBytes room = ring->answer_room(bytes); !room.empty()) {
      return room;
    }
  }
  thread_local ReplyBuffer buffer;
  return buffer.of(bytes);
}

}  // namespace paes::mount
