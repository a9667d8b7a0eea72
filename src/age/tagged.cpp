// SPDX-License-Identifier: Apache-2.0
// Public keys of hardware: "age1tag1..." and "age1tagpq1..." (c2sp.org/age, "The tagged recipient
// types"). A stanza has a tag, from which the owner of the key sees that it is meant before the
// hardware is asked. The secret keys are in the hardware, and its plugin unwraps file keys.
#include <algorithm>
#include <array>

#include "age/hybrid_stanza.hpp"
#include "age/keys.hpp"
#include "age/plugin.hpp"
#include "age/tagged_stanza.hpp"
#include "crypto/hpke.hpp"
#include "crypto/libcrypto.hpp"
#include "crypto/ml_kem.hpp"
#include "crypto/p256.hpp"
#include "encoding/encodings.hpp"

namespace paes::age {

namespace {

using libcrypto::bytes_of;
using libcrypto::ml_kem_768_ciphertext_bytes;
using libcrypto::ml_kem_768_public_key_bytes;
using libcrypto::p256_compressed_bytes;
using libcrypto::p256_point_bytes;
using libcrypto::p256_secret_bytes;

constexpr std::string_view tagged_part = "age1tag";
constexpr std::string_view hybrid_part = "age1tagpq";
constexpr std::string_view hybrid_plugin_name = "tagpq";

using TaggedPublicKey = std::array<std::uint8_t, p256_compressed_bytes>;
// ML-KEM's part, then the point of P-256, uncompressed.
using HybridPublicKey = std::array<std::uint8_t, ml_kem_768_public_key_bytes + p256_point_bytes>;

std::string info_of(std::string_view type) { return "age-encryption.org/" + std::string(type); }

// The arguments of a stanza. `point` is the recipient's, in the form that its tag is made of.
std::string arguments_of(std::string_view type, Bytes encapsulation, Bytes point) {
  std::array<std::uint8_t, libcrypto::sha256_bytes> recipient;
  libcrypto::sha256(point, recipient);
  std::vector<std::uint8_t> named(encapsulation.begin(), encapsulation.end());
  named.insert(named.end(), recipient.begin(), recipient.begin() + recipient_tag_bytes);
  std::array<std::uint8_t, libcrypto::sha256_bytes> tag;
  libcrypto::hkdf_extract_sha256(named, bytes_of(info_of(type)), tag);
  return std::string(type) + " " + base64::encode(Bytes(tag).first(recipient_tag_bytes)) + " " +
         base64::encode(encapsulation);
}

Error not_a_key(const std::string& name) {
  return {ErrorCode::usage, name + ": is not a tagged key that anybody could have made"};
}

class TaggedRecipient final : public RecipientKey {
 public:
  TaggedRecipient(const TaggedPublicKey& key, const std::string& name) : key_(key) {
    if (!libcrypto::p256_uncompressed(key_, point_)) {
      throw not_a_key(name);
    }
  }

  [[nodiscard]] WrappedKey wrap(Bytes file_key, const WaitReady& /*wait*/) const override {
    std::array<std::uint8_t, p256_secret_bytes> ephemeral;
    std::array<std::uint8_t, p256_secret_bytes> exchanged;
    std::array<std::uint8_t, hpke::secret_bytes> secret;
    const WipeOnExit wiped(ephemeral);
    const WipeOnExit wiped_exchanged(exchanged);
    const WipeOnExit wiped_secret(secret);
    std::array<std::uint8_t, p256_point_bytes> share;
    libcrypto::p256_generate(ephemeral, share);
    if (!libcrypto::p256(ephemeral, point_, exchanged)) {
      throw not_a_key("recipient");
    }
    hpke::derive_secret(hpke::p256, exchanged, {share, point_}, secret);
    return {{{arguments_of(tagged_type, share, key_),
              hpke::seal(hpke::p256, secret, bytes_of(info_of(tagged_type)), file_key)}}};
  }
  [[nodiscard]] std::string text() const override { return bech32::encode(tagged_part, key_); }

