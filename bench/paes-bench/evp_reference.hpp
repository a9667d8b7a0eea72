// SPDX-License-Identifier: Apache-2.0
// What each kernel must produce, computed by libcrypto's EVP interface alone, so that the check
// shares no code with what it checks.
#pragma once

#include "cipher/block.hpp"
#include "core/bytes.hpp"
#include "kernel/kernel.hpp"
#include "message/cipher_name.hpp"

namespace paes::cli {

// Encrypts one message in a raw mode. `iv` is empty for ECB, and for XTS the number of the data
// unit that the message is. Throws Error(failure).
void encrypt_raw(const CipherName& cipher, Bytes key, Bytes iv, Bytes in, MutableBytes out);

// GCM: encrypts `in` to `out` as `kernel` claims to: AES-GCM, except for the rows that exist to be
// less (`copy`: the input; `vaes_loop`, `vaes_loop256`: CTR), whose tag stays zero. 96-bit IV, no
// associated data.
// Throws Error(failure).
void encrypt_as_claimed(const Kernel& kernel, Bytes key, Bytes iv, Bytes in, MutableBytes out,
                        Tag& tag);

}  // namespace paes::cli
