// SPDX-License-Identifier: Apache-2.0
// The options that say for whom a file is encrypted and with what it is opened, the same in every
// command.
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "age/envelope.hpp"
#include "cli/keyfile.hpp"
#include "cli/passphrase.hpp"
#include "stream/container/file_format.hpp"

namespace paes::cli {

class RecipientOptions {
 public:
  RecipientOptions() = default;
  // As the options -r and -R would give them.
  RecipientOptions(std::vector<std::string> recipients, std::vector<std::string> files)
      : recipients_(std::move(recipients)), files_(std::move(files)) {}

  void declare(CLI::App& app);
  [[nodiscard]] bool given() const { return !recipients_.empty() || !files_.empty(); }
  [[nodiscard]] std::vector<age::SharedRecipient> load() const;
  [[nodiscard]] unsigned standard_input_uses() const { return cli::standard_input_uses(files_); }
  // With -f an output of that name would replace a list of recipients. Throws Error(usage).
  void refuse_as_output(const stream::FilePlace& output) const;

 private:
  std::vector<std::string> recipients_;
  std::vector<std::string> files_;
};

class UnlockOptions {
 public:
  void declare(CLI::App& app);

  std::vector<std::string> identity_files;
  std::vector<std::string> plugins;              // whose identities without data are tried, too
  age::Prompts (*prompts)() = terminal_prompts;  // of the keys
  PassphraseOptions passphrase;
  unsigned max_work_factor = age::default_max_work_factor;

  [[nodiscard]] unsigned standard_input_uses() const {
    return cli::standard_input_uses(identity_files) + passphrase.standard_input_uses();
  }

  // With -f an output of that name would replace what opens the file. Throws Error(usage).
  void refuse_as_output(const stream::FilePlace& output) const;
};

// Opens envelopes with what the options gave; the passphrase is read once, when first needed. Any
// thread may open an envelope. Derivations from a passphrase take turns, because each takes as much
// memory as the user allows for one.
class Unlocker {
 public:
  explicit Unlocker(const UnlockOptions& options);
  Unlocker(const Unlocker&) = delete;
  Unlocker& operator=(const Unlocker&) = delete;

  // Valid as long as this object is. For one thread.
  [[nodiscard]] age::Credentials credentials();
  [[nodiscard]] age::OpenEnvelope open(Bytes envelope);
  // Calls `use`, which opens something, and passes on what it throws.
  void with_credentials(const std::function<void(const age::Credentials& credentials)>& use);
  [[nodiscard]] stream::OpenedPayload open(const stream::EncryptedFile& file,
                                           const stream::Work& work);
  [[nodiscard]] const std::vector<age::SharedIdentity>& identities() const { return identities_; }

 private:
  // What `open` gives. A wrong passphrase gets a hint.
  template <typename Open>
  auto explained(const Open& open);

  const UnlockOptions& options_;
  std::vector<age::SharedIdentity> identities_;
  std::mutex passphrase_turn_;  // guards the next
  std::optional<SecretBytes> passphrase_;
};

}  // namespace paes::cli
