// SPDX-License-Identifier: Apache-2.0
// Ciphers with their modes by the names that users type: aes-128|192|256 with ecb, cbc, cfb, ofb,
// ctr, gcm; aes-128|256-xts; des-ede3 with all but xts and gcm. The command line, `paes-bench` and
// `paes devices` all read this table.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "cipher/mode/gcm_blocks.hpp"
#include "cipher/mode/mode.hpp"
#include "kernel/kernel.hpp"

namespace paes {

struct CipherName {
  std::string name;
  Cipher cipher;
  std::optional<Mode> mode;  // empty for GCM
  std::size_t key_bytes;     // the whole key: XTS takes two keys of the cipher

  [[nodiscard]] bool is_gcm() const noexcept { return !mode.has_value(); }
  // The usual length of the mode's IV; GCM takes any length.
  [[nodiscard]] std::size_t iv_bytes() const noexcept {
    return is_gcm() ? gcm::standard_iv_bytes : row_of(*mode).has_iv ? block_bytes_of(cipher) : 0;
  }
};

// All names, grouped by cipher and key.
[[nodiscard]] std::span<const CipherName> all_cipher_names();

// Throws Error(usage) that lists the names if there is no such cipher.
[[nodiscard]] const CipherName& find_cipher_name(std::string_view name);

// Whether the kernel has the cipher, with its mode in both directions.
[[nodiscard]] bool has_cipher(const Kernel& kernel, const CipherName& name) noexcept;

// Finds a kernel by name, or the best one for "" and "auto", among those that have the cipher.
// Throws Error(usage) if the named one does not have it.
[[nodiscard]] const Kernel& find_kernel(const CipherName& name, std::string_view kernel);

}  // namespace paes
