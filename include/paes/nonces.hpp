// SPDX-License-Identifier: Apache-2.0
// Nonces for the keystream engine, for callers who have none of their own. If you keep to the rules
// below, first counter blocks do not repeat, and neither do the counters of any two contexts of a
// key. Without a file that is a matter of probability (Restarts).
//
//   auto nonces = paes::NonceAllocator::in_file(paes::NonceCipher::aes, "disk.nonces");
//   const paes::Nonce nonce = nonces.allocate(file_bytes);  // is kept with the file
//
//   keystream_engine.open(key, nonce.first_counter(), {.limit_bytes = nonce.limit_bytes});
//
// Use one allocator for each key, or one for several keys, but never two for one key. Rules:
// - Restarts. A counter in a file goes on where it was: numbers are written ahead and synced before
//   they are handed out, so that a crash loses some and repeats none. The format `paesnc2`
//   has the number twice, so that this holds for a crash that tears a write apart, too. A counter
//   that is not in a file begins at a random one of 2^96 numbers: two runs of n numbers each
//   overlap with a probability of about 2n / 2^96.
// - Damage. A file that is empty, truncated, longer or otherwise damaged is refused: take a new
//   file and a new key then.
// - Copies. A restored backup or snapshot of the file, or a resumed snapshot of a machine or a
//   process, hands out numbers a second time: take a new key then. Nothing in the process can
//   notice it. The same holds for copies of the file that two machines use.
// - fork. A child's allocator throws; make one in the child, on another file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "paes/error.hpp"
#include "paes/export.h"

namespace paes {
inline namespace v0 {

enum class NonceCipher : std::uint8_t { aes = 1, des_ede3 = 2 };

struct Nonce {
  std::uint8_t counter[16] = {};
  std::size_t counter_bytes = 16;  // 8 for 3DES
  // How many bytes the counters of this nonce may encrypt; pass it to ContextOptions::limit_bytes.
  std::uint64_t limit_bytes = 0;

  [[nodiscard]] std::span<const std::uint8_t> first_counter() const noexcept {
    return {counter, counter_bytes};
  }
};

// For AES-GCM: nonces that count up from the first.
struct NonceRow {
  std::uint8_t first[12] = {};
  std::uint64_t messages = 0;  // for SealedOptions::limit_messages
};

// Any number of threads may call.
class PAES_API NonceAllocator {
 public:
  // For AES, from the system's random bytes. A nonce has 96 bits (a start and a count), the block
  // counter 32.
  [[nodiscard]] static NonceAllocator in_process();
  // Counts in a file, which is created if necessary and locked against other processes. It must be
  // this user's regular file that no other user can write, and not a symbolic link. For AES, a
  // nonce has 96 bits (32 are the file's, 64 are a count), the block counter 32. 3DES's 64 bits are
  // too few for anything random; there it is a count of blocks. Throws Error(failure) if the file
  // cannot be used, and Error(corrupt) if it is empty, damaged, not a file of nonces, or another
  // cipher's.
  [[nodiscard]] static NonceAllocator in_file(NonceCipher cipher, const std::string& path);
  ~NonceAllocator();
  NonceAllocator(NonceAllocator&&) noexcept;
  NonceAllocator& operator=(NonceAllocator&&) noexcept;

  // A nonce for `bytes` bytes, at least 1. With AES every nonce is good for 64 GiB, the maximum.
  // With 3DES the maximum is 8 MiB, which is all that a key may encrypt. Throws Error(usage) for
  // more, and Error(failure) if the file cannot be written, if all nonces have been used, and in a
  // forked child.
  [[nodiscard]] Nonce allocate(std::uint64_t bytes = 1);

  // The first nonce of a row for `messages` messages of AES-GCM, 1 to 2^48. A SealedContext counts
  // up from it. Throws like allocate, and Error(usage) with 3DES.
  [[nodiscard]] NonceRow allocate_messages(std::uint64_t messages);

 private:
  struct State;
  explicit NonceAllocator(std::unique_ptr<State> state) noexcept;
  std::unique_ptr<State> state_;
};

}  // namespace v0
}  // namespace paes
