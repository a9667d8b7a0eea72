// SPDX-License-Identifier: Apache-2.0
#include "crypto/derivation.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <future>
#include <memory>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "core/descriptor.hpp"

namespace paes {

SecretBytes derive_apart(Bytes passphrase, Bytes salt, std::size_t bytes, Derive derive,
                         const WaitReady& wait) {
  if (!wait) {
    SecretBytes derived(bytes);
    derive(passphrase, salt, derived);
    return derived;
  }
  // Both threads own what they share, because either may be the last to need it.
  const auto done = std::make_shared<Descriptor>(eventfd(0, EFD_CLOEXEC));
  if (!done->is_open()) {
    throw_errno("eventfd");
  }
  const auto task = std::make_shared<std::packaged_task<SecretBytes()>>(
      [bytes, derive = std::move(derive), own_passphrase = SecretBytes(passphrase),
       own_salt = std::vector<std::uint8_t>(salt.begin(), salt.end())] {
        SecretBytes derived(bytes);
        derive(own_passphrase, own_salt, derived);
        return derived;
      });
  std::thread thread;
  try {
    thread = std::thread([task, done] {
      (*task)();
      const std::uint64_t one = 1;
      [[maybe_unused]] const ssize_t written = write(done->number(), &one, sizeof one);
    });
  } catch (const std::system_error&) {
    // If the system has no thread left, this derives anyway, but cannot be stopped.
    (*task)();
    return task->get_future().get();
  }
  try {
    wait(done->number(), POLLIN);
  } catch (...) {
    thread.detach();
    throw;
  }
  thread.join();
  return task->get_future().get();
}

}  // namespace paes
