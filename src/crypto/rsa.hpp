// SPDX-License-Identifier: Apache-2.0
// RSA encryption with OAEP, SHA-256 and MGF1 with SHA-256 (RFC 8017, section 7.1) through
// libcrypto, for SSH's RSA keys. Numbers are big-endian without leading zeros.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "core/bytes.hpp"
#include "core/secret.hpp"

namespace paes::rsa {

inline constexpr std::size_t min_bits = 2048;
// Neither ssh-keygen nor libcrypto goes beyond this. A decryption takes less than a second.
inline constexpr std::size_t max_bits = 16384;

struct PublicNumbers {
  Bytes modulus;
  Bytes exponent;
};

struct PrivateNumbers {
  PublicNumbers open;
  Bytes exponent;
  Bytes prime_1;
  Bytes prime_2;
  Bytes coefficient;  // the inverse of prime 2 modulo prime 1
};

[[nodiscard]] std::size_t bits(Bytes number) noexcept;

// Whether an exponent is odd, at least 3, and of at most 24 bits. Go's SSH library, and thus age,
// takes no others; longer ones would make encryption slow.
[[nodiscard]] bool is_public_exponent(Bytes number) noexcept;

// The caller has checked the numbers: odd modulus of min_bits to max_bits, public exponent.
[[nodiscard]] std::vector<std::uint8_t> encrypt(const PublicNumbers& key, std::string_view label,
                                                Bytes text);

// Its numbers lie in libcrypto's memory, which a program keeps locked (libcrypto.hpp) and which
// libcrypto wipes when it frees the key. Immutable, so threads may share it.
class PrivateKey {
 public:
  // Empty unless the numbers belong together. The caller has checked the public ones.
  [[nodiscard]] static std::optional<PrivateKey> make(const PrivateNumbers& numbers);

  // Empty if the text was not sealed to this key with this label.
  [[nodiscard]] std::optional<SecretBytes> decrypt(std::string_view label, Bytes sealed) const;

 private:
  explicit PrivateKey(std::shared_ptr<void> key) noexcept : key_(std::move(key)) {}
  std::shared_ptr<void> key_;  // an EVP_PKEY
};

}  // namespace paes::rsa
