// SPDX-License-Identifier: Apache-2.0
// Counter mode (SP 800-38A, section 6.5): a context is one stream of counters, cut into chunks. Any
// byte of it can be encrypted once.
#pragma once

#include "keystream/context.hpp"
#include "message/cipher_name.hpp"
#include "message/raw_key.hpp"

namespace paes::keystream {

// A 3DES key counts what it encrypts, and refuses more than the standard allows.
class CtrKey final : public BoundKey {
 public:
  // `device` may be null, or refuse the key. Throws Error(usage) for a key of the wrong length, and
  // Error(failure) beyond the budget.
  CtrKey(const CipherName& name, Bytes key, const Kernel& kernel, std::shared_ptr<Costs> costs,
         std::shared_ptr<Budget> budget, std::shared_ptr<Device> device);

  void compute_directly(MutableBytes chunk) const noexcept override;

  // Counter mode from byte `offset` of the stream whose byte 0 has `first_counter`. `in` and `out`
  // have the same length, and are the same memory or share none.
  void crypt(const CounterBlock& first_counter, std::uint64_t offset, Bytes in,
             MutableBytes out) const noexcept;

  // The key on the device, or null.
  [[nodiscard]] const DeviceRaw* on_device() const noexcept { return on_device_.get(); }
  // The counter of the block at `offset`, which is a multiple of the block's size.
  [[nodiscard]] CounterBlock counter_at(const CounterBlock& first_counter,
                                        std::uint64_t offset) const noexcept;

  // For 3DES: counts the blocks that hold [first, end) as encrypted. If the key may not encrypt
  // that many (SP 800-67, section 3.4), counts nothing and throws Error(usage).
  void count_encrypted(std::uint64_t first, std::uint64_t end);
  void uncount(std::uint64_t first, std::uint64_t end) noexcept;

 private:
  [[nodiscard]] std::uint64_t blocks_of(std::uint64_t first, std::uint64_t end) const noexcept;

  Budget des_blocks_{max_des_blocks};
  RawKey key_;
  const std::shared_ptr<Device> device_;
  const std::unique_ptr<DeviceRaw> on_device_;
};

class CtrContext final : public Context {
 public:
  CtrContext(Precomputer& precomputer, Reservation memory, const std::shared_ptr<CtrKey>& key,
             const CounterBlock& first_counter, const ContextOptions& options);

  void crypt(Direction direction, std::uint64_t offset, Bytes in, MutableBytes out);
  void prefetch(std::uint64_t offset);
  void mark_used(std::uint64_t offset, std::uint64_t bytes);

 private:
  void check(std::uint64_t offset, std::uint64_t in_bytes, std::uint64_t out_bytes) const;
  void crypt_part(const Part& part, std::uint64_t offset, Bytes in, MutableBytes out) noexcept;
  void make_keystream(std::uint64_t chunk, std::uint8_t* slot, std::size_t from,
                      std::size_t bytes) const noexcept override;
  [[nodiscard]] Run run_from(std::uint64_t chunk) const noexcept override;

  CtrKey& key_;
  const CounterBlock first_counter_;
  const std::uint64_t limit_bytes_;  // every offset is below
};

}  // namespace paes::keystream
