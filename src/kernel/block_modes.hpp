// SPDX-License-Identifier: Apache-2.0
// All modes of cipher/mode/mode.hpp for kernels that transform a fixed number of blocks in memory:
// bitsliced, table-driven and computed ones. A kernel file supplies a `Core`:
//
//   struct Core {
//     static constexpr std::size_t block_bytes;  // 16 or 8
//     static constexpr std::size_t lanes;        // blocks that one call transforms
//     // out[i] = E(in[i]), D(in[i]) for exactly `lanes` blocks; `in` may be `out`.
//     static void encrypt(const KernelKeys&, const std::uint8_t* in, std::uint8_t* out) noexcept;
//     static void decrypt(const KernelKeys&, const std::uint8_t* in, std::uint8_t* out) noexcept;
//   };
#pragma once

#include <algorithm>
#include <cstring>
#include <span>

#include "cipher/mode/xts.hpp"
#include "core/secret.hpp"
#include "kernel/mode_runs.hpp"

namespace paes {
namespace {  // NOLINT: see kernel.hpp

template <class Core>
struct BlockModes {
  static constexpr std::size_t block_size = Core::block_bytes;
  static constexpr std::size_t lanes = Core::lanes;
  static constexpr std::size_t flight_bytes = lanes * block_size;

  // A flight of blocks. It holds plaintext or keystream, so it is wiped at the end.
  struct alignas(64) Flight {
    std::uint8_t bytes[flight_bytes] = {};
    Flight() = default;
    ~Flight() { wipe(bytes, sizeof bytes); }
    Flight(const Flight&) = delete;
    Flight& operator=(const Flight&) = delete;
  };

  template <Operation Which>
  static void run(const KernelKeys& keys, const Piece& piece) noexcept {
    constexpr Formula formula = formula_of(Which);
    constexpr bool has_tweak = formula.has_tweak();
    constexpr bool has_before = formula.has_before();
    Flight text;
    // tweaks, or copies of the previous blocks, which are overwritten in place before their use
    Flight other;
    Tweak tweak = {};
    ChainBlock before = {};
    const WipeOnExit wiped_tweak(tweak.bytes);
    if constexpr (has_tweak) {
      tweak = *piece.tweak;
    } else if constexpr (has_before) {
      before = *piece.before;
    }
    for (std::size_t at = 0; at < piece.text.bytes; at += flight_bytes) {
      const std::size_t bytes = std::min(flight_bytes, piece.text.bytes - at);
      const std::uint8_t* const in = piece.text.in + at;
      std::uint8_t* const out = piece.text.out + at;
      if constexpr (has_tweak) {
        for (std::size_t i = 0; i < bytes; i += block_size) {
          std::memcpy(other.bytes + i, tweak.bytes, block_size);
          tweak = xts::next_tweak(tweak);
        }
      } else if constexpr (has_before) {
        std::memcpy(other.bytes, before.bytes, block_size);
        if (bytes > block_size) {
          std::memcpy(other.bytes + block_size, in, bytes - block_size);
        }
        std::memcpy(before.bytes, in + bytes - block_size, block_size);
      }
      if constexpr (formula.pre == Term::in) {
        std::memcpy(text.bytes, in, bytes);
      } else if constexpr (formula.pre == Term::in_xor_tweak) {
        add(text.bytes, in, other.bytes, bytes);
      } else if constexpr (formula.pre == Term::before) {
        std::memcpy(text.bytes, other.bytes, bytes);
      } else {
        static_assert(formula.pre == Term::counter);
        count(text, *piece.counter, at / block_size, bytes);
      }
      transform<formula.inverse>(keys, text);
      if constexpr (formula.post == Term::nothing) {
        std::memcpy(out, text.bytes, bytes);
      } else {
        add(out, text.bytes, formula.post == Term::in ? in : other.bytes, bytes);
      }
    }
  }

