// SPDX-License-Identifier: Apache-2.0
// Finds out whether a master key belongs to a vault, by trying it on what the vault holds: nothing
// in gocryptfs.conf can tell without the passphrase. `passwd` asks before it wraps a key that was
// typed in: if that were a wrong one, neither the old passphrase nor the new one would open the
// vault afterwards. Whatever else opens a vault asks, too, since nobody could read what it writes
// there under a wrong key.
#pragma once

#include <string>

#include "cli/vault_options.hpp"
#include "vault/configuration.hpp"
#include "vault/master_key.hpp"

namespace paes::cli {

enum class KeyProof {
  right,
  wrong,           // no more passed than does by chance, and something failed
  nothing_to_try,  // too few files and names
};

// Looks at no more than 5000 entries. One authentic block or link target proves the key. Without
// any, the names in the root decide. A wrong key decrypts about one in 250. So the key is right if
// at least four decrypt, and more than half of all, and wrong if not even one in eight does. What
// fails may be damaged, or put there by others, but names that vaults do not have do not count.
// Throws Error(failure) if the folder cannot be read.
[[nodiscard]] KeyProof prove_master_key(const std::string& folder, const vault::Features& features,
                                        const vault::MasterKey& key);

// Throws Error(wrong_key) if a key is wrong that comes from elsewhere: a master key, or what the
// passphrase gets from a configuration that does not lie in the vault, which may be another's. An
// empty vault takes any.
void refuse_key_of_another_vault(const VaultOptions& options, const std::string& folder,
                                 const OpenedVault& opened);

}  // namespace paes::cli
