// SPDX-License-Identifier: Apache-2.0
// The output that each kernel must produce, computed only by libcrypto's EVP interface, so that the
// check shares no code with what it checks.
#pragma once

#include "cipher/block.hpp"
#include "core/bytes.hpp"
#include "kernel/kernel.hpp"
#include "message/cipher_name.hpp"

namespace paes::cli {

// Encrypts one message in a raw mode. `iv` is empty for ECB; for XTS it is the number of the data
// unit that the message is. Throws Error(failure).
void encrypt_raw(const CipherName& cipher, Bytes key, Bytes iv, Bytes in, MutableBytes out);

// Encrypts `in` to `out` in the way that `kernel` claims: AES-GCM with a 96-bit IV and no
// associated data. The rows that exist to do less (`copy`: the input; `vaes_loop`, `vaes_loop256`:
// CTR) leave the tag zero. Throws Error(failure).
void encrypt_as_claimed(const Kernel& kernel, Bytes key, Bytes iv, Bytes in, MutableBytes out,
                        Tag& tag);

}  // namespace paes::cli
