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
#include <optional>
#include <utility>

#include "core/secret_heap.hpp"
#include "crypto/default_provider.hpp"

namespace paes::libcrypto {

namespace {

using Kdf = std::unique_ptr<EVP_KDF, FreeWith<EVP_KDF_free>>;
using KdfContext = std::unique_ptr<EVP_KDF_CTX, FreeWith<EVP_KDF_CTX_free>>;
using Cipher = std::unique_ptr<EVP_CIPHER, FreeWith<EVP_CIPHER_free>>;
using EvpDigest = std::unique_ptr<EVP_MD, FreeWith<EVP_MD_free>>;
using DigestContext = std::unique_ptr<EVP_MD_CTX, FreeWith<EVP_MD_CTX_free>>;
using CipherContext = std::unique_ptr<EVP_CIPHER_CTX, FreeWith<EVP_CIPHER_CTX_free>>;

constexpr std::size_t most_digest_bytes = sha512_bytes;

void hash(const Digest& digest, Bytes message, MutableBytes out) {
  Hash running(digest);
  running.add(message);
  running.finish(out);
}

// RFC 2104. What libcrypto holds of the key is locked in programs.
class Hmac {
 public:
  Hmac(const Digest& digest, Bytes key) : digest_(digest) {
    const SecretAllocations secret;
    std::array<std::uint8_t, most_block_bytes> padded{};
    const WipeOnExit wiped(padded);
    const MutableBytes block = MutableBytes(padded).first(digest.block_bytes);
    if (key.size() > block.size()) {
      hash(digest, key, block.first(digest.bytes));
    } else {
      std::copy(key.begin(), key.end(), block.begin());
    }
    mask(block, inner_mask);
    inner_.emplace(digest).add(block);
    mask(block, inner_mask ^ outer_mask);
    outer_.emplace(digest).add(block);
  }

  void add(Bytes piece) { inner_->add(piece); }

  // Called once, at the end.
  void finish(MutableBytes out) {
    std::array<std::uint8_t, most_digest_bytes> hashed;
    const WipeOnExit wiped(hashed);
    const MutableBytes message_hash = MutableBytes(hashed).first(digest_.bytes);
    inner_->finish(message_hash);
    outer_->add(message_hash);
    outer_->finish(out);
  }

 private:
  static constexpr std::size_t most_block_bytes = 128;
  static constexpr std::uint8_t inner_mask = 0x36;
  static constexpr std::uint8_t outer_mask = 0x5c;

  static void mask(MutableBytes block, std::uint8_t by) noexcept {
    for (std::uint8_t& byte : block) {
      byte = static_cast<std::uint8_t>(byte ^ by);
    }
  }

  const Digest& digest_;
  std::optional<Hash> inner_;
  std::optional<Hash> outer_;
};

// RFC 5869, section 2.3.
void expand(const Digest& digest, Bytes key, Bytes info, MutableBytes out) {
  std::array<std::uint8_t, most_digest_bytes> block;
  const WipeOnExit wiped(block);
  const MutableBytes derived = MutableBytes(block).first(digest.bytes);
  assert(out.size() <= 255 * digest.bytes);
  for (std::uint8_t number = 1; !out.empty(); ++number) {
    Hmac hmac(digest, key);
    if (number != 1) {
      hmac.add(derived);
    }
    hmac.add(info);
    hmac.add({&number, 1});
    hmac.finish(derived);
    const std::size_t bytes = std::min(out.size(), derived.size());
    std::copy_n(derived.data(), bytes, out.data());
    out = out.subspan(bytes);
  }
}

int length(std::size_t bytes) {
  assert(bytes <= (std::size_t{1} << 30));
  return static_cast<int>(bytes);
}

// What the provider makes of keys for X25519 (provider-keymgmt(7), provider-keyexch(7)).
struct ExchangeFunctions {
  ExchangeFunctions() {
    const ProviderFunctions keys(OSSL_OP_KEYMGMT, algorithm);
    make_key = keys.function<OSSL_FUNC_keymgmt_new_fn>(OSSL_FUNC_KEYMGMT_NEW);
    free_key = keys.function<OSSL_FUNC_keymgmt_free_fn>(OSSL_FUNC_KEYMGMT_FREE);
    import_key = keys.function<OSSL_FUNC_keymgmt_import_fn>(OSSL_FUNC_KEYMGMT_IMPORT);
    get_parameters = keys.function<OSSL_FUNC_keymgmt_get_params_fn>(OSSL_FUNC_KEYMGMT_GET_PARAMS);
    const ProviderFunctions exchange(OSSL_OP_KEYEXCH, algorithm);
    make = exchange.function<OSSL_FUNC_keyexch_newctx_fn>(OSSL_FUNC_KEYEXCH_NEWCTX);
    free = exchange.function<OSSL_FUNC_keyexch_freectx_fn>(OSSL_FUNC_KEYEXCH_FREECTX);
    init = exchange.function<OSSL_FUNC_keyexch_init_fn>(OSSL_FUNC_KEYEXCH_INIT);
    set_peer = exchange.function<OSSL_FUNC_keyexch_set_peer_fn>(OSSL_FUNC_KEYEXCH_SET_PEER);
    derive = exchange.function<OSSL_FUNC_keyexch_derive_fn>(OSSL_FUNC_KEYEXCH_DERIVE);
  }

