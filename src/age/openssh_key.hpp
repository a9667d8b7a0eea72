// SPDX-License-Identifier: Apache-2.0
// A private key file of ssh-keygen (OpenSSH's PROTOCOL.key): the public key in clear, then a
// section with the private key, which may be encrypted under a passphrase.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "age/ssh_key.hpp"
#include "core/secret.hpp"
#include "crypto/derivation.hpp"

namespace paes::age {

inline constexpr std::string_view openssh_label = "OPENSSH PRIVATE KEY";

struct SectionCipher;

class OpensshKey {
 public:
  // `data` is what stands between BEGIN and END, and `name` is the file's. Throws Error(usage),
  // like all members. Refuses a derivation that costs too much before anyone is asked.
  OpensshKey(Bytes data, std::string name);

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] Bytes public_wire() const noexcept { return public_wire_; }
  [[nodiscard]] std::string_view type() const noexcept { return type_->type; }
  [[nodiscard]] SharedRecipient recipient() const;
  [[nodiscard]] bool is_encrypted() const noexcept;

  // The private key. `passphrase` is empty if the key is not encrypted. Throws Error(wrong_key) if
  // the passphrase is wrong. `wait` may throw to give up.
  [[nodiscard]] SharedIdentity open(Bytes passphrase, const WaitReady& wait) const;

 private:
  void read_derivation(std::string_view kdf, WireReader options);
  [[nodiscard]] SecretBytes decrypt(Bytes passphrase, const WaitReady& wait) const;
  [[nodiscard]] SharedIdentity read_section(Bytes section) const;
  [[nodiscard]] Error damaged(const std::string& why) const;

  std::string name_;
  const SectionCipher* cipher_ = nullptr;
  std::vector<std::uint8_t> salt_;
  std::uint32_t rounds_ = 0;
  Wire public_wire_;
  const SshType* type_ = nullptr;
  SecretBytes section_;  // followed by the tag, if the cipher has one
};

}  // namespace paes::age
