// SPDX-License-Identifier: Apache-2.0
// A file of identities that is itself an age file under a passphrase, as `paes keygen -p` writes it
// and `age -p` makes it from one of age-keygen. Plugins in it are not asked about a scrypt stanza:
// only those in plain lists are, because they need no passphrase for the list first.
#pragma once

#include <string>
#include <vector>

#include "age/keys.hpp"

namespace paes::age {

// Whether the file is an age file, armored or not.
[[nodiscard]] bool is_encrypted_identity_file(Bytes contents) noexcept;

// Its identities. Throws Error(usage) if it is damaged or no age file under a passphrase, or if
// what it holds is no list of identities, Error(wrong_key) for another passphrase, and
// Error(failure) if its work factor is above default_max_work_factor. `wait` may throw to give up.
[[nodiscard]] std::vector<SharedIdentity> open_identity_file(Bytes contents,
                                                             const std::string& name,
                                                             Bytes passphrase,
                                                             const Prompts& prompts,
                                                             const WaitReady& wait = {});

}  // namespace paes::age
