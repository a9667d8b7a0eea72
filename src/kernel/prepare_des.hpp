// SPDX-License-Identifier: Apache-2.0
// Turns a 3DES key into a kernel's own form. Every row starts from 48 round keys (SP 800-67).
#pragma once

#include "cipher/des_key.hpp"
#include "core/secret.hpp"
#include "kernel/kernel.hpp"

namespace paes {
namespace {  // NOLINT: see kernel.hpp

// Expands the round keys, passes them to the row's function and wipes them.
template <void (*FromRoundKeys)(const DesRoundKeys&, KernelKeys&)>
void prepare_des(Bytes key, KernelKeys& keys) {
  DesRoundKeys round_keys;
  const WipeOnExit wiped({reinterpret_cast<std::uint8_t*>(&round_keys), sizeof round_keys});
  expand_des_key(key, round_keys);
  FromRoundKeys(round_keys, keys);
}

}  // namespace
}  // namespace paes
