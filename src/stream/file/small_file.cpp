// SPDX-License-Identifier: Apache-2.0
#include "stream/file/small_file.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "age/keys.hpp"
#include "core/descriptor.hpp"
#include "paes/error.hpp"
#include "stream/transfer/wait.hpp"

namespace paes::stream {

SecretBytes read_small_file(int descriptor, const std::string& name, std::size_t max_bytes,
                            const Cancel* cancel) {
  constexpr std::size_t first_capacity_bytes = 4096;
  // One byte above the cap is enough to know that there is too much.
  SecretBytes contents(std::min(first_capacity_bytes, max_bytes + 1));
  std::size_t filled = 0;
  for (;;) {
    if (filled > max_bytes) {
      throw Error(ErrorCode::usage, name + ": longer than " + std::to_string(max_bytes) + " bytes");
    }
    if (filled == contents.size()) {
      SecretBytes larger(std::min(filled * 4, max_bytes + 1));
      std::memcpy(larger.data(), contents.data(), filled);
      contents = std::move(larger);
    }
    wait_ready(descriptor, POLLIN, cancel, nullptr);
    const ssize_t got = read(descriptor, contents.data() + filled, contents.size() - filled);
    if (got == 0) {
      contents.truncate(filled);
      return contents;
    }
    if (got > 0) {
      filled += static_cast<std::size_t>(got);
    } else if (errno != EINTR && errno != EAGAIN) {
      throw_errno(name);
    }
  }
}

SecretBytes read_small_file(const std::string& path, std::size_t max_bytes, const Cancel* cancel) {
  refuse_zero_byte(path);
  const Descriptor descriptor(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (!descriptor.is_open()) {
    throw_errno(path);
  }
  return read_small_file(descriptor.number(), path, max_bytes, cancel);
}

SecretBytes read_key_file(const std::string& path, const Cancel* cancel) {
  if (age::mentions_secret_key(path) && access(path.c_str(), F_OK) != 0) {
    throw Error(ErrorCode::usage,
                "a file of keys: a secret key is given, and not the name of its file",
                "others can see a command's arguments: make a new key, and leave it in its file");
  }
  return read_small_file(path, max_key_file_bytes, cancel);
}

}  // namespace paes::stream