  // Each lane follows one message. When that ends, the next one takes its place.
  template <Operation Which>
  static void run_chains(const KernelKeys& keys, std::span<Chain> chains) noexcept {
    constexpr Formula formula = formula_of(Which);
    static_assert(!formula.inverse);
    Flight text;
    struct Lane {
      Chain* chain = nullptr;
      std::size_t at = 0;
    } lane[lanes];
    std::size_t next = 0;
    std::size_t active = 0;
    const auto fill = [&](Lane& free) {
      free = {};
      while (next != chains.size() && free.chain == nullptr) {
        Chain& chain = chains[next++];
        if (chain.text.bytes != 0) {
          free.chain = &chain;
        }
      }
      return free.chain != nullptr;
    };
    while (active < lanes && fill(lane[active])) {
      ++active;
    }
    while (active != 0) {
      for (std::size_t i = 0; i < active; ++i) {
        std::uint8_t* const pre = text.bytes + i * block_size;
        std::memcpy(pre, lane[i].chain->feedback.bytes, block_size);
        if constexpr (formula.pre == Term::in_xor_feedback) {
          add(pre, pre, lane[i].chain->text.in + lane[i].at, block_size);
        }
      }
      transform<false>(keys, text);
      for (std::size_t i = 0; i < active;) {
        Chain& chain = *lane[i].chain;
        std::uint8_t* const result = text.bytes + i * block_size;
        std::uint8_t* const out = chain.text.out + lane[i].at;
        if constexpr (formula.feedback == Feedback::cipher_output) {
          std::memcpy(chain.feedback.bytes, result, block_size);
        }
        if constexpr (formula.post == Term::in) {
          add(result, result, chain.text.in + lane[i].at, block_size);
        }
        std::memcpy(out, result, block_size);
        if constexpr (formula.feedback == Feedback::output) {
          std::memcpy(chain.feedback.bytes, result, block_size);
        }
        lane[i].at += block_size;
        if (lane[i].at == chain.text.bytes && !fill(lane[i])) {
          // The last lane moves to the free place, with its block, which is not written yet.
          --active;
          if (i != active) {
            lane[i] = lane[active];
            std::memcpy(result, text.bytes + active * block_size, block_size);
          }
        } else {
          ++i;
        }
      }
    }
  }

  // The whole table of modes, each formula made into code.
  static consteval ModeRuns runs() noexcept { return mode_runs<BlockModes>(); }

 private:
  template <bool Inverse>
  static void transform(const KernelKeys& keys, Flight& flight) noexcept {
    if constexpr (Inverse) {
      Core::decrypt(keys, flight.bytes, flight.bytes);
    } else {
      Core::encrypt(keys, flight.bytes, flight.bytes);
    }
  }

  static void add(std::uint8_t* to, const std::uint8_t* a, const std::uint8_t* b,
                  std::size_t bytes) noexcept {
    for (std::size_t i = 0; i < bytes; i += 8) {  // whole blocks, so a multiple of 8
      store_le(to + i, load_le<std::uint64_t>(a + i) ^ load_le<std::uint64_t>(b + i));
    }
  }

  // The last 32 bits count and wrap, in blocks of any size.
  static void count(Flight& flight, const CounterBlock& counter, std::uint64_t first,
                    std::size_t bytes) noexcept {
    const std::uint32_t start =
        load_be32(counter.bytes + block_size - 4) + static_cast<std::uint32_t>(first);
    for (std::size_t i = 0; i < bytes / block_size; ++i) {
      std::uint8_t* const block = flight.bytes + i * block_size;
      auto index = static_cast<std::uint32_t>(i);
      // The counter may be secret (see Piece). A compiler that saw it follow from the index could
      // loop over the counter and compare it with its last value.
      asm("" : "+r"(index));
      std::memcpy(block, counter.bytes, block_size - 4);
      store_be32(block + block_size - 4, start + index);
    }
  }
};

}  // namespace
}  // namespace paes
