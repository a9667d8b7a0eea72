// SPDX-License-Identifier: Apache-2.0
// The header of an age v1 file with its cryptography: a random file key, wrapped for recipients or
// under a passphrase, and the MAC, which proves that the header's writer knew the file key
// (c2sp.org/age, "Header").
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "age/keys.hpp"
#include "age/scrypt.hpp"
#include "age/stanza.hpp"
#include "core/secret.hpp"

namespace paes::age {

struct SealedHeader {
  std::string text;  // all of it, up to the payload
  SecretBytes file_key;
};

// Throws Error(usage) for no recipients, for recipients that may not be combined, and for a header
// above max_header_bytes. Throws Error(failure) if no reader would accept a plugin's stanzas.
[[nodiscard]] SealedHeader seal_header(std::span<const SharedRecipient> recipients,
                                       const WaitReady& wait = {});
// `wait` may throw to give up. Throws Error(usage) for an empty passphrase.
[[nodiscard]] SealedHeader seal_header(Bytes passphrase, unsigned work_factor,
                                       const WaitReady& wait);

// The recipients to seal to, or a passphrase if there are none.
struct SealTo {
  std::span<const SharedRecipient> recipients;
  Bytes passphrase = {};
  unsigned work_factor = written_work_factor;
  WaitReady wait = {};  // may throw to give up
};
[[nodiscard]] SealedHeader seal_header(const SealTo& to);
// Another header before a payload that there is already: its file key is given.
[[nodiscard]] std::string header_for(const SealTo& to, Bytes file_key);

// The ways to open a header. A plugin that fails at a scrypt stanza is skipped, unless
// `ask_passphrase` is empty; plugins in a list that is itself encrypted are not asked.
// `ask_passphrase` is called at most once, and only if the header has a scrypt stanza that no
// plugin among the identities opens and whose work factor is within the cap.
struct Credentials {
  std::span<const SharedIdentity> identities;
  std::function<SecretBytes()> ask_passphrase;  // may be empty
  unsigned max_work_factor = default_max_work_factor;
  WaitReady wait = {};  // may throw to give up
};

// Throws Error(corrupt) if the stanza has a type that paes reads, but is malformed.
void check_new_stanza(const NewStanza& stanza);

// Parses a header like parse_header(), and also throws Error(corrupt) if a stanza of age's own two
// types is malformed, or if a scrypt stanza is not the only one.
[[nodiscard]] ParsedHeader parse_checked(Bytes file);

// The file key. Throws Error(wrong_key) if nothing given opens the header, Error(corrupt) if its
// MAC is wrong, and Error(failure) if the work factor is above the cap.
[[nodiscard]] SecretBytes open_header(const ParsedHeader& header, const Credentials& credentials);

// A change of who can open a file: some recipients go, others come.
struct RecipientChange {
  std::vector<std::size_t> removed = {};  // positions of their stanzas, from 0, in order
  std::span<const SharedRecipient> added = {};
  WaitReady wait = {};  // may throw to give up
};

// Checks a change as far as possible before anybody is asked for a key. Throws Error(usage) if a
// stanza to be removed is not there, if none would be left, and if a passphrase would not stay
// alone.
void check_change(const ParsedHeader& header, const RecipientChange& change);

// The header after the change. Stanzas that stay are unchanged; the MAC is new. Throws like
// check_change(), and Error(usage) for recipients that may not be combined with those that stay.
[[nodiscard]] std::string change_header(const ParsedHeader& header, Bytes file_key,
                                        const RecipientChange& change);

}  // namespace paes::age
