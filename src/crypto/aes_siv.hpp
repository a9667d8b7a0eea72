// SPDX-License-Identifier: Apache-2.0
// AES-SIV (RFC 5297) with two keys of AES-256, 64 bytes together. One object serves many messages
// on many threads. libcrypto computes it.
#pragma once

#include <memory>
#include <span>

#include "core/bytes.hpp"

namespace paes::libcrypto {

inline constexpr std::size_t aes_siv_key_bytes = 64;
inline constexpr std::size_t aes_siv_tag_bytes = 16;  // the synthetic IV

// Immutable after construction, hence safe to use from any number of threads.
class AesSiv {
 public:
  // Throws Error(failure) if libcrypto has no such cipher.
  explicit AesSiv(Bytes key);
  ~AesSiv();
  AesSiv(const AesSiv&) = delete;
  AesSiv& operator=(const AesSiv&) = delete;

  // S2V takes the strings of `associated` in order, then the text. None of them may be empty,
  // because libcrypto before 3.0.10 skips empty ones (CVE-2023-2975). `sealed` has the length of
  // `text`.
  void seal(std::span<const Bytes> associated, Bytes text, MutableBytes tag,
            MutableBytes sealed) const;
  // If it is not authentic, returns false and wipes `text`.
  [[nodiscard]] bool open(std::span<const Bytes> associated, Bytes tag, Bytes sealed,
                          MutableBytes text) const;

 private:
  struct Contexts;
  std::unique_ptr<const Contexts> keyed_;
};

}  // namespace paes::libcrypto
