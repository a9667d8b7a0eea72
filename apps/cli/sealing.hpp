// SPDX-License-Identifier: Apache-2.0
// The options of encrypt that say for whom a file is encrypted, and new keys in envelopes for them.
// With --resume, also the keys that open the envelope of an earlier run.
#pragma once

#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "age/envelope.hpp"
#include "cli/key_options.hpp"
#include "cli/process.hpp"
#include "format/container.hpp"
#include "stream/container/file_format.hpp"
#include "stream/resume/resume.hpp"

namespace paes::cli {

[[nodiscard]] const char* name_of(container::Suite suite) noexcept;
// Throws Error(usage) that lists the names.
[[nodiscard]] container::Suite parse_suite(const std::string& name);

struct SealOptions {
  // `terminal` says in the help where a passphrase is asked for. Not every program has
  // --new-identity.
  void declare(CLI::App& app, const std::string& terminal, bool has_new_identity);
  // -i, whose public keys are recipients.
  void declare_reopen(CLI::App& app);

  RecipientOptions recipients;
  PassphraseOptions passphrase;
  std::string new_identity;
  std::string suite = "aes-256-gcm";
  std::size_t spare_recipients = container::Shape().spare_recipients;
  // Identities whose public keys are recipients. With --resume they also open the envelope of the
  // earlier run, which public keys cannot. Only the identity files are used.
  UnlockOptions reopen;

  [[nodiscard]] unsigned standard_input_uses() const;
  // Whether any key or passphrase is given.
  [[nodiscard]] bool is_given() const;
  // Throws as parse_suite does.
  [[nodiscard]] container::Shape shape() const;
  // Throws Error(usage) if nobody could open the output, if age has no such envelope, or if an
  // option needs or excludes --resume. `ways` lists for the hint the options that would do.
  void check(bool resume, const std::string& ways) const;
  // With -f an output of that name would replace a file of keys. Throws Error(usage).
  void refuse_as_output(const stream::FilePlace& output) const;
};

class Sealer {
 public:
  // Reads the files that the options name.
  Sealer(const SealOptions& options, const container::Shape& shape);
  Sealer(const Sealer&) = delete;
  Sealer& operator=(const Sealer&) = delete;

  void add(const age::SharedRecipient& recipient) { recipients_.push_back(recipient); }
  // Asks at the terminal if nothing else says for whom to encrypt. It is called late, because
  // nobody should type a passphrase for an input or output that cannot be used.
  void ask_passphrase();
  [[nodiscard]] const container::Shape& shape() const noexcept { return shape_; }
  // Gives what `seal` makes for the recipients, or for the passphrase. Several threads may call
  // this and ask_passphrase. Derivations from a passphrase take turns, because each takes 256 MiB.
  template <typename Seal>
  [[nodiscard]] auto sealed(const Seal& seal) const {
    std::unique_lock turn(passphrase_turn_, std::defer_lock);
    if (recipients_.empty()) {
      turn.lock();
    }
    return seal(age::SealTo{recipients_, passphrase_, age::written_work_factor, until_signal()});
  }
  [[nodiscard]] stream::NewKey make_key() const;
  // What an encryption with --resume needs, of a container or of an age file. The result must not
  // outlive this.
  [[nodiscard]] stream::ResumableEncryption resumable() const;
  [[nodiscard]] stream::ResumableEncryption resumable_age() const;

 private:
  // What `open` gives with the keys of the earlier run, or empty if they do not open it.
  [[nodiscard]] std::optional<SecretBytes> reopened(
      const std::function<SecretBytes(const age::Credentials& credentials)>& open) const;

  const SealOptions& options_;
  container::Shape shape_;
  std::vector<age::SharedRecipient> recipients_;
  mutable std::mutex passphrase_turn_;  // guards the next
  SecretBytes passphrase_;              // used only if there are no recipients
  std::vector<age::SharedIdentity> identities_;
  std::vector<std::uint8_t> settings_;  // the same for the same recipients, in whatever order
};

}  // namespace paes::cli
