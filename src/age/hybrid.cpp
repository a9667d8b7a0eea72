// SPDX-License-Identifier: Apache-2.0
#include "age/hybrid.hpp"

#include <algorithm>
#include <optional>

#include "age/hybrid_stanza.hpp"
#include "age/plugin.hpp"
#include "age/wrap.hpp"
#include "crypto/hpke.hpp"
#include "crypto/libcrypto.hpp"
#include "crypto/ml_kem.hpp"
#include "encoding/encodings.hpp"

namespace paes::age {

namespace {

using libcrypto::bytes_of;
using libcrypto::ml_kem_768_ciphertext_bytes;
using libcrypto::ml_kem_768_public_key_bytes;
using libcrypto::ml_kem_768_seed_bytes;
using libcrypto::x25519_bytes;

constexpr std::string_view recipient_part = "age1pq";
constexpr std::string_view identity_part = "AGE-SECRET-KEY-PQ-";
constexpr std::string_view plugin_name = "pq";
constexpr std::uint64_t unwrap_us = 200;
constexpr std::string_view info = "age-encryption.org/mlkem768x25519";

// ML-KEM's part, then X25519's.
using PublicKey = std::array<std::uint8_t, ml_kem_768_public_key_bytes + x25519_bytes>;
using SecretKey = Secret<std::array<std::uint8_t, 32>>;

// X-Wing (draft-connolly-cfrg-xwing-kem), which draft-ietf-hpke-pq calls MLKEM768-X25519. Both keys
// are expanded once, and not again for each file.
class ExpandedKey {
 public:
  explicit ExpandedKey(Bytes secret_key)
      : seeds_(seeds_of(secret_key)), ml_kem_(Bytes(*seeds_).first(ml_kem_768_seed_bytes)) {
    libcrypto::x25519_public_key(Bytes(*seeds_).last(x25519_bytes), x25519_public_key_);
  }

  [[nodiscard]] const libcrypto::MlKem768Key& ml_kem() const noexcept { return ml_kem_; }
  [[nodiscard]] libcrypto::X25519Pair x25519() const noexcept {
    return {Bytes(*seeds_).last(x25519_bytes), x25519_public_key_};
  }

 private:
  using Seeds = Secret<std::array<std::uint8_t, ml_kem_768_seed_bytes + x25519_bytes>>;
  static Seeds seeds_of(Bytes secret_key) {
    Seeds seeds;
    libcrypto::shake256(secret_key, *seeds);
    return seeds;
  }

  Seeds seeds_;
  libcrypto::MlKem768Key ml_kem_;
  std::array<std::uint8_t, x25519_bytes> x25519_public_key_;
};

struct SharedSecret {
  SharedSecret() = default;
  ~SharedSecret() {
    wipe(ml_kem);
    wipe(x25519);
    wipe(combined);
  }
  SharedSecret(const SharedSecret&) = delete;
  SharedSecret& operator=(const SharedSecret&) = delete;

  void combine(Bytes x25519_share, Bytes x25519_public_key) {
    hpke::combine_secrets(hpke::mlkem768_x25519, ml_kem, x25519, {x25519_share, x25519_public_key},
                          combined);
  }

  std::array<std::uint8_t, 32> ml_kem;
  std::array<std::uint8_t, 32> x25519;
  std::array<std::uint8_t, 32> combined;
};

class HybridRecipient final : public RecipientKey {
 public:
  explicit HybridRecipient(const PublicKey& key) : key_(key) {}

  [[nodiscard]] WrappedKey wrap(Bytes file_key, const WaitReady& wait) const override;
  [[nodiscard]] std::string text() const override;

 private:
  PublicKey key_;
};

class HybridIdentity final : public IdentityKey {
 public:
  // `prompts` are for the plugin that replaces a libcrypto without ML-KEM.
  explicit HybridIdentity(SecretKey key, const Prompts& prompts = {}) : key_(std::move(key)) {
    if (libcrypto::has_ml_kem_768()) {
      expanded_.emplace(*key_);
    } else {
      plugin_ = plugin_identity(plugin_name, text_as("AGE-PLUGIN-PQ-"), prompts);
    }
  }

  [[nodiscard]] std::optional<SecretBytes> unwrap(std::span<const Stanza> stanzas,
                                                  Effort& effort) const override;
  [[nodiscard]] std::vector<SharedRecipient> recipients() const override;
  [[nodiscard]] SecretBytes secret_text() const override { return text_as(identity_part); }

 private:
  [[nodiscard]] SecretBytes text_as(std::string_view human_part) const {
    SecretBytes text(bech32::text_length(human_part));
    bech32::encode(human_part, *key_, text);
    return text;
  }

