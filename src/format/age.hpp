// age v1 files (age-encryption.org/v1): the envelope around a file's input key. It has X25519 and
// scrypt recipients and the binary form. Its payload is in memory, because envelopes are small. The
// primitives are libcrypto's.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/bytes.hpp"
#include "core/secret.hpp"
#include "format/derivation.hpp"

namespace paes::age {

inline constexpr unsigned written_work_factor = 18;      // log2 N of scrypt; takes 256 MiB
inline constexpr unsigned default_max_work_factor = 20;  // unless the user allows more
inline constexpr unsigned highest_max_work_factor = 30;  // a terabyte; nobody can mean more

struct X25519Recipient {
  std::uint8_t public_key[32];
};

struct X25519SecretKey {
  std::uint8_t secret_key[32];
};
using X25519Identity = Secret<X25519SecretKey>;

// "age1..." (Bech32 of a u-coordinate of RFC 7748). Throws Error(usage) that says what is wrong,
// also for a key of small order. Errors call the key `name`, and never repeat the text, which may
// be a secret key by mistake.
[[nodiscard]] X25519Recipient parse_recipient(std::string_view text,
                                              const std::string& name = "recipient");
// Whether a secret key of any kind stands anywhere in the text, in small letters or capitals.
[[nodiscard]] bool mentions_secret_key(std::string_view text);
[[nodiscard]] std::string to_string(const X25519Recipient& recipient);

// "AGE-SECRET-KEY-1...". Throws Error(usage); the message never quotes the key.
[[nodiscard]] X25519Identity parse_identity(std::string_view text);
[[nodiscard]] SecretBytes to_secret_text(const X25519Identity& identity);  // no newline
[[nodiscard]] X25519Identity generate_identity();
[[nodiscard]] X25519Recipient recipient_of(const X25519Identity& identity);

// The text of a file of one identity, as keygen and --new-identity write it: comments with date and
// public key, then the secret key.
[[nodiscard]] SecretBytes identity_file_text(const X25519Identity& identity);

// Files with one key a line. Empty lines and lines that begin with # are skipped. `source` names
// the file in errors. A file has at most 1 MiB and 10,000 keys.
[[nodiscard]] std::vector<X25519Identity> parse_identity_file(Bytes contents,
                                                              std::string_view source);
[[nodiscard]] std::vector<X25519Recipient> parse_recipient_file(Bytes contents,
                                                                std::string_view source);

// A complete binary age file around `plaintext`.
[[nodiscard]] std::vector<std::uint8_t> seal_to_recipients(
    std::span<const X25519Recipient> recipients, Bytes plaintext);
// `wait` as in derive_apart.
[[nodiscard]] std::vector<std::uint8_t> seal_to_passphrase(
    Bytes passphrase, Bytes plaintext, unsigned work_factor = written_work_factor,
    const WaitReadable& wait = {});

// The stanzas of an envelope, parsed without a key: they say what opens it. Throws Error(corrupt).
struct Summary {
  struct Stanza {
    std::string type;      // "X25519", "scrypt", or anything else (skipped when opening)
    unsigned work_factor;  // scrypt: log2 N, else 0
  };
  std::vector<Stanza> stanzas;
};
[[nodiscard]] Summary summarize(Bytes envelope);

// How to open an envelope. `ask_passphrase` is called at most once, and only if the envelope has a
// scrypt stanza whose work factor is within the cap.
struct Credentials {
  std::span<const X25519Identity> identities;
  std::function<SecretBytes()> ask_passphrase;  // may be empty
  unsigned max_work_factor = default_max_work_factor;
  WaitReadable wait = {};  // as in derive_apart
};

// The plaintext. Throws Error(wrong_key) when nothing given opens the envelope, Error(corrupt) when
// it is malformed or its MAC or payload is wrong, and Error(usage) with the hint --max-work-factor
// when the work factor is above the cap.
[[nodiscard]] SecretBytes open(Bytes envelope, const Credentials& credentials);

// The same envelope for more recipients: it keeps its stanzas and gets a new MAC. Throws
// Error(usage) if it has a passphrase, beside which age allows no recipient.
[[nodiscard]] std::vector<std::uint8_t> add_recipients(Bytes envelope,
                                                       const Credentials& credentials,
                                                       std::span<const X25519Recipient> recipients);

}  // namespace paes::age
