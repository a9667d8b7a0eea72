// SPDX-License-Identifier: Apache-2.0
// The IVs of a sealed context. Each is a pure function of its message's number, so it can be made
// before the message is there.
#pragma once

#include <cstdint>

#include "cipher/mode/gcm_blocks.hpp"
#include "core/bytes.hpp"
#include "core/secret.hpp"
#include "kernel/kernel.hpp"

namespace paes::keystream {

// Immutable after construction, hence safe to use from any number of threads.
class MessageIvs {
 public:
  static constexpr std::size_t max_bytes = block_bytes;

  MessageIvs() = default;
  virtual ~MessageIvs() = default;
  MessageIvs(const MessageIvs&) = delete;
  MessageIvs& operator=(const MessageIvs&) = delete;

  // At most max_bytes, and equal for all messages.
  [[nodiscard]] virtual std::size_t bytes() const noexcept = 0;
  // `iv` has bytes(). No two numbers get equal IVs.
  virtual void make(std::uint64_t message, std::uint8_t* iv) const noexcept = 0;
};

// 32 fixed bits, then a big-endian count of messages in 64 bits, which wraps (SP 800-38D, section
// 8.2.1).
struct MessageNonce {
  std::uint8_t bytes[gcm::standard_iv_bytes] = {};
};

class CountedIvs final : public MessageIvs {
 public:
  explicit CountedIvs(const MessageNonce& first) noexcept : first_(first) {}

  [[nodiscard]] std::size_t bytes() const noexcept override { return sizeof first_.bytes; }
  void make(std::uint64_t message, std::uint8_t* iv) const noexcept override;

 private:
  const MessageNonce first_;  // of message 0
};

// For formats whose IVs are 16 random bytes: the number, encrypted with AES. A block cipher is a
// permutation, so no two numbers share an IV. Without the key nobody can tell these IVs from random
// ones, so they collide with other IVs no more often than random ones do.
class EncryptedIvs final : public MessageIvs {
 public:
  // `key` has 16, 24 or 32 random bytes, and encrypts nothing else.
  EncryptedIvs(Bytes key, const Kernel& kernel);
  ~EncryptedIvs() override;

  [[nodiscard]] std::size_t bytes() const noexcept override { return block_bytes; }
  void make(std::uint64_t message, std::uint8_t* iv) const noexcept override;

 private:
  const Kernel& kernel_;
  Secret<KernelKeys> keys_;
};

}  // namespace paes::keystream
