// The options of encrypt that say for whom a file is encrypted, and new keys in envelopes for them.
// With --resume, also the keys that open the envelope of an earlier run.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "format/age.hpp"
#include "format/container.hpp"
#include "paes/keys.hpp"
#include "stream/resume.hpp"

namespace paes::cli {

[[nodiscard]] const char* name_of(container::Suite suite) noexcept;
// Throws Error(usage) that lists the names.
[[nodiscard]] container::Suite parse_suite(const std::string& name);

struct SealOptions {
  // `terminal` says in the help where a passphrase is asked for. Not every program has
  // --new-identity.
  void declare(CLI::App& app, const std::string& terminal, bool has_new_identity);
  // -i, which belongs to --resume.
  void declare_reopen(CLI::App& app);

  RecipientOptions recipients;
  PassphraseOptions passphrase;
  std::string new_identity;
  std::string suite = "aes-256-gcm";
  // For --resume, which must open its own earlier envelope; public keys cannot. Only the identity
  // files are used.
  UnlockOptions reopen;

  [[nodiscard]] unsigned standard_input_uses() const;
  // Throws Error(usage) if nobody could open the output, if age has no such envelope, or if the
  // options contradict --resume or need it. `ways` lists for the hint the options that would do.
  void check(bool resume, const std::string& ways) const;
};

class Sealer {
 public:
  // Reads the files that the options name. With --resume it throws Error(usage) if none of the
  // identities is a recipient's.
  Sealer(const SealOptions& options, container::Suite suite, bool resume);
  Sealer(const Sealer&) = delete;
  Sealer& operator=(const Sealer&) = delete;

  void add(const age::X25519Recipient& recipient) { recipients_.push_back(recipient); }
  // Asks at the terminal if nothing else says for whom to encrypt. It is called late, because
  // nobody should type a passphrase for an input or output that cannot be used.
  void ask_passphrase();
  [[nodiscard]] container::Suite suite() const noexcept { return suite_; }
  [[nodiscard]] stream::NewKey make_key() const;
  // What an encryption with --resume needs. The result must not outlive this.
  [[nodiscard]] stream::ResumableEncryption resumable() const;

 private:
  using PublicKey = std::array<std::uint8_t, 32>;
  [[nodiscard]] static PublicKey key_of(const age::X25519Recipient& recipient);
  [[nodiscard]] std::optional<SecretBytes> open(Bytes envelope) const;

  const SealOptions& options_;
  container::Suite suite_;
  std::vector<age::X25519Recipient> recipients_;
  SecretBytes passphrase_;  // used only if there are no recipients
  std::vector<age::X25519Identity> identities_;
  std::vector<std::uint8_t> settings_;  // the same for the same recipients, in whatever order
};

}  // namespace paes::cli
