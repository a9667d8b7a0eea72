// SPDX-License-Identifier: Apache-2.0
// HChaCha20, which XChaCha20 derives the key of a message with
// (draft-irtf-cfrg-xchacha-03, section 2.2). Integer arithmetic alone: constant time.
#pragma once

#include "core/bytes.hpp"

namespace paes {

// `key` and `subkey` have 32 bytes, `nonce` has 16: the first ones of XChaCha20's 24. The other 8,
// after four zero bytes, are the nonce under the subkey.
void hchacha20(Bytes key, Bytes nonce, MutableBytes subkey) noexcept;

}  // namespace paes
