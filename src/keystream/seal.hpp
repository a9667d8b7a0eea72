// AES-GCM (SP 800-38D) for messages that fit into a chunk. A context is a row of nonces, one for
// each message. A chunk is what a message takes besides its hash: the mask of its tag, E(J0), and
// the keystream of its text.
#pragma once

#include "keystream/context.hpp"
#include "message/gcm.hpp"
#include "mode/gcm.hpp"

namespace paes::keystream {

class SealKey final : public BoundKey {
 public:
  // Throws Error(usage) for a key of the wrong length, Error(failure) beyond the budget.
  SealKey(Bytes key, const Kernel& kernel, std::shared_ptr<Costs> costs,
          std::shared_ptr<Budget> budget);

  void compute_directly(MutableBytes chunk) const noexcept override;
  [[nodiscard]] const GcmKey& gcm() const noexcept { return key_; }

 private:
  GcmKey key_;
};

// 32 fixed bits, then a big-endian count of messages in 64 bits, which wraps (section 8.2.1).
struct MessageNonce {
  std::uint8_t bytes[gcm::standard_iv_bytes] = {};
};

class SealContext final : public Context {
 public:
  SealContext(Precomputer& precomputer, Reservation memory, const std::shared_ptr<SealKey>& key,
              const MessageNonce& first_nonce, const SealedOptions& options);

  void seal(std::uint64_t message, Bytes aad, Bytes in, MutableBytes out, MutableBytes tag);
  [[nodiscard]] bool open(std::uint64_t message, Bytes aad, Bytes in, MutableBytes out, Bytes tag);
  void prefetch(std::uint64_t message);
  void mark_used(std::uint64_t first, std::uint64_t messages);

 private:
  void check(std::uint64_t message, std::uint64_t messages) const;
  void check_lengths(Bytes in, Bytes out, Bytes tag) const;
  [[nodiscard]] MessageNonce nonce_of(std::uint64_t message) const noexcept;
  [[nodiscard]] bool open_with(Entry& entry, std::uint64_t message, Bytes aad, Bytes in,
                               MutableBytes out, Bytes tag) const noexcept;
  void give_back_used(Entry& entry, std::uint64_t message, std::size_t text_bytes) const noexcept;
  void make_keystream(std::uint64_t message, std::uint8_t* slot, std::size_t from,
                      std::size_t bytes) const noexcept override;

  const GcmKey& key_;
  const MessageNonce first_nonce_;      // of message 0
  const std::uint64_t limit_messages_;  // numbers are below
};

}  // namespace paes::keystream
