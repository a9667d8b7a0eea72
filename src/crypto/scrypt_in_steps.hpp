// SPDX-License-Identifier: Apache-2.0
// scrypt (RFC 7914) in steps: it takes seconds, and libcrypto's cannot be stopped. Whoever gives up
// leaves no thread behind, and no memory that a passphrase went through.
#pragma once

#include <cstdint>
#include <functional>

#include "core/bytes.hpp"

namespace paes {

struct ScryptShape {
  unsigned log2_n;  // at least 1
  std::uint32_t r = 8;
  std::uint32_t p = 1;
};

// Calls `check` every few milliseconds, unless it is empty. What `check` throws ends the derivation
// and passes through. It takes 128 * r * (2^log2_n + p + 2) bytes; the caller has capped those of
// N, and 128 * r * p is below 2 GiB. All but the table of N blocks is locked as far as the system
// allows. Throws Error(failure) if they are not available, and for numbers that RFC 7914 does not
// allow.
void scrypt_in_steps(Bytes passphrase, Bytes salt, const ScryptShape& shape,
                     const std::function<void()>& check, MutableBytes out);

}  // namespace paes
