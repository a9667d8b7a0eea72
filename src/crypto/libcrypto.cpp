// SPDX-License-Identifier: Apache-2.0
#include "crypto/libcrypto.hpp"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>

#include <algorithm>
#include <cassert>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

#include "core/secret_heap.hpp"
#include "crypto/libcrypto_objects.hpp"

namespace paes::libcrypto {

namespace {

using Kdf = std::unique_ptr<EVP_KDF, FreeWith<EVP_KDF_free>>;
using KdfContext = std::unique_ptr<EVP_KDF_CTX, FreeWith<EVP_KDF_CTX_free>>;
using Mac = std::unique_ptr<EVP_MAC, FreeWith<EVP_MAC_free>>;
using MacContext = std::unique_ptr<EVP_MAC_CTX, FreeWith<EVP_MAC_CTX_free>>;
using Cipher = std::unique_ptr<EVP_CIPHER, FreeWith<EVP_CIPHER_free>>;
using Digest = std::unique_ptr<EVP_MD, FreeWith<EVP_MD_free>>;
using DigestContext = std::unique_ptr<EVP_MD_CTX, FreeWith<EVP_MD_CTX_free>>;
using CipherContext = std::unique_ptr<EVP_CIPHER_CTX, FreeWith<EVP_CIPHER_CTX_free>>;

EVP_KDF* kept_kdf(const char* name) {
  return kept<Kdf>(name, [name] { return EVP_KDF_fetch(nullptr, name, nullptr); });
}

EVP_MD* kept_digest(const char* name) {
  return kept<Digest>(name, [name] { return EVP_MD_fetch(nullptr, name, nullptr); });
}

[[nodiscard]] bool derive(EVP_KDF* kdf, const OSSL_PARAM* parameters, MutableBytes out) {
  const KdfContext context(EVP_KDF_CTX_new(kdf));
  return context != nullptr &&
         EVP_KDF_derive(context.get(), out.data(), out.size(), parameters) == 1;
}

void hkdf(const char* digest, int mode, Bytes key, Bytes salt, Bytes info, MutableBytes out) {
  static EVP_KDF* const kdf = kept_kdf(OSSL_KDF_NAME_HKDF);
  std::array parameters = {
      name_of(OSSL_KDF_PARAM_DIGEST, digest), OSSL_PARAM_construct_int(OSSL_KDF_PARAM_MODE, &mode),
      octets(OSSL_KDF_PARAM_KEY, key),        octets(OSSL_KDF_PARAM_INFO, info),
      octets(OSSL_KDF_PARAM_SALT, salt),      OSSL_PARAM_construct_end()};
  if (salt.empty()) {  // zeros as long as the digest, which RFC 5869 asks for
    parameters[4] = OSSL_PARAM_construct_end();
  }
  require(derive(kdf, parameters.data(), out), "HKDF");
}

void digest(const EVP_MD* algorithm, Bytes message, MutableBytes out) {
  assert(out.size() == static_cast<std::size_t>(EVP_MD_get_size(algorithm)));
  require(EVP_Digest(message.data(), message.size(), out.data(), nullptr, algorithm, nullptr) == 1,
          "digest");
}

// RFC 2104. libcrypto keeps less than a block of what is added, and wipes it with its state.
class HmacSha256 {
 public:
  explicit HmacSha256(Bytes key) {
    static EVP_MAC* const mac =
        kept<Mac>("HMAC", [] { return EVP_MAC_fetch(nullptr, "HMAC", nullptr); });
    context_.reset(EVP_MAC_CTX_new(mac));
    const std::array parameters = {name_of(OSSL_MAC_PARAM_DIGEST, "SHA256"),
                                   OSSL_PARAM_construct_end()};
    constexpr std::uint8_t nothing = 0;  // libcrypto does not take a null pointer for an empty key
    require(context_ != nullptr && EVP_MAC_init(context_.get(), key.empty() ? &nothing : key.data(),
                                                key.size(), parameters.data()) == 1,
            "HMAC");
  }

  void add(Bytes piece) {
    require(EVP_MAC_update(context_.get(), piece.data(), piece.size()) == 1, "HMAC");
  }

  // Called once, at the end.
  [[nodiscard]] std::array<std::uint8_t, hmac_sha256_bytes> tag() {
    std::array<std::uint8_t, hmac_sha256_bytes> tag;
    std::size_t written = 0;
    require(EVP_MAC_final(context_.get(), tag.data(), &written, tag.size()) == 1 &&
                written == tag.size(),
            "HMAC");
    return tag;
  }

