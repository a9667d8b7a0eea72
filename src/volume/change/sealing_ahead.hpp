// SPDX-License-Identifier: Apache-2.0
// Blocks of AES-256-GCM whose IV and keystream the keystream engine has made before their text is
// there, so that sealing one is little more than hashing it (`paes-mount --ahead`).
#pragma once

#include <atomic>
#include <chrono>
#include <memory>

#include "keystream/message_ivs.hpp"
#include "paes/keystream.hpp"
#include "vault/content_key.hpp"

namespace paes::volume {

// Safe to use from any number of threads. Blocks are numbered as they are sealed, whatever file
// they belong to, and a block's IV is a function of its number under a key that is random and this
// object's own. No number is used twice, unless a snapshot of the machine or of the process is
// resumed: nothing in here can notice that.
class SealingAhead {
 public:
  static constexpr unsigned max_blocks = 4096;

  // Who makes IVs and keystream ahead: a thread that runs when the system is idle, or, for tests
  // and measurements, which cannot wait for that, fill() alone.
  enum class Maker { a_thread, fill };

  // `key` is MasterKey::content_key of a volume whose content is under AES-256-GCM. At most
  // max_blocks blocks are ready at a time, a power of two or rounded up to one; with 0 nothing is
  // made ahead. Throws Error(failure) if the system gives no memory or no thread.
  SealingAhead(Bytes key, const Kernel& kernel, unsigned blocks, Maker maker = Maker::a_thread);
  // With IVs of the caller's, which must not repeat one.
  SealingAhead(Bytes key, const Kernel& kernel, unsigned blocks, Maker maker,
               std::unique_ptr<const keystream::MessageIvs> ivs);

  // As ContentKey::seal, under an IV of its own. False, with nothing in `sealed` that may be used:
  // seal it yourself under a random IV. This is so in a forked child, and if there is no memory to
  // record the number.
  [[nodiscard]] bool seal(const vault::BlockPlace& place, Bytes text, MutableBytes sealed) const;

  // Makes what is missing in this thread, until nothing is or the time is over.
  void fill(std::chrono::steady_clock::time_point deadline) const;

  // How many blocks found their keystream, and how many were computed at once.
  [[nodiscard]] KeystreamUse use() const noexcept;
  [[nodiscard]] KeystreamStatistics statistics() const;
  // What the engine holds at most for so many blocks, its keys and records included.
  [[nodiscard]] static std::size_t memory_bytes(unsigned blocks) noexcept;

 private:
  const std::shared_ptr<keystream::KeystreamService> engine_;
  std::shared_ptr<keystream::SealContext> context_;
  mutable std::atomic<std::uint64_t> next_{0};
};

}  // namespace paes::volume
