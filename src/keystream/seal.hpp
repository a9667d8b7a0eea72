// SPDX-License-Identifier: Apache-2.0
// AES-GCM (SP 800-38D) for messages that fit into a chunk. A context is a row of IVs, one for each
// message. A chunk is everything a message needs besides its hash: its IV, the mask of its tag,
// E(J0), and the keystream of its text.
#pragma once

#include "keystream/context.hpp"
#include "keystream/message_ivs.hpp"
#include "message/gcm.hpp"

namespace paes::keystream {

class SealKey final : public BoundKey {
 public:
  // Throws Error(usage) for a key of the wrong length, and Error(failure) beyond the budget.
  SealKey(Bytes key, const Kernel& kernel, std::shared_ptr<Costs> costs,
          std::shared_ptr<Budget> budget);

  void compute_directly(MutableBytes chunk) const noexcept override;
  [[nodiscard]] const GcmKey& gcm() const noexcept { return key_; }

 private:
  GcmKey key_;
};

class SealContext final : public Context {
 public:
  SealContext(Precomputer& precomputer, Reservation memory, const std::shared_ptr<SealKey>& key,
              std::unique_ptr<const MessageIvs> ivs, const SealedOptions& options);

  // `iv` receives the message's IV, or is empty if the caller knows it.
  void seal(std::uint64_t message, Bytes aad, Bytes in, MutableBytes out, MutableBytes tag,
            MutableBytes iv = {});
  [[nodiscard]] bool open(std::uint64_t message, Bytes aad, Bytes in, MutableBytes out, Bytes tag);
  void prefetch(std::uint64_t message);
  void mark_used(std::uint64_t first, std::uint64_t messages);

 private:
  void check(std::uint64_t message, std::uint64_t messages) const;
  void check_lengths(Bytes in, Bytes out, Bytes tag) const;
  [[nodiscard]] bool open_with(Entry& entry, std::uint64_t message, Bytes aad, Bytes in,
                               MutableBytes out, Bytes tag) const noexcept;
  void give_back_used(Entry& entry, std::uint64_t message, std::size_t text_bytes) const noexcept;
  void make_keystream(std::uint64_t message, std::uint8_t* slot, std::size_t from,
                      std::size_t bytes) const noexcept override;

  const GcmKey& key_;
  const std::unique_ptr<const MessageIvs> ivs_;
  const std::uint64_t limit_messages_;  // every number is below
};

}  // namespace paes::keystream
