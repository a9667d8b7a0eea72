// SPDX-License-Identifier: Apache-2.0
#include "paes-mount/channels.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstdint>
#include <utility>

#include "paes-mount/init_flags.hpp"
#include "paes-mount/mount_context.hpp"
#include "paes-mount/privileges.hpp"
#include "paes-mount/request_ring.hpp"

namespace paes::mount {

namespace {

// From linux/fuse.h: makes an open /dev/fuse another channel of a mount.
constexpr unsigned long clone_channel = _IOR(229, 0, std::uint32_t);

// The channel of a thread. A reply must take the channel on which its request came. A thread that
// answers no requests has no channel of its own: it writes notices on the first one.
thread_local int channel_of_thread = -1;

// Whether the answer to the first request, which this thread gives, shall name rings. Afterwards,
// whether it has.
thread_local bool has_to_name_rings = false;

ssize_t write_reply(int first_channel, iovec* parts, int count, void* mount) {
  const auto parts_count = static_cast<std::size_t>(count);
  if (RequestRing* const ring = own_ring(); ring != nullptr && ring->answer(parts, parts_count)) {
    return 0;  // libfuse only asks whether it failed
  }
  if (static_cast<const Mount*>(mount)->is_writable()) {
    offer_to_take_privileges(parts, parts_count);
  }
  if (has_to_name_rings) {
    has_to_name_rings = add_to_answer(parts, parts_count, RequestRing::init_flag);
  }
  return writev(channel_of_thread >= 0 ? channel_of_thread : first_channel, parts, count);
}
ssize_t read_request(int, void* into, size_t bytes, void*) {
  return ::read(channel_of_thread, into, bytes);
}

}  // namespace

fuse_custom_io channel_calls() noexcept {
  fuse_custom_io calls{};
  calls.writev = write_reply;
  calls.read = read_request;
  return calls;
}

Descriptor new_channel(int mounted) {
  Descriptor channel(::open("/dev/fuse", O_RDWR | O_CLOEXEC));
  auto number = static_cast<std::uint32_t>(mounted);
  if (channel.is_open() && ioctl(channel.number(), clone_channel, &number) == 0) {
    return channel;
  }
  return Descriptor(mounted, false);
}

void take_channel(int channel) noexcept { channel_of_thread = channel; }
int own_channel() noexcept { return channel_of_thread; }

void name_rings(bool shall) noexcept { has_to_name_rings = shall; }
bool has_named_rings() noexcept { return std::exchange(has_to_name_rings, false); }

bool is_connected(int channel) noexcept {
  pollfd event = {channel, POLLIN, 0};
  return poll(&event, 1, 0) < 0 || (event.revents & (POLLERR | POLLHUP | POLLNVAL)) == 0;
}

}  // namespace paes::mount
