// SPDX-License-Identifier: Apache-2.0
// `paes cipher`: one message in a raw mode of AES or 3DES, or in GCM, for data that other programs
// made or will read. No format of ours, no authentication but GCM's; keys and IVs are the caller's.
#include <CLI/CLI.hpp>
#include <array>

#include "cipher/mode/gcm_blocks.hpp"
#include "cipher/mode/xts.hpp"
#include "cli/cipher_options.hpp"
#include "cli/command.hpp"
#include "cli/decimal.hpp"
#include "cli/file_run.hpp"
#include "cli/keyfile.hpp"
#include "cli/option_list.hpp"
#include "cli/passphrase.hpp"
#include "cli/process.hpp"
#include "cli/report.hpp"
#include "format/openssl_salted.hpp"
#include "message/cipher_name.hpp"
#include "message/raw_key.hpp"
#include "stream/container/text_ends.hpp"
#include "stream/raw/raw.hpp"
#include "stream/raw/raw_gcm.hpp"

namespace paes::cli {

namespace {

struct CipherCommand : CipherOptions {
  bool openssl = false;
  std::optional<std::uint32_t> iterations;
  std::optional<std::string> digest;
  bool no_pbkdf2 = false;
  bool is_base64 = false;
  PassphraseOptions passphrase;
  std::string file = "-";
  TransferOptions transfer;

