// SPDX-License-Identifier: Apache-2.0
// The rounds of AES (FIPS 197, section 5) on several registers at a time, for all raw modes on
// vectors. `Vector` and the keys are StitchedGcm's.
#pragma once

#include "kernel/gcm_stitched.hpp"

namespace paes {
namespace {  // NOLINT: see kernel.hpp

template <bool Inverse, class Vector>
PAES_INLINE typename Vector::Register key_of(const StitchedKeys<Vector>& keys,
                                             unsigned round) noexcept {
  return Vector::load(Inverse ? keys.inverse_key[round] : keys.round_key[round]);
}

// Every round but the last. The cipher has `Rounds` rounds, or if that is 0, as many as the key
// says. After each round, the next of between(0), between(1), ... runs.
template <bool Inverse, unsigned Rounds, class Vector, unsigned Count, typename Between>
PAES_INLINE void inner_rounds(const StitchedKeys<Vector>& keys,
                              typename Vector::Register (&text)[Count], Between between) noexcept {
  using Register = typename Vector::Register;
  const auto one_round = [&](unsigned round) __attribute__((always_inline)) {
    const Register key = key_of<Inverse>(keys, round);
    unrolled<Count>([&](unsigned i) __attribute__((always_inline)) {
      text[i] = Inverse ? Vector::aes_inverse_round(text[i], key) : Vector::aes_round(text[i], key);
    });
  };
  if constexpr (Rounds != 0) {
    unrolled<Rounds - 1>([&](unsigned step) __attribute__((always_inline)) {
      one_round(step + 1);
      between(step);
    });
  } else {
    for (unsigned round = 1; round < keys.rounds; ++round) {
      one_round(round);
      between(round - 1);
    }
  }
}

template <class Vector, bool Inverse>
PAES_INLINE typename Vector::Register last_round(typename Vector::Register text,
                                                 typename Vector::Register key) noexcept {
  return Inverse ? Vector::aes_inverse_last_round(text, key) : Vector::aes_last_round(text, key);
}

inline constexpr auto nothing_between = [](unsigned) {};

}  // namespace
}  // namespace paes
