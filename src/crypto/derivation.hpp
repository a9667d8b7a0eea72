// SPDX-License-Identifier: Apache-2.0
// Ways to give up a long derivation. libcrypto's PBKDF2 takes seconds to minutes and cannot be
// stopped. So a caller who may have to stop runs it in a thread of its own, with copies of all it
// needs, and abandons that thread. A derivation in steps (scrypt_in_steps.hpp) needs no thread.
#pragma once

#include <functional>

#include "core/bytes.hpp"
#include "core/secret.hpp"

namespace paes {

// Waits until poll would report one of `events` for the descriptor. It may return earlier, and
// returns at once for a negative descriptor. Throws to give up.
using WaitReady = std::function<void(int descriptor, short events)>;

// Throws what `wait` throws if its caller wants to give up. `wait` may be empty.
inline void check(const WaitReady& wait) {
  if (wait) {
    wait(-1, 0);
  }
}

// It may hold copies of the caller's values, but no references, because it can outlive the call.
using Derive = std::function<void(Bytes passphrase, Bytes salt, MutableBytes out)>;

// Runs `derive` on passphrase and salt, and calls `wait` meanwhile. Rethrows what either throws. If
// `wait` is empty, `derive` runs in the caller's thread on the caller's own bytes. After `wait` has
// thrown, the derivation goes on in its thread and wipes its copies at the end. The process should
// then be about to die by a signal, because exit handlers (libcrypto's, for example) must not run
// beside a derivation.
[[nodiscard]] SecretBytes derive_apart(Bytes passphrase, Bytes salt, std::size_t bytes,
                                       Derive derive, const WaitReady& wait);

}  // namespace paes
