// What each kernel must produce, computed by libcrypto's EVP interface alone, so that the check
// shares no code with what it checks.
#pragma once

#include "cipher/block.hpp"
#include "core/bytes.hpp"
#include "kernel/kernel.hpp"

namespace paes::cli {

// Encrypts `in` to `out` as `kernel` claims to: AES-GCM, except for the rows that exist to be less
// (`copy`: the input; `vaes_loop`: CTR), whose tag stays zero. 96-bit IV, no associated data.
// Throws Error(failure).
void encrypt_as_claimed(const Kernel& kernel, Bytes key, Bytes iv, Bytes in, MutableBytes out,
                        Block& tag);

}  // namespace paes::cli
