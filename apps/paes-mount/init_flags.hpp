// SPDX-License-Identifier: Apache-2.0
// What the system and a mount agree on in the first request (INIT), beyond what libfuse can say:
// Debian 12's knows fewer flags than the system. So they are read in the request and put into
// libfuse's answer here.
#pragma once

#include <cstddef>
#include <cstdint>

struct iovec;

namespace paes::mount {

// The flags that the system offers. 0 if this is not the first request.
[[nodiscard]] std::uint64_t offered_flags(const void* request, std::size_t bytes) noexcept;

// Adds the flags to libfuse's answer. False if there is no room for them: it is then as before.
[[nodiscard]] bool add_to_answer(const iovec* parts, std::size_t count,
                                 std::uint64_t flags) noexcept;

}  // namespace paes::mount
