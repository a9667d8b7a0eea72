// SPDX-License-Identifier: Apache-2.0
// The limits that a device's multiprocessors set for a kernel, from what each can do in one clock:
// 32 look-ups of a word in shared memory (one per bank) and 64 integer operations. A block's text
// goes through the same unit as look-ups. These limits follow from the algorithm;
// tools/gpu_model.py counts the machine code. A kernel that is not listed here has no simple limit.
#pragma once

#include <optional>
#include <string>

#include "cuda/device_kernel.hpp"

namespace paes::bench {

struct Limit {
  const char* of;    // "look-ups" or "operations"
  double per_block;  // per block of the cipher
  double gb_per_s;
};

inline constexpr double lookups_a_clock = 32;
inline constexpr double operations_a_clock = 64;
// 16 bytes, 4 words each. Devices with less than 200 KiB of shared memory per thread block take
// twice as many (cuda/ghash_tables.hpp), so they cannot reach this limit.
inline constexpr double ghash_lookups = 64;
// A warp has a chunk to itself, so a lane's counters are 32 apart. Its last byte begins anew after
// 8 of them, and with it the 27 shared look-ups.
inline constexpr double gcm_counter_lookups = 27.0 / 8;
inline constexpr double text_words = 8;  // for a block of AES, in and out
inline constexpr double des_slices = 364;

// What AES in slices adds to that for counters: the text, minus the way into slices and most of the
// first two rounds (cuda_bitslice.cu).
inline constexpr double aes_counters = 4 - 105;
// AES in slices, as counted from the source. 192 bits are in the middle.
inline double aes_slices(std::size_t key_bytes, bool is_inverse) {
  const double rounds = static_cast<double>(key_bytes) / 4 + 6;
  return is_inverse ? 683 + (rounds - 10) * (940 - 683) / 4 : 552 + (rounds - 10) * (754 - 552) / 4;
}

// `key_bytes` is for one key of the cipher, so there are key_bytes / 4 + 6 rounds, each except the
// last with 16 look-ups. (With a single table, where memory has no room for four, the last one has
// them, too.) Counters that differ in one byte share 15 look-ups of round 1 and 12 of round 2.
inline double aes_lookups(std::size_t key_bytes, bool shares_counters) {
  return 16.0 * (static_cast<double>(key_bytes) / 4 + 5) - (shares_counters ? 27 : 0);
}

// `formula` is what the mode adds to the cipher; null for GCM.
[[nodiscard]] inline std::optional<Limit> limit_of(const cuda::DeviceKernel& kernel,
                                                   std::size_t key_bytes, const Formula* formula,
                                                   unsigned multiprocessors, double clock_hz) {
  const double clocks = multiprocessors * clock_hz;
  const std::string name = kernel.name;
  const bool is_counter = formula == nullptr || formula->has_counter();
  if (name == "cuda_tables") {
    const double lookups = aes_lookups(key_bytes, is_counter) + text_words +
                           (formula == nullptr ? ghash_lookups + gcm_counter_lookups : 0);
    return Limit{"look-ups", lookups, clocks * lookups_a_clock / lookups * 16 / 1e9};
  }
  if (formula == nullptr || !name.ends_with("bitslice")) {
    return std::nullopt;
  }
  const bool is_aes = kernel.cipher == Cipher::aes;
  const double cipher = is_aes ? aes_slices(key_bytes, formula->inverse) : des_slices;
  const double mode = is_counter ? (is_aes ? aes_counters : 6) : formula->has_tweak() ? 20 : 0;
  return Limit{"operations", cipher + mode,
               clocks * operations_a_clock / (cipher + mode) * (is_aes ? 16 : 8) / 1e9};
}

}  // namespace paes::bench