  static constexpr const char* algorithm = "X25519";
  OSSL_FUNC_keymgmt_new_fn* make_key;
  OSSL_FUNC_keymgmt_free_fn* free_key;
  OSSL_FUNC_keymgmt_import_fn* import_key;
  OSSL_FUNC_keymgmt_get_params_fn* get_parameters;
  OSSL_FUNC_keyexch_newctx_fn* make;
  OSSL_FUNC_keyexch_freectx_fn* free;
  OSSL_FUNC_keyexch_init_fn* init;
  OSSL_FUNC_keyexch_set_peer_fn* set_peer;
  OSSL_FUNC_keyexch_derive_fn* derive;
};

const ExchangeFunctions& exchange() {
  static const ExchangeFunctions functions;
  return functions;
}

// Either key may be empty. If the public one is, libcrypto computes it.
MadeByProvider x25519_key(Bytes secret_key, Bytes public_key) {
  const SecretAllocations secret;
  MadeByProvider key(exchange().make_key(provider_context()), {exchange().free_key});
  std::array parameters = {OSSL_PARAM_construct_end(), OSSL_PARAM_construct_end(),
                           OSSL_PARAM_construct_end()};
  auto* next = parameters.data();
  if (!secret_key.empty()) {
    *next++ = octets(OSSL_PKEY_PARAM_PRIV_KEY, secret_key);
  }
  if (!public_key.empty()) {
    *next++ = octets(OSSL_PKEY_PARAM_PUB_KEY, public_key);
  }
  const int parts =
      secret_key.empty() ? OSSL_KEYMGMT_SELECT_PUBLIC_KEY : OSSL_KEYMGMT_SELECT_KEYPAIR;
  require(key != nullptr && exchange().import_key(key.get(), parts, parameters.data()) == 1,
          exchange().algorithm);
  return key;
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

void sha256(Bytes message, MutableBytes out) { hash(sha2_256(), message, out); }

void sha512(Bytes message, MutableBytes out) { hash(sha2_512(), message, out); }

void sha3_256(Bytes message, MutableBytes out) {
  static const Digest digest("SHA3-256", 32, 136);
  hash(digest, message, out);
}

void shake256(Bytes message, MutableBytes out) {
  static const EVP_MD* const algorithm =
      kept<EvpDigest>("SHAKE256", [] { return EVP_MD_fetch(own_context(), "SHAKE256", nullptr); });
  const DigestContext context(EVP_MD_CTX_new());
  require(context != nullptr && EVP_DigestInit_ex2(context.get(), algorithm, nullptr) == 1 &&
              EVP_DigestUpdate(context.get(), message.data(), message.size()) == 1 &&
              EVP_DigestFinalXOF(context.get(), out.data(), out.size()) == 1,
          "SHAKE256");
}

void hkdf_sha256(Bytes key_material, Bytes salt, Bytes info, MutableBytes out) {
  std::array<std::uint8_t, hmac_sha256_bytes> key;
  const WipeOnExit wiped(key);
  hkdf_extract_sha256(key_material, salt, key);
  expand(sha2_256(), key, info, out);
}

void hkdf_extract_sha256(Bytes key_material, Bytes salt, MutableBytes out) {
  assert(out.size() == hmac_sha256_bytes);
  Hmac hmac(sha2_256(), salt);  // an empty salt is zeros, as RFC 5869 asks for
  hmac.add(key_material);
  hmac.finish(out);
}

void hkdf_expand_sha256(Bytes key, Bytes info, MutableBytes out) {
  expand(sha2_256(), key, info, out);
}

void hkdf_expand_sha512(Bytes key, Bytes info, MutableBytes out) {
  expand(sha2_512(), key, info, out);
}

std::array<std::uint8_t, hmac_sha256_bytes> hmac_sha256(Bytes key, Bytes message) {
  Hmac hmac(sha2_256(), key);
  hmac.add(message);
  std::array<std::uint8_t, hmac_sha256_bytes> tag;
  hmac.finish(tag);
  return tag;
}

void pbkdf2_hmac(const char* digest, Bytes passphrase, Bytes salt, std::uint32_t iterations,
                 MutableBytes out) {
  static EVP_KDF* const kdf = kept<Kdf>(
      "PBKDF2", [] { return EVP_KDF_fetch(own_context(), OSSL_KDF_NAME_PBKDF2, nullptr); });
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
  const KdfContext context(EVP_KDF_CTX_new(kdf));
  require(context != nullptr &&
              EVP_KDF_derive(context.get(), out.data(), out.size(), parameters.data()) == 1,
          "PBKDF2");
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
    Hmac hmac(sha2_256(), passphrase);
    for (Bytes rest = secret_salt; !rest.empty();) {
      const Bytes piece = rest.first(std::min(rest.size(), step_bytes));
      hmac.add(piece);
      rest = rest.subspan(piece.size());
      step(piece.size());
    }
    std::array<std::uint8_t, 4> number;
    store_be32(number.data(), block);
    hmac.add(number);
    std::array<std::uint8_t, hmac_sha256_bytes> tag;
    const WipeOnExit wiped(tag);
    hmac.finish(tag);
    const std::size_t bytes = std::min(out.size(), tag.size());
    std::copy_n(tag.data(), bytes, out.data());
    out = out.subspan(bytes);
    step(tag_cost_bytes);
  }
}

void bytes_to_key(const char* name, Bytes passphrase, Bytes salt, MutableBytes out) {
  const auto algorithm =
      fetched<EvpDigest>(name, [name] { return EVP_MD_fetch(own_context(), name, nullptr); });
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
  const KeyedCipher cipher(chacha20_poly1305_cipher(), true, key);
  cipher.start(nonce);
  cipher.add_aad(aad);
  cipher.update(text, out.first(text.size()));
  cipher.finish(out.subspan(text.size()));
}

bool chacha20_poly1305_open(Bytes key, Bytes nonce, Bytes sealed, MutableBytes out, Bytes aad) {
  assert(sealed.size() == out.size() + chacha20_poly1305_tag_bytes);
  const KeyedCipher cipher(chacha20_poly1305_cipher(), false, key);
  cipher.start(nonce);
  cipher.add_aad(aad);
  cipher.update(sealed.first(out.size()), out);
  if (!cipher.has_tag(sealed.subspan(out.size()))) {
    wipe(out);
    return false;
  }
  return true;
}

bool aes_decrypt(const char* name, Bytes key, Bytes iv, Bytes sealed, Bytes tag, MutableBytes out) {
  assert(sealed.size() == out.size());
  const SecretAllocations secret;
  const auto cipher =
      fetched<Cipher>(name, [name] { return EVP_CIPHER_fetch(own_context(), name, nullptr); });
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
  assert(pair.secret_key.size() == x25519_bytes && pair.public_key.size() == x25519_bytes);
  assert(peer.size() == x25519_bytes && shared_secret.size() == x25519_bytes);
  const MadeByProvider own = x25519_key(pair.secret_key, pair.public_key);
  const MadeByProvider other = x25519_key({}, peer);
  const MadeByProvider context(exchange().make(provider_context()), {exchange().free});
  require(context != nullptr && exchange().init(context.get(), own.get(), nullptr) == 1 &&
              exchange().set_peer(context.get(), other.get()) == 1,
          exchange().algorithm);
  // With valid keys, the derivation fails only for an all-zero result. The bytes are checked as
  // well, for a libcrypto that leaves this check to the caller.
  std::size_t written = 0;
  if (exchange().derive(context.get(), shared_secret.data(), &written, shared_secret.size()) != 1) {
    ERR_clear_error();
    return false;
  }
  return !equal_constant_time(shared_secret, std::array<std::uint8_t, x25519_bytes>{});
}

void x25519_public_key(Bytes secret_key, MutableBytes public_key) {
  assert(secret_key.size() == x25519_bytes && public_key.size() == x25519_bytes);
  const MadeByProvider key = x25519_key(secret_key, {});
  std::array parameters = {octets(OSSL_PKEY_PARAM_PUB_KEY, public_key), OSSL_PARAM_construct_end()};
  require(exchange().get_parameters(key.get(), parameters.data()) == 1 &&
              parameters[0].return_size == public_key.size(),
          exchange().algorithm);
}

void ed25519_public_key(Bytes secret_key, MutableBytes public_key) {
  assert(secret_key.size() == x25519_bytes && public_key.size() == x25519_bytes);
  const Key key(EVP_PKEY_new_raw_private_key_ex(own_context(), "ED25519", nullptr,
                                                secret_key.data(), secret_key.size()));
  std::size_t written = public_key.size();
  require(
      key != nullptr && EVP_PKEY_get_raw_public_key(key.get(), public_key.data(), &written) == 1,
      "ED25519");
}

}  // namespace paes::libcrypto
