// SPDX-License-Identifier: Apache-2.0
// What paes has no kernels for, as work that threads and ranks share: the stream cipher ChaCha20
// (RFC 8439), a batch of key agreements with X25519 (RFC 7748), and to compare them with, AES-256
// in counter mode. libcrypto computes all of them.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "core/bytes.hpp"
#include "stream/transfer/cancel.hpp"

namespace paes::cli {

struct LibcryptoWorkSize {
  std::uint64_t message_bytes;  // of a cipher's one message
  std::uint64_t piece_bytes;    // of it; a multiple of 64
  std::uint64_t agreements;
};

// Items are pieces of the message, or agreements; bytes are the message's, or those of the secrets
// that are agreed upon.
struct LibcryptoWorkTotal {
  std::uint64_t items;
  std::uint64_t bytes;
};

// Threads take its items in any order.
class LibcryptoWork {
 public:
  explicit LibcryptoWork(LibcryptoWorkTotal total) noexcept : total_(total) {}
  virtual ~LibcryptoWork() = default;
  LibcryptoWork(const LibcryptoWork&) = delete;
  LibcryptoWork& operator=(const LibcryptoWork&) = delete;

  [[nodiscard]] const LibcryptoWorkTotal& total() const noexcept { return total_; }
  // Computes one item. Throws Error(failure) if libcrypto cannot.
  virtual void run(std::size_t item) = 0;

  // Removes all outputs, so that is_right() is true only of outputs computed since.
  virtual void clear() = 0;
  // Compares a message with what one call of libcrypto makes of all of it, and secrets with those
  // of the other side.
  [[nodiscard]] virtual bool is_right() const = 0;

 private:
  LibcryptoWorkTotal total_;
};

[[nodiscard]] std::span<const std::string_view> libcrypto_algorithms() noexcept;
// Their names, with commas between them.
[[nodiscard]] std::string libcrypto_algorithm_names();
// Throws Error(usage) that lists the names if there is no such algorithm.
void check_libcrypto_algorithm(std::string_view name);

// In both, `name` must be one of libcrypto_algorithms().
[[nodiscard]] LibcryptoWorkTotal total_of(std::string_view name,
                                          const LibcryptoWorkSize& size) noexcept;
// Keys, text and IV are random. Throws Error(failure) if libcrypto lacks the algorithm, and what
// Cancel::check() throws. `cancel` may be null.
[[nodiscard]] std::unique_ptr<LibcryptoWork> make_libcrypto_work(std::string_view name,
                                                                 const LibcryptoWorkSize& size,
                                                                 const Cancel* cancel = nullptr);

// Encrypts or decrypts a part of a message that begins `offset` bytes, a multiple of 64, after the
// block with the first counter. `iv` has 16 bytes: for chacha20 the counter as a little-endian
// number of 32 bits, then the nonce; for aes-256-ctr the counter block.
void crypt_stream(std::string_view name, Bytes key, Bytes iv, std::uint64_t offset, Bytes in,
                  MutableBytes out);

// The secret that the owner of this secret key and that of this public key share: 32 bytes each.
[[nodiscard]] std::array<std::uint8_t, 32> agree_upon_secret(Bytes secret_key, Bytes public_key);

}  // namespace paes::cli
