// SPDX-License-Identifier: Apache-2.0
#include "age/encrypted_identity_file.hpp"

#include "age/armor.hpp"
#include "age/envelope.hpp"
#include "age/opened_once.hpp"
#include "crypto/libcrypto.hpp"

namespace paes::age {

namespace {

using libcrypto::text_of;

// An error of the file of keys names that file, not the one that the keys are to open. No option
// raises the limit of its work factor.
Error about(const std::string& name, const Error& error) {
  return {error.code == ErrorCode::corrupt ? ErrorCode::usage : error.code,
          name + ": " + error.what()};
}

// The binary age file. Throws Error(usage) unless a passphrase opens it.
std::vector<std::uint8_t> read_file(Bytes contents, const std::string& name) {
  std::vector<std::uint8_t> file;
  try {
    if (is_armored(contents)) {
      ArmorReader reader;
      reader.add(contents, file);
      reader.end(file);
    } else {
      file.assign(contents.begin(), contents.end());
    }
    if (summarize(file).stanzas.front().type == scrypt_type) {
      return file;
    }
  } catch (const Error& error) {
    throw about(name, error);
  }
  throw Error(ErrorCode::usage, name + ": is encrypted, but not with a passphrase",
              "decrypt it, and give what it holds");
}

// A single key that stands for the whole file: how many keys it has is not known until someone
// needs them. Only then is the passphrase asked for, once.
class EncryptedIdentityFile final : public IdentityKey {
 public:
  EncryptedIdentityFile(std::vector<std::uint8_t> file, std::string name, Prompts prompts)
      : file_(std::move(file)), name_(std::move(name)), prompts_(std::move(prompts)) {}

  [[nodiscard]] std::optional<SecretBytes> unwrap(std::span<const Stanza> stanzas,
                                                  Effort& effort) const override {
    for (const SharedIdentity& identity : opened(effort.wait())) {
      if (auto file_key = identity->unwrap(stanzas, effort)) {
        return file_key;
      }
    }
    return std::nullopt;
  }

  [[nodiscard]] std::vector<SharedRecipient> recipients() const override {
    return recipients_of(opened(prompts_.wait));
  }

  [[nodiscard]] SecretBytes secret_text() const override {
    throw Error(ErrorCode::usage, name_ + ": is encrypted, and stays in its file");
  }

 private:
  [[nodiscard]] const std::vector<SharedIdentity>& opened(const WaitReady& wait) const {
    return opened_.get(wait, [&] {
      const SecretBytes passphrase =
          prompts_.passphrase("Enter passphrase for \"" + name_ + "\": ");
      return open_identity_file(file_, name_, passphrase, prompts_, wait);
    });
  }

  const std::vector<std::uint8_t> file_;
  const std::string name_;
  const Prompts prompts_;
  mutable OpenedOnce<std::vector<SharedIdentity>> opened_;
};

std::vector<SharedIdentity> parse(Bytes contents, const std::string& name, const Prompts& prompts) {
  std::vector<std::uint8_t> file = read_file(contents, name);
  if (!prompts.passphrase) {
    throw Error(ErrorCode::usage, name + ": is encrypted with a passphrase",
                "give the passphrase with the file");
  }
  return {std::make_shared<EncryptedIdentityFile>(std::move(file), name, prompts)};
}

}  // namespace

bool is_encrypted_identity_file(Bytes contents) noexcept {
  return text_of(contents).starts_with("age-encryption.org/") || is_armored(contents);
}

std::vector<SharedIdentity> open_identity_file(Bytes contents, const std::string& name,
                                               Bytes passphrase, const Prompts& prompts,
                                               const WaitReady& wait) {
  const std::vector<std::uint8_t> file = read_file(contents, name);
  const Credentials credentials{
      {}, [&] { return SecretBytes(passphrase); }, default_max_work_factor, wait};
  const auto text = [&] {
    try {
      return open(file, credentials);
    } catch (const Error& error) {
      throw about(name, error);
    }
  }();
  return parse_identity_lines(text, name, prompts);
}

extern const KeyKind kind_encrypted_identity_file = {
    .claims_identity_file = is_encrypted_identity_file, .parse_identity_file = parse};

}  // namespace paes::age
