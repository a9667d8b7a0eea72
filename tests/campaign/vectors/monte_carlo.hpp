// SPDX-License-Identifier: Apache-2.0
// The Monte Carlo procedures: thousands of single blocks in a row, each made of the ones before, so
// that an error anywhere spoils the end. AES: the AESAVS, section 6.4, 1,000 blocks a round. 3DES:
// SP 800-20, section 5, 10,000 blocks a round, three independent keys. `begin(key, iv)` gives a
// function that encrypts or decrypts the next block of one long message.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "cipher/mode/mode.hpp"
#include "kernel/kernel.hpp"

namespace paes::test {

// What a round starts from. Running a round replaces it by what the next one starts from.
struct MonteCarlo {
  std::vector<std::uint8_t> key;
  std::vector<std::uint8_t> iv;  // empty for ECB
  std::vector<std::uint8_t> text;
};

inline std::vector<std::uint8_t> sum_of(std::vector<std::uint8_t> a,
                                        const std::vector<std::uint8_t>& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    a[i] = static_cast<std::uint8_t>(a[i] ^ b[i]);
  }
  return a;
}

// One round; returns its last output block.
template <typename Begin>
std::vector<std::uint8_t> aes_round(Mode mode, MonteCarlo& state, const Begin& begin) {
  constexpr int steps = 1000;
  auto next = begin(state.key, state.iv);
  std::vector<std::uint8_t> last = state.iv;
  std::vector<std::uint8_t> out;
  for (int step = 0; step < steps; ++step) {
    if (step > 0) {
      last = out;
    }
    out = next(state.text);
    state.text = mode == Mode::ecb ? out : last;
  }
  // The key changes by the last bits of the last two blocks.
  std::vector<std::uint8_t> both = last;
  both.insert(both.end(), out.begin(), out.end());
  state.key =
      sum_of(state.key, {both.end() - static_cast<std::ptrdiff_t>(state.key.size()), both.end()});
  if (mode != Mode::ecb) {
    state.iv = out;
  }
  return out;
}

// What the step after `in` gave `out` takes, and what feeds the block cipher there: the two that SP
// 800-20 tells for each mode and direction. `fed` is what fed the step that has just been.
struct DesStep {
  std::vector<std::uint8_t> in;
  std::vector<std::uint8_t> fed;
};

inline DesStep next_des_step(Mode mode, Direction direction, const std::vector<std::uint8_t>& in,
                             const std::vector<std::uint8_t>& fed,
                             const std::vector<std::uint8_t>& out) {
  const bool encrypts = direction == Direction::encrypt;
  switch (mode) {
    case Mode::cbc:
      return encrypts ? DesStep{fed, out} : DesStep{out, in};
    case Mode::cfb:
      return encrypts ? DesStep{fed, out} : DesStep{sum_of(in, out), in};
    case Mode::ofb:
      return {fed, sum_of(in, out)};
    default:
      return {out, {}};
  }
}

template <typename Begin>
std::vector<std::uint8_t> des_round(Mode mode, Direction direction, MonteCarlo& state,
                                    const Begin& begin) {
  constexpr int steps = 10000;
  auto next = begin(state.key, state.iv);
  const std::vector<std::uint8_t> first_text = state.text;
  std::vector<std::uint8_t> outputs[3];  // the last, the one before, the one before that
  DesStep step{state.text, state.iv};
  for (int i = 0; i < steps; ++i) {
    outputs[2] = std::move(outputs[1]);
    outputs[1] = std::move(outputs[0]);
    outputs[0] = next(step.in);
    step = next_des_step(mode, direction, step.in, step.fed, outputs[0]);
  }
  for (std::size_t i = 0; i < state.key.size(); ++i) {
    const unsigned sum = state.key[i] ^ outputs[i / 8][i % 8];
    // Odd parity (FIPS 46-3): the last bit makes it so.
    const unsigned parity = std::popcount(sum & 0xfeU) % 2 == 0 ? 1U : 0U;
    state.key[i] = static_cast<std::uint8_t>((sum & 0xfeU) | parity);
  }
  state.text = mode == Mode::ofb ? sum_of(first_text, step.in) : step.in;
  state.iv = step.fed;
  return outputs[0];
}

}  // namespace paes::test
