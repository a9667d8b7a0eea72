// SPDX-License-Identifier: Apache-2.0
#include "crypto/ed25519.hpp"

#include <openssl/bn.h>

#include <algorithm>
#include <array>

#include "crypto/libcrypto_objects.hpp"

namespace paes::ed25519 {

namespace {

using libcrypto::require;
using Number = std::unique_ptr<BIGNUM, libcrypto::FreeWith<BN_free>>;
using Scratch = std::unique_ptr<BN_CTX, libcrypto::FreeWith<BN_CTX_free>>;

constexpr const char* operation = "Ed25519";

Number made(BIGNUM* number) {
  require(number != nullptr, operation);
  return Number(number);
}

// Arithmetic modulo p = 2^255 - 19.
class Field {
 public:
  Field() : scratch_((libcrypto::require_libcrypto(), BN_CTX_new())), p_(made(BN_new())) {
    require(scratch_ != nullptr && BN_set_bit(p_.get(), 255) == 1 && BN_sub_word(p_.get(), 19) == 1,
            operation);
  }

  [[nodiscard]] Number number(BN_ULONG value) const {
    Number number = made(BN_new());
    require(BN_set_word(number.get(), value) == 1, operation);
    return number;
  }
  [[nodiscard]] Number add(const Number& a, const Number& b) const {
    return apply(BN_mod_add, a, b);
  }
  [[nodiscard]] Number subtract(const Number& a, const Number& b) const {
    return apply(BN_mod_sub, a, b);
  }
  [[nodiscard]] Number multiply(const Number& a, const Number& b) const {
    return apply(BN_mod_mul, a, b);
  }
  // `b` is not zero.
  [[nodiscard]] Number divide(const Number& a, const Number& b) const {
    return multiply(a, made(BN_mod_inverse(nullptr, b.get(), p_.get(), scratch_.get())));
  }
  [[nodiscard]] bool is_zero(const Number& a) const {
    return BN_is_zero(subtract(a, number(0)).get()) == 1;
  }
  // Zero counts as a square.
  [[nodiscard]] bool is_square(const Number& a) const {
    const int symbol = BN_kronecker(a.get(), p_.get(), scratch_.get());
    require(symbol >= -1, operation);
    return symbol >= 0;
  }

 private:
  using Operation = int(BIGNUM*, const BIGNUM*, const BIGNUM*, const BIGNUM*, BN_CTX*);

  [[nodiscard]] Number apply(Operation* on, const Number& a, const Number& b) const {
    Number result = made(BN_new());
    require(on(result.get(), a.get(), b.get(), p_.get(), scratch_.get()) == 1, operation);
    return result;
  }

  Scratch scratch_;
  Number p_;
};

}  // namespace

bool to_x25519(std::span<const std::uint8_t, key_bytes> key, std::span<std::uint8_t, key_bytes> u) {
  std::array<std::uint8_t, key_bytes> bytes;
  std::copy(key.begin(), key.end(), bytes.begin());
  bytes.back() &= 0x7f;  // the sign of x
  const Field field;
  const Number y = made(BN_lebin2bn(bytes.data(), static_cast<int>(bytes.size()), nullptr));
  const Number one = field.number(1);
  // The curve is -x^2 + y^2 = 1 + d x^2 y^2 with d = -121665 / 121666. So x^2 is
  // (y^2 - 1) / (d y^2 + 1), whose denominator is never zero because -1/d is no square.
  const Number d =
      field.divide(field.subtract(field.number(0), field.number(121665)), field.number(121666));
  const Number y2 = field.multiply(y, y);
  const Number x2 = field.divide(field.subtract(y2, one), field.add(field.multiply(d, y2), one));
  const Number denominator = field.subtract(one, y);
  if (!field.is_square(x2) || field.is_zero(denominator)) {
    return false;
  }
  const Number result = field.divide(field.add(one, y), denominator);
  require(BN_bn2lebinpad(result.get(), u.data(), static_cast<int>(u.size())) ==
              static_cast<int>(u.size()),
          operation);
  return true;
}

}  // namespace paes::ed25519
