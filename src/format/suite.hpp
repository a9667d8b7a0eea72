// SPDX-License-Identifier: Apache-2.0
// The suites of a container: which of Cobblestone's two ciphers its payload has.
#pragma once

#include <cstddef>
#include <cstdint>

namespace paes::container {

enum class Suite : std::uint8_t { cobblestone_128 = 1, cobblestone_256 = 2 };

// The length of the input key.
[[nodiscard]] constexpr std::size_t key_bytes(Suite suite) noexcept {
  return suite == Suite::cobblestone_128 ? 16 : 32;
}

}  // namespace paes::container
