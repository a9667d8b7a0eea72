// SPDX-License-Identifier: Apache-2.0
// paes-mount without the cipher of the content: it copies blocks and has no key. Only
// `bench/programs` uses this program, to learn what the cipher costs a mount. It writes content in
// plain text.
#include <cstring>

#include "vault/content_cipher.hpp"

namespace paes::vault {

namespace {

class Copying final : public ContentKey {
 public:
  [[nodiscard]] BlockLayout layout() const noexcept override { return {.iv_bytes = 16}; }

  void seal(const BlockPlace& /*place*/, Bytes iv, Bytes text, MutableBytes sealed) const override {
    std::memcpy(sealed.data(), iv.data(), iv.size());
    std::memcpy(sealed.data() + iv.size(), text.data(), text.size());
    const MutableBytes tag = sealed.subspan(iv.size() + text.size());
    std::memset(tag.data(), 0, tag.size());
  }

  [[nodiscard]] bool open(const BlockPlace& /*place*/, Bytes sealed,
                          MutableBytes text) const override {
    std::memcpy(text.data(), sealed.data() + layout().iv_bytes, text.size());
    return true;
  }
};

}  // namespace

// The linker finds this definition first, and takes none from the library.
std::unique_ptr<ContentKey> make_aes_256_gcm(Bytes /*key*/, const Kernel& /*kernel*/) {
  return std::make_unique<Copying>();
}

}  // namespace paes::vault
