// SPDX-License-Identifier: Apache-2.0
// HChaCha20, with which XChaCha20 derives a message's key (draft-irtf-cfrg-xchacha-03, section
// 2.2). Integer arithmetic alone: constant time.
#pragma once

#include "core/bytes.hpp"

namespace paes {

// `key` and `subkey` have 32 bytes. `nonce` is the first 16 of XChaCha20's 24 bytes; the other 8,
// after four zero bytes, are the nonce for the subkey.
void hchacha20(Bytes key, Bytes nonce, MutableBytes subkey) noexcept;

}  // namespace paes
