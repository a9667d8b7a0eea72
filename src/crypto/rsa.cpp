// SPDX-License-Identifier: Apache-2.0
#include "crypto/rsa.hpp"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/rsa.h>

#include <array>
#include <bit>

#include "core/secret_heap.hpp"
#include "crypto/default_provider.hpp"
#include "crypto/libcrypto.hpp"

namespace paes::rsa {

namespace {

using libcrypto::Key;
using libcrypto::KeyContext;
using libcrypto::require;

constexpr const char* operation = "RSA";

using Number = std::unique_ptr<BIGNUM, libcrypto::FreeWith<BN_clear_free>>;
using Scratch = std::unique_ptr<BN_CTX, libcrypto::FreeWith<BN_CTX_free>>;

Number made(BIGNUM* number) {
  require(number != nullptr, operation);
  BN_set_flags(number, BN_FLG_CONSTTIME);
  return Number(number);
}

Number number_of(Bytes bytes) {
  return made(BN_bin2bn(bytes.data(), static_cast<int>(bytes.size()), nullptr));
}

Number less_one(const Number& number) {
  Number result = made(BN_dup(number.get()));
  require(BN_sub_word(result.get(), 1) == 1, operation);
  return result;
}

// The numbers of RFC 8017, section 3.2.
struct Numbers {
  explicit Numbers(const PrivateNumbers& from)
      : scratch(BN_CTX_secure_new()),
        n(number_of(from.open.modulus)),
        e(number_of(from.open.exponent)),
        d(number_of(from.exponent)),
        p(number_of(from.prime_1)),
        q(number_of(from.prime_2)),
        coefficient(number_of(from.coefficient)),
        p_less_one(less_one(p)),
        q_less_one(less_one(q)) {
    require(scratch != nullptr, operation);
  }

  // Whether a b = 1 modulo m.
  [[nodiscard]] bool are_inverse(const Number& a, const Number& b, const Number& m) const {
    const Number product = made(BN_new());
    require(BN_mod_mul(product.get(), a.get(), b.get(), m.get(), scratch.get()) == 1, operation);
    return BN_is_one(product.get()) == 1;
  }

  [[nodiscard]] bool belong_together() const {
    const Number product = made(BN_new());
    require(BN_mul(product.get(), p.get(), q.get(), scratch.get()) == 1, operation);
    return BN_cmp(product.get(), n.get()) == 0 && BN_is_one(p.get()) == 0 &&
           BN_is_one(q.get()) == 0 && are_inverse(d, e, p_less_one) &&
           are_inverse(d, e, q_less_one) && are_inverse(coefficient, q, p);
  }

  [[nodiscard]] Number d_modulo(const Number& m) const {
    Number result = made(BN_new());
    require(BN_mod(result.get(), d.get(), m.get(), scratch.get()) == 1, operation);
    return result;
  }

  Scratch scratch;
  Number n, e, d, p, q, coefficient, p_less_one, q_less_one;
};

// The numbers of a key as libcrypto takes them, in little-endian bytes. They lie in our own memory,
// because libcrypto does not wipe its parameter lists.
class Parameters {
 public:
  explicit Parameters(std::size_t most_bytes) : memory_(most_bytes) {}

  void add(const char* name, const BIGNUM* number) {
    const auto bytes = static_cast<std::size_t>(BN_num_bytes(number));
    require(used_ + bytes <= memory_.size(), operation);
    std::uint8_t* const at = memory_.data() + used_;
    require(BN_bn2nativepad(number, at, static_cast<int>(bytes)) >= 0, operation);
    list_.push_back(OSSL_PARAM_construct_BN(name, at, bytes));
    used_ += bytes;
  }

  [[nodiscard]] Key make_key(int selection) {
    list_.push_back(OSSL_PARAM_construct_end());
    const KeyContext context(EVP_PKEY_CTX_new_from_name(libcrypto::own_context(), "RSA", nullptr));
    EVP_PKEY* key = nullptr;
    require(context != nullptr && EVP_PKEY_fromdata_init(context.get()) == 1 &&
                EVP_PKEY_fromdata(context.get(), &key, selection, list_.data()) == 1,
            operation);
    return Key(key);
  }