 private:
  MacContext context_;
};

int length(std::size_t bytes) {
  assert(bytes <= (std::size_t{1} << 30));
  return static_cast<int>(bytes);
}

// Turns all of `in` into `out`; the context then needs only the call for the tag.
CipherContext chacha20_poly1305(bool encrypt, Bytes key, Bytes nonce, Bytes aad, Bytes in,
                                MutableBytes out) {
  assert(key.size() == 32 && nonce.size() == 12 && in.size() == out.size());
  constexpr const char* name = "ChaCha20-Poly1305";
  static const EVP_CIPHER* const cipher =
      kept<Cipher>(name, [] { return EVP_CIPHER_fetch(nullptr, name, nullptr); });
  const SecretAllocations secret;  // the context holds the key
  CipherContext context(EVP_CIPHER_CTX_new());
  int written = 0;
  require(context != nullptr &&
              EVP_CipherInit_ex2(context.get(), cipher, key.data(), nonce.data(), encrypt ? 1 : 0,
                                 nullptr) == 1 &&
              (aad.empty() || EVP_CipherUpdate(context.get(), nullptr, &written, aad.data(),
                                               length(aad.size())) == 1) &&
              (in.empty() || EVP_CipherUpdate(context.get(), out.data(), &written, in.data(),
                                              length(in.size())) == 1),
          "ChaCha20-Poly1305");
  return context;
}

Key private_key(const char* algorithm, Bytes secret_key) {
  assert(secret_key.size() == x25519_bytes);
  require_libcrypto();
  return Key(EVP_PKEY_new_raw_private_key_ex(nullptr, algorithm, nullptr, secret_key.data(),
                                             secret_key.size()));
}

// libcrypto computes a public key that it is not given.
Key key_of(const X25519Pair& pair) {
  assert(pair.secret_key.size() == x25519_bytes && pair.public_key.size() == x25519_bytes);
  require_libcrypto();
  const KeyContext context(EVP_PKEY_CTX_new_from_name(nullptr, "X25519", nullptr));
  std::array parameters = {octets(OSSL_PKEY_PARAM_PUB_KEY, pair.public_key),
                           octets(OSSL_PKEY_PARAM_PRIV_KEY, pair.secret_key),
                           OSSL_PARAM_construct_end()};
  EVP_PKEY* made = nullptr;
  require(context != nullptr && EVP_PKEY_fromdata_init(context.get()) == 1 &&
              EVP_PKEY_fromdata(context.get(), &made, EVP_PKEY_KEYPAIR, parameters.data()) == 1,
          "X25519");
  return Key(made);
}

void read_public_key(const char* algorithm, const Key& own, MutableBytes public_key) {
  assert(public_key.size() == x25519_bytes);
  std::size_t written = public_key.size();
  require(
      own != nullptr && EVP_PKEY_get_raw_public_key(own.get(), public_key.data(), &written) == 1,
      algorithm);
}

void* allocate(std::size_t bytes, const char* /*file*/, int /*line*/) {
  void* const secret = secret_heap::allocate(bytes);
  if (secret == nullptr && SecretAllocations::are_wanted()) {
    note_unlocked_secret();
  }
  return secret != nullptr ? secret : std::malloc(bytes);
}

void release(void* memory, const char* /*file*/, int /*line*/) {
  if (secret_heap::owns(memory)) {
    secret_heap::release(memory);
  } else {
    std::free(memory);
  }
}

void* reallocate(void* memory, std::size_t bytes, const char* file, int line) {
  if (!secret_heap::owns(memory)) {
    return std::realloc(memory, bytes);
  }
  // What was allocated as a secret stays one, even if it grows outside SecretAllocations.
  const SecretAllocations secret;
  void* const larger = allocate(bytes, file, line);
  if (larger != nullptr) {
    std::memcpy(larger, memory, std::min(bytes, secret_heap::size_of(memory)));
    secret_heap::release(memory);
  }
  return larger;
}

}  // namespace

void keep_keys_locked() noexcept { (void)CRYPTO_set_mem_functions(allocate, reallocate, release); }

void sha256(Bytes message, MutableBytes out) {
  static const EVP_MD* const algorithm = kept_digest("SHA2-256");
  digest(algorithm, message, out);
}

void sha512(Bytes message, MutableBytes out) {
  static const EVP_MD* const algorithm = kept_digest("SHA2-512");
  digest(algorithm, message, out);
}

void sha3_256(Bytes message, MutableBytes out) {
  static const EVP_MD* const algorithm = kept_digest("SHA3-256");
  digest(algorithm, message, out);
}

void shake256(Bytes message, MutableBytes out) {
  static const EVP_MD* const algorithm = kept_digest("SHAKE256");
  const DigestContext context(EVP_MD_CTX_new());
  require(context != nullptr && EVP_DigestInit_ex2(context.get(), algorithm, nullptr) == 1 &&
              EVP_DigestUpdate(context.get(), message.data(), message.size()) == 1 &&
              EVP_DigestFinalXOF(context.get(), out.data(), out.size()) == 1,
          "SHAKE256");
}

void hkdf_sha256(Bytes key_material, Bytes salt, Bytes info, MutableBytes out) {
  hkdf("SHA256", EVP_KDF_HKDF_MODE_EXTRACT_AND_EXPAND, key_material, salt, info, out);
}

void hkdf_extract_sha256(Bytes key_material, Bytes salt, MutableBytes out) {
  assert(out.size() == hmac_sha256_bytes);
  auto key = hmac_sha256(salt, key_material);  // libcrypto's HKDF would not wipe its salt
  const WipeOnExit wiped(key);
  std::copy(key.begin(), key.end(), out.begin());
}

void hkdf_expand_sha256(Bytes key, Bytes info, MutableBytes out) {
  hkdf("SHA256", EVP_KDF_HKDF_MODE_EXPAND_ONLY, key, {}, info, out);
}

void hkdf_expand_sha512(Bytes key, Bytes info, MutableBytes out) {
  hkdf("SHA512", EVP_KDF_HKDF_MODE_EXPAND_ONLY, key, {}, info, out);
}

std::array<std::uint8_t, hmac_sha256_bytes> hmac_sha256(Bytes key, Bytes message) {
  HmacSha256 hmac(key);
  hmac.add(message);
  return hmac.tag();
}

void pbkdf2_hmac(const char* digest, Bytes passphrase, Bytes salt, std::uint32_t iterations,
                 MutableBytes out) {
  static EVP_KDF* const kdf = kept_kdf(OSSL_KDF_NAME_PBKDF2);
  std::uint64_t count = iterations;
  // Turns off the lower bounds of SP 800-132: RFC 8018 has none, and 8 bytes of salt are below
  // them.
  int any_parameters = 1;
  const std::array parameters = {octets(OSSL_KDF_PARAM_PASSWORD, passphrase),
                                 octets(OSSL_KDF_PARAM_SALT, salt),
                                 OSSL_PARAM_construct_uint64(OSSL_KDF_PARAM_ITER, &count),
                                 name_of(OSSL_KDF_PARAM_DIGEST, digest),
                                 OSSL_PARAM_construct_int(OSSL_KDF_PARAM_PKCS5, &any_parameters),
                                 OSSL_PARAM_construct_end()};
  require(derive(kdf, parameters.data(), out), "PBKDF2");
}

void pbkdf2_once_sha256(Bytes passphrase, Bytes secret_salt, const std::function<void()>& check,
                        MutableBytes out) {
  // The work between two checks: about a millisecond. A tag costs a few more blocks than the salt.
  constexpr std::size_t step_bytes = std::size_t{1} << 20;
  constexpr std::size_t tag_cost_bytes = 1024;
  std::size_t stepped_bytes = 0;
  const auto step = [&](std::size_t bytes) {
    stepped_bytes += bytes;
    if (stepped_bytes >= step_bytes) {
      stepped_bytes = 0;
      if (check) {
        check();
      }
    }
  };
  for (std::uint32_t block = 1; !out.empty(); ++block) {
    HmacSha256 hmac(passphrase);
    for (Bytes rest = secret_salt; !rest.empty();) {
      const Bytes piece = rest.first(std::min(rest.size(), step_bytes));
      hmac.add(piece);
      rest = rest.subspan(piece.size());
      step(piece.size());
    }
    std::array<std::uint8_t, 4> number;
    store_be32(number.data(), block);
    hmac.add(number);
    auto tag = hmac.tag();
    const WipeOnExit wiped(tag);
    const std::size_t bytes = std::min(out.size(), tag.size());
    std::copy_n(tag.data(), bytes, out.data());
    out = out.subspan(bytes);
    step(tag_cost_bytes);
  }
}

void bytes_to_key(const char* name, Bytes passphrase, Bytes salt, MutableBytes out) {
  const auto algorithm =
      fetched<Digest>(name, [name] { return EVP_MD_fetch(nullptr, name, nullptr); });
  const SecretAllocations secret;
  const DigestContext context(EVP_MD_CTX_new());
  SecretBytes last(static_cast<std::size_t>(EVP_MD_get_size(algorithm.get())));
  Bytes before;
  while (!out.empty()) {
    require(context != nullptr &&
                EVP_DigestInit_ex2(context.get(), algorithm.get(), nullptr) == 1 &&
                EVP_DigestUpdate(context.get(), before.data(), before.size()) == 1 &&
                EVP_DigestUpdate(context.get(), passphrase.data(), passphrase.size()) == 1 &&
                EVP_DigestUpdate(context.get(), salt.data(), salt.size()) == 1 &&
                EVP_DigestFinal_ex(context.get(), last.data(), nullptr) == 1,
            name);
    before = last;
    const std::size_t bytes = std::min(out.size(), last.size());
    std::copy_n(last.data(), bytes, out.data());
    out = out.subspan(bytes);
  }
}

void chacha20_poly1305_seal(Bytes key, Bytes nonce, Bytes text, MutableBytes out, Bytes aad) {
  assert(out.size() == text.size() + chacha20_poly1305_tag_bytes);
  const auto context = chacha20_poly1305(true, key, nonce, aad, text, out.first(text.size()));
  std::uint8_t* const tag = out.data() + text.size();
  int nothing = 0;
  require(EVP_CipherFinal_ex(context.get(), tag, &nothing) == 1 &&
              EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_AEAD_GET_TAG,
                                  length(chacha20_poly1305_tag_bytes), tag) == 1,
          "ChaCha20-Poly1305");
}

