// SPDX-License-Identifier: Apache-2.0
// XChaCha20-Poly1305 (draft-irtf-cfrg-xchacha-03): IV of 24 bytes, ciphertext, tag. The first 16
// bytes of the IV derive a key of ChaCha20-Poly1305; the others are its nonce.
#include <cassert>
#include <cstring>

#include "core/secret.hpp"
#include "crypto/hchacha20.hpp"
#include "crypto/libcrypto.hpp"
#include "vault/content_cipher.hpp"

namespace paes::vault {

namespace {

constexpr BlockLayout xchacha_layout = {.iv_bytes = 24};
constexpr std::size_t key_bytes = 32;
constexpr std::size_t derivation_bytes = 16;  // of the IV

// The key and the nonce of one message.
struct MessageKey {
  MessageKey(Bytes key, Bytes iv) noexcept {
    hchacha20(key, iv.first(derivation_bytes), subkey);
    std::memcpy(nonce.data() + 4, iv.data() + derivation_bytes, iv.size() - derivation_bytes);
  }
  ~MessageKey() { wipe(subkey); }
  MessageKey(const MessageKey&) = delete;
  MessageKey& operator=(const MessageKey&) = delete;

  std::array<std::uint8_t, key_bytes> subkey;
  std::array<std::uint8_t, 12> nonce = {};
};

class XChaCha20Poly1305 final : public ContentKey {
 public:
  explicit XChaCha20Poly1305(Bytes key) {
    assert(key.size() == key_->size());
    std::memcpy(key_->data(), key.data(), key_->size());
  }

  [[nodiscard]] BlockLayout layout() const noexcept override { return xchacha_layout; }

  void seal(const BlockPlace& place, Bytes iv, Bytes text, MutableBytes sealed) const override {
    assert(iv.size() == xchacha_layout.iv_bytes && !text.empty() &&
           sealed.size() == text.size() + xchacha_layout.overhead());
    std::memcpy(sealed.data(), iv.data(), iv.size());
    const MessageKey message(*key_, iv);
    libcrypto::chacha20_poly1305_seal(message.subkey, message.nonce, text,
                                      sealed.subspan(iv.size()), AssociatedData(place));
  }

  [[nodiscard]] bool open(const BlockPlace& place, Bytes sealed, MutableBytes text) const override {
    assert(sealed.size() == text.size() + xchacha_layout.overhead());
    const MessageKey message(*key_, sealed.first(xchacha_layout.iv_bytes));
    return libcrypto::chacha20_poly1305_open(message.subkey, message.nonce,
                                             sealed.subspan(xchacha_layout.iv_bytes), text,
                                             AssociatedData(place));
  }

 private:
  Secret<std::array<std::uint8_t, key_bytes>> key_;
};

}  // namespace

std::unique_ptr<ContentKey> make_xchacha20_poly1305(Bytes key, const Kernel& /*kernel*/) {
  return std::make_unique<XChaCha20Poly1305>(key);
}

}  // namespace paes::vault
