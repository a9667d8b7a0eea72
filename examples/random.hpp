// SPDX-License-Identifier: Apache-2.0
// Keys and IVs for the examples, from the system. Never use a program's own generator for them.
#pragma once

#include <sys/random.h>

#include <cstdint>
#include <stdexcept>
#include <vector>

inline std::vector<std::uint8_t> random_bytes(std::size_t bytes) {
  std::vector<std::uint8_t> random(bytes);
  if (getrandom(random.data(), bytes, 0) != static_cast<ssize_t>(bytes)) {
    throw std::runtime_error("the system gives no random bytes");
  }
  return random;
}
