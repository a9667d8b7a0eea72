// Deriving a key from a passphrase (scrypt, PBKDF2) takes seconds to minutes, and libcrypto has no
// way to stop it. A caller who may have to stop has it run in a thread of its own, with copies of
// all it needs, and leaves that thread to itself.
#pragma once

#include <functional>

#include "core/bytes.hpp"
#include "core/secret.hpp"

namespace paes {

// Returns when poll would report one of the events of the descriptor. It may return earlier; then
// derive_apart itself waits for the derivation. Throws to give up. Only a process that is about to
// die by a signal may do so, because exit handlers, libcrypto's among them, must not run beside a
// derivation that goes on.
using WaitReady = std::function<void(int descriptor, short events)>;

// It may hold values of the caller's, but no references, because it can outlive the call.
using Derive = std::function<void(Bytes passphrase, Bytes salt, MutableBytes out)>;

// What `derive` makes of passphrase and salt; meanwhile it calls `wait`. If `wait` is empty,
// `derive` runs in the caller's thread, on the caller's own bytes. Rethrows what either throws.
// After `wait` has thrown, the derivation goes on and its copies stay in memory.
[[nodiscard]] SecretBytes derive_apart(Bytes passphrase, Bytes salt, std::size_t bytes,
                                       Derive derive, const WaitReady& wait);

}  // namespace paes
