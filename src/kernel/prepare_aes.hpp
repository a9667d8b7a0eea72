// SPDX-License-Identifier: Apache-2.0
// Turns an AES key into a kernel's own form. Every row starts from the same round keys (FIPS 197,
// section 5.2). prepare_des.hpp does this for 3DES.
#pragma once

#include "cipher/aes_key.hpp"
#include "core/secret.hpp"
#include "kernel/kernel.hpp"

namespace paes {
namespace {  // NOLINT: see kernel.hpp

// Expands the canonical round keys, passes them to the row's function and wipes them.
template <void (*FromRoundKeys)(const RoundKeys&, KernelKeys&)>
void prepare_aes(Bytes key, KernelKeys& keys) {
  RoundKeys round_keys;
  const WipeOnExit wiped({reinterpret_cast<std::uint8_t*>(&round_keys), sizeof round_keys});
  expand_key(key, round_keys);
  FromRoundKeys(round_keys, keys);
}

}  // namespace
}  // namespace paes
