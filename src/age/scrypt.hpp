// SPDX-License-Identifier: Apache-2.0
// Passphrases (c2sp.org/age, "The scrypt recipient type"). A passphrase cannot be combined with
// other recipients: someone who opens a file with it may expect that its writer knew it. So it is
// neither a RecipientKey nor an IdentityKey.
#pragma once

#include <array>
#include <functional>
#include <optional>

#include "age/stanza.hpp"
#include "age/wrap.hpp"
#include "core/secret.hpp"
#include "crypto/derivation.hpp"

namespace paes::age {

inline constexpr std::string_view scrypt_type = "scrypt";
inline constexpr unsigned written_work_factor = 18;      // log2 N of scrypt; takes 256 MiB
inline constexpr unsigned default_max_work_factor = 20;  // unless the user allows more
inline constexpr unsigned highest_max_work_factor = 30;  // a terabyte; nobody can mean more

struct ScryptStanza {
  std::array<std::uint8_t, 16> salt;
  unsigned work_factor;  // log2 N
  WrappedFileKey wrapped_key;
};

// Throws Error(corrupt) unless the stanza has exactly this form.
[[nodiscard]] ScryptStanza read_scrypt(const Stanza& stanza);

// `wait` may throw to give up. Throws Error(usage) for an empty passphrase.
[[nodiscard]] NewStanza wrap_under(Bytes passphrase, unsigned work_factor, Bytes file_key,
                                   const WaitReady& wait);
// Empty if the passphrase is wrong.
[[nodiscard]] std::optional<SecretBytes> unwrap_under(Bytes passphrase, const ScryptStanza& stanza,
                                                      const WaitReady& wait);

}  // namespace paes::age
