// SPDX-License-Identifier: Apache-2.0
// An identity file that is one private SSH key in PEM: OpenSSH's own form, or the older ones of
// pkcs_key.hpp. If the key is encrypted, its passphrase is asked for once, and only if a stanza
// names the key's public half.
#include <algorithm>

#include "age/opened_once.hpp"
#include "age/openssh_key.hpp"
#include "age/pkcs_key.hpp"
#include "crypto/libcrypto.hpp"
#include "encoding/pem.hpp"

namespace paes::age {

namespace {

// age's limit. An RSA key of 16,384 bits takes 13 KiB.
constexpr std::size_t max_key_file_bytes = std::size_t{16} << 10;

class EncryptedSshIdentity final : public IdentityKey {
 public:
  EncryptedSshIdentity(OpensshKey key, Prompts prompts)
      : key_(std::move(key)), prompts_(std::move(prompts)) {}

  [[nodiscard]] std::optional<SecretBytes> unwrap(std::span<const Stanza> stanzas,
                                                  Effort& effort) const override {
    const std::string tag = ssh_tag(key_.public_wire());
    const bool is_named = std::any_of(stanzas.begin(), stanzas.end(), [&](const Stanza& stanza) {
      return is_for_ssh_key(stanza, key_.type(), tag);
    });
    return is_named ? opened(effort.wait())->unwrap(stanzas, effort) : std::nullopt;
  }

  [[nodiscard]] std::vector<SharedRecipient> recipients() const override {
    return {key_.recipient()};
  }

  [[nodiscard]] SecretBytes secret_text() const override { refuse_ssh_secret_text(); }

 private:
  [[nodiscard]] const SharedIdentity& opened(const WaitReady& wait) const {
    return opened_.get(wait, [&] {
      if (!prompts_.passphrase) {
        throw Error(ErrorCode::wrong_key,
                    key_.name() + ": is encrypted, and there is nobody to ask for its passphrase");
      }
      return key_.open(prompts_.passphrase("Enter passphrase for \"" + key_.name() + "\": "), wait);
    });
  }

  const OpensshKey key_;
  const Prompts prompts_;
  mutable OpenedOnce<SharedIdentity> opened_;
};

bool claims_identity_file(Bytes contents) { return pem::is_pem(libcrypto::text_of(contents)); }

SharedIdentity read_openssh_key(Bytes data, const std::string& name, const Prompts& prompts) {
  OpensshKey key(data, name);
  return key.is_encrypted() ? std::make_shared<EncryptedSshIdentity>(std::move(key), prompts)
                            : key.open({}, {});
}

std::vector<SharedIdentity> parse_identity_file(Bytes contents, const std::string& name,
                                                const Prompts& prompts) {
  const auto file_error = [&](const char* why, const char* hint = "") -> Error {
    return {ErrorCode::usage, name + ": " + why, hint};
  };
  if (contents.size() > max_key_file_bytes) {
    throw file_error("is too long for a private key");
  }
  const auto block = pem::parse(libcrypto::text_of(contents));
  if (!block && pem::has_several(libcrypto::text_of(contents))) {
    throw file_error("holds more than one key in PEM",
                     "give each key a file of its own, and each file with -i");
  }
  if (!block) {
    throw file_error("is damaged: it is not one block of PEM");
  }
  if (block->has_fields || block->label == "ENCRYPTED PRIVATE KEY") {
    throw file_error("is encrypted in an old form, which paes does not read",
                     "ssh-keygen -p -f FILE writes it in OpenSSH's own form");
  }
  if (block->label == openssh_label) {
    return {read_openssh_key(block->data, name, prompts)};
  }
  if (block->label == rsa_label) {
    return {read_rsa_key(block->data, name)};
  }
  if (block->label == pkcs8_label) {
    return {read_pkcs8_key(block->data, name)};
  }
  if (block->label.ends_with("PUBLIC KEY")) {
    throw file_error("is a public key in PEM, which opens nothing",
                     "give the file of the private key");
  }
  throw file_error("is PEM, but no private key that age takes",
                   "age takes ssh-ed25519 and ssh-rsa");
}

}  // namespace

extern const KeyKind kind_ssh_identity_file = {.claims_identity_file = claims_identity_file,
                                               .parse_identity_file = parse_identity_file};

}  // namespace paes::age
