// SPDX-License-Identifier: Apache-2.0
#include "age/x25519.hpp"

#include <algorithm>
#include <iterator>

#include "age/wrap.hpp"
#include "crypto/libcrypto.hpp"
#include "encoding/encodings.hpp"

namespace paes::age {

namespace {

using libcrypto::bytes_of;

constexpr std::string_view recipient_part = "age";
constexpr std::string_view identity_part = "AGE-SECRET-KEY-";

constexpr std::uint64_t unwrap_us = 50;

using SharedSecret = std::array<std::uint8_t, 32>;

// The key that wraps a file key for `recipient`.
void derive_wrap_key(const SharedSecret& shared_secret, const X25519PublicKey& share,
                     const X25519PublicKey& recipient, WrapKey& wrap_key) {
  std::array<std::uint8_t, 64> salt;
  std::copy(share.begin(), share.end(), salt.begin());
  std::copy(recipient.begin(), recipient.end(), salt.begin() + 32);
  libcrypto::hkdf_sha256(shared_secret, salt, bytes_of("age-encryption.org/v1/X25519"),
                         wrap_key.bytes);
}

Error of_small_order(const std::string& name) {
  return {ErrorCode::usage, name + ": is of small order: anybody could open the file"};
}

}  // namespace

X25519Fields read_x25519_fields(const Stanza& stanza, std::size_t argument_count) {
  X25519Fields fields;
  const auto arguments = stanza.split_arguments();
  if (arguments.size() != argument_count || !base64::decode(arguments.back(), fields.share) ||
      !stanza.decode_body(fields.wrapped_key)) {
    throw corrupt("malformed " + std::string(stanza.type()) + " stanza");
  }
  return fields;
}

// In an exchange, exactly these give zero, as wrap() would find; but an exchange for each recipient
// takes longer than reading it. They are the multiples of the identity on the curve and its twist:
// 0, 1 and -1, two of order 8, and 0 and 1 written as p and p + 1. The top bit does not count.
bool has_small_order(const X25519PublicKey& key) {
  constexpr X25519PublicKey of_order_8[] = {
      {0xe0, 0xeb, 0x7a, 0x7c, 0x3b, 0x41, 0xb8, 0xae, 0x16, 0x56, 0xe3,
       0xfa, 0xf1, 0x9f, 0xc4, 0x6a, 0xda, 0x09, 0x8d, 0xeb, 0x9c, 0x32,
       0xb1, 0xfd, 0x86, 0x62, 0x05, 0x16, 0x5f, 0x49, 0xb8, 0x00},
      {0x5f, 0x9c, 0x95, 0xbc, 0xa3, 0x50, 0x8c, 0x24, 0xb1, 0xd0, 0xb1,
       0x55, 0x9c, 0x83, 0xef, 0x5b, 0x04, 0x44, 0x5c, 0xc4, 0x58, 0x1c,
       0x8e, 0x86, 0xd8, 0x22, 0x4e, 0xdd, 0xd0, 0x9f, 0x11, 0x57}};
  constexpr std::uint8_t low_byte_of_p = 0xed;
  X25519PublicKey u = key;
  u.back() &= 0x7f;
  const auto is_rest = [&](std::uint8_t middle, std::uint8_t last) {
    return u.back() == last && std::all_of(u.begin() + 1, u.end() - 1,
                                           [middle](std::uint8_t byte) { return byte == middle; });
  };
  return std::find(std::begin(of_order_8), std::end(of_order_8), u) != std::end(of_order_8) ||
         (u.front() <= 1 && is_rest(0, 0)) ||
         (u.front() + 1 >= low_byte_of_p && u.front() <= low_byte_of_p + 1 && is_rest(0xff, 0x7f));
}

X25519Recipient::X25519Recipient(const X25519PublicKey& key, const std::string& name) : key_(key) {
  if (has_small_order(key)) {
    throw of_small_order(name);
  }
}

WrappedKey X25519Recipient::wrap(Bytes file_key, const WaitReady& /*wait*/) const {
  std::array<std::uint8_t, 32> ephemeral{};
  const WipeOnExit wiped(ephemeral);
  random_bytes(ephemeral);
  X25519PublicKey share;
  libcrypto::x25519_public_key(ephemeral, share);
  SharedSecret shared_secret;
  const WipeOnExit wiped_secret(shared_secret);
  if (!libcrypto::x25519({ephemeral, share}, key_, shared_secret)) {
    throw of_small_order("recipient");
  }
  WrapKey wrap_key;
  derive_wrap_key(shared_secret, share, key_, wrap_key);
  return {{{std::string(x25519_type) + " " + base64::encode(share),
            wrap_file_key(wrap_key, file_key)}}};
}

std::string X25519Recipient::text() const { return bech32::encode(recipient_part, key_); }

X25519Identity::X25519Identity(SecretKey key) : key_(std::move(key)) {
  libcrypto::x25519_public_key(*key_, public_key_);
}

std::optional<SecretBytes> X25519Identity::unwrap(std::span<const Stanza> stanzas,
                                                  Effort& effort) const {
  for (const Stanza& stanza : stanzas) {
    if (stanza.type() != x25519_type) {
      continue;
    }
    const X25519Fields fields = read_x25519_fields(stanza, 2);
    effort.spend(unwrap_us);
    SharedSecret shared_secret;
    const WipeOnExit wiped(shared_secret);
    if (!libcrypto::x25519({*key_, public_key_}, fields.share, shared_secret)) {
      throw corrupt("an X25519 share of small order");
    }
    WrapKey wrap_key;
    derive_wrap_key(shared_secret, fields.share, public_key_, wrap_key);
    if (auto file_key = unwrap_file_key(wrap_key, fields.wrapped_key)) {
      return file_key;
    }
  }
  return std::nullopt;
}

std::vector<SharedRecipient> X25519Identity::recipients() const {
  return {std::make_shared<X25519Recipient>(public_key_)};
}

SecretBytes X25519Identity::secret_text() const {
  SecretBytes text(bech32::text_length(identity_part));
  bech32::encode(identity_part, *key_, text);
  return text;
}

SharedIdentity generate_x25519() {
  X25519Identity::SecretKey key;
  random_bytes(*key);
  return std::make_shared<X25519Identity>(std::move(key));
}

void check_x25519(const Stanza& stanza) { (void)read_x25519_fields(stanza, 2); }

namespace {

// A kind of key that paes does not read.
struct OtherKey {
  std::string_view what;  // empty: not such a key
  const char* hint = "";
};

OtherKey other_key(std::string_view text) noexcept {
  if (text.starts_with("-----BEGIN") && text.find("PUBLIC KEY") != std::string_view::npos) {
    return {"a line of a public key in PEM",
            "ssh-keygen -i -m PKCS8 -f FILE, or with -m PEM, writes it as a line that paes reads"};
  }
  if (text.starts_with("-----BEGIN")) {
    return {"a line of a private key in PEM, which needs a file of its own"};
  }
  if (text.starts_with("---- BEGIN SSH2")) {
    return {"a line of a key in the form of RFC 4716",
            "ssh-keygen -i -f FILE writes it as a line that paes reads"};
  }
  if (text.starts_with("PuTTY-User-Key-File-")) {
    return {"a line of a key of PuTTY's",
            "puttygen FILE -O private-openssh, or public-openssh, writes it as paes reads it"};
  }
  if (text.starts_with("ssh-")) {  // a recipient of another kind
    return {"an SSH public key: give the file of the private key"};
  }
  return {};
}

// Why `text` is no key of the kind `part`. Never repeats the text, which may be a secret.
Error refusal(const std::string& name, std::string_view text, bech32::Decoded decoded,
              std::string_view part) {
  const auto key_error = [&](const std::string& why, const char* hint = "") {
    return Error(ErrorCode::usage, name + ": " + why, hint);
  };
  if (const OtherKey other = other_key(text); !other.what.empty()) {
    return key_error("is " + std::string(other.what), other.hint);
  }
  switch (decoded) {
    case bech32::Decoded::other_kind:
      return key_error("does not begin with " + std::string(part) + "1");
    case bech32::Decoded::bad_length:
      return key_error("is not " + std::to_string(bech32::text_length(part)) + " characters long");
    case bech32::Decoded::bad_character:
      return key_error("has a character that keys do not have");
    case bech32::Decoded::bad_checksum:
      return key_error("has a typing error: its checksum is wrong");
    default:
      return key_error("is not in its canonical spelling");
  }
}

SharedRecipient parse_x25519_recipient(std::string_view text, const std::string& name,
                                       const Prompts& /*prompts*/) {
  X25519PublicKey key;
  const auto decoded = bech32::decode(text, recipient_part, key);
  if (decoded != bech32::Decoded::good) {
    throw refusal(name, text, decoded, recipient_part);
  }
  return std::make_shared<X25519Recipient>(key, name);
}

SharedIdentity parse_x25519_identity(std::string_view text, const std::string& name,
                                     const Prompts& /*prompts*/) {
  X25519Identity::SecretKey key;
  const auto decoded = bech32::decode(text, identity_part, *key);
  if (decoded != bech32::Decoded::good) {
    throw refusal(name, text, decoded, identity_part);
  }
  return std::make_shared<X25519Identity>(std::move(key));
}

bool claims_all(std::string_view /*text*/) { return true; }

}  // namespace

extern const KeyKind kind_x25519 = {.claims_recipient = claims_all,
                                    .parse_recipient = parse_x25519_recipient,
                                    .claims_identity = claims_all,
                                    .parse_identity = parse_x25519_identity};

}  // namespace paes::age
