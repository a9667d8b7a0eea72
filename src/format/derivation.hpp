// Keys from passphrases (scrypt, PBKDF2) take seconds to minutes, and libcrypto has no way to stop
// them. Where the caller may have to, they run in a thread of their own, with copies of all they
// need, and are left to themselves.
#pragma once

#include <functional>

#include "core/bytes.hpp"
#include "core/secret.hpp"

namespace paes {

// Returns when the descriptor can be read, or earlier where it cannot wait: the derivation is then
// waited for without it. Throws to give up, which only a process may do that is about to die by a
// signal: exit handlers, libcrypto's among them, must not run beside a derivation that goes on.
using WaitReadable = std::function<void(int descriptor)>;

// May keep nothing of the caller's but values.
using Derive = std::function<void(Bytes passphrase, Bytes salt, MutableBytes out)>;

// What `derive` makes of them, with `wait` while it does. With an empty `wait` it is called here,
// on the caller's own bytes. Rethrows what either throws. When that is `wait`, the derivation goes
// on and its copies stay in memory.
[[nodiscard]] SecretBytes derive_apart(Bytes passphrase, Bytes salt, std::size_t bytes,
                                       Derive derive, const WaitReadable& wait);

}  // namespace paes
