// SPDX-License-Identifier: Apache-2.0
// paes-mount as it is, but for the cipher of the content: this one copies blocks and has no key.
// The program is for `bench/programs` alone, which learns from it what the cipher costs a mount.
// The content that it writes is in plain text.
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

// The linker finds this one first, and takes none from the library.
std::unique_ptr<ContentKey> make_aes_256_gcm(Bytes /*key*/, const Kernel& /*kernel*/) {
  return std::make_unique<Copying>();
}

}  // namespace paes::vault
