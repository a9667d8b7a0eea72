// SPDX-License-Identifier: Apache-2.0
// Nonces for the keystream engine, for those who have none of their own: first counter blocks that
// never repeat, so that neither do the counters of any two contexts of a key.
//
//   auto nonces = paes::NonceAllocator::in_file(paes::NonceCipher::aes, "disk.nonces");
//   const paes::Nonce nonce = nonces.allocate(file_bytes);  // is kept with the file
//
//   keystream_engine.open(key, nonce.first_counter(), {.limit_bytes = nonce.limit_bytes});
//
// One allocator for each key, or one for several; never two for one key. Rules:
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
  // How many bytes the counters of this nonce may encrypt: for ContextOptions::limit_bytes.
  std::uint64_t limit_bytes = 0;

  [[nodiscard]] std::span<const std::uint8_t> first_counter() const noexcept {
    return {counter, counter_bytes};
  }
};

// For AES-GCM: nonces that count on from the first.
struct NonceRow {
  std::uint8_t first[12] = {};
  std::uint64_t messages = 0;  // for SealedOptions::limit_messages
};

// Any number of threads may call.
class PAES_API NonceAllocator {
 public:
  // AES, from the system's random bytes: a nonce of 96 bits (a start and a count) and a block
  // counter of 32.
  [[nodiscard]] static NonceAllocator in_process();
  // Counts on in a file, which is made if there is none, and locked against other processes. It
  // must be a regular file of this user's that no other can write, and no symbolic link. For AES a
  // nonce of 96 bits (32 that are the file's, a count of 64) and a block counter of 32; for 3DES,
  // whose 64 bits are too few for anything random, a count of blocks. Throws Error: failure when
  // the file cannot be used, corrupt when it is empty, damaged, not a file of nonces, or another
  // cipher's.
  [[nodiscard]] static NonceAllocator in_file(NonceCipher cipher, const std::string& path);
  ~NonceAllocator();
  NonceAllocator(NonceAllocator&&) noexcept;
  NonceAllocator& operator=(NonceAllocator&&) noexcept;

  // A nonce that is good for `bytes`, at least 1. With AES at most 64 GiB, and every nonce is good
  // for that much. With 3DES at most 8 MiB, which is all that a key may encrypt. Throws Error:
  // usage for more, failure when the file cannot be written, when all have been used, and in a
  // forked child.
  [[nodiscard]] Nonce allocate(std::uint64_t bytes = 1);

  // The first nonce of a row for so many messages of AES-GCM, at least 1 and at most 2^48: a
  // SealedContext's, which counts on from it. Throws as allocate does, and Error(usage) with 3DES.
  [[nodiscard]] NonceRow allocate_messages(std::uint64_t messages);

 private:
  struct State;
  explicit NonceAllocator(std::unique_ptr<State> state) noexcept;
  std::unique_ptr<State> state_;
};

}  // namespace v0
}  // namespace paes
