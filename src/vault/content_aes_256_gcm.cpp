// SPDX-License-Identifier: Apache-2.0
// AES-256-GCM (SP 800-38D) with IVs of 16 bytes: IV, ciphertext, tag.
#include <cassert>
#include <cstring>

#include "message/gcm.hpp"
#include "vault/content_cipher.hpp"

namespace paes::vault {

namespace {

constexpr BlockLayout gcm_layout = {.iv_bytes = 16};

class Aes256Gcm final : public ContentKey {
 public:
  Aes256Gcm(Bytes key, const Kernel& kernel) : key_(key, kernel) { assert(key.size() == 32); }

  [[nodiscard]] BlockLayout layout() const noexcept override { return gcm_layout; }

  void seal(const BlockPlace& place, Bytes iv, Bytes text, MutableBytes sealed) const override {
    assert(iv.size() == gcm_layout.iv_bytes && !text.empty() &&
           sealed.size() == text.size() + gcm_layout.overhead());
    std::memcpy(sealed.data(), iv.data(), iv.size());
    key_.seal(iv, AssociatedData(place), text, sealed.subspan(iv.size(), text.size()),
              sealed.last(tag_bytes));
  }

  [[nodiscard]] bool open(const BlockPlace& place, Bytes sealed, MutableBytes text) const override {
    assert(sealed.size() == text.size() + gcm_layout.overhead());
    return key_.open(sealed.first(gcm_layout.iv_bytes), AssociatedData(place),
                     sealed.subspan(gcm_layout.iv_bytes, text.size()), text,
                     sealed.last(tag_bytes));
  }

 private:
  GcmKey key_;
};

}  // namespace

std::unique_ptr<ContentKey> make_aes_256_gcm(Bytes key, const Kernel& kernel) {
  return std::make_unique<Aes256Gcm>(key, kernel);
}

}  // namespace paes::vault
