// SPDX-License-Identifier: Apache-2.0
// Finds out whether a master key belongs to a vault, by trying it on what the vault holds. `passwd`
// asks before it wraps a key that was typed in: if that were a wrong one, neither the old
// passphrase nor the new one would open the vault afterwards.
#pragma once

#include <string>

#include "vault/configuration.hpp"
#include "vault/master_key.hpp"

namespace paes::cli {

enum class KeyProof {
  right,
  wrong,           // nothing passed, and something failed
  nothing_to_try,  // too few files and names
};

// Looks at no more than 5000 entries. One authentic block or link target proves the key. Without
// any, the names in the root decide: at least four must decrypt, and more than half of all, because
// a wrong key decrypts about one name in 250. Whatever fails may be damaged, or put there by
// others. Throws Error(failure) if the folder cannot be read.
[[nodiscard]] KeyProof prove_master_key(const std::string& folder, const vault::Features& features,
                                        const vault::MasterKey& key);

}  // namespace paes::cli
