// SPDX-License-Identifier: Apache-2.0
// What the parts of c_interface_fuzz share: what every call of the C interface must answer.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "fuzz/decisions.hpp"
#include "fuzz/property.hpp"
#include "paes/paes.h"

namespace paes::fuzz {

// Each call's code passes through here.
inline int answer(int code) {
  require(code >= PAES_OK && code <= PAES_WRONG_KEY, "a code is one of five");
  require(code == PAES_OK || *paes_error_message() != 0, "a failure has a message");
  return code;
}

inline void is_usage(int code) { require(answer(code) == PAES_USAGE, "a null is refused"); }
inline bool is_ok(int code) { return answer(code) == PAES_OK; }

inline bool is_zero(const Buffer& bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::uint8_t byte) { return byte == 0; });
}

// Bytes that no two places nor two seeds have in common for long.
inline Buffer pattern(std::size_t bytes, std::uint64_t first, unsigned seed) {
  Buffer made(bytes);
  for (std::size_t i = 0; i < bytes; ++i) {
    const std::uint64_t at = first + i;
    made[i] = static_cast<std::uint8_t>((at * 31 + at / 251 + at / 16384 * 7) ^ seed * 0x9d);
  }
  return made;
}

// Frees what a call has made.
template <auto free>
struct Freed {
  template <typename Handle>
  void operator()(Handle* handle) const {
    free(handle);
  }
};
template <typename Handle, auto free>
using Owned = std::unique_ptr<Handle, Freed<free>>;

// Each takes its decisions, does one thing, and looks at what came of it.
class Files {
 public:
  Files();
  ~Files();
  void step(Decisions& decisions);

 private:
  struct State;
  std::unique_ptr<State> state_;
};
class Keystreams {
 public:
  Keystreams();
  ~Keystreams();
  void step(Decisions& decisions);

 private:
  struct State;
  std::unique_ptr<State> state_;
};
void gcm_step(Decisions& decisions);
void cipher_step(Decisions& decisions);

}  // namespace paes::fuzz