  // Throws Error(usage) for an unknown digest.
  [[nodiscard]] openssl_salted::Derivation derivation() const {
    openssl_salted::Derivation made;
    made.digest = digest ? openssl_salted::find_digest(*digest) : made.digest;
    made.iterations = no_pbkdf2 ? std::nullopt : iterations ? iterations : made.iterations;
    return made;
  }
};

struct Secrets {
  SecretBytes key;
  std::vector<std::uint8_t> iv;
};

void check_openssl(const CipherCommand& command, const CipherName& name) {
  if (!command.openssl) {
    refuse(command.passphrase.given(), "passphrase: only --openssl makes a key of one",
           "give --key FILE");
    const std::pair<const char*, bool> given[] = {{"--iter", command.iterations.has_value()},
                                                  {"--md", command.digest.has_value()},
                                                  {"--no-pbkdf2", command.no_pbkdf2},
                                                  {"--base64", command.is_base64}};
    for (const auto& [option, is_given] : given) {
      refuse(is_given, std::string(option) + ": belongs to --openssl");
    }
    return;
  }
  refuse(!command.key_file.empty() || !command.iv.empty(),
         "--openssl: makes key and IV from the passphrase", "leave out --key and --iv");
  const bool is_known = !name.is_gcm() && name.mode != Mode::xts &&
                        !(name.cipher == Cipher::des_ede3 && name.mode == Mode::ctr);
  refuse(!is_known, "--openssl: openssl enc has no " + name.name);
  refuse(command.no_pbkdf2 && !command.decrypt, "--no-pbkdf2: only reads what exists, with -d",
         "leave it out, so that PBKDF2 protects the passphrase");
  refuse(command.no_pbkdf2 && command.iterations, "--no-pbkdf2: cannot be combined with --iter",
         "leave out one of them");
  refuse(command.is_base64 && !command.decrypt, "--base64: only reads what exists, with -d",
         "the command base64 makes text of the output");
  (void)command.derivation();
}

// The file does not say how its key was made, so a wrong way looks like a wrong passphrase.
const char* hint_when_wrong(const CipherCommand& command) {
  return command.no_pbkdf2
             ? "the passphrase, --md or the mode is another, or the file is damaged; OpenSSL used "
               "md5 before version 1.1.0, and then sha256"
             : "the passphrase, --iter, --md or the mode is another, or the file is damaged, or it "
               "was made without -pbkdf2: try --no-pbkdf2, before OpenSSL 1.1.0 with --md md5";
}

// Looks at all bytes, so that the time does not show where the wanted one is.
bool holds(Bytes secret, std::uint8_t wanted) {
  bool found = false;
  for (const std::uint8_t byte : secret) {
    found |= byte == wanted;
  }
  return found;
}

// When decrypting, an empty passphrase is allowed: openssl enc takes one.
SecretBytes read_passphrase(const CipherCommand& command) {
  SecretBytes passphrase =
      command.decrypt ? command.passphrase.read_existing() : command.passphrase.read_new();
  constexpr std::size_t openssl_bytes = 1023;
  if (holds(passphrase, '\n')) {
    print_warning("passphrase: has several lines, of which openssl's -pass file: takes the first");
  }
  if (holds(passphrase, '\0')) {
    print_warning("passphrase: has a NUL byte, before which openssl's -pass file: stops");
  }
  if (passphrase.size() > openssl_bytes) {
    print_warning("passphrase: has " + std::to_string(passphrase.size()) +
                  " bytes, of which openssl's -pass file: takes at most " +
                  std::to_string(openssl_bytes));
  }
  return passphrase;
}

// Salted__ and the salt: of the input, or new.
std::array<std::uint8_t, openssl_salted::head_bytes> salted_head(const CipherCommand& command,
                                                                 const stream::Source& input) {
  std::array<std::uint8_t, openssl_salted::head_bytes> head;
  if (command.decrypt) {
    const std::size_t got = stream::read_head(input, head);
    (void)openssl_salted::parse(Bytes(head).first(got));
    return head;
  }
  openssl_salted::Salt salt{};
  random_bytes(salt);
  return openssl_salted::encode(salt);
}

// Asks for the passphrase here, so that it is wiped as soon as the key is derived.
void derive_from(Bytes head, const CipherCommand& command, const CipherName& name,
                 Secrets& secrets) {
  const SecretBytes derived = openssl_salted::derive(
      read_passphrase(command), openssl_salted::parse(head), command.derivation(),
      name.key_bytes + name.iv_bytes(), until_signal());
  const Bytes all = derived;
  secrets.key = SecretBytes(all.first(name.key_bytes));
  secrets.iv.assign(all.begin() + static_cast<std::ptrdiff_t>(name.key_bytes), all.end());
}

WrittenOutput crypt_file(const CipherCommand& command, const CipherName& name, Secrets& secrets,
                         Bytes aad, const FileTask& task) {
  stream::Input& input = task.input;
  std::optional<stream::Base64Source> decoded;
  if (command.is_base64) {
    decoded.emplace(input);
  }
  stream::Source& source = decoded ? static_cast<stream::Source&>(*decoded) : input;
  const stream::Work& work = task.work;
  if (command.decrypt) {
    refuse_terminal(input);
  }
  command.refuse_as_output(task.output);
  command.passphrase.refuse_as_output(task.output);
  std::array<std::uint8_t, openssl_salted::head_bytes> head;
  if (command.openssl) {
    head = salted_head(command, source);
  }
  std::unique_ptr<stream::Output> output =
      create_output(command.transfer, task.output, input, {.encrypts = !command.decrypt});
  if (command.openssl) {
    // Asked for late: nobody should type a passphrase for an input or output that cannot be used.
    derive_from(head, command, name, secrets);
  }
  stream::Totals totals;
  if (name.is_gcm()) {
    const GcmKey key(secrets.key, work.kernel, work.device_use);
    totals = command.decrypt ? stream::open_gcm(input, *output, key, secrets.iv, aad, work)
                             : stream::seal_gcm(input, *output, key, secrets.iv, aad, work);
  } else {
    const RawKey key(name.cipher, *name.mode, secrets.key, work.kernel,
                     command.unit_bytes.value_or(0), work.device_use);
    stream::RawTask message{.key = key,
                            .direction = command.direction(),
                            .iv = secrets.iv,
                            .pads = command.pads(name),
                            .max_blocks = command.max_blocks(name)};
    if (command.openssl) {
      message.head = head;
      message.hint_when_wrong = hint_when_wrong(command);
    }
    totals = stream::crypt_raw(source, *output, message, work);
  }
  if (command.no_pbkdf2) {
    print_warning_with_hint(input.name() + ": one hash is all that protects its passphrase",
                            "encrypt the text anew with paes encrypt");
  }
  return hand_on(command.transfer, std::move(output), totals);
}

int crypt(CipherCommand& command) {
  const CipherName& name = find_cipher_name(command.name);
  if (command.transfer.output.empty()) {
    command.transfer.output = "-";
  }
  check_openssl(command, name);
  command.check(name, command.openssl);
  const NameOutput name_output = [](const std::string&) { return std::string("-"); };
  FileList list = settle(command.transfer, InputKind::plain, name_output,
                         command.passphrase.standard_input_uses() +
                             standard_input_uses({command.key_file, command.aad_file}));
  WorkChooser chooser =
      command.transfer.device.choose(name, command.why_cpu_alone(name), command.transfer.notes());
  Secrets secrets;
  if (!command.openssl) {
    secrets.iv = command.parse_iv(name);
    secrets.key = command.read_key(name);
  }
  const std::vector<std::uint8_t> aad = command.read_aad();
  if (!command.transfer.quiet) {
    command.note_if_disallowed(name);
  }
  command.warn_if_unlimited(name);
  Transfer transfer{"cipher", name_output, InputKind::plain, [&](const FileTask& task) {
                      return crypt_file(command, name, secrets, aad, task);
                    }};
  transfer.more_members = [&](nlohmann::ordered_json& document) {
    document["cipher"] = name.name;
    document["direction"] = command.decrypt ? "decrypt" : "encrypt";
  };
  return run_transfer(command.transfer, chooser, transfer, std::move(list));
}

std::vector<std::string> cipher_names() {
  std::vector<std::string> names;
  for (const CipherName& one : all_cipher_names()) {
    names.push_back(one.name);
  }
  return names;
}

Action declare(CLI::App& app) {
  const auto command = std::make_shared<CipherCommand>();
  command->declare(app);
  app.add_flag("--openssl", command->openssl,
               "files of openssl enc: key and IV from a passphrase, a salt in front");
  command->passphrase.declare(app, "", "--openssl: the passphrase in this file");
  app.add_option("--iter", command->iterations, "--openssl: iterations of PBKDF2; default 10000")
      ->type_name("N")
      ->check(decimal())
      ->check(CLI::Range(std::uint32_t{1}, openssl_salted::max_iterations));
  app.add_option("--md", command->digest, "--openssl: the digest; default sha256")
      ->type_name(join_choices({openssl_salted::digests.begin(), openssl_salted::digests.end()}));
  app.add_flag("--no-pbkdf2", command->no_pbkdf2,
               "--openssl, -d: the file was made without -pbkdf2");
  app.add_flag("-a,--base64", command->is_base64,
               "--openssl, -d: the file is Base 64, as openssl enc -a writes it");
  command->transfer.declare_output(app);
  command->transfer.declare_common(app, "transfer");
  app.add_option("FILE", command->file,
                 "the file, to standard output unless -o is given; - is standard input, the "
                 "default");
  app.footer(
      "Modes other than GCM authenticate nothing: whoever can change the output changes the text "
      "unnoticed. 'paes encrypt' is for everything that needs no such mode.");
  return [command] {
    command->transfer.files = {command->file};
    return run_with_files("cipher", command->transfer, [&] { return crypt(*command); });
  };
}

}  // namespace

extern const Command command_cipher = {"cipher",
                                       "one message in a raw mode, for other programs' data",
                                       declare,
                                       nullptr,
                                       Operands::any_files,
                                       cipher_names};

}  // namespace paes::cli
