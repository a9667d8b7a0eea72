// Whether a master key that somebody typed in is a vault's own: its content tells. A wrong key
// under a new passphrase would take the old one away and open nothing.
#pragma once

#include <string>

#include "vault/configuration.hpp"
#include "vault/master_key.hpp"

namespace paes::cli {

enum class KeyProof {
  right,
  wrong,           // nothing passed and something failed; it may be damaged, or planted
  nothing_to_try,  // too few files and names
};

// Looks at some thousand entries of the folder at most. A block or a link's target that is
// authentic proves the key. Where there is none, names in the root prove it, each of them with a
// probability of error of about 1/250. Throws Error(failure) if the folder cannot be read.
[[nodiscard]] KeyProof prove_master_key(const std::string& folder, const vault::Features& features,
                                        const vault::MasterKey& key);

}  // namespace paes::cli