  SecretKey key_;
  std::optional<ExpandedKey> expanded_;  // empty if the plugin does the work
  SharedIdentity plugin_;                // else null
};

WrappedKey HybridRecipient::wrap(Bytes file_key, const WaitReady& /*wait*/) const {
  HybridEncapsulation encapsulation;
  const Bytes their_x25519 = Bytes(key_).last(x25519_bytes);
  const MutableBytes share = MutableBytes(encapsulation).last(x25519_bytes);
  SharedSecret secret;
  std::array<std::uint8_t, 32> ephemeral{};
  const WipeOnExit wiped(ephemeral);
  random_bytes(ephemeral);
  libcrypto::x25519_public_key(ephemeral, share);
  if (!libcrypto::x25519({ephemeral, share}, their_x25519, secret.x25519) ||
      !libcrypto::ml_kem_768_encapsulate(
          Bytes(key_).first(ml_kem_768_public_key_bytes),
          MutableBytes(encapsulation).first(ml_kem_768_ciphertext_bytes), secret.ml_kem)) {
    throw Error(ErrorCode::usage,
                "recipient: is not a post-quantum key that anybody could have made");
  }
  secret.combine(share, their_x25519);
  return {{{std::string(hybrid_type) + " " + base64::encode(encapsulation),
            hpke::seal(hpke::mlkem768_x25519, secret.combined, bytes_of(info), file_key)}},
          {std::string(post_quantum_label)}};
}

std::string HybridRecipient::text() const { return bech32::encode(recipient_part, key_); }

std::optional<SecretBytes> HybridIdentity::unwrap(std::span<const Stanza> stanzas,
                                                  Effort& effort) const {
  const bool has_one = std::any_of(stanzas.begin(), stanzas.end(), [](const Stanza& stanza) {
    return stanza.type() == hybrid_type;
  });
  if (!has_one) {
    return std::nullopt;
  }
  if (plugin_) {
    return plugin_->unwrap(stanzas, effort);
  }
  for (const Stanza& stanza : stanzas) {
    if (stanza.type() != hybrid_type) {
      continue;
    }
    const HybridStanza fields = read_hybrid(stanza);
    effort.spend(unwrap_us);
    SharedSecret secret;
    const Bytes share = Bytes(fields.encapsulation).last(x25519_bytes);
    if (!libcrypto::x25519(expanded_->x25519(), share, secret.x25519)) {
      throw corrupt("an X25519 share of small order");
    }
    expanded_->ml_kem().decapsulate(Bytes(fields.encapsulation).first(ml_kem_768_ciphertext_bytes),
                                    secret.ml_kem);
    secret.combine(share, expanded_->x25519().public_key);
    SecretBytes file_key(file_key_bytes);
    if (hpke::open(hpke::mlkem768_x25519, secret.combined, bytes_of(info), fields.wrapped,
                   file_key)) {
      return file_key;
    }
  }
  return std::nullopt;
}

std::vector<SharedRecipient> HybridIdentity::recipients() const {
  if (plugin_) {
    return plugin_->recipients();
  }
  PublicKey key;
  expanded_->ml_kem().public_key(MutableBytes(key).first(ml_kem_768_public_key_bytes));
  const Bytes x25519 = expanded_->x25519().public_key;
  std::copy(x25519.begin(), x25519.end(), key.begin() + ml_kem_768_public_key_bytes);
  return {std::make_shared<HybridRecipient>(key)};
}

Error misspelt(const std::string& name) {
  return {ErrorCode::usage,
          name + ": is a post-quantum key with a typing error: it is cut or its checksum is wrong"};
}

SharedRecipient parse_hybrid_recipient(std::string_view text, const std::string& name,
                                       const Prompts& prompts) {
  PublicKey key;
  if (bech32::decode(text, recipient_part, key) != bech32::Decoded::good) {
    throw misspelt(name);
  }
  if (!libcrypto::has_ml_kem_768()) {
    return plugin_recipient(plugin_name, std::string(text), prompts);
  }
  return std::make_shared<HybridRecipient>(key);
}

SharedIdentity parse_hybrid_identity(std::string_view text, const std::string& name,
                                     const Prompts& prompts) {
  SecretKey key;
  if (bech32::decode(text, identity_part, *key) != bech32::Decoded::good) {
    throw misspelt(name);
  }
  return std::make_shared<HybridIdentity>(std::move(key), prompts);
}

}  // namespace

SharedIdentity generate_hybrid() {
  if (!libcrypto::has_ml_kem_768()) {
    throw Error(ErrorCode::failure, "keygen: this libcrypto has no ML-KEM-768",
                "install OpenSSL 3.5 or later, or use age-keygen -pq of age 1.3");
  }
  SecretKey key;
  random_bytes(*key);
  return std::make_shared<HybridIdentity>(std::move(key));
}

extern const KeyKind kind_hybrid = {
    [](std::string_view text) { return text.starts_with("age1pq1"); }, parse_hybrid_recipient,
    [](std::string_view text) { return text.starts_with("AGE-SECRET-KEY-PQ-1"); },
    parse_hybrid_identity};

}  // namespace paes::age
