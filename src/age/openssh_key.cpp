// SPDX-License-Identifier: Apache-2.0
#include "age/openssh_key.hpp"

#include <algorithm>
#include <array>

#include "crypto/bcrypt_pbkdf.hpp"
#include "crypto/libcrypto.hpp"

namespace paes::age {

// A cipher that ssh-keygen -Z takes.
struct SectionCipher {
  std::string_view name;
  const char* libcrypto_name;  // null: not encrypted
  std::size_t key_bytes;
  std::size_t iv_bytes;
  std::size_t tag_bytes;
  std::size_t block_bytes;  // the section is padded to whole blocks
};

namespace {

constexpr std::string_view magic("openssh-key-v1\0", 15);

constexpr std::array ciphers = {
    SectionCipher{"none", nullptr, 0, 0, 0, 8},
    SectionCipher{"aes256-ctr", "AES-256-CTR", 32, 16, 0, 16},
    SectionCipher{"aes192-ctr", "AES-192-CTR", 24, 16, 0, 16},
    SectionCipher{"aes128-ctr", "AES-128-CTR", 16, 16, 0, 16},
    SectionCipher{"aes256-cbc", "AES-256-CBC", 32, 16, 0, 16},
    SectionCipher{"aes192-cbc", "AES-192-CBC", 24, 16, 0, 16},
    SectionCipher{"aes128-cbc", "AES-128-CBC", 16, 16, 0, 16},
    SectionCipher{"aes256-gcm@openssh.com", "AES-256-GCM", 32, 12, 16, 16},
    SectionCipher{"aes128-gcm@openssh.com", "AES-128-GCM", 16, 12, 16, 16},
};

// ssh-keygen's default is 16, or 24 in newer versions. 10,000 rounds take one to two minutes.
constexpr std::uint32_t max_rounds = 10000;
constexpr std::size_t max_salt_bytes = 1024;

const SectionCipher& find_cipher(std::string_view name, const std::string& file) {
  const auto* const found =
      std::find_if(ciphers.begin(), ciphers.end(),
                   [&](const SectionCipher& known) { return known.name == name; });
  if (found == ciphers.end()) {
    throw Error(ErrorCode::usage, file + ": is encrypted with a cipher that paes does not know",
                "ssh-keygen -p -Z aes256-ctr -f FILE encrypts it with one that paes knows");
  }
  return *found;
}

}  // namespace

Error OpensshKey::damaged(const std::string& why) const {
  return {ErrorCode::usage, name_ + ": is damaged: " + why};
}

OpensshKey::OpensshKey(Bytes data, std::string name) : name_(std::move(name)) {
  WireReader reader(data);
  if (libcrypto::text_of(reader.bytes(magic.size())) != magic) {
    throw damaged("its contents are not an OpenSSH key");
  }
  const std::string_view cipher = reader.text();
  const std::string_view kdf = reader.text();
  WireReader kdf_options(reader.string());
  const std::uint32_t keys = reader.number();
  const Bytes wire = reader.string();
  const Bytes section = reader.string();
  if (!reader.is_good()) {
    throw damaged("it is cut short");
  }
  cipher_ = &find_cipher(cipher, name_);
  read_derivation(kdf, kdf_options);
  if (keys != 1) {
    throw Error(ErrorCode::usage, name_ + ": holds " + std::to_string(keys) + " keys, not one");
  }
  if (reader.rest().size() != cipher_->tag_bytes || section.empty() ||
      section.size() % cipher_->block_bytes != 0) {
    throw damaged("its private section has a wrong length");
  }
  type_ = find_ssh_type(WireReader(wire).text());
  if (type_ == nullptr) {
    throw Error(ErrorCode::usage, name_ + ": is an SSH key of a type that age does not take",
                "age takes ssh-ed25519 and ssh-rsa");
  }
  public_wire_.assign(wire.begin(), wire.end());
  (void)recipient();  // refuses a malformed public key
  section_ = SecretBytes(section.size() + cipher_->tag_bytes);
  const auto tag = std::copy(section.begin(), section.end(), section_.data());
  std::copy(reader.rest().begin(), reader.rest().end(), tag);
}

void OpensshKey::read_derivation(std::string_view kdf, WireReader options) {
  if (!is_encrypted()) {
    if (kdf != "none" || !options.is_complete()) {
      throw damaged("its key derivation is malformed");
    }
    return;
  }
  const Bytes salt = options.string();
  rounds_ = options.number();
  if (kdf != "bcrypt" || !options.is_complete() || salt.empty() || salt.size() > max_salt_bytes ||
      rounds_ == 0) {
    throw damaged("its key derivation is malformed");
  }
  if (rounds_ > max_rounds) {
    throw Error(ErrorCode::usage, name_ + ": its passphrase takes " + std::to_string(rounds_) +
                                      " rounds, above the limit of " + std::to_string(max_rounds));
  }
  salt_.assign(salt.begin(), salt.end());
}

bool OpensshKey::is_encrypted() const noexcept { return cipher_->libcrypto_name != nullptr; }

SharedRecipient OpensshKey::recipient() const {
  return type_->recipient_of_wire(public_wire_, name_);
}

SharedIdentity OpensshKey::open(Bytes passphrase, const WaitReady& wait) const {
  return is_encrypted() ? read_section(decrypt(passphrase, wait)) : read_section(section_);
}

SecretBytes OpensshKey::decrypt(Bytes passphrase, const WaitReady& wait) const {
  const auto wrong = [this] {
    return Error(ErrorCode::wrong_key, name_ + ": the passphrase is wrong");
  };
  if (passphrase.empty()) {
    throw wrong();  // ssh-keygen encrypts with no empty passphrase, and bcrypt_pbkdf takes none
  }
  SecretBytes derived(cipher_->key_bytes + cipher_->iv_bytes);
  bcrypt_pbkdf(
      passphrase, salt_, rounds_, [&wait] { check(wait); }, derived);
  const Bytes sealed = Bytes(section_).first(section_.size() - cipher_->tag_bytes);
  SecretBytes section(sealed.size());
  if (!libcrypto::aes_decrypt(cipher_->libcrypto_name, Bytes(derived).first(cipher_->key_bytes),
                              Bytes(derived).subspan(cipher_->key_bytes), sealed,
                              Bytes(section_).subspan(sealed.size()), section)) {
    throw wrong();
  }
  // The writer repeats a random number, which reveals a wrong key without a tag.
  WireReader reader(section);
  const std::uint32_t first_check = reader.number();
  if (first_check != reader.number()) {
    throw wrong();
  }
  return section;
}

SharedIdentity OpensshKey::read_section(Bytes section) const {
  WireReader reader(section);
  const std::uint32_t first_check = reader.number();
  const std::uint32_t second_check = reader.number();
  const std::string_view type = reader.text();
  if (!reader.is_good() || first_check != second_check || type != type_->type) {
    throw damaged("its private section is malformed");
  }
  SharedIdentity identity = type_->read_identity(reader, name_);
  (void)reader.string();  // a comment
  const Bytes padding = reader.rest();
  if (!reader.is_good() || padding.size() >= cipher_->block_bytes) {
    throw damaged("its private section is malformed");
  }
  for (std::size_t i = 0; i < padding.size(); ++i) {
    if (padding[i] != i + 1) {
      throw damaged("its padding is wrong");
    }
  }
  if (identity->recipients().front()->text() != ssh_line(public_wire_)) {
    throw damaged("its public key is not that of its private key");
  }
  return identity;
}

}  // namespace paes::age
