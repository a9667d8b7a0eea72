// SPDX-License-Identifier: Apache-2.0
// How most kinds of keys wrap a file key: ChaCha20-Poly1305 under a key that is used once, with a
// nonce of zeros (c2sp.org/age, "Recipient stanza").
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "age/stanza.hpp"
#include "core/secret.hpp"

namespace paes::age {

// Lives for one call, on the stack.
struct WrapKey {
  WrapKey() = default;
  ~WrapKey() { wipe(bytes); }
  WrapKey(const WrapKey&) = delete;
  WrapKey& operator=(const WrapKey&) = delete;

  std::array<std::uint8_t, 32> bytes;
};

inline constexpr std::size_t wrapped_file_key_bytes = file_key_bytes + 16;  // and Poly1305's tag
using WrappedFileKey = std::array<std::uint8_t, wrapped_file_key_bytes>;

[[nodiscard]] std::vector<std::uint8_t> wrap_file_key(const WrapKey& key, Bytes file_key);
// Empty if the key is another one.
[[nodiscard]] std::optional<SecretBytes> unwrap_file_key(const WrapKey& key,
                                                         const WrappedFileKey& wrapped);

}  // namespace paes::age
