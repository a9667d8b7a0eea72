// SPDX-License-Identifier: Apache-2.0
#include "stream/transfer/wait.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "core/descriptor.hpp"
#include "core/secret.hpp"

namespace paes::stream {

void wait_ready(int descriptor, short events, const Cancel* cancel, const Cancel* stop) {
  const auto descriptor_of = [](const Cancel* one) {
    return one != nullptr ? one->descriptor() : -1;  // poll skips negative numbers
  };
  pollfd all[3] = {{descriptor, events, 0},
                   {descriptor_of(cancel), POLLIN, 0},
                   {descriptor_of(stop), POLLIN, 0}};
  for (;;) {
    const int ready = poll(all, 3, -1);
    check(cancel);
    check(stop);
    if (ready > 0 && all[0].revents != 0) {
      return;
    }
    if (ready < 0 && errno != EINTR) {
      throw_errno("poll");
    }
  }
}

WaitReady waiting(const Cancel* cancel) {
  if (cancel == nullptr) {
    return {};
  }
  return [cancel](int descriptor, short events) {
    check(cancel);
    if (descriptor >= 0) {
      wait_ready(descriptor, events, cancel, nullptr);
    }
  };
}

void enlarge_pipe(int descriptor) noexcept {
  constexpr int wanted = 1 << 20;  // the default limit of an unprivileged process
  const int now = fcntl(descriptor, F_GETPIPE_SZ);
  if (now > 0 && now < wanted) {
    (void)fcntl(descriptor, F_SETPIPE_SZ, wanted);
  }
}

std::size_t read_file_at(int descriptor, std::uint64_t offset, std::span<const iovec> to,
                         const std::string& name, const Cancel* cancel) {
  VectorCursor rest(to);
  std::size_t filled = 0;
  while (!rest.is_done()) {
    const auto at = static_cast<off_t>(offset + filled);
    const ssize_t got = preadv(descriptor, rest.data(), rest.count(), at);
    if (got == 0) {
      break;
    }
    if (got > 0) {
      rest.advance(static_cast<std::size_t>(got));
      filled += static_cast<std::size_t>(got);
    } else if (errno != EINTR) {
      throw_errno(name);
    } else {
      check(cancel);
    }
  }
  return filled;
}

bool write_file_at(int descriptor, std::uint64_t offset, std::span<const iovec> from,
                   const Cancel* cancel) {
  VectorCursor rest(from);
  auto at = static_cast<off_t>(offset);
  while (!rest.is_done()) {
    const ssize_t put = pwritev(descriptor, rest.data(), rest.count(), at);
    if (put == 0 && rest.data()->iov_len != 0) {
      errno = EIO;  // it takes nothing, now or later
      return false;
    }
    if (put >= 0) {
      rest.advance(static_cast<std::size_t>(put));
      at += put;
    } else if (errno != EINTR) {
      return false;
    } else {
      check(cancel);
    }
  }
  return true;
}

void copy_file(int from, int to, const std::string& name, const Cancel* cancel) {
  SecretBytes block(std::size_t{256} << 10);
  const auto is_zero = [](std::uint8_t byte) { return byte == 0; };
  std::uint64_t offset = 0;
  for (std::size_t got = block.size(); got == block.size(); offset += got) {
    check(cancel);
    iovec part = {block.data(), block.size()};
    got = read_file_at(from, offset, {&part, 1}, name, cancel);
    part.iov_len = got;
    if (!std::all_of(block.data(), block.data() + got, is_zero) &&
        !write_file_at(to, offset, {&part, 1}, cancel)) {
      throw_errno(name);
    }
  }
  if (ftruncate(to, static_cast<off_t>(offset)) != 0) {
    throw_errno(name);
  }
}

}  // namespace paes::stream
