// SPDX-License-Identifier: Apache-2.0
// `paes keygen`: a new key pair in age's own format, so that age reads it too; and the public keys
// of identities that exist.
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "age/envelope.hpp"
#include "age/hybrid.hpp"
#include "age/x25519.hpp"
#include "cli/command.hpp"
#include "cli/key_options.hpp"
#include "cli/keyfile.hpp"
#include "cli/report.hpp"

namespace paes::cli {

namespace {

struct KeygenCommand {
  std::string output = "-";
  std::string input;
  PassphraseOptions passphrase;
  bool post_quantum = false;
  bool shows_recipients = false;
  bool json = false;
};

void warn_if_others_can_read_standard_output() {
  struct stat status = {};
  if (fstat(STDOUT_FILENO, &status) == 0 && S_ISREG(status.st_mode) &&
      (status.st_mode & (S_IRGRP | S_IROTH)) != 0) {
    print_warning("standard output: other users can read this file, which gets a secret key");
  }
}

// -y: one public key a line.
int show_recipients(const KeygenCommand& command) {
  refuse(
      command.passphrase.given() || command.post_quantum || command.json || command.output != "-",
      "keygen: -y makes no key", "leave out the other options");
  const std::string input = command.input.empty() ? "-" : command.input;
  const std::vector<age::SharedIdentity> identities =
      age::parse_identity_file(read_key_file(input), shown_name(input), terminal_prompts());
  for (const age::SharedRecipient& recipient : age::recipients_of(identities)) {
    const std::string key = recipient->text();
    refuse(key.empty(), shown_name(input) + ": only its plugin knows the public key of an identity",
           "the plugin's own program prints it");
    print_result(key + "\n");
  }
  return exit_done;
}

// What is kept: the text of the identity, or an age file around it.
SecretBytes contents_of(const KeygenCommand& command, const age::IdentityKey& identity) {
  SecretBytes text = age::identity_file_text(identity);
  if (!command.passphrase.given()) {
    return text;
  }
  const SecretBytes passphrase = command.passphrase.read_new();
  return SecretBytes(
      Bytes(age::seal_to_passphrase(passphrase, text, age::written_work_factor, until_signal())));
}

int make_key(const KeygenCommand& command) {
  refuse(!command.input.empty(), "keygen: not expected: " + command.input,
         "with -y it prints the public keys of a file");
  refuse(command.json && command.output == "-",
         "keygen: --json needs -o, or the key would stand in the JSON");
  refuse(command.passphrase.given() && command.output == "-" && isatty(STDOUT_FILENO) != 0,
         "keygen: an encrypted key is not text for a terminal", "name a file with -o");
  const age::SharedIdentity identity =
      command.post_quantum ? age::generate_hybrid() : age::generate_x25519();
  const std::string public_key = identity->recipients().front()->text();
  if (command.output != "-") {
    work_on_file("keygen", command.output, command.json, [&] {
      write_new_secret_file(command.output, [&] { return contents_of(command, *identity); });
    });
    if (command.json) {
      print_json({{"command", "keygen"}, {"file", command.output}, {"public_key", public_key}});
      return exit_done;
    }
  } else {
    if (!command.passphrase.given()) {
      warn_if_others_can_read_standard_output();
    }
    write_standard_output(contents_of(command, *identity));
  }
  if (command.output != "-" || isatty(STDOUT_FILENO) == 0) {
    print_note("Public key: " + public_key);
  }
  return exit_done;
}

Action declare(CLI::App& app) {
  const auto command = std::make_shared<KeygenCommand>();
  app.add_option("-o,--output", command->output,
                 "where to keep the key, mode 0600, never over a file that exists; - is standard "
                 "output, the default")
      ->type_name("FILE");
  app.add_flag("-p,--passphrase", command->passphrase.ask,
               "encrypt the key with a passphrase, asked for at the terminal");
  command->passphrase.declare(app, "", "encrypt the key with the passphrase in this file");
  app.add_flag("--post-quantum", command->post_quantum,
               "a key that quantum computers do not break either; its public key is long");
  app.add_flag("-y,--recipients", command->shows_recipients,
               "make no key: print the public keys of the secret keys in FILE");
  app.add_flag("--json", command->json, "print JSON (docs/schema/keygen.schema.json)");
  app.add_option("FILE", command->input, "with -y: a file of secret keys; - is standard input");
  return [command] {
    return command->shows_recipients ? show_recipients(*command) : make_key(*command);
  };
}

}  // namespace

extern const Command command_keygen = {"keygen", "make a key pair", declare};

}  // namespace paes::cli
