#include "format/age.hpp"

#include <algorithm>
#include <array>

#include "format/age_header.hpp"
#include "format/age_stream.hpp"
#include "format/container.hpp"
#include "format/libcrypto.hpp"
#include "paes/error.hpp"

namespace paes::age {

namespace {

using libcrypto::bytes_of;
using Key = std::array<std::uint8_t, 32>;

constexpr std::array<std::uint8_t, 12> wrap_nonce{};  // zero, because a wrap key is used once

// The key that wraps a file key for `recipient`. False if `peer` is of small order.
[[nodiscard]] bool derive_x25519_wrap_key(Bytes secret_key, Bytes peer, Bytes share,
                                          Bytes recipient, Key& wrap_key) {
  Key shared_secret;
  const WipeOnExit wiped(shared_secret);
  if (!libcrypto::x25519(secret_key, peer, shared_secret)) {
    return false;
  }
  std::array<std::uint8_t, 64> salt;
  std::copy(share.begin(), share.end(), salt.begin());
  std::copy(recipient.begin(), recipient.end(), salt.begin() + 32);
  libcrypto::hkdf_sha256(shared_secret, salt, bytes_of("age-encryption.org/v1/X25519"), wrap_key);
  return true;
}

[[nodiscard]] SecretBytes scrypt_wrap_key(Bytes passphrase, Bytes salt, unsigned work_factor,
                                          const WaitReadable& wait) {
  constexpr std::string_view label = "age-encryption.org/v1/scrypt";
  std::array<std::uint8_t, label.size() + 16> labelled;
  std::copy(label.begin(), label.end(), labelled.begin());
  std::copy(salt.begin(), salt.end(), labelled.begin() + label.size());
  return derive_apart(
      passphrase, labelled, Key{}.size(),
      [work_factor](Bytes secret, Bytes salted, MutableBytes out) {
        libcrypto::scrypt(secret, salted, work_factor, out);
      },
      wait);
}

X25519Stanza wrap_for(const X25519Recipient& recipient, Bytes file_key) {
  const X25519Identity ephemeral = generate_identity();
  const X25519Recipient share = recipient_of(ephemeral);
  X25519Stanza stanza;
  std::copy_n(share.public_key, stanza.share.size(), stanza.share.begin());
  Key wrap_key;
  const WipeOnExit wiped(wrap_key);
  if (!derive_x25519_wrap_key(ephemeral->secret_key, recipient.public_key, stanza.share,
                              recipient.public_key, wrap_key)) {
    throw Error(ErrorCode::usage, "recipient: is of small order: anybody could open the file");
  }
  libcrypto::chacha20_poly1305_seal(wrap_key, wrap_nonce, file_key, stanza.wrapped_key);
  return stanza;
}

ScryptStanza wrap_under(Bytes passphrase, unsigned work_factor, Bytes file_key,
                        const WaitReadable& wait) {
  ScryptStanza stanza;
  random_bytes(stanza.salt);
  stanza.work_factor = work_factor;
  const SecretBytes wrap_key = scrypt_wrap_key(passphrase, stanza.salt, work_factor, wait);
  libcrypto::chacha20_poly1305_seal(wrap_key, wrap_nonce, file_key, stanza.wrapped_key);
  return stanza;
}

std::array<std::uint8_t, mac_bytes> header_mac(Bytes file_key, Bytes authenticated) {
  Key key;
  const WipeOnExit wiped(key);
  libcrypto::hkdf_sha256(file_key, {}, bytes_of("header"), key);
  return libcrypto::hmac_sha256(key, authenticated);
}

// `header` holds the version line and the stanzas.
std::vector<std::uint8_t> complete(std::string header, Bytes file_key, Bytes payload) {
  header.append(mac_mark);
  append_mac(header, header_mac(file_key, bytes_of(header)));
  container::check_envelope_bytes(header.size() + payload.size());
  std::vector<std::uint8_t> file(header.begin(), header.end());
  file.insert(file.end(), payload.begin(), payload.end());
  return file;
}

SecretBytes random_file_key() {
  SecretBytes file_key(file_key_bytes);
  random_bytes(file_key);
  return file_key;
}

SecretBytes unwrap_with_passphrase(const ScryptStanza& stanza, const Credentials& credentials) {
  if (stanza.work_factor > credentials.max_work_factor) {
    throw Error(
        ErrorCode::usage,
        "envelope: the passphrase's work factor " + std::to_string(stanza.work_factor) +
            " is above the limit of " + std::to_string(credentials.max_work_factor),
        stanza.work_factor > highest_max_work_factor
            ? ""
            : "if you trust the file: --max-work-factor " + std::to_string(stanza.work_factor));
  }
  if (!credentials.ask_passphrase) {
    throw Error(ErrorCode::wrong_key, "envelope: needs a passphrase");
  }
  const SecretBytes passphrase = credentials.ask_passphrase();
  const SecretBytes wrap_key =
      scrypt_wrap_key(passphrase, stanza.salt, stanza.work_factor, credentials.wait);
  SecretBytes file_key(file_key_bytes);
  if (!libcrypto::chacha20_poly1305_open(wrap_key, wrap_nonce, stanza.wrapped_key, file_key)) {
    throw Error(ErrorCode::wrong_key, "envelope: the passphrase is wrong");
  }
  return file_key;
}

SecretBytes unwrap_with_identities(const ParsedFile& file,
                                   std::span<const X25519Identity> identities) {
  SecretBytes file_key(file_key_bytes);
  for (const X25519Identity& identity : identities) {
    const X25519Recipient recipient = recipient_of(identity);
    for (const Stanza& stanza : file.stanzas) {
      if (stanza.type() != x25519_type) {
        continue;
      }
      const X25519Stanza fields = read_x25519(stanza);
      Key wrap_key;
      const WipeOnExit wiped(wrap_key);
      if (!derive_x25519_wrap_key(identity->secret_key, fields.share, fields.share,
                                  recipient.public_key, wrap_key)) {
        throw Error(ErrorCode::corrupt, "envelope: an X25519 share of small order");
      }
      if (libcrypto::chacha20_poly1305_open(wrap_key, wrap_nonce, fields.wrapped_key, file_key)) {
        return file_key;
      }
    }
  }
  if (identities.empty()) {
    throw Error(ErrorCode::wrong_key, "envelope: needs an identity",
                "give the secret key's file with -i");
  }
  throw Error(ErrorCode::wrong_key, "envelope: no identity given opens it");
}

// The file key, after the header has been authenticated with it.
SecretBytes open_header(const ParsedFile& file, const Credentials& credentials) {
  const Stanza& first = file.stanzas.front();  // scrypt stands alone
  SecretBytes file_key = first.type() == scrypt_type
                             ? unwrap_with_passphrase(read_scrypt(first), credentials)
                             : unwrap_with_identities(file, credentials.identities);
  if (!equal_constant_time(header_mac(file_key, file.authenticated), file.mac)) {
    throw Error(ErrorCode::corrupt, "envelope: its header was changed (the MAC is wrong)");
  }
  return file_key;
}

SecretBytes open_authentic_payload(const ParsedFile& file, Bytes file_key) {
  auto plaintext = open_payload(file_key, file.payload);
  if (!plaintext) {
    throw Error(ErrorCode::corrupt, "envelope: its payload is damaged or truncated");
  }
  return std::move(*plaintext);
}

}  // namespace

std::vector<std::uint8_t> seal_to_recipients(std::span<const X25519Recipient> recipients,
                                             Bytes plaintext) {
  if (recipients.empty()) {
    throw Error(ErrorCode::usage, "recipients: none given");
  }
  const SecretBytes file_key = random_file_key();
  std::string header = version_line();
  for (const X25519Recipient& recipient : recipients) {
    append_stanza(header, wrap_for(recipient, file_key));
  }
  return complete(std::move(header), file_key, seal_payload(file_key, plaintext));
}

std::vector<std::uint8_t> seal_to_passphrase(Bytes passphrase, Bytes plaintext,
                                             unsigned work_factor, const WaitReadable& wait) {
  if (passphrase.empty()) {
    throw Error(ErrorCode::usage, "passphrase: is empty");
  }
  const SecretBytes file_key = random_file_key();
  std::string header = version_line();
  append_stanza(header, wrap_under(passphrase, work_factor, file_key, wait));
  return complete(std::move(header), file_key, seal_payload(file_key, plaintext));
}

Summary summarize(Bytes envelope) {
  Summary summary;
  for (const Stanza& stanza : parse_file(envelope).stanzas) {
    const bool asks_work = stanza.type() == scrypt_type;
    summary.stanzas.push_back(
        {std::string(stanza.type()), asks_work ? read_scrypt(stanza).work_factor : 0});
  }
  return summary;
}

SecretBytes open(Bytes envelope, const Credentials& credentials) {
  const ParsedFile file = parse_file(envelope);
  const SecretBytes file_key = open_header(file, credentials);
  return open_authentic_payload(file, file_key);
}

std::vector<std::uint8_t> add_recipients(Bytes envelope, const Credentials& credentials,
                                         std::span<const X25519Recipient> recipients) {
  const ParsedFile file = parse_file(envelope);
  if (file.stanzas.front().type() == scrypt_type) {
    throw Error(ErrorCode::usage,
                "envelope: it has a passphrase, next to which age allows no recipient",
                "replace the passphrase with recipients, without --add");
  }
  const SecretBytes file_key = open_header(file, credentials);
  (void)open_authentic_payload(file, file_key);  // refuses a damaged payload
  const Bytes kept = file.authenticated.first(file.authenticated.size() - mac_mark.size());
  std::string header(kept.begin(), kept.end());
  for (const X25519Recipient& recipient : recipients) {
    append_stanza(header, wrap_for(recipient, file_key));
  }
  return complete(std::move(header), file_key, file.payload);
}

}  // namespace paes::age
