// SPDX-License-Identifier: Apache-2.0
// A file of identities that is itself an age file under a passphrase, written by `paes keygen -p`,
// or by `age -p` from a file of age-keygen. Plugins in it are not asked about a scrypt stanza; only
// those in plain lists are, because they need no passphrase for the list first.
#pragma once

#include <string>
#include <vector>

#include "age/keys.hpp"

namespace paes::age {

[[nodiscard]] bool is_encrypted_identity_file(Bytes contents) noexcept;

// Its identities. Throws Error(usage) if it is damaged or not an age file under a passphrase, or if
// its content is not a list of identities; Error(wrong_key) for a wrong passphrase; and
// Error(failure) if its work factor is above default_max_work_factor. `wait` may throw to give up.
[[nodiscard]] std::vector<SharedIdentity> open_identity_file(Bytes contents,
                                                             const std::string& name,
                                                             Bytes passphrase,
                                                             const Prompts& prompts,
                                                             const WaitReady& wait = {});

}  // namespace paes::age
