// SPDX-License-Identifier: Apache-2.0
// The header of an age v1 file with its cryptography: a random file key, wrapped for recipients or
// under a passphrase, and the MAC that proves that whoever wrote the header knew the file key
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
  std::string text;  // all of it; the payload comes after it
  SecretBytes file_key;
};

// Throws Error(usage) for no recipients, for recipients that may not stand in one file, and for a
// header above max_header_bytes. Throws Error(failure) if a plugin's stanzas make a header that no
// reader takes.
[[nodiscard]] SealedHeader seal_header(std::span<const SharedRecipient> recipients,
                                       const WaitReady& wait = {});
// `wait` may throw to give up. Throws Error(usage) for an empty passphrase.
[[nodiscard]] SealedHeader seal_header(Bytes passphrase, unsigned work_factor,
                                       const WaitReady& wait);

// For whom to seal: recipients, or a passphrase if there are none.
struct SealTo {
  std::span<const SharedRecipient> recipients;
  Bytes passphrase = {};
  unsigned work_factor = written_work_factor;
  WaitReady wait = {};  // may throw to give up
};
[[nodiscard]] SealedHeader seal_header(const SealTo& to);

// How to open a header. `ask_passphrase` is called at most once, and only if the header has a
// scrypt stanza that no plugin among the identities opens, and whose work factor is within the cap.
// A plugin that fails at such a stanza is passed over, unless `ask_passphrase` is empty. Plugins in
// a list that is itself encrypted are not asked.
struct Credentials {
  std::span<const SharedIdentity> identities;
  std::function<SecretBytes()> ask_passphrase;  // may be empty
  unsigned max_work_factor = default_max_work_factor;
  WaitReady wait = {};  // may throw to give up
};

// Throws Error(corrupt) for a stanza that is of a type which paes reads, and is malformed.
void check_new_stanza(const NewStanza& stanza);

// As parse_header, and throws Error(corrupt) also if a stanza of age's own two types is malformed,
// or if a scrypt stanza is not the only one.
[[nodiscard]] ParsedHeader parse_checked(Bytes file);

// The file key. Throws Error(wrong_key) when nothing given opens the header, Error(corrupt) when
// its MAC is wrong, and Error(failure) when the work factor is above the cap.
[[nodiscard]] SecretBytes open_header(const ParsedHeader& header, const Credentials& credentials);

// Who can open a file from now on: all who can, without some and with others.
struct RecipientChange {
  std::vector<std::size_t> removed = {};  // their stanzas' places, counted from 0, in order
  std::span<const SharedRecipient> added = {};
  WaitReady wait = {};  // may throw to give up
};

// What can be said of a change before anybody is asked for a key. Throws Error(usage) if a stanza
// is to go that is not there, if none would be left, and if a passphrase would not stay alone.
void check_change(const ParsedHeader& header, const RecipientChange& change);

// The header after the change: stanzas that stay are as they were, the MAC is new. Throws as
// check_change does, and Error(usage) for recipients that may not stand beside those that stay.
[[nodiscard]] std::string change_header(const ParsedHeader& header, Bytes file_key,
                                        const RecipientChange& change);

}  // namespace paes::age