bool chacha20_poly1305_open(Bytes key, Bytes nonce, Bytes sealed, MutableBytes out, Bytes aad) {
  assert(sealed.size() == out.size() + chacha20_poly1305_tag_bytes);
  const auto context = chacha20_poly1305(false, key, nonce, aad, sealed.first(out.size()), out);
  auto* const tag = const_cast<std::uint8_t*>(sealed.data() + out.size());  // which is only read
  require(EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_AEAD_SET_TAG,
                              length(chacha20_poly1305_tag_bytes), tag) == 1,
          "ChaCha20-Poly1305");
  int nothing = 0;
  if (EVP_CipherFinal_ex(context.get(), out.data() + out.size(), &nothing) != 1) {
    wipe(out);
    ERR_clear_error();
    return false;
  }
  return true;
}

bool aes_decrypt(const char* name, Bytes key, Bytes iv, Bytes sealed, Bytes tag, MutableBytes out) {
  assert(sealed.size() == out.size());
  const SecretAllocations secret;
  const auto cipher =
      fetched<Cipher>(name, [name] { return EVP_CIPHER_fetch(nullptr, name, nullptr); });
  const CipherContext context(EVP_CIPHER_CTX_new());
  int written = 0;
  int nothing = 0;
  require(
      context != nullptr && std::cmp_equal(EVP_CIPHER_get_key_length(cipher.get()), key.size()) &&
          std::cmp_equal(EVP_CIPHER_get_iv_length(cipher.get()), iv.size()) &&
          EVP_CipherInit_ex2(context.get(), cipher.get(), key.data(), iv.data(), 0, nullptr) == 1 &&
          EVP_CIPHER_CTX_set_padding(context.get(), 0) == 1 &&
          (tag.empty() ||
           EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_AEAD_SET_TAG, length(tag.size()),
                               const_cast<std::uint8_t*>(tag.data())) == 1) &&
          EVP_CipherUpdate(context.get(), out.data(), &written, sealed.data(),
                           length(sealed.size())) == 1,
      name);
  if (EVP_CipherFinal_ex(context.get(), out.data() + written, &nothing) != 1) {
    wipe(out);
    ERR_clear_error();
    return false;
  }
  return true;
}

