// --resume of encrypt and decrypt: which work can be continued, what opens the envelope that an
// interrupted encryption left, and what is said about it.
#pragma once

#include <string>
#include <vector>

#include "format/age.hpp"
#include "paes/keys.hpp"
#include "stream/output.hpp"
#include "stream/resume.hpp"

namespace paes::cli {

// Whether --resume means anything for this work: an empty file has nothing to continue. Throws
// Error(usage) for an input that is no regular file, and for standard output.
[[nodiscard]] bool is_resumable(const stream::Input& input, const std::string& output);

// Says that work starts afresh: a warning, for what an earlier run did is lost.
void warn_of_restart(const std::string& what_why);

// Says what was kept; nothing when nothing was.
void print_kept(const stream::Output& output, const stream::ResumedTotals& totals);

// -i of encrypt, which only --resume needs: age encrypts to a public key that does not open.
class ReopenOptions {
 public:
  void declare(CLI::App& app);
  [[nodiscard]] bool given() const { return !unlock_.identity_files.empty(); }
  [[nodiscard]] unsigned standard_input_uses() const { return unlock_.standard_input_uses(); }
  void refuse_as_output(const std::string& path) const { unlock_.refuse_as_output(path); }
  [[nodiscard]] const UnlockOptions& unlock() const { return unlock_; }

 private:
  UnlockOptions unlock_;
};

// What an encryption with --resume needs, and what one without it does not. Throws Error(usage).
void check_resume(bool resume, const ReopenOptions& reopen, bool has_passphrase);

// For whom a file is encrypted, and what opens it for the same user.
class Reopener {
 public:
  // `recipients` and `passphrase` as the encryption has them; one of both is empty. They must
  // outlive this.
  Reopener(const ReopenOptions& options, const std::vector<age::Recipient>& recipients,
           const SecretBytes& passphrase);

  // Throws Error(usage) when none of the identities is a recipient's.
  void check_opens() const;
  // The same for the same recipients, in whatever order.
  [[nodiscard]] std::vector<std::uint8_t> settings() const;
  [[nodiscard]] std::optional<SecretBytes> open(Bytes envelope);

 private:
  const std::vector<age::Recipient>& recipients_;
  const SecretBytes& passphrase_;
  std::vector<age::Identity> identities_;
};

}  // namespace paes::cli
