// SPDX-License-Identifier: Apache-2.0
// The raw modes of AES and 3DES (FIPS 197, SP 800-67, SP 800-38A, SP 800-38E) for programs that
// link paes, on the best kernel of the machine. Nothing here is authenticated: anyone who can
// change a ciphertext can change the text unnoticed. Use paes/gcm.hpp unless a format requires
// these modes.
//
//   paes::RawCipher cipher("aes-256-ctr", key);
//   cipher.encrypt(iv, text, ciphertext);  // CTR, OFB: never the same IV twice under one key
//   cipher.decrypt(iv, ciphertext, text);
//
//   paes::RawCipher disk("aes-256-xts", key, {.threads = 0, .unit_bytes = 4096});
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "paes/error.hpp"
#include "paes/export.h"

namespace paes {
inline namespace v0 {

struct RawCipherOptions {
  // A name that `paes devices` lists as available, or "auto". "openssl" keeps keys on libcrypto's
  // heap, all others keep them in locked memory.
  std::string_view kernel = "auto";
  // Threads for one long message and for batches. 0 means every processor.
  unsigned threads = 1;
  // XTS's data unit, 16 bytes to 16 MiB. 0 makes each message one unit.
  std::size_t unit_bytes = 0;
};

// A key, bound to a mode and a kernel. Immutable: one object serves any number of threads.
class PAES_API RawCipher {
 public:
  // Names: aes-128, aes-192 or aes-256 with -ecb, -cbc, -cfb (full blocks, CFB128), -ofb or -ctr;
  // aes-128-xts and aes-256-xts; des-ede3 with -ecb, -cbc, -cfb (CFB64), -ofb or -ctr. `key` has
  // 16, 24 or 32 bytes for AES, depending on the name, and 24 for 3DES. XTS takes two AES keys, 32
  // or 64 bytes together. Throws Error(usage) for anything else.
  RawCipher(std::string_view name, std::span<const std::uint8_t> key,
            const RawCipherOptions& options = {});
  ~RawCipher();
  RawCipher(RawCipher&&) noexcept;
  RawCipher& operator=(RawCipher&&) noexcept;

  // The chosen kernel's name, as `paes devices` lists it.
  [[nodiscard]] std::string_view kernel() const noexcept;
  // 16 bytes for AES, 8 for 3DES.
  [[nodiscard]] std::size_t block_bytes() const noexcept;
  // The length of an IV: a block, or 0 for ECB. CTR's IV is the first counter block: one big-endian
  // number, which counts up and wraps. XTS's IV is the number of the first data unit,
  // little-endian; each later unit has the next number.
  [[nodiscard]] std::size_t iv_bytes() const noexcept;

  // Encrypt or decrypt one message. `out` has the length of `in`, and is the same memory or shares
  // none. ECB and CBC take whole blocks (for other texts, see below); CFB, OFB and CTR any length;
  // XTS no data unit of fewer than 16 bytes or more than 2^20 blocks. CBC and CFB need an IV that
  // nobody can predict. Encryption with XTS refuses a key of two equal halves. 3DES must not
  // encrypt more than 2^20 blocks under one key (SP 800-67), which only the caller can count, and
  // NIST disallows encryption with it after 2023. Throws Error(usage) for impossible lengths, and
  // Error(failure) if the threads for a long message or a batch cannot start; nothing is written
  // then.
  void encrypt(std::span<const std::uint8_t> iv, std::span<const std::uint8_t> in,
               std::span<std::uint8_t> out) const;
  void decrypt(std::span<const std::uint8_t> iv, std::span<const std::uint8_t> in,
               std::span<std::uint8_t> out) const;

  // ECB and CBC with PKCS#7 padding. `ciphertext` has padded_bytes(text.size()) bytes and may begin
  // where `text` does. padded_bytes() is SIZE_MAX for a text that is too long to be padded.
  [[nodiscard]] std::size_t padded_bytes(std::size_t text_bytes) const noexcept;
  void encrypt_padded(std::span<const std::uint8_t> iv, std::span<const std::uint8_t> text,
                      std::span<std::uint8_t> ciphertext) const;
  // Returns how many bytes of `text` are text; the rest is zero. `text` has the length of
  // `ciphertext`. If the padding is wrong, returns nothing, and all of `text` is zero. An attacker
  // who learns whether the padding of chosen ciphertexts is wrong can decrypt with that alone, so
  // authenticate before you decrypt.
  [[nodiscard]] std::optional<std::size_t> decrypt_padded(std::span<const std::uint8_t> iv,
                                                          std::span<const std::uint8_t> ciphertext,
                                                          std::span<std::uint8_t> text) const;

  // One of several independent messages; the rules of encrypt hold.
  struct Message {
    std::span<const std::uint8_t> iv;
    std::span<const std::uint8_t> in;
    std::span<std::uint8_t> out;
  };
  // Process the messages side by side. For CBC and CFB encryption and for OFB, where each block of
  // a message waits for the one before, only this uses the whole processor. Eight or more messages
  // per thread keep it busy; equal lengths are best.
  void encrypt_batch(std::span<const Message> messages) const;
  void decrypt_batch(std::span<const Message> messages) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace v0
}  // namespace paes
