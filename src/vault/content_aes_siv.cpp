// SPDX-License-Identifier: Apache-2.0
// AES-SIV (RFC 5297) with two keys of AES-256: IV of 16 bytes, tag, ciphertext. S2V takes the
// associated data, then the IV as the nonce (section 3), then the text.
#include <cassert>
#include <cstring>

#include "crypto/aes_siv.hpp"
#include "vault/content_cipher.hpp"

namespace paes::vault {

namespace {

constexpr BlockLayout siv_layout = {.iv_bytes = 16};
static_assert(libcrypto::aes_siv_tag_bytes == tag_bytes);

class AesSivKey final : public ContentKey {
 public:
  explicit AesSivKey(Bytes key) : key_(key) {}

  [[nodiscard]] BlockLayout layout() const noexcept override { return siv_layout; }

  void seal(const BlockPlace& place, Bytes iv, Bytes text, MutableBytes sealed) const override {
    assert(iv.size() == siv_layout.iv_bytes && !text.empty() &&
           sealed.size() == text.size() + siv_layout.overhead());
    std::memcpy(sealed.data(), iv.data(), iv.size());
    const AssociatedData data(place);
    const std::array<Bytes, 2> associated = {data, iv};
    key_.seal(associated, text, sealed.subspan(iv.size(), tag_bytes),
              sealed.subspan(siv_layout.overhead()));
  }

  [[nodiscard]] bool open(const BlockPlace& place, Bytes sealed, MutableBytes text) const override {
    assert(sealed.size() == text.size() + siv_layout.overhead() && !text.empty());
    const AssociatedData data(place);
    const std::array<Bytes, 2> associated = {data, sealed.first(siv_layout.iv_bytes)};
    return key_.open(associated, sealed.subspan(siv_layout.iv_bytes, tag_bytes),
                     sealed.subspan(siv_layout.overhead()), text);
  }

 private:
  libcrypto::AesSiv key_;
};

}  // namespace

std::unique_ptr<ContentKey> make_aes_siv(Bytes key, const Kernel& /*kernel*/) {
  return std::make_unique<AesSivKey>(key);
}

}  // namespace paes::vault
