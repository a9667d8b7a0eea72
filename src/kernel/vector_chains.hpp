// SPDX-License-Identifier: Apache-2.0
// The chained rows of cipher/mode/mode.hpp (encryption in CBC and CFB, and OFB; SP 800-38A,
// sections 6.2 to 6.4) on vector registers with AES instructions. Each lane of each register
// follows one message, and when that ends, the next message takes its lane. `Vector` is the same
// class that StitchedGcm takes.
#pragma once

#include <algorithm>
#include <span>

#include "kernel/vector_rounds.hpp"

namespace paes {
namespace {  // NOLINT: see kernel.hpp

template <class Vector>
struct VectorChains {
  using Gcm = StitchedGcm<Vector>;
  using Keys = typename Gcm::Keys;
  using Register = typename Vector::Register;
  static constexpr unsigned flight = Vector::flight;
  static constexpr unsigned lanes = Vector::blocks;
  static constexpr unsigned flight_blocks = flight * lanes;

  // Lanes without a message repeat lane 0, which writes the same bytes twice.
  template <Operation Which>
  static void run(const KernelKeys& kernel_keys, std::span<Chain> chains) noexcept {
    const Keys& keys = kernel_keys.as<Keys>();
    Lanes lane;
    std::size_t next = 0;
    const auto fill = [&](unsigned index) {
      while (next != chains.size()) {
        Chain& chain = chains[next++];
        if (chain.text.bytes != 0) {
          lane.chain[index] = &chain;
          lane.in[index] = chain.text.in;
          lane.out[index] = chain.text.out;
          lane.left[index] = chain.text.bytes;
          lane.feedback[index] = chain.feedback;
          return true;
        }
      }
      return false;
    };
    unsigned active = 0;
    while (active < flight_blocks && fill(active)) {
      ++active;
    }
    while (active != 0) {
      const std::size_t bytes = *std::min_element(lane.left, lane.left + active);
      run_lanes<Which>(keys, lane, active, bytes);
      for (unsigned i = 0; i < active;) {
        lane.in[i] += bytes;
        lane.out[i] += bytes;
        lane.left[i] -= bytes;
        if (lane.left[i] != 0) {
          ++i;
          continue;
        }
        lane.chain[i]->feedback = lane.feedback[i];
        if (fill(i)) {
          ++i;
        } else if (--active != i) {
          lane.copy(active, i);  // its text moves on in the next turn
        }
      }
    }
  }

 private:
  struct Lanes {
    Chain* chain[flight_blocks];
    const std::uint8_t* in[flight_blocks];
    std::uint8_t* out[flight_blocks];
    std::size_t left[flight_blocks];
    alignas(64) ChainBlock feedback[flight_blocks];

    void copy(unsigned from, unsigned to) noexcept {
      chain[to] = chain[from];
      in[to] = in[from];
      out[to] = out[from];
      left[to] = left[from];
      feedback[to] = feedback[from];
    }
  };

  // The next `bytes` of every active lane's message, in as few registers as possible.
  template <Operation Which>
  static void run_lanes(const Keys& keys, Lanes& lane, unsigned active,
                        std::size_t bytes) noexcept {
    unsigned registers = 1;
    while (registers * lanes < active) {
      registers *= 2;
    }
    for (unsigned i = active; i < registers * lanes; ++i) {
      lane.copy(0, i);
    }
    switch (registers) {
      case 1:
        return step_lanes<Which, 0, 1>(keys, lane, bytes);
      case 2:
        return step_lanes<Which, 0, 2>(keys, lane, bytes);
      case 4:
        return step_lanes<Which, 0, 4>(keys, lane, bytes);
      default:
        break;
    }
    switch (keys.rounds) {
      case 10:
        return step_lanes<Which, 10, flight>(keys, lane, bytes);
      case 12:
        return step_lanes<Which, 12, flight>(keys, lane, bytes);
      default:
        return step_lanes<Which, 14, flight>(keys, lane, bytes);
    }
  }

  template <Operation Which, unsigned Rounds, unsigned Count>
  PAES_NOINLINE static void step_lanes(const Keys& keys, Lanes& lane, std::size_t bytes) noexcept {
    constexpr Formula formula = formula_of(Which);
    static_assert(!formula.inverse);
    Register feedback[Count];
    for (unsigned i = 0; i < Count; ++i) {
      feedback[i] = Vector::load(lane.feedback + i * lanes);
    }
    Register text[Count];
    for (std::size_t at = 0; at < bytes; at += block_bytes) {
      const auto text_at = [&](unsigned i) __attribute__((always_inline)) {
        return Vector::gather(lane.in + i * lanes, at);
      };
      const Register whitening = key_of<false>(keys, 0);
      for (unsigned i = 0; i < Count; ++i) {
        if constexpr (formula.pre == Term::in_xor_feedback) {
          text[i] = Vector::xor2(feedback[i], Vector::xor2(text_at(i), whitening));
        } else {
          text[i] = Vector::xor2(feedback[i], whitening);
        }
      }
      inner_rounds<false, Rounds>(keys, text, nothing_between);
      const Register key = key_of<false>(keys, Rounds == 0 ? keys.rounds : Rounds);
      // Reads all texts before it writes any: a lane may repeat another's message.
      for (unsigned i = 0; i < Count; ++i) {
        if constexpr (formula.feedback == Feedback::cipher_output) {
          feedback[i] = last_round<Vector, false>(text[i], key);
          text[i] = Vector::xor2(feedback[i], text_at(i));
        } else {
          const Register mask = formula.post == Term::in ? Vector::xor2(key, text_at(i)) : key;
          text[i] = feedback[i] = last_round<Vector, false>(text[i], mask);
        }
      }
      for (unsigned i = 0; i < Count; ++i) {
        Vector::scatter(lane.out + i * lanes, at, text[i]);
      }
    }
    for (unsigned i = 0; i < Count; ++i) {
      Vector::store(lane.feedback + i * lanes, feedback[i]);
    }
  }
};

}  // namespace
}  // namespace paes
