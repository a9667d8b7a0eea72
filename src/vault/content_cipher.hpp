// SPDX-License-Identifier: Apache-2.0
// What each file content_*.cpp defines for its cipher, and what their blocks have in common.
#pragma once

#include <array>

#include "vault/content_key.hpp"

namespace paes::vault {

[[nodiscard]] std::unique_ptr<ContentKey> make_aes_256_gcm(Bytes key, const Kernel& kernel);
[[nodiscard]] std::unique_ptr<ContentKey> make_xchacha20_poly1305(Bytes key, const Kernel& kernel);
[[nodiscard]] std::unique_ptr<ContentKey> make_aes_siv(Bytes key, const Kernel& kernel);

// The associated data of a block: its number, big-endian, then the id of its file if it has one.
class AssociatedData {
 public:
  explicit AssociatedData(const BlockPlace& place) noexcept
      : size_(sizeof place.number + (place.id == nullptr ? 0 : place.id->size())) {
    store_be64(bytes_.data(), place.number);
    if (place.id != nullptr) {
      std::memcpy(bytes_.data() + sizeof place.number, place.id->data(), place.id->size());
    }
  }
  operator Bytes() const noexcept { return {bytes_.data(), size_}; }  // NOLINT: a view

 private:
  std::array<std::uint8_t, sizeof(std::uint64_t) + sizeof(FileId)> bytes_;
  std::size_t size_;
};

}  // namespace paes::vault