bool x25519(const X25519Pair& pair, Bytes peer, MutableBytes shared_secret) {
  assert(peer.size() == x25519_bytes && shared_secret.size() == x25519_bytes);
  const Key own = key_of(pair);
  const Key other(
      EVP_PKEY_new_raw_public_key_ex(nullptr, "X25519", nullptr, peer.data(), peer.size()));
  const KeyContext context(own ? EVP_PKEY_CTX_new_from_pkey(nullptr, own.get(), nullptr) : nullptr);
  std::size_t written = shared_secret.size();
  require(other != nullptr && context != nullptr && EVP_PKEY_derive_init(context.get()) == 1 &&
              EVP_PKEY_derive_set_peer_ex(context.get(), other.get(), 0) == 1,
          "X25519");
  // With valid keys, the derivation fails only for an all-zero result. The bytes are checked as
  // well, for providers that leave this check to the caller.
  if (EVP_PKEY_derive(context.get(), shared_secret.data(), &written) != 1) {
    ERR_clear_error();
    return false;
  }
  return !equal_constant_time(shared_secret, std::array<std::uint8_t, x25519_bytes>{});
}

void x25519_public_key(Bytes secret_key, MutableBytes public_key) {
  read_public_key("X25519", private_key("X25519", secret_key), public_key);
}

void ed25519_public_key(Bytes secret_key, MutableBytes public_key) {
  read_public_key("ED25519", private_key("ED25519", secret_key), public_key);
}

}  // namespace paes::libcrypto
