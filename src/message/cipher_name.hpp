// SPDX-License-Identifier: Apache-2.0
// Ciphers with their modes by the names that users type: aes-128|192|256 with ecb, cbc, cfb, ofb,
// ctr, gcm; aes-128|256-xts; des-ede3 with all but xts and gcm. The one place that knows them: the
// command line, `paes-bench` and `paes devices` read this table.
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
  std::optional<Mode> mode;  // none: GCM
  std::size_t key_bytes;     // of the whole key: XTS takes two keys of the cipher

  [[nodiscard]] bool is_gcm() const noexcept { return !mode.has_value(); }
  // The length of the IV that the mode takes. GCM takes any; this is the usual one.
  [[nodiscard]] std::size_t iv_bytes() const noexcept {
    return is_gcm() ? gcm::standard_iv_bytes : row_of(*mode).has_iv ? block_bytes_of(cipher) : 0;
  }
};

// Every name, grouped by cipher and key.
[[nodiscard]] std::span<const CipherName> all_cipher_names();

// Throws Error(usage) that lists the names.
[[nodiscard]] const CipherName& find_cipher_name(std::string_view name);

// Whether the kernel has the cipher, and its mode in both directions.
[[nodiscard]] bool has_cipher(const Kernel& kernel, const CipherName& name) noexcept;

// find_kernel among the kernels that have the cipher. It is an error to name one that lacks it; ""
// and "auto" give the best that has it.
[[nodiscard]] const Kernel& find_kernel(const CipherName& name, std::string_view kernel);

}  // namespace paes
