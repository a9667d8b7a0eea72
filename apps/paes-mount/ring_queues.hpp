// SPDX-License-Identifier: Apache-2.0
// What the system's queues of requests are, before there is a ring (request_ring.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace paes::mount {

// The queues of each ring: all of `queues` get one at least, and each ring has one at least.
[[nodiscard]] std::vector<std::vector<std::uint16_t>> queues_of_rings(unsigned queues,
                                                                      unsigned rings);

// How many processors a list as "0-3,8" of the system has. 0: it is no such list.
[[nodiscard]] unsigned count_listed(std::string_view list) noexcept;

// How many queues the system has for a mount. 0: it does not say.
[[nodiscard]] unsigned count_queues();

// Why this system passes no requests through io_uring. Empty: it does.
[[nodiscard]] std::string why_no_rings();

}  // namespace paes::mount
