// The options that say for whom a file is encrypted and with what it is opened, the same in every
// command.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "format/age.hpp"
#include "paes/passphrase.hpp"

namespace paes::cli {

class RecipientOptions {
 public:
  void declare(CLI::App& app);
  [[nodiscard]] bool given() const { return !recipients_.empty() || !files_.empty(); }
  [[nodiscard]] std::vector<age::X25519Recipient> load() const;
  [[nodiscard]] unsigned standard_input_uses() const { return cli::standard_input_uses(files_); }

 private:
  std::vector<std::string> recipients_;
  std::vector<std::string> files_;
};

class UnlockOptions {
 public:
  void declare(CLI::App& app);

  std::vector<std::string> identity_files;
  PassphraseOptions passphrase;
  unsigned max_work_factor = age::default_max_work_factor;

  [[nodiscard]] unsigned standard_input_uses() const {
    return cli::standard_input_uses(identity_files) + passphrase.standard_input_uses();
  }

  // With -f an output of that name would replace what opens the file. Throws Error(usage).
  void refuse_as_output(const std::string& path) const;
};

// Opens envelopes with what the options gave; the passphrase is read once, when first needed.
class Unlocker {
 public:
  explicit Unlocker(const UnlockOptions& options);
  Unlocker(const Unlocker&) = delete;
  Unlocker& operator=(const Unlocker&) = delete;

  // Valid as long as this object is.
  [[nodiscard]] age::Credentials credentials();
  [[nodiscard]] SecretBytes open(Bytes envelope);
  // For a caller who opens envelopes with identities alone.
  [[nodiscard]] std::vector<age::X25519Identity> take_identities() {
    return std::move(identities_);
  }

 private:
  const UnlockOptions& options_;
  std::vector<age::X25519Identity> identities_;
  std::optional<SecretBytes> passphrase_;
};

}  // namespace paes::cli
