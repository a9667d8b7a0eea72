// SPDX-License-Identifier: Apache-2.0
#include "crypto/p256.hpp"

#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/objects.h>

#include <cassert>

#include "core/secret.hpp"
#include "core/secret_heap.hpp"
#include "crypto/default_provider.hpp"

namespace paes::libcrypto {

namespace {

using Group = std::unique_ptr<EC_GROUP, FreeWith<EC_GROUP_free>>;
// These two are wiped when they are freed.
using Point = std::unique_ptr<EC_POINT, FreeWith<EC_POINT_clear_free>>;
using Number = std::unique_ptr<BIGNUM, FreeWith<BN_clear_free>>;
using Scratch = std::unique_ptr<BN_CTX, FreeWith<BN_CTX_free>>;

constexpr const char* algorithm = "P-256";
constexpr std::uint8_t uncompressed_mark = 4;
constexpr std::uint8_t compressed_mark = 2;  // or one more, by the parity of y

const EC_GROUP* group() {
  static EC_GROUP* const kept_group = kept<Group>(algorithm, [] {
    return EC_GROUP_new_by_curve_name_ex(own_context(), nullptr, NID_X9_62_prime256v1);
  });
  return kept_group;
}

// libcrypto's own memory for one computation.
class Computation {
 public:
  Computation() : scratch_(BN_CTX_secure_new_ex(own_context())), point_(EC_POINT_new(group())) {
    require(scratch_ != nullptr && point_ != nullptr, algorithm);
  }

  [[nodiscard]] EC_POINT* point() const noexcept { return point_.get(); }
  [[nodiscard]] BN_CTX* scratch() const noexcept { return scratch_.get(); }

  // False if the bytes are no point of the curve in one of the two forms.
  [[nodiscard]] bool read(Bytes encoded) const {
    const bool has_form =
        (encoded.size() == p256_point_bytes && encoded[0] == uncompressed_mark) ||
        (encoded.size() == p256_compressed_bytes && (encoded[0] & ~1U) == compressed_mark);
    const bool is_point = has_form && EC_POINT_oct2point(group(), point(), encoded.data(),
                                                         encoded.size(), scratch()) == 1;
    ERR_clear_error();
    return is_point;
  }
  void write(MutableBytes uncompressed) const {
    assert(uncompressed.size() == p256_point_bytes);
    require(EC_POINT_point2oct(group(), point(), POINT_CONVERSION_UNCOMPRESSED, uncompressed.data(),
                               uncompressed.size(), scratch()) == uncompressed.size(),
            algorithm);
  }

 private:
  Scratch scratch_;
  Point point_;
};

// Null unless it is a secret key.
Number secret_number(Bytes secret_key) {
  assert(secret_key.size() == p256_secret_bytes);
  Number number(BN_bin2bn(secret_key.data(), static_cast<int>(secret_key.size()), nullptr));
  require(number != nullptr, algorithm);
  BN_set_flags(number.get(), BN_FLG_CONSTTIME);
  const bool is_key =
      BN_is_zero(number.get()) == 0 && BN_cmp(number.get(), EC_GROUP_get0_order(group())) < 0;
  return is_key ? std::move(number) : nullptr;
}

}  // namespace

bool p256_uncompressed(Bytes encoded, MutableBytes point) {
  const Computation computation;
  if (!computation.read(encoded)) {
    return false;
  }
  computation.write(point);
  return true;
}

bool p256_public_key(Bytes secret_key, MutableBytes point) {
  const Computation computation;
  const SecretAllocations secret;
  const Number number = secret_number(secret_key);
  if (number == nullptr) {
    return false;
  }
  require(EC_POINT_mul(group(), computation.point(), number.get(), nullptr, nullptr,
                       computation.scratch()) == 1,
          algorithm);
  computation.write(point);
  return true;
}

void p256_generate(MutableBytes secret_key, MutableBytes point) {
  do {
    random_bytes(secret_key);
  } while (!p256_public_key(secret_key, point));
}

bool p256(Bytes secret_key, Bytes peer, MutableBytes shared_secret) {
  assert(shared_secret.size() == p256_secret_bytes);
  const Computation computation;
  const SecretAllocations secret;
  const Number number = secret_number(secret_key);
  if (number == nullptr || !computation.read(peer)) {
    return false;
  }
  const Number x(BN_new());
  require(x != nullptr &&
              EC_POINT_mul(group(), computation.point(), nullptr, computation.point(), number.get(),
                           computation.scratch()) == 1 &&
              EC_POINT_get_affine_coordinates(group(), computation.point(), x.get(), nullptr,
                                              computation.scratch()) == 1 &&
              BN_bn2binpad(x.get(), shared_secret.data(), p256_secret_bytes) == p256_secret_bytes,
          algorithm);
  return true;
}

}  // namespace paes::libcrypto
