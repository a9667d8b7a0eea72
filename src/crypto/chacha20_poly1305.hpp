// SPDX-License-Identifier: Apache-2.0
// ChaCha20-Poly1305 (RFC 8439) under one key, for many messages on many threads. libcrypto's
// contexts keep the key, so that each message only sets a nonce. At 64 KiB, a chunk takes no longer
// than the cipher itself.
#pragma once

#include <array>
#include <memory>

#include "core/bytes.hpp"
#include "core/pool.hpp"
#include "core/secret.hpp"

namespace paes::libcrypto {

class ChaCha20Poly1305 {
 public:
  // The key has 32 bytes.
  explicit ChaCha20Poly1305(Bytes key);
  ~ChaCha20Poly1305();
  ChaCha20Poly1305(const ChaCha20Poly1305&) = delete;
  ChaCha20Poly1305& operator=(const ChaCha20Poly1305&) = delete;

 private:
  struct Contexts;

 public:
  // What one thread needs for its messages, borrowed for one scope. A nonce has 12 bytes, a tag 16.
  class Worker {
   public:
    // Throws Error(failure) if libcrypto has no such cipher.
    explicit Worker(const ChaCha20Poly1305& cipher);
    ~Worker();
    Worker(const Worker&) = delete;
    Worker& operator=(const Worker&) = delete;

    // Replaces the text by the ciphertext.
    void seal(Bytes nonce, MutableBytes text, MutableBytes tag) const;
    // Replaces the ciphertext by the text. If the tag is wrong, returns false and wipes `text`.
    [[nodiscard]] bool open(Bytes nonce, MutableBytes text, Bytes tag) const;
    // What open() would return. Runs only Poly1305, which takes a third of the time.
    [[nodiscard]] bool verify(Bytes nonce, Bytes ciphertext, Bytes tag) const;

   private:
    const ChaCha20Poly1305& cipher_;
    std::unique_ptr<Contexts> contexts_;
  };

 private:
  [[nodiscard]] std::unique_ptr<Contexts> take() const;

  Secret<std::array<std::uint8_t, 32>> key_;
  mutable Pool<Contexts> free_;
};

}  // namespace paes::libcrypto
