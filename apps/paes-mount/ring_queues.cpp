// SPDX-License-Identifier: Apache-2.0
#include "paes-mount/ring_queues.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>

namespace paes::mount {

std::vector<std::vector<std::uint16_t>> queues_of_rings(unsigned queues, unsigned rings) {
  std::vector<std::vector<std::uint16_t>> shares(rings);
  for (unsigned i = 0; i < std::max(queues, rings); ++i) {
    shares[i % rings].push_back(static_cast<std::uint16_t>(i % queues));
  }
  return shares;
}

unsigned count_listed(std::string_view list) noexcept {
  unsigned count = 0;
  const char* at = list.data();
  const char* const end = at + list.size();
  for (;;) {
    unsigned first = 0;
    auto parsed = std::from_chars(at, end, first);
    unsigned last = first;
    if (parsed.ec == std::errc() && parsed.ptr != end && *parsed.ptr == '-') {
      parsed = std::from_chars(parsed.ptr + 1, end, last);
    }
    if (parsed.ec != std::errc() || last < first) {
      return 0;
    }
    count += last - first + 1;
    if (parsed.ptr == end) {
      return count;
    }
    if (*parsed.ptr != ',') {
      return 0;
    }
    at = parsed.ptr + 1;
  }
}

unsigned count_queues() {
  std::ifstream file("/sys/devices/system/cpu/possible");
  std::string list;
  std::getline(file, list);
  return count_listed(list);
}

std::string why_no_rings() {
  std::ifstream file("/sys/module/fuse/parameters/enable_uring");
  std::string value;
  if (!std::getline(file, value)) {
    return "this system has no FUSE over io_uring, which Linux has since 6.14";
  }
  if (value != "Y") {
    return "it is off in this system; root turns it on with "
           "`echo 1 >/sys/module/fuse/parameters/enable_uring`";
  }
  return count_queues() == 0 ? "this system does not say how many processors it may have" : "";
}

}  // namespace paes::mount
