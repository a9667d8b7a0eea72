// SPDX-License-Identifier: Apache-2.0
// A FIDO2 token that opens vaults as gocryptfs has it: the programs fido2-cred and fido2-assert of
// libfido2 talk to the token (internal/fido2 of github.com/rfjakob/gocryptfs). They ask for a PIN
// at the terminal themselves.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/secret.hpp"
#include "vault/configuration.hpp"

namespace CLI {
class App;
}

namespace paes::cli {

class Fido2Token {
 public:
  // --fido2 DEVICE.
  void declare(CLI::App& app);
  // As --fido2 would.
  void use_device(std::string device) { device_ = std::move(device); }
  [[nodiscard]] bool is_given() const noexcept { return device_.has_value(); }

  // All that follow throw Error(usage) for what can be no device, and Error(failure) in one line if
  // the token's program is missing, fails, is killed, says nothing for five minutes or something
  // else than what is asked for, or if paes is asked to stop.

  // Makes a credential for a vault of this name, with a new salt.
  [[nodiscard]] vault::Fido2Credential make_credential(
      std::string_view vault_name, std::vector<std::string> assert_options) const;
  // What takes the passphrase's place. A token without the credential fails, or gives another
  // secret.
  [[nodiscard]] SecretBytes secret(const vault::Fido2Credential& credential) const;

 private:
  [[nodiscard]] SecretBytes ask(const char* program, std::vector<std::string> options,
                                const std::string& request) const;

  std::optional<std::string> device_;
};

}  // namespace paes::cli
