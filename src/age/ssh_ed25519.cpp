// SPDX-License-Identifier: Apache-2.0
#include "age/ssh_ed25519.hpp"

#include <algorithm>

#include "age/wrap.hpp"
#include "crypto/ed25519.hpp"
#include "crypto/libcrypto.hpp"
#include "encoding/encodings.hpp"

namespace paes::age {

namespace {

using libcrypto::bytes_of;

constexpr std::uint64_t unwrap_us = 100;
constexpr std::string_view label = "age-encryption.org/v1/ssh-ed25519";

Wire wire_of(const Ed25519PublicKey& key) {
  Wire wire;
  append_string(wire, bytes_of(ssh_ed25519_type));
  append_string(wire, key);
  return wire;
}

// Derives the key that wraps a file key for the SSH key `wire`, whose form on the Montgomery curve
// is `recipient`. False if `peer` is of small order.
[[nodiscard]] bool derive_wrap_key(const libcrypto::X25519Pair& own, const X25519PublicKey& peer,
                                   const X25519PublicKey& share, const X25519PublicKey& recipient,
                                   Bytes wire, WrapKey& wrap_key) {
  std::array<std::uint8_t, 32> product;
  std::array<std::uint8_t, 32> shared_secret;
  const WipeOnExit wiped_product(product);
  const WipeOnExit wiped(shared_secret);
  std::array<std::uint8_t, 32> tweak;  // public
  libcrypto::hkdf_sha256({}, wire, bytes_of(label), tweak);
  X25519PublicKey public_tweak;
  libcrypto::x25519_public_key(tweak, public_tweak);
  if (!libcrypto::x25519(own, peer, product) ||
      !libcrypto::x25519({tweak, public_tweak}, product, shared_secret)) {
    return false;
  }
  std::array<std::uint8_t, 64> salt;
  std::copy(share.begin(), share.end(), salt.begin());
  std::copy(recipient.begin(), recipient.end(), salt.begin() + 32);
  libcrypto::hkdf_sha256(shared_secret, salt, bytes_of(label), wrap_key.bytes);
  return true;
}

}  // namespace

SshEd25519Recipient::SshEd25519Recipient(const Ed25519PublicKey& key, const std::string& name)
    : wire_(wire_of(key)) {
  if (!ed25519::to_x25519(key, key_)) {
    throw Error(ErrorCode::usage, name + ": is not a point of Ed25519's curve");
  }
  if (has_small_order(key_)) {
    throw Error(ErrorCode::usage, name + ": is of small order: anybody could open the file");
  }
}

WrappedKey SshEd25519Recipient::wrap(Bytes file_key, const WaitReady& /*wait*/) const {
  std::array<std::uint8_t, 32> ephemeral{};
  const WipeOnExit wiped(ephemeral);
  random_bytes(ephemeral);
  X25519PublicKey share;
  libcrypto::x25519_public_key(ephemeral, share);
  WrapKey wrap_key;
  if (!derive_wrap_key({ephemeral, share}, key_, share, key_, wire_, wrap_key)) {
    throw Error(ErrorCode::usage, "recipient: is of small order");
  }
  return {{{std::string(ssh_ed25519_type) + " " + ssh_tag(wire_) + " " + base64::encode(share),
            wrap_file_key(wrap_key, file_key)}}};
}

std::string SshEd25519Recipient::text() const { return ssh_line(wire_); }

SshEd25519Identity::SshEd25519Identity(const Ed25519Seed& seed) {
  libcrypto::ed25519_public_key(*seed, public_key_);
  wire_ = wire_of(public_key_);
  // RFC 8032, section 5.1.5: the scalar is the first half, which X25519 clamps in the same way.
  std::array<std::uint8_t, libcrypto::sha512_bytes> hash;
  const WipeOnExit wiped(hash);
  libcrypto::sha512(*seed, hash);
  std::copy_n(hash.begin(), key_->size(), key_->begin());
  libcrypto::x25519_public_key(*key_, x25519_public_key_);
}

std::optional<SecretBytes> SshEd25519Identity::unwrap(std::span<const Stanza> stanzas,
                                                      Effort& effort) const {
  const std::string tag = ssh_tag(wire_);
  for (const Stanza& stanza : stanzas) {
    if (!is_for_ssh_key(stanza, ssh_ed25519_type, tag)) {
      continue;
    }
    const X25519Fields fields = read_x25519_fields(stanza, 3);
    effort.spend(unwrap_us);
    WrapKey wrap_key;
    if (!derive_wrap_key({*key_, x25519_public_key_}, fields.share, fields.share,
                         x25519_public_key_, wire_, wrap_key)) {
      throw corrupt("an ssh-ed25519 share of small order");
    }
    if (auto file_key = unwrap_file_key(wrap_key, fields.wrapped_key)) {
      return file_key;
    }
    effort.named_in_vain();
  }
  return std::nullopt;
}

void check_ssh_ed25519(const Stanza& stanza) { (void)read_x25519_fields(stanza, 3); }

std::vector<SharedRecipient> SshEd25519Identity::recipients() const {
  return {std::make_shared<SshEd25519Recipient>(public_key_)};
}

SecretBytes SshEd25519Identity::secret_text() const { refuse_ssh_secret_text(); }

namespace {

SharedRecipient recipient_of_wire(Bytes wire, const std::string& name) {
  WireReader reader(wire);
  const std::string_view type = reader.text();
  const Bytes key = reader.string();
  Ed25519PublicKey public_key;
  if (!reader.is_complete() || type != ssh_ed25519_type || key.size() != public_key.size()) {
    throw Error(ErrorCode::usage, name + ": is a damaged or incomplete SSH public key");
  }
  std::copy(key.begin(), key.end(), public_key.begin());
  return std::make_shared<SshEd25519Recipient>(public_key, name);
}

// OpenSSH writes the public key, then the seed followed by the public key.
SharedIdentity read_identity(WireReader& fields, const std::string& name) {
  const Bytes public_key = fields.string();
  const Bytes pair = fields.string();
  Ed25519Seed seed;
  if (!fields.is_good() || pair.size() != seed->size() + public_key.size() ||
      !equal_constant_time(pair.subspan(seed->size()), public_key)) {
    throw Error(ErrorCode::usage, name + ": is damaged: its ssh-ed25519 key is malformed");
  }
  std::copy_n(pair.begin(), seed->size(), seed->begin());
  return std::make_shared<SshEd25519Identity>(seed);
}

bool claims_recipient(std::string_view text) { return is_of_ssh_type(text, ssh_ed25519_type); }

SharedRecipient parse_recipient_line(std::string_view text, const std::string& name,
                                     const Prompts& /*prompts*/) {
  return recipient_of_wire(wire_of_line(text, ssh_ed25519_type, name), name);
}

}  // namespace

extern const SshType ssh_type_ed25519 = {ssh_ed25519_type, recipient_of_wire, read_identity};

extern const KeyKind kind_ssh_ed25519 = {.claims_recipient = claims_recipient,
                                         .parse_recipient = parse_recipient_line};

}  // namespace paes::age
