// SPDX-License-Identifier: Apache-2.0
// scrypt (RFC 7914) in steps. It takes seconds, and libcrypto's version cannot be stopped. Whoever
// gives up this one leaves behind neither a thread nor memory that a passphrase went through.
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
// and passes through. It takes 128 * r * (2^log2_n + p + 2) bytes: the caller has capped those of
// N, and 128 * r * p is below 2 GiB. Everything except the table of N blocks is locked as far as
// the system allows. Throws Error(failure) if the memory is not available, and for numbers that RFC
// 7914 forbids.
void scrypt_in_steps(Bytes passphrase, Bytes salt, const ScryptShape& shape,
                     const std::function<void()>& check, MutableBytes out);

}  // namespace paes
