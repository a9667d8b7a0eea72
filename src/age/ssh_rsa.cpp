// SPDX-License-Identifier: Apache-2.0
#include "age/ssh_rsa.hpp"

#include "crypto/libcrypto.hpp"

namespace paes::age {

namespace {

using libcrypto::bytes_of;

// The time grows with the cube of the length: 5 ms for 4096 bits.
constexpr std::uint64_t unwrap_us(std::uint64_t modulus_bytes) {
  constexpr std::uint64_t bytes_of_4096 = 512;
  return 5000 * modulus_bytes * modulus_bytes * modulus_bytes /
         (bytes_of_4096 * bytes_of_4096 * bytes_of_4096);
}

constexpr std::string_view label = "age-encryption.org/v1/ssh-rsa";

// Views into the wire encoding.
rsa::PublicNumbers read_wire(Bytes wire, const std::string& name) {
  WireReader reader(wire);
  const std::string_view type = reader.text();
  rsa::PublicNumbers numbers;
  numbers.exponent = reader.positive();
  numbers.modulus = reader.positive();
  if (!reader.is_complete() || type != ssh_rsa_type || (numbers.modulus.back() & 1) == 0 ||
      !rsa::is_public_exponent(numbers.exponent)) {
    throw Error(ErrorCode::usage, name + ": is a damaged or incomplete SSH public key");
  }
  return numbers;
}

Wire write_wire(const rsa::PublicNumbers& numbers) {
  Wire wire;
  append_string(wire, bytes_of(ssh_rsa_type));
  append_positive(wire, numbers.exponent);
  append_positive(wire, numbers.modulus);
  return wire;
}

void check_size(const rsa::PublicNumbers& numbers, const std::string& name) {
  const std::size_t bits = rsa::bits(numbers.modulus);
  if (bits < rsa::min_bits || bits > rsa::max_bits) {
    throw UnsupportedKey(
        name + ": is an RSA key of " + std::to_string(bits) + " bits, and age takes " +
            std::to_string(rsa::min_bits) + " or more, paes up to " + std::to_string(rsa::max_bits),
        "an RSA key of " + std::to_string(bits) + " bits, which age does not take,");
  }
}

Wire checked_wire(const rsa::PublicNumbers& numbers, const std::string& name) {
  Wire wire = write_wire(numbers);
  check_size(read_wire(wire, name), name);
  return wire;
}

rsa::PrivateKey make_key(const rsa::PrivateNumbers& numbers, const std::string& name) {
  auto key = rsa::PrivateKey::make(numbers);
  if (!key) {
    throw Error(ErrorCode::usage, name + ": is damaged: the numbers of its RSA key do not match");
  }
  return std::move(*key);
}

}  // namespace

SshRsaRecipient::SshRsaRecipient(Bytes wire, const std::string& name)
    : wire_(wire.begin(), wire.end()) {
  check_size(read_wire(wire_, name), name);
}

WrappedKey SshRsaRecipient::wrap(Bytes file_key, const WaitReady& /*wait*/) const {
  return {{{std::string(ssh_rsa_type) + " " + ssh_tag(wire_),
            rsa::encrypt(read_wire(wire_, "recipient"), label, file_key)}}};
}

std::string SshRsaRecipient::text() const { return ssh_line(wire_); }

SshRsaIdentity::SshRsaIdentity(const rsa::PrivateNumbers& numbers, const std::string& name)
    : wire_(checked_wire(numbers.open, name)), key_(make_key(numbers, name)) {}

std::optional<SecretBytes> SshRsaIdentity::unwrap(std::span<const Stanza> stanzas,
                                                  Effort& effort) const {
  const std::string tag = ssh_tag(wire_);
  const std::size_t sealed_bytes = read_wire(wire_, "identity").modulus.size();
  for (const Stanza& stanza : stanzas) {
    if (!is_for_ssh_key(stanza, ssh_rsa_type, tag)) {
      continue;
    }
    std::vector<std::uint8_t> sealed(sealed_bytes);
    if (stanza.split_arguments().size() != 2 || !stanza.decode_body(sealed)) {
      throw corrupt("malformed ssh-rsa stanza");
    }
    effort.spend(unwrap_us(sealed_bytes));
    auto file_key = key_.decrypt(label, sealed);
    if (file_key && file_key->size() != file_key_bytes) {
      throw corrupt("malformed ssh-rsa stanza");
    }
    if (file_key) {
      return file_key;
    }
    effort.named_in_vain();
  }
  return std::nullopt;
}

void check_ssh_rsa(const Stanza& stanza) {
  std::vector<std::uint8_t> sealed(stanza.body_bytes());
  if (stanza.split_arguments().size() != 2 || sealed.size() < rsa::min_bits / 8 ||
      sealed.size() > rsa::max_bits / 8 || !stanza.decode_body(sealed)) {
    throw corrupt("malformed ssh-rsa stanza");
  }
}

std::vector<SharedRecipient> SshRsaIdentity::recipients() const {
  return {std::make_shared<SshRsaRecipient>(wire_)};
}

SecretBytes SshRsaIdentity::secret_text() const { refuse_ssh_secret_text(); }

namespace {

SharedRecipient recipient_of_wire(Bytes wire, const std::string& name) {
  return std::make_shared<SshRsaRecipient>(wire, name);
}

SharedIdentity read_identity(WireReader& fields, const std::string& name) {
  rsa::PrivateNumbers numbers;
  numbers.open.modulus = fields.positive();
  numbers.open.exponent = fields.positive();
  numbers.exponent = fields.positive();
  numbers.coefficient = fields.positive();
  numbers.prime_1 = fields.positive();
  numbers.prime_2 = fields.positive();
  if (!fields.is_good()) {
    throw Error(ErrorCode::usage, name + ": is damaged: its ssh-rsa key is malformed");
  }
  return std::make_shared<SshRsaIdentity>(numbers, name);
}

bool claims_recipient(std::string_view text) { return is_of_ssh_type(text, ssh_rsa_type); }

SharedRecipient parse_recipient_line(std::string_view text, const std::string& name,
                                     const Prompts& /*prompts*/) {
  return recipient_of_wire(wire_of_line(text, ssh_rsa_type, name), name);
}

}  // namespace

extern const SshType ssh_type_rsa = {ssh_rsa_type, recipient_of_wire, read_identity};

extern const KeyKind kind_ssh_rsa = {.claims_recipient = claims_recipient,
                                     .parse_recipient = parse_recipient_line};

}  // namespace paes::age
