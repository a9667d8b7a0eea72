// SPDX-License-Identifier: Apache-2.0
#include "crypto/hpke.hpp"

#include <array>
#include <initializer_list>

#include "crypto/libcrypto.hpp"

namespace paes::hpke {

namespace {

using libcrypto::bytes_of;
using Hash = std::array<std::uint8_t, 32>;

constexpr std::uint16_t hkdf_sha256 = 1;
constexpr std::uint16_t chacha20_poly1305 = 3;
constexpr std::uint8_t mode_base = 0;

// Joins bytes, and wipes them at the end.
class JoinedBytes {
 public:
  JoinedBytes() = default;
  ~JoinedBytes() { wipe(bytes_); }
  JoinedBytes(const JoinedBytes&) = delete;
  JoinedBytes& operator=(const JoinedBytes&) = delete;

  JoinedBytes& add(Bytes more) {
    // A vector that grows would leave its old memory unwiped.
    std::vector<std::uint8_t> longer(bytes_.size() + more.size());
    std::copy(bytes_.begin(), bytes_.end(), longer.begin());
    std::copy(more.begin(), more.end(),
              longer.begin() + static_cast<std::ptrdiff_t>(bytes_.size()));
    wipe(bytes_);
    bytes_ = std::move(longer);
    return *this;
  }
  JoinedBytes& add(std::string_view text) { return add(bytes_of(text)); }
  JoinedBytes& add(std::uint16_t number) {
    const std::array<std::uint8_t, 2> bytes = {static_cast<std::uint8_t>(number >> 8),
                                               static_cast<std::uint8_t>(number)};
    return add(Bytes(bytes));
  }
  operator Bytes() const noexcept { return bytes_; }  // NOLINT: a view

 private:
  std::vector<std::uint8_t> bytes_;
};

// Section 4: the labels of a suite, or of a KEM by itself.
class Labels {
 public:
  Labels(std::string_view what, std::initializer_list<std::uint16_t> numbers) {
    id_.add(what);
    for (const std::uint16_t number : numbers) {
      id_.add(number);
    }
  }

  void extract(Bytes salt, std::string_view label, Bytes key_material, Hash& out) const {
    JoinedBytes labeled;
    labeled.add("HPKE-v1").add(id_).add(label).add(key_material);
    libcrypto::hkdf_extract_sha256(labeled, salt, out);
  }
  void expand(Bytes key, std::string_view label, Bytes info, MutableBytes out) const {
    JoinedBytes labeled;
    labeled.add(static_cast<std::uint16_t>(out.size()))
        .add("HPKE-v1")
        .add(id_)
        .add(label)
        .add(info);
    libcrypto::hkdf_expand_sha256(key, labeled, out);
  }

 private:
  JoinedBytes id_;
};

struct KeyAndNonce {
  std::array<std::uint8_t, 32> key;
  std::array<std::uint8_t, 12> nonce;
};

// The key schedule (section 5.1) without a pre-shared key, and the nonce of the first message.
void schedule(const Kem& kem, Bytes shared_secret, Bytes info, KeyAndNonce& derived) {
  const Labels suite("HPKE", {kem.id, hkdf_sha256, chacha20_poly1305});
  Hash psk_id_hash;
  Hash info_hash;
  suite.extract({}, "psk_id_hash", {}, psk_id_hash);
  suite.extract({}, "info_hash", info, info_hash);
  JoinedBytes context;
  context.add(Bytes(&mode_base, 1)).add(Bytes(psk_id_hash)).add(Bytes(info_hash));
  Hash secret;
  const WipeOnExit wiped(secret);
  suite.extract(shared_secret, "secret", {}, secret);
  suite.expand(secret, "key", context, derived.key);
  suite.expand(secret, "base_nonce", context, derived.nonce);
}

}  // namespace

void derive_secret(const Kem& kem, Bytes exchanged, const Exchange& exchange, MutableBytes secret) {
  const Labels labels("KEM", {kem.id});
  Hash key;
  const WipeOnExit wiped(key);
  labels.extract({}, "eae_prk", exchanged, key);
  JoinedBytes context;
  context.add(exchange.share).add(exchange.public_key);
  labels.expand(key, "shared_secret", context, secret);
}

void combine_secrets(const Kem& kem, Bytes ml_kem, Bytes exchanged, const Exchange& exchange,
                     MutableBytes secret) {
  JoinedBytes message;
  message.add(ml_kem).add(exchanged).add(exchange.share).add(exchange.public_key).add(kem.label);
  libcrypto::sha3_256(message, secret);
}

std::vector<std::uint8_t> seal(const Kem& kem, Bytes shared_secret, Bytes info, Bytes text) {
  KeyAndNonce derived;
  const WipeOnExit wiped(derived.key);
  schedule(kem, shared_secret, info, derived);
  std::vector<std::uint8_t> ciphertext(text.size() + tag_bytes);
  libcrypto::chacha20_poly1305_seal(derived.key, derived.nonce, text, ciphertext);
  return ciphertext;
}

bool open(const Kem& kem, Bytes shared_secret, Bytes info, Bytes ciphertext, MutableBytes text) {
  KeyAndNonce derived;
  const WipeOnExit wiped(derived.key);
  schedule(kem, shared_secret, info, derived);
  return libcrypto::chacha20_poly1305_open(derived.key, derived.nonce, ciphertext, text);
}

}  // namespace paes::hpke
