// A key of the engine: bound once to a cipher in counter mode and a kernel, shared by contexts, and
// held to what the standard allows one key to encrypt.
#pragma once

#include "keystream/budget.hpp"
#include "keystream/costs.hpp"
#include "message/cipher_name.hpp"
#include "message/raw_key.hpp"

namespace paes::keystream {

class BoundKey {
 public:
  // Throws Error(usage) as RawKey does and for other modes, Error(failure) beyond the budget.
  BoundKey(const CipherName& name, Bytes key, const Kernel& kernel, std::shared_ptr<Costs> costs,
           std::shared_ptr<Budget> budget);
  ~BoundKey();
  BoundKey(const BoundKey&) = delete;
  BoundKey& operator=(const BoundKey&) = delete;

  [[nodiscard]] const Kernel& kernel() const noexcept { return key_.kernel(); }
  [[nodiscard]] std::size_t block_size() const noexcept { return key_.block_size(); }
  [[nodiscard]] Costs& costs() const noexcept { return *costs_; }

  // Counter mode from byte `offset` of the stream whose byte 0 has `first_counter`. `in` and `out`
  // have the same length, and are the same memory or share none.
  void crypt(const Block& first_counter, std::uint64_t offset, Bytes in,
             MutableBytes out) const noexcept;

  // Counts the blocks that hold [first, end) as encrypted. False: they would be more than the key
  // may encrypt (SP 800-67, section 3.4), and are not counted.
  [[nodiscard]] bool count_encrypted(std::uint64_t first, std::uint64_t end) noexcept;

 private:
  std::shared_ptr<Budget> budget_;
  std::shared_ptr<Costs> costs_;
  std::atomic<std::uint64_t> encrypted_blocks_{0};
  RawKey key_;
};

// The time that a chunk takes, for a key's first guess.
void measure_direct(const BoundKey& key, std::size_t chunk_bytes);

}  // namespace paes::keystream
