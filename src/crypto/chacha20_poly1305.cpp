// SPDX-License-Identifier: Apache-2.0
#include "crypto/chacha20_poly1305.hpp"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/params.h>

#include <cassert>
#include <cstring>
#include <utility>

#include "core/secret_heap.hpp"
#include "paes/error.hpp"

namespace paes::libcrypto {

namespace {

constexpr std::size_t tag_bytes = 16;
constexpr std::size_t nonce_bytes = 12;

void require(bool good) {
  if (!good) {
    ERR_clear_error();
    throw Error(ErrorCode::failure, "ChaCha20-Poly1305: libcrypto failed");
  }
}

// A fetch costs more than a chunk, so each algorithm is fetched once per process. If libcrypto
// could not initialise for lack of memory, any call into it would end the program.
const EVP_CIPHER* fetched_cipher(const char* name) {
  require(OSSL_LIB_CTX_get0_global_default() != nullptr);
  EVP_CIPHER* const cipher = EVP_CIPHER_fetch(nullptr, name, nullptr);
  require(cipher != nullptr);
  return cipher;
}

EVP_MAC* fetched_mac(const char* name) {
  require(OSSL_LIB_CTX_get0_global_default() != nullptr);
  EVP_MAC* const mac = EVP_MAC_fetch(nullptr, name, nullptr);
  require(mac != nullptr);
  return mac;
}

int length(std::size_t bytes) {
  assert(bytes <= (std::size_t{1} << 30));
  return static_cast<int>(bytes);
}

// Starts a new message under the same key.
void start(EVP_CIPHER_CTX* context, const std::uint8_t* nonce) {
  require(EVP_CipherInit_ex2(context, nullptr, nullptr, nonce, -1, nullptr) == 1);
}

void update(EVP_CIPHER_CTX* context, MutableBytes text) {
  int written = 0;
  require(text.empty() ||
          EVP_CipherUpdate(context, text.data(), &written, text.data(), length(text.size())) == 1);
}

}  // namespace

struct ChaCha20Poly1305::Contexts {
  explicit Contexts(Bytes key) {
    static const EVP_CIPHER* const both = fetched_cipher("ChaCha20-Poly1305");
    static const EVP_CIPHER* const stream = fetched_cipher("ChaCha20");
    static EVP_MAC* const poly1305 = fetched_mac("POLY1305");
    // The contexts hold the key or what was derived from it.
    const SecretAllocations secret;
    make(seal, both, key, 1);
    make(open, both, key, 0);
    make(keystream, stream, key, 1);
    mac = EVP_MAC_CTX_new(poly1305);
    if (seal == nullptr || open == nullptr || keystream == nullptr || mac == nullptr) {
      free();
      require(false);
    }
  }
  ~Contexts() { free(); }
  Contexts(const Contexts&) = delete;
  Contexts& operator=(const Contexts&) = delete;

  static void make(EVP_CIPHER_CTX*& context, const EVP_CIPHER* cipher, Bytes key, int encrypts) {
    context = EVP_CIPHER_CTX_new();
    if (context != nullptr &&
        EVP_CipherInit_ex2(context, cipher, key.data(), nullptr, encrypts, nullptr) != 1) {
      EVP_CIPHER_CTX_free(context);
      context = nullptr;
    }
  }

  void free() noexcept {
    EVP_CIPHER_CTX_free(seal);
    EVP_CIPHER_CTX_free(open);
    EVP_CIPHER_CTX_free(keystream);
    EVP_MAC_CTX_free(mac);
  }

  EVP_CIPHER_CTX* seal = nullptr;
  EVP_CIPHER_CTX* open = nullptr;
  EVP_CIPHER_CTX* keystream = nullptr;
  EVP_MAC_CTX* mac = nullptr;
};

ChaCha20Poly1305::ChaCha20Poly1305(Bytes key) {
  assert(key.size() == key_->size());
  std::memcpy(key_->data(), key.data(), key_->size());
}

ChaCha20Poly1305::~ChaCha20Poly1305() = default;

std::unique_ptr<ChaCha20Poly1305::Contexts> ChaCha20Poly1305::take() const {
  std::unique_ptr<Contexts> contexts = free_.take();
  return contexts ? std::move(contexts) : std::make_unique<Contexts>(*key_);
}

ChaCha20Poly1305::Worker::Worker(const ChaCha20Poly1305& cipher)
    : cipher_(cipher), contexts_(cipher.take()) {}

ChaCha20Poly1305::Worker::~Worker() { cipher_.free_.give_back(std::move(contexts_)); }

void ChaCha20Poly1305::Worker::seal(Bytes nonce, MutableBytes text, MutableBytes tag) const {
  assert(nonce.size() == nonce_bytes && tag.size() == tag_bytes);
  EVP_CIPHER_CTX* const context = contexts_->seal;
  int nothing = 0;
  start(context, nonce.data());
  update(context, text);
  require(EVP_CipherFinal_ex(context, tag.data(), &nothing) == 1 &&
          EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, length(tag_bytes), tag.data()) == 1);
}

bool ChaCha20Poly1305::Worker::open(Bytes nonce, MutableBytes text, Bytes tag) const {
  assert(nonce.size() == nonce_bytes && tag.size() == tag_bytes);
  EVP_CIPHER_CTX* const context = contexts_->open;
  int nothing = 0;
  start(context, nonce.data());
  update(context, text);
  require(EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, length(tag_bytes),
                              const_cast<std::uint8_t*>(tag.data())) == 1);  // only read
  std::uint8_t rest[tag_bytes];
  if (EVP_CipherFinal_ex(context, rest, &nothing) != 1) {
    wipe(text);
    ERR_clear_error();
    return false;
  }
  return true;
}

// RFC 8439, section 2.8. Poly1305's key is the beginning of block 0 of the keystream. Without
// associated data, the authenticated message is the ciphertext, zeros up to a multiple of 16 bytes,
// and both lengths.
bool ChaCha20Poly1305::Worker::verify(Bytes nonce, Bytes ciphertext, Bytes tag) const {
  assert(nonce.size() == nonce_bytes && tag.size() == tag_bytes);
  std::array<std::uint8_t, 16> block_0 = {};  // libcrypto's IV: the block's number, then the nonce
  std::memcpy(block_0.data() + 4, nonce.data(), nonce_bytes);
  std::array<std::uint8_t, 32> key = {};
  const WipeOnExit wiped_key(key);
  start(contexts_->keystream, block_0.data());
  update(contexts_->keystream, key);

  static constexpr std::array<std::uint8_t, 16> zeros = {};
  std::array<std::uint8_t, 16> lengths = {};
  for (unsigned i = 0; i < 8; ++i) {
    lengths[8 + i] = static_cast<std::uint8_t>(std::uint64_t{ciphertext.size()} >> (8 * i));
  }
  std::array<std::uint8_t, tag_bytes> right;
  const WipeOnExit wiped_tag(right);  // it would validate a forgery
  std::size_t written = 0;
  EVP_MAC_CTX* const mac = contexts_->mac;
  require(EVP_MAC_init(mac, key.data(), key.size(), nullptr) == 1 &&
          EVP_MAC_update(mac, ciphertext.data(), ciphertext.size()) == 1 &&
          EVP_MAC_update(mac, zeros.data(), -ciphertext.size() % zeros.size()) == 1 &&
          EVP_MAC_update(mac, lengths.data(), lengths.size()) == 1 &&
          EVP_MAC_final(mac, right.data(), &written, right.size()) == 1);
  return equal_constant_time(right, tag);
}

}  // namespace paes::libcrypto
