// SPDX-License-Identifier: Apache-2.0
#include "paes-mount/bdi.hpp"

#include <fcntl.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cstdio>
#include <string_view>

#include "core/descriptor.hpp"

namespace paes::mount {

namespace {

void set(dev_t device, const char* name, std::string_view value) noexcept {
  char path[96];
  (void)std::snprintf(path, sizeof path, "/sys/class/bdi/%u:%u/%s", major(device), minor(device),
                      name);
  const Descriptor file(open(path, O_WRONLY | O_CLOEXEC));
  if (file.is_open()) {
    [[maybe_unused]] const ssize_t written = write(file.number(), value.data(), value.size());
  }
}

}  // namespace

void tune_cache(dev_t device, bool is_writable) noexcept {
  set(device, "read_ahead_kb", "1024\n");
  if (is_writable) {
    // The system gives a mount of FUSE one percent, and holds it to that even when memory is free,
    // in case the program behind it never answers. strict_limit exists since Linux 6.2.
    set(device, "max_ratio", "100\n");
    set(device, "strict_limit", "0\n");
  }
}

}  // namespace paes::mount
