// SPDX-License-Identifier: Apache-2.0
// A complete binary age v1 file in memory: the envelope around a file's input key.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "age/header.hpp"
#include "core/bytes.hpp"
#include "core/secret.hpp"

namespace paes::age {

// Seal `plaintext` into a file. Both functions throw like seal_header(), and Error(usage) above
// container::max_envelope_bytes.
[[nodiscard]] std::vector<std::uint8_t> seal_to_recipients(
    std::span<const SharedRecipient> recipients, Bytes plaintext, const WaitReady& wait = {});
// `wait` may throw to give up.
[[nodiscard]] std::vector<std::uint8_t> seal_to_passphrase(
    Bytes passphrase, Bytes plaintext, unsigned work_factor = written_work_factor,
    const WaitReady& wait = {});

[[nodiscard]] std::vector<std::uint8_t> seal_envelope(const SealTo& to, Bytes plaintext);

// The stanzas of an envelope, parsed without a key. They tell what opens it. Throws Error(corrupt).
struct Summary {
  struct Stanza {
    std::string type;      // "X25519", "scrypt", or any other
    unsigned work_factor;  // scrypt: log2 N, else 0
  };
  std::vector<Stanza> stanzas;
};
[[nodiscard]] Summary summarize(Bytes envelope);
[[nodiscard]] Summary summarize(const ParsedHeader& header);
void check_change(Bytes envelope, const RecipientChange& change);  // throws like the header's

// An opened envelope. It is a view of the bytes given.
class OpenEnvelope {
 public:
  // Throws like open_header(), and Error(corrupt) for a malformed envelope or a wrong payload.
  OpenEnvelope(Bytes envelope, const Credentials& credentials);

  [[nodiscard]] const SecretBytes& plaintext() const noexcept { return plaintext_; }
  [[nodiscard]] SecretBytes take_plaintext() && { return std::move(plaintext_); }

  // The envelope for other readers. Throws like change_header().
  [[nodiscard]] std::vector<std::uint8_t> changed(const RecipientChange& change) const;

 private:
  ParsedHeader header_;
  Bytes payload_;
  SecretBytes file_key_;
  SecretBytes plaintext_;
};

[[nodiscard]] inline SecretBytes open(Bytes envelope, const Credentials& credentials) {
  return OpenEnvelope(envelope, credentials).take_plaintext();
}

}  // namespace paes::age
