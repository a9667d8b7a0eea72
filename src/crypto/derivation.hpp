// SPDX-License-Identifier: Apache-2.0
// Giving up what takes long. A derivation of libcrypto's (PBKDF2) takes seconds to minutes and
// cannot be stopped. A caller who may have to stop has it run in a thread of its own, with copies
// of all it needs, and leaves that thread to itself. What goes in steps (scrypt_in_steps.hpp)
// needs no thread.
#pragma once

#include <functional>

#include "core/bytes.hpp"
#include "core/secret.hpp"

namespace paes {

// Returns when poll would report one of the events of the descriptor. It may return earlier, and
// does so at once for a negative descriptor. Throws to give up.
using WaitReady = std::function<void(int descriptor, short events)>;

// Throws what `wait` throws if its caller wants to give up. It may be empty.
inline void check(const WaitReady& wait) {
  if (wait) {
    wait(-1, 0);
  }
}

// It may hold values of the caller's, but no references, because it can outlive the call.
using Derive = std::function<void(Bytes passphrase, Bytes salt, MutableBytes out)>;

// What `derive` makes of passphrase and salt; meanwhile it calls `wait`. If `wait` is empty,
// `derive` runs in the caller's thread, on the caller's own bytes. Rethrows what either throws.
// After `wait` has thrown, the derivation goes on, and wipes its copies at its end. Only for a
// process that is about to die by a signal then, because exit handlers, libcrypto's among them,
// must not run beside a derivation.
[[nodiscard]] SecretBytes derive_apart(Bytes passphrase, Bytes salt, std::size_t bytes,
                                       Derive derive, const WaitReady& wait);

}  // namespace paes
