// From a key to a kernel's own form of it, for AES: every row starts from the same round keys (FIPS
// 197, section 5.2). Another cipher has a header like this one.
#pragma once

#include "cipher/aes_key.hpp"
#include "core/secret.hpp"
#include "kernel/kernel.hpp"

namespace paes {
namespace {  // NOLINT: see kernel.hpp

// What an AES row prepares its keys with: the canonical round keys, expanded here and wiped again.
template <void (*FromRoundKeys)(const RoundKeys&, KernelKeys&)>
void prepare_aes(Bytes key, KernelKeys& keys) {
  RoundKeys round_keys;
  const WipeOnExit wiped({reinterpret_cast<std::uint8_t*>(&round_keys), sizeof round_keys});
  expand_key(key, round_keys);
  FromRoundKeys(round_keys, keys);
}

}  // namespace
}  // namespace paes
