// SPDX-License-Identifier: Apache-2.0
// Where a passphrase comes from: the terminal without echo, a file, or a descriptor; never the
// command line or the environment, which other processes can read.
#pragma once

#include <string>
#include <string_view>

#include "age/keys.hpp"
#include "cli/secret_source.hpp"
#include "core/secret.hpp"
#include "crypto/derivation.hpp"

namespace CLI {
class App;
}

namespace paes::cli {

// For key derivations. It waits until a signal asks to stop, and then throws an error, after which
// main dies by the signal. It throws nothing else (derive_apart says why).
[[nodiscard]] WaitReady until_signal();

// For processes that somebody else started, such as mpirun. While another process group has the
// terminal, the system would stop this process for good as soon as it asks. After this call, paes
// in the background behaves as if there were no terminal.
void never_prompt_in_background() noexcept;

// How keys and plugins ask their user: at the terminal, one question at a time, whichever threads
// ask. --passphrase-file does not answer them: that is for the envelope.
[[nodiscard]] age::Prompts terminal_prompts();
// Asks questions at the terminal, without echo, as age does: what was typed before a question is
// its answer. Throws Error(failure) when there is no terminal, and when paes is asked to stop.
[[nodiscard]] SecretBytes ask_as_age(const char* question);
// Shows a secret at the terminal, without a copy of it. Throws Error(failure) when there is no
// terminal.
void show_at_terminal(std::string_view before, Bytes secret, std::string_view after);

class PassphraseOptions {
 public:
  // Declares --PREFIXpassphrase-file and -fd. The flag that asks at the terminal is the caller's.
  void declare(CLI::App& app, const std::string& prefix, const std::string& what_for);

  bool ask = false;

  // As --passphrase-file would. Throws Error(usage) if there is a source already.
  void use_file(const std::string& path);
  [[nodiscard]] bool given() const { return ask || has_source(); }
  [[nodiscard]] bool has_source() const { return source_.is_given(); }
  // 0 or 1.
  [[nodiscard]] unsigned standard_input_uses() const { return source_.standard_input_uses(); }

  // Throws Error(usage) when `path` is the passphrase's file.
  void refuse_as_output(const stream::FilePlace& output) const;

  // Why a passphrase that was read may not be the one that was meant; mostly nothing.
  [[nodiscard]] std::string hint_when_wrong(const SecretBytes& passphrase) const;

  // For a new envelope: asked twice at the terminal, and never empty. Warns of a carriage return at
  // its end, which other systems' editors put there.
  [[nodiscard]] SecretBytes read_new() const;
  // To open an envelope. Throws Error(failure) when there is neither a source nor a terminal.
  [[nodiscard]] SecretBytes read_existing() const;

 private:
  [[nodiscard]] SecretBytes read_source() const;

  SecretSource source_;
};

}  // namespace paes::cli
