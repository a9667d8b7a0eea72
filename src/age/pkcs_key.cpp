// SPDX-License-Identifier: Apache-2.0
#include "age/pkcs_key.hpp"

#include <algorithm>
#include <array>

#include "age/ssh_ed25519.hpp"
#include "age/ssh_rsa.hpp"

namespace paes::age {

namespace {

enum class DerTag : std::uint8_t { integer = 0x02, octets = 0x04, object = 0x06, sequence = 0x30 };

// Takes values off the front of DER (X.690, section 10): definite lengths in their shortest form.
// What cannot be read is empty, and is_good() stays false from then on.
class DerReader {
 public:
  explicit DerReader(Bytes der) noexcept : rest_(der) {}

  Bytes next(DerTag tag) noexcept {
    if (!good_ || rest_.size() < 2 || rest_[0] != static_cast<std::uint8_t>(tag)) {
      return fail();
    }
    std::size_t length = rest_[1];
    std::size_t head = 2;
    if (length >= 0x80) {
      const std::size_t length_bytes = length - 0x80;
      head += length_bytes;
      // 64 KiB is more than the largest key needs.
      if (length_bytes < 1 || length_bytes > 2 || rest_.size() < head || rest_[2] == 0) {
        return fail();
      }
      length = length_bytes == 1 ? rest_[2] : load_be16(rest_.data() + 2);
      if (length < 0x80) {
        return fail();
      }
    }
    if (length > rest_.size() - head) {
      return fail();
    }
    const Bytes value = rest_.subspan(head, length);
    rest_ = rest_.subspan(head + length);
    return value;
  }

  // A non-negative number, big-endian, without a leading zero. Zero is empty.
  Bytes number() noexcept {
    Bytes value = next(DerTag::integer);
    const bool has_zero = !value.empty() && value.front() == 0;
    if (has_zero) {
      value = value.subspan(1);
    } else if (value.empty() || value.front() >= 0x80) {
      return fail();
    }
    if (has_zero && !value.empty() && value.front() < 0x80) {
      return fail();
    }
    return value;
  }

  [[nodiscard]] bool is_good() const noexcept { return good_; }
  [[nodiscard]] bool is_complete() const noexcept { return good_ && rest_.empty(); }

 private:
  Bytes fail() noexcept {
    good_ = false;
    return {};
  }

  Bytes rest_;
  bool good_ = true;
};

constexpr std::array<std::uint8_t, 9> rsa_object = {0x2a, 0x86, 0x48, 0x86, 0xf7,
                                                    0x0d, 0x01, 0x01, 0x01};
constexpr std::array<std::uint8_t, 3> ed25519_object = {0x2b, 0x65, 0x70};

Error damaged(const std::string& name) {
  return {ErrorCode::usage, name + ": is damaged: its private key is malformed"};
}

SharedIdentity read_ed25519_seed(Bytes der, const std::string& name) {
  DerReader reader(der);
  const Bytes octets = reader.next(DerTag::octets);
  Ed25519Seed seed;
  if (!reader.is_complete() || octets.size() != seed->size()) {
    throw damaged(name);
  }
  std::copy(octets.begin(), octets.end(), seed->begin());
  return std::make_shared<SshEd25519Identity>(seed);
}

}  // namespace

SharedIdentity read_rsa_key(Bytes der, const std::string& name) {
  DerReader file(der);
  DerReader key(file.next(DerTag::sequence));
  const Bytes version = key.number();
  rsa::PrivateNumbers numbers;
  numbers.open.modulus = key.number();
  numbers.open.exponent = key.number();
  numbers.exponent = key.number();
  numbers.prime_1 = key.number();
  numbers.prime_2 = key.number();
  (void)key.number();  // d modulo p - 1 and q - 1 follow from the others
  (void)key.number();
  numbers.coefficient = key.number();
  if (!file.is_complete() || !key.is_complete() || !version.empty() ||
      numbers.open.modulus.empty() || numbers.open.exponent.empty()) {
    throw damaged(name);
  }
  return std::make_shared<SshRsaIdentity>(numbers, name);
}

SharedIdentity read_pkcs8_key(Bytes der, const std::string& name) {
  DerReader file(der);
  DerReader key(file.next(DerTag::sequence));
  const Bytes version = key.number();  // 0, or 1 if attributes or a public key follow
  DerReader algorithm(key.next(DerTag::sequence));
  const Bytes object = algorithm.next(DerTag::object);
  const Bytes octets = key.next(DerTag::octets);
  if (!file.is_complete() || !key.is_good() || !algorithm.is_good() || version.size() > 1 ||
      (version.size() == 1 && version.front() != 1)) {
    throw damaged(name);
  }
  if (std::equal(object.begin(), object.end(), rsa_object.begin(), rsa_object.end())) {
    return read_rsa_key(octets, name);
  }
  if (std::equal(object.begin(), object.end(), ed25519_object.begin(), ed25519_object.end())) {
    return read_ed25519_seed(octets, name);
  }
  throw Error(ErrorCode::usage, name + ": is a private key of a type that age does not take",
              "age takes Ed25519 and RSA");
}

}  // namespace paes::age