 private:
  SecretBytes memory_;
  std::size_t used_ = 0;
  std::vector<OSSL_PARAM> list_;
};

using Init = int(EVP_PKEY_CTX*, const OSSL_PARAM[]);

KeyContext oaep_context(EVP_PKEY* key, Init* init, std::string_view label) {
  KeyContext context(EVP_PKEY_CTX_new_from_pkey(libcrypto::own_context(), key, nullptr));
  const std::array parameters = {
      libcrypto::name_of(OSSL_ASYM_CIPHER_PARAM_PAD_MODE, OSSL_PKEY_RSA_PAD_MODE_OAEP),
      libcrypto::name_of(OSSL_ASYM_CIPHER_PARAM_OAEP_DIGEST, "SHA256"),
      libcrypto::name_of(OSSL_ASYM_CIPHER_PARAM_MGF1_DIGEST, "SHA256"),
      libcrypto::octets(OSSL_ASYM_CIPHER_PARAM_OAEP_LABEL, libcrypto::bytes_of(label)),
      OSSL_PARAM_construct_end()};
  require(context != nullptr && init(context.get(), parameters.data()) == 1, operation);
  return context;
}

}  // namespace

std::size_t bits(Bytes number) noexcept {
  return number.empty()
             ? 0
             : number.size() * 8 - static_cast<std::size_t>(std::countl_zero(number.front()));
}

bool is_public_exponent(Bytes number) noexcept {
  return bits(number) >= 2 && bits(number) <= 24 && (number.back() & 1) != 0;
}

std::vector<std::uint8_t> encrypt(const PublicNumbers& numbers, std::string_view label,
                                  Bytes text) {
  const SecretAllocations secret;  // the padded text
  libcrypto::require_libcrypto();
  Parameters parameters(numbers.modulus.size() + numbers.exponent.size());
  parameters.add(OSSL_PKEY_PARAM_RSA_N, number_of(numbers.modulus).get());
  parameters.add(OSSL_PKEY_PARAM_RSA_E, number_of(numbers.exponent).get());
  const Key key = parameters.make_key(EVP_PKEY_PUBLIC_KEY);
  const KeyContext context = oaep_context(key.get(), EVP_PKEY_encrypt_init_ex, label);
  std::vector<std::uint8_t> sealed(numbers.modulus.size());
  std::size_t written = sealed.size();
  require(EVP_PKEY_encrypt(context.get(), sealed.data(), &written, text.data(), text.size()) == 1 &&
              written == sealed.size(),
          operation);
  return sealed;
}

std::optional<PrivateKey> PrivateKey::make(const PrivateNumbers& from) {
  const std::size_t most = from.open.modulus.size();
  for (const Bytes number : {from.exponent, from.prime_1, from.prime_2, from.coefficient}) {
    if (number.empty() || number.size() > most) {
      return std::nullopt;
    }
  }
  const SecretAllocations secret;
  libcrypto::require_libcrypto();
  const Numbers numbers(from);
  if (!numbers.belong_together()) {
    return std::nullopt;
  }
  Parameters parameters(8 * most);
  parameters.add(OSSL_PKEY_PARAM_RSA_N, numbers.n.get());
  parameters.add(OSSL_PKEY_PARAM_RSA_E, numbers.e.get());
  parameters.add(OSSL_PKEY_PARAM_RSA_D, numbers.d.get());
  parameters.add(OSSL_PKEY_PARAM_RSA_FACTOR1, numbers.p.get());
  parameters.add(OSSL_PKEY_PARAM_RSA_FACTOR2, numbers.q.get());
  parameters.add(OSSL_PKEY_PARAM_RSA_EXPONENT1, numbers.d_modulo(numbers.p_less_one).get());
  parameters.add(OSSL_PKEY_PARAM_RSA_EXPONENT2, numbers.d_modulo(numbers.q_less_one).get());
  parameters.add(OSSL_PKEY_PARAM_RSA_COEFFICIENT1, numbers.coefficient.get());
  return PrivateKey(
      std::shared_ptr<EVP_PKEY>(parameters.make_key(EVP_PKEY_KEYPAIR).release(), EVP_PKEY_free));
}

std::optional<SecretBytes> PrivateKey::decrypt(std::string_view label, Bytes sealed) const {
  const SecretAllocations secret;
  auto* const key = static_cast<EVP_PKEY*>(key_.get());
  const KeyContext context = oaep_context(key, EVP_PKEY_decrypt_init_ex, label);
  SecretBytes text(sealed.size());
  std::size_t written = text.size();
  if (EVP_PKEY_decrypt(context.get(), text.data(), &written, sealed.data(), sealed.size()) != 1) {
    ERR_clear_error();
    return std::nullopt;
  }
  text.truncate(written);
  return text;
}

}  // namespace paes::rsa
