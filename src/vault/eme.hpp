// SPDX-License-Identifier: Apache-2.0
// EME with AES-256 (FIPS 197): a wide-block cipher, in which each bit of the result depends on each
// bit of the text (Halevi and Rogaway, "A Parallelizable Enciphering Mode", CT-RSA 2004).
#pragma once

#include "core/secret.hpp"
#include "kernel/kernel.hpp"
#include "message/raw_key.hpp"

namespace paes::vault {

inline constexpr std::size_t eme_max_bytes =
    std::size_t{128} * 16;  // the mode's own limit: 128 blocks

// Immutable after construction, hence safe to use from any number of threads.
class Eme {
 public:
  // `key` has 32 bytes.
  Eme(Bytes key, const Kernel& kernel);

  // `tweak` has 16 bytes. `text` is 1 to 128 whole blocks and is changed in place.
  void encrypt(Bytes tweak, MutableBytes text) const noexcept;
  void decrypt(Bytes tweak, MutableBytes text) const noexcept;

 private:
  void transform(Direction direction, Bytes tweak, MutableBytes text) const noexcept;
  void run(Direction direction, MutableBytes blocks) const noexcept;

  RawKey key_;       // ECB
  Secret<Tweak> l_;  // twice the encrypted zero block
};

}  // namespace paes::vault