 private:
  TaggedPublicKey key_;
  std::array<std::uint8_t, p256_point_bytes> point_;
};

class HybridTaggedRecipient final : public RecipientKey {
 public:
  HybridTaggedRecipient(const HybridPublicKey& key, const std::string& name) : key_(key) {
    std::array<std::uint8_t, p256_point_bytes> same;
    if (!libcrypto::p256_uncompressed(point(), same)) {
      throw not_a_key(name);
    }
  }

  [[nodiscard]] WrappedKey wrap(Bytes file_key, const WaitReady& /*wait*/) const override {
    std::array<std::uint8_t, p256_secret_bytes> ephemeral;
    std::array<std::uint8_t, p256_secret_bytes> exchanged;
    std::array<std::uint8_t, hpke::secret_bytes> ml_kem;
    std::array<std::uint8_t, hpke::secret_bytes> secret;
    const WipeOnExit wiped(ephemeral);
    const WipeOnExit wiped_exchanged(exchanged);
    const WipeOnExit wiped_ml_kem(ml_kem);
    const WipeOnExit wiped_secret(secret);
    std::array<std::uint8_t, ml_kem_768_ciphertext_bytes + p256_point_bytes> encapsulation;
    const MutableBytes share = MutableBytes(encapsulation).last(p256_point_bytes);
    libcrypto::p256_generate(ephemeral, share);
    if (!libcrypto::p256(ephemeral, point(), exchanged) ||
        !libcrypto::ml_kem_768_encapsulate(
            Bytes(key_).first(ml_kem_768_public_key_bytes),
            MutableBytes(encapsulation).first(ml_kem_768_ciphertext_bytes), ml_kem)) {
      throw not_a_key("recipient");
    }
    hpke::combine_secrets(hpke::mlkem768_p256, ml_kem, exchanged, {share, point()}, secret);
    return {{{arguments_of(hybrid_tagged_type, encapsulation, point()),
              hpke::seal(hpke::mlkem768_p256, secret, bytes_of(info_of(hybrid_tagged_type)),
                         file_key)}},
            {std::string(post_quantum_label)}};
  }
  [[nodiscard]] std::string text() const override { return bech32::encode(hybrid_part, key_); }

 private:
  [[nodiscard]] Bytes point() const noexcept { return Bytes(key_).last(p256_point_bytes); }

  HybridPublicKey key_;
};

bool is_hybrid(std::string_view text) { return text.starts_with("age1tagpq1"); }

template <std::size_t KeyBytes>
std::array<std::uint8_t, KeyBytes> decoded(std::string_view text, std::string_view human_part,
                                           const std::string& name) {
  std::array<std::uint8_t, KeyBytes> key;
  if (bech32::decode(text, human_part, key) != bech32::Decoded::good) {
    throw Error(ErrorCode::usage, name +
                                      ": is a tagged key with a typing error: it is cut or its "
                                      "checksum is wrong");
  }
  return key;
}

SharedRecipient parse_tagged_recipient(std::string_view text, const std::string& name,
                                       const Prompts& prompts) {
  if (!is_hybrid(text)) {
    return std::make_shared<TaggedRecipient>(
        decoded<p256_compressed_bytes>(text, tagged_part, name), name);
  }
  const auto key = decoded<std::tuple_size_v<HybridPublicKey>>(text, hybrid_part, name);
  if (!libcrypto::has_ml_kem_768()) {
    return plugin_recipient(hybrid_plugin_name, std::string(text), prompts);
  }
  return std::make_shared<HybridTaggedRecipient>(key, name);
}

}  // namespace

extern const KeyKind kind_tagged = {
    .claims_recipient =
        [](std::string_view text) { return text.starts_with("age1tag1") || is_hybrid(text); },
    .parse_recipient = parse_tagged_recipient};

}  // namespace paes::age
