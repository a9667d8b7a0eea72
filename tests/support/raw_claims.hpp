// SPDX-License-Identifier: Apache-2.0
// Checks what a kernel claims about its raw modes: RawKey accepts a key for each mode that the
// kernel has, and refuses one for each mode that it lacks.
#pragma once

#include <gtest/gtest.h>

#include <span>
#include <vector>

#include "kernel/registry.hpp"
#include "message/cipher_name.hpp"
#include "message/raw_key.hpp"
#include "paes/error.hpp"

namespace paes::test {

inline void expect_has_cipher_is_what_raw_key_accepts(std::span<const Kernel* const> kernels) {
  for (const Kernel* kernel : kernels) {
    if (!unavailable_reason(*kernel).empty()) {
      continue;
    }
    for (const CipherName& name : all_cipher_names()) {
      if (name.cipher != kernel->cipher || name.is_gcm()) {
        continue;
      }
      std::vector<std::uint8_t> key(name.key_bytes);
      key.back() = 2;  // XTS: two different halves
      const auto bind = [&] { const RawKey raw(name.cipher, *name.mode, key, *kernel); };
      if (has_cipher(*kernel, name)) {
        EXPECT_NO_THROW(bind()) << kernel->name << ' ' << name.name;
      } else {
        EXPECT_THROW(bind(), Error) << kernel->name << ' ' << name.name;
      }
    }
  }
}

}  // namespace paes::test
