// SPDX-License-Identifier: Apache-2.0
#include "crypto/chacha20_poly1305.hpp"

#include <array>
#include <cassert>
#include <cstring>
#include <utility>

#include "core/secret_heap.hpp"
#include "crypto/default_provider.hpp"

namespace paes::libcrypto {

namespace {

constexpr std::size_t tag_bytes = 16;
constexpr std::size_t nonce_bytes = 12;

const ProviderCipher& chacha20_cipher() {
  static const ProviderCipher cipher("ChaCha20");
  return cipher;
}

// One-time authentication (RFC 8439, section 2.5).
class Poly1305 {
 public:
  Poly1305() : state_(nullptr, {functions().free}) {
    const SecretAllocations secret;
    state_.reset(functions().make(provider_context()));
    require(state_ != nullptr, name);
  }

  void start(Bytes key) const {
    require(functions().init(state_.get(), key.data(), key.size(), nullptr) == 1, name);
  }
  void add(Bytes piece) const {
    require(functions().update(state_.get(), piece.data(), piece.size()) == 1, name);
  }
  void finish(MutableBytes tag) const {
    std::size_t written = 0;
    require(functions().final(state_.get(), tag.data(), &written, tag.size()) == 1, name);
  }

 private:
  static constexpr const char* name = "POLY1305";

  struct Functions {
    Functions() {
      const ProviderFunctions found(OSSL_OP_MAC, name);
      make = found.function<OSSL_FUNC_mac_newctx_fn>(OSSL_FUNC_MAC_NEWCTX);
      free = found.function<OSSL_FUNC_mac_freectx_fn>(OSSL_FUNC_MAC_FREECTX);
      init = found.function<OSSL_FUNC_mac_init_fn>(OSSL_FUNC_MAC_INIT);
      update = found.function<OSSL_FUNC_mac_update_fn>(OSSL_FUNC_MAC_UPDATE);
      final = found.function<OSSL_FUNC_mac_final_fn>(OSSL_FUNC_MAC_FINAL);
    }

    OSSL_FUNC_mac_newctx_fn* make;
    OSSL_FUNC_mac_freectx_fn* free;
    OSSL_FUNC_mac_init_fn* init;
    OSSL_FUNC_mac_update_fn* update;
    OSSL_FUNC_mac_final_fn* final;
  };
  static const Functions& functions() {
    static const Functions found;
    return found;
  }

  MadeByProvider state_;
};

}  // namespace

struct ChaCha20Poly1305::Contexts {
  explicit Contexts(Bytes key)
      : seal(chacha20_poly1305_cipher(), true, key),
        open(chacha20_poly1305_cipher(), false, key),
        keystream(chacha20_cipher(), true, key) {}

  KeyedCipher seal;
  KeyedCipher open;
  KeyedCipher keystream;
  Poly1305 mac;
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
  const KeyedCipher& cipher = contexts_->seal;
  cipher.start(nonce);
  cipher.update(text, text);
  cipher.finish(tag);
}

bool ChaCha20Poly1305::Worker::open(Bytes nonce, MutableBytes text, Bytes tag) const {
  assert(nonce.size() == nonce_bytes && tag.size() == tag_bytes);
  const KeyedCipher& cipher = contexts_->open;
  cipher.start(nonce);
  cipher.update(text, text);
  if (!cipher.has_tag(tag)) {
    wipe(text);
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
  contexts_->keystream.start(block_0);
  contexts_->keystream.update(key, key);

  static constexpr std::array<std::uint8_t, 16> zeros = {};
  std::array<std::uint8_t, 16> lengths = {};
  for (unsigned i = 0; i < 8; ++i) {
    lengths[8 + i] = static_cast<std::uint8_t>(std::uint64_t{ciphertext.size()} >> (8 * i));
  }
  std::array<std::uint8_t, tag_bytes> right;
  const WipeOnExit wiped_tag(right);  // it would validate a forgery
  const Poly1305& mac = contexts_->mac;
  mac.start(key);
  mac.add(ciphertext);
  mac.add(Bytes(zeros).first(-ciphertext.size() % zeros.size()));
  mac.add(lengths);
  mac.finish(right);
  return equal_constant_time(right, tag);
}

}  // namespace paes::libcrypto
