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

// A file around `plaintext`. All throw as seal_header does, and Error(usage) above
// container::max_envelope_bytes.
[[nodiscard]] std::vector<std::uint8_t> seal_to_recipients(
    std::span<const SharedRecipient> recipients, Bytes plaintext);
// `wait` as in derive_apart.
[[nodiscard]] std::vector<std::uint8_t> seal_to_passphrase(
    Bytes passphrase, Bytes plaintext, unsigned work_factor = written_work_factor,
    const WaitReadable& wait = {});

[[nodiscard]] std::vector<std::uint8_t> seal_envelope(const SealTo& to, Bytes plaintext);

// The stanzas of an envelope, parsed without a key: they say what opens it. Throws Error(corrupt).
struct Summary {
  struct Stanza {
    std::string type;      // "X25519", "scrypt", or any other
    unsigned work_factor;  // scrypt: log2 N, else 0
  };
  std::vector<Stanza> stanzas;
};
[[nodiscard]] Summary summarize(Bytes envelope);
[[nodiscard]] Summary summarize(const ParsedHeader& header);

// The plaintext. Throws as open_header does, and Error(corrupt) if the envelope is malformed or its
// payload is wrong.
[[nodiscard]] SecretBytes open(Bytes envelope, const Credentials& credentials);

// The same envelope for more recipients. Throws as open and add_to_header do.
[[nodiscard]] std::vector<std::uint8_t> add_recipients(Bytes envelope,
                                                       const Credentials& credentials,
                                                       std::span<const SharedRecipient> recipients);

// The same envelope without the recipients at these places. Throws as open and remove_from_header
// do.
[[nodiscard]] std::vector<std::uint8_t> remove_recipients(Bytes envelope,
                                                          const Credentials& credentials,
                                                          std::span<const std::size_t> places);

}  // namespace paes::age
