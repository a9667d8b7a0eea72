// SPDX-License-Identifier: Apache-2.0
// `paes age`: the command line of age (age(1), version 1.3.1), for scripts that call it. Options,
// messages' channel and exit codes are age's; the work is done as all work of paes is, so the
// output has its name only when it is complete.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "age/armor.hpp"
#include "age/scrypt.hpp"
#include "cli/command.hpp"
#include "cli/key_options.hpp"
#include "cli/option_list.hpp"
#include "cli/passphrase.hpp"
#include "cli/process.hpp"
#include "cli/report.hpp"
#include "cli/terminal_text.hpp"
#include "cli/work_options.hpp"
#include "core/current_error.hpp"
#include "core/descriptor.hpp"
#include "stream/container/container_file.hpp"
#include "stream/container/file_format.hpp"
#include "stream/file/create_output.hpp"
#include "stream/transfer/wait.hpp"

namespace paes::cli {

extern const Command command_age;

namespace {

constexpr int exit_failed = 1;
constexpr int exit_bad_flag = 2;

constexpr const char* usage_head =
    R"(Usage:
    paes age [--encrypt] (-r RECIPIENT | -R PATH)... [--armor] [-o OUTPUT] [INPUT]
    paes age [--encrypt] --passphrase [--armor] [-o OUTPUT] [INPUT]
    paes age --encrypt (-i PATH | -j PLUGIN)... [--armor] [-o OUTPUT] [INPUT]
    paes age --decrypt [-i PATH | -j PLUGIN]... [-o OUTPUT] [INPUT]

Options:
)";
constexpr const char* usage_tail = R"(
INPUT and OUTPUT are standard input and output unless they are named. The INPUT comes after all
options. A PATH of - is standard input.
)";

// What age refuses, with hints.
struct Refusal {
  std::string why;
  std::vector<std::string> hints = {};
};

// What Go's package flag refuses. The usage follows.
struct BadFlag {
  std::string why;
};

void refuse_if(bool is_wrong, const std::string& why, const std::vector<std::string>& hints = {}) {
  if (is_wrong) {
    throw Refusal{why, hints};
  }
}

struct AgeCommand {
  bool decrypt = false;
  bool encrypt = false;
  bool passphrase = false;
  bool armor = false;
  bool version = false;
  bool help = false;
  std::vector<std::string> outputs;  // the last one counts
  std::vector<std::string> recipients;
  std::vector<std::string> recipient_files;
  std::vector<std::string> identity_files;
  std::vector<std::string> plugins;
  std::vector<std::string> inputs;

  [[nodiscard]] std::string output() const { return outputs.empty() ? "" : outputs.back(); }
  [[nodiscard]] std::string input() const {
    return inputs.empty() || inputs.front().empty() ? "-" : inputs.front();
  }
};

struct Flag {
  const char* letter;  // null: none
  const char* word;    // null: none
  const char* value;   // what the usage calls it; null: a flag
  const char* help;
  bool AgeCommand::*on = nullptr;
  std::vector<std::string> AgeCommand::*values = nullptr;

  [[nodiscard]] bool is_named(const std::string& name) const {
    return (letter != nullptr && name == letter) || (word != nullptr && name == word);
  }
};
constexpr Flag flags[] = {
    {"e", "encrypt", nullptr, "encrypt INPUT, which is the default", &AgeCommand::encrypt},
    {"d", "decrypt", nullptr, "decrypt INPUT", &AgeCommand::decrypt},
    {"o", "output", "OUTPUT", "write there, and replace what exists", nullptr,
     &AgeCommand::outputs},
    {"a", "armor", nullptr, "write text (ASCII armor)", &AgeCommand::armor},
    {"p", "passphrase", nullptr, "encrypt to a passphrase, which is asked for",
     &AgeCommand::passphrase},
    {"r", "recipient", "RECIPIENT", "encrypt to this public key; may be repeated", nullptr,
     &AgeCommand::recipients},
    {"R", "recipients-file", "PATH", "encrypt to the public keys in this file; may be repeated",
     nullptr, &AgeCommand::recipient_files},
    {"i", "identity", "PATH", "a file of secret keys; may be repeated", nullptr,
     &AgeCommand::identity_files},
    {"j", nullptr, "PLUGIN", "the key that this plugin takes by default; may be repeated", nullptr,
     &AgeCommand::plugins},
    {nullptr, "version", nullptr, "print the version", &AgeCommand::version},
    {"h", "help", nullptr, "print this", &AgeCommand::help},
};

OptionList list_of_flags() {
  OptionList list{"paes age", command_age.summary, {}, {}};
  for (const Flag& flag : flags) {
    ListedOption& option = list.options.emplace_back();
    if (flag.letter != nullptr) {
      option.names.push_back(std::string("-") + flag.letter);
    }
    if (flag.word != nullptr) {
      option.names.push_back(std::string("--") + flag.word);
    }
    option.value = flag.value == nullptr ? "" : flag.value;
    option.repeats = flag.values != nullptr && flag.values != &AgeCommand::outputs;
    option.help = flag.help;
  }
  ListedOption& input = list.operands.emplace_back();
  input.names = {"INPUT"};
  input.help = "the file; - is standard input";
  return list;
}

std::string usage() {
  std::string text = usage_head;
  for (const ListedOption& option : list_of_flags().options) {
    text += fmt::format("  {:<25}  {}\n",
                        fmt::format("{}{}{}", fmt::join(option.names, ","),
                                    option.value.empty() ? "" : " ", option.value),
                        option.help);
  }
  return text + usage_tail;
}

bool parse_bool(const std::string& name, const std::string& value) {
  for (const char* const yes : {"1", "t", "T", "true", "TRUE", "True"}) {
    if (value == yes) {
      return true;
    }
  }
  for (const char* const no : {"0", "f", "F", "false", "FALSE", "False"}) {
    if (value == no) {
      return false;
    }
  }
  throw BadFlag{"invalid boolean value \"" + value + "\" for -" + name};
}

// As Go's package flag does: one dash or two, -name=value or -name value, and the first word that
// is no flag ends them.
AgeCommand parse(std::span<char* const> words) {
  AgeCommand command;
  std::size_t at = 0;
  for (; at < words.size(); ++at) {
    const std::string word = words[at];
    if (word.size() < 2 || word[0] != '-') {
      break;
    }
    const std::string body = word.substr(word[1] == '-' ? 2 : 1);
    if (body.empty()) {
      ++at;
      break;
    }
    if (body[0] == '-' || body[0] == '=') {
      throw BadFlag{"bad flag syntax: " + word};
    }
    const std::size_t sign = body.find('=');
    const std::string name = body.substr(0, sign);
    std::optional<std::string> value;
    if (sign != std::string::npos) {
      value = body.substr(sign + 1);
    }
    const auto* const flag = std::find_if(std::begin(flags), std::end(flags),
                                          [&](const Flag& one) { return one.is_named(name); });
    if (flag == std::end(flags)) {
      throw BadFlag{"flag provided but not defined: -" + name};
    }
    if (flag->on != nullptr) {
      command.*flag->on = value ? parse_bool(name, *value) : true;
      if (command.help) {
        return command;
      }
      continue;
    }
    if (!value && at + 1 == words.size()) {
      throw BadFlag{"flag needs an argument: -" + name};
    }
    (command.*flag->values).push_back(value ? *value : words[++at]);
  }
  command.inputs.assign(words.begin() + static_cast<std::ptrdiff_t>(at), words.end());
  return command;
}

void check_decrypting(const AgeCommand& command) {
  const std::vector<std::string> use_identity = {
      "did you mean -i/--identity, which names a secret key?"};
  refuse_if(command.encrypt, "-e/--encrypt can't be used with -d/--decrypt");
  refuse_if(command.armor, "-a/--armor can't be used with -d/--decrypt",
            {"armor is recognised without it"});
  refuse_if(command.passphrase, "-p/--passphrase can't be used with -d/--decrypt",
            {"a file that needs a passphrase is recognised without it"});
  refuse_if(!command.recipients.empty(), "-r/--recipient can't be used with -d/--decrypt",
            use_identity);
  refuse_if(!command.recipient_files.empty(),
            "-R/--recipients-file can't be used with -d/--decrypt", use_identity);
}

void check_encrypting(const AgeCommand& command) {
  const bool has_identity = !command.identity_files.empty() || !command.plugins.empty();
  const bool has_recipient = !command.recipients.empty() || !command.recipient_files.empty();
  refuse_if(has_identity && !command.encrypt,
            "-i/--identity and -j can't be used to encrypt without -e/--encrypt",
            {"did you forget -d/--decrypt?"});
  refuse_if(!has_identity && !has_recipient && !command.passphrase, "missing recipients",
            {"did you forget -r/--recipient, -R/--recipients-file or -p/--passphrase?"});
  refuse_if(command.passphrase && (has_recipient || has_identity),
            "-p/--passphrase can't be combined with -r/--recipient, -R/--recipients-file, "
            "-i/--identity or -j");
}

// Standard input can be read once, and an output must not replace what the work needs.
void check_names(const AgeCommand& command) {
  std::vector<std::string> used = command.identity_files;
  used.insert(used.end(), command.recipient_files.begin(), command.recipient_files.end());
  used.push_back(command.input());
  refuse_if(std::count(used.begin(), used.end(), "-") > 1,
            "standard input is used for several things");
  const std::string output = command.output();
  if (output.empty() || output == "-") {
    return;
  }
  const auto place_of = [](const std::string& name) {
    return std::filesystem::absolute(name).lexically_normal();
  };
  for (const std::string& name : used) {
    std::error_code error;
    refuse_if(name != "-" && (place_of(name) == place_of(output) ||
                              std::filesystem::equivalent(name, output, error)),
              "input and output file are the same: \"" + output + "\"");
  }
}

void check(const AgeCommand& command) {
  if (command.inputs.size() > 1) {
    const bool is_flag = command.inputs[1].starts_with('-');
    throw Refusal{"too many INPUT arguments: " + fmt::format("{}", fmt::join(command.inputs, " ")),
                  {is_flag ? "the input file must come after all flags"
                           : "only one input file can be named"}};
  }
  if (command.decrypt) {
    check_decrypting(command);
  } else {
    check_encrypting(command);
  }
  check_names(command);
}

// What is named again does no harm, but may be a slip. Each is told once.
void warn_of_duplicates(std::vector<std::string> values, const char* what) {
  std::sort(values.begin(), values.end());
  for (auto next = values.begin(); next != values.end();) {
    const auto end = std::upper_bound(next, values.end(), *next);
    if (end - next > 1) {
      print_note(fmt::format("age: warning: duplicate {} \"{}\"", what, *next));
    }
    next = end;
  }
}

void warn_of_duplicates(const AgeCommand& command) {
  warn_of_duplicates(command.recipients, "recipient");
  warn_of_duplicates(command.recipient_files, "recipients file");
  warn_of_duplicates(command.identity_files, "identity file");
}

// 28 characters of 5 bits each, in groups that can be read aloud. age makes words of a list.
SecretBytes generate_passphrase() {
  constexpr std::size_t groups = 7;
  constexpr std::size_t group_characters = 4;
  SecretBytes text(groups * (group_characters + 1) - 1);
  random_bytes(text);
  const MutableBytes characters = text;
  for (std::size_t i = 0; i < characters.size(); ++i) {
    if ((i + 1) % (group_characters + 1) == 0) {
      characters[i] = '-';
      continue;
    }
    // a to z, then 2 to 7, without a branch or an index that depends on the secret
    const unsigned value = characters[i] & 31U;
    const unsigned is_digit = (value + 6) >> 5;
    characters[i] = static_cast<std::uint8_t>('a' + value - is_digit * ('a' + 26 - '2'));
  }
  return text;
}

SecretBytes new_passphrase() {
  SecretBytes passphrase =
      ask_as_age("Enter passphrase (leave empty to autogenerate a secure one): ");
  if (passphrase.empty()) {
    passphrase = generate_passphrase();
    show_at_terminal("age: using autogenerated passphrase \"", passphrase, "\"\n");
  } else {
    const SecretBytes again = ask_as_age("Confirm passphrase: ");
    refuse_if(!equal_constant_time(passphrase, again), "passphrases didn't match");
  }
  return passphrase;
}

// Keys ask as files do: what was typed before the question counts.
age::Prompts age_prompts() {
  age::Prompts prompts = terminal_prompts();
  prompts.passphrase = [](const std::string& question) {
    return ask_as_age(printable(question).c_str());
  };
  return prompts;
}

UnlockOptions identities_of(const AgeCommand& command) {
  UnlockOptions options;
  options.identity_files = command.identity_files;
  options.plugins = command.plugins;
  options.prompts = age_prompts;
  options.max_work_factor = 22;  // age's own limit, which no option changes
  return options;
}

class AgeRun {
 public:
  explicit AgeRun(const AgeCommand& command)
      : command_(command),
        input_(command.input() == "-" ? stream::Input::standard_input(&cancel())
                                      : stream::Input::open(command.input(), &cancel())),
        chooser_(WorkOptions().choose(stream::find_format("age").why_cpu_alone, Notes::none)) {}

  void encrypt() {
    std::vector<age::SharedRecipient> recipients =
        RecipientOptions(command_.recipients, command_.recipient_files).load();
    const UnlockOptions own = identities_of(command_);
    const Unlocker unlocker(own);
    const std::vector<age::SharedRecipient> theirs = age::recipients_of(unlocker.identities());
    recipients.insert(recipients.end(), theirs.begin(), theirs.end());
    const SecretBytes passphrase = command_.passphrase ? new_passphrase() : SecretBytes();
    run([&](const stream::Work& work) {
      const stream::NewPayload payload = stream::find_format("age").new_payload(
          {recipients, passphrase, age::written_work_factor, until_signal()}, {}, work);
      const auto output = create_output(stream::new_file_mode());
      (void)stream::encrypt_file(
          input_, *output, payload, work,
          command_.armor ? stream::Encoding::armored : stream::Encoding::binary);
      warn_of(*output);
    });
  }

  void decrypt() {
    const UnlockOptions keys = identities_of(command_);
    Unlocker unlocker(keys);
    if (input_.is_terminal()) {
      input_ = read_typed();
    }
    run([&](const stream::Work& work) { decrypt_from(unlocker, work); });
  }

 private:
  template <typename Task>
  void run(const Task& task) {
    const std::optional<std::uint64_t> bytes =
        input_.is_seekable() ? std::optional(input_.bytes()) : std::nullopt;
    stream::Work work = chooser_.for_input(bytes);
    const std::unique_ptr<Executor> executor = chooser_.start_threads(work, bytes);
    task(work);
  }

  void decrypt_from(Unlocker& unlocker, const stream::Work& work) {
    const stream::EncryptedFile file(input_);
    const bool has_passphrase = file.head().summary().stanzas.front().type == age::scrypt_type;
    const stream::OpenedPayload payload = open(file, unlocker, has_passphrase, work);
    const auto output = create_output(stream::new_file_mode());
    (void)stream::decrypt_file(file.source(), *output, payload, {}, work);
    warn_of(*output);
  }

  stream::OpenedPayload open(const stream::EncryptedFile& file, Unlocker& unlocker,
                             bool has_passphrase, const stream::Work& work) const {
    age::Credentials credentials = unlocker.credentials();
    // A plugin may know the passphrase. What it fails at is told, because nobody else is asked.
    const bool has_identities = !(command_.identity_files.empty() && command_.plugins.empty());
    refuse_if(!has_passphrase && !has_identities,
              "file is not passphrase-encrypted, identities are required",
              {"name a secret key with -i/--identity, or a plugin with -j"});
    credentials.ask_passphrase = nullptr;
    if (!has_identities) {
      credentials.ask_passphrase = [] { return ask_as_age("Enter passphrase: "); };
    }
    try {
      return file.head().open(file.source(), credentials, work);
    } catch (const Error& error) {
      if (error.code != ErrorCode::wrong_key) {
        throw;
      }
      refuse_if(
          has_passphrase && has_identities,
          "file is passphrase-encrypted but identities were specified with -i/--identity or -j",
          {"leave out all -i/--identity and -j to be asked for the passphrase"});
      throw Refusal{has_passphrase ? "incorrect passphrase"
                                   : "no identity matched any of the recipients"};
    }
  }

  [[nodiscard]] std::unique_ptr<stream::Output> create_output(mode_t permissions) const {
    const stream::OutputOptions options{
        .overwrite = true,
        .source = &input_,
        .cancel = &cancel(),
        .warn = [](const std::string& what_why) { print_note("age: warning: " + what_why); },
        .file = {.permissions = permissions}};
    const std::string name = command_.output();
    if (command_.decrypt && name.empty() && isatty(STDOUT_FILENO) == 1) {
      return std::make_unique<TerminalText>(options);
    }
    return name.empty() || name == "-" ? stream::standard_output(options)
                                       : stream::create_output(name, options);
  }

  static void warn_of(const stream::Output& output) {
    if (!output.warning().empty()) {
      print_note("age: warning: " + output.warning());
    }
  }

  // From a terminal comes armor. All of it is read before anything is asked or shown there, up to
  // its last line.
  [[nodiscard]] stream::Input read_typed() const {
    constexpr std::size_t most_bytes = std::size_t{64} << 20;
    const std::string end = std::string(age::armor_end) + "\n";
    std::string typed;
    char byte = 0;
    while (!typed.ends_with(end) &&
           input_.read(MutableBytes(reinterpret_cast<std::uint8_t*>(&byte), 1)) == 1) {
      typed.push_back(byte);
      refuse_if(typed.size() > most_bytes, "more was typed than a terminal is good for");
    }
    Descriptor memory(memfd_create("typed", MFD_CLOEXEC));
    const iovec all = {typed.data(), typed.size()};
    if (!memory.is_open() || !stream::write_file_at(memory.number(), 0, {&all, 1}, nullptr)) {
      throw_errno(input_.name());
    }
    return stream::Input::of(std::move(memory), input_.name(), &cancel());
  }

  const AgeCommand& command_;
  stream::Input input_;
  WorkChooser chooser_;
};

int run(const AgeCommand& command) {
  if (command.version) {
    print_result("v1.3.1 (paes " PAES_VERSION ")\n");
    return exit_done;
  }
  check(command);
  warn_of_duplicates(command);
  refuse_if(
      !command.decrypt && !command.armor && command.output().empty() && isatty(STDOUT_FILENO) == 1,
      "refusing to output binary to the terminal",
      {"did you mean -a/--armor?", "force it with \"-o -\""});
  AgeRun file(command);
  if (command.decrypt) {
    file.decrypt();
  } else {
    file.encrypt();
  }
  return exit_done;
}

void print_refusal(const std::string& why, const std::vector<std::string>& hints) {
  print_note("age: error: " + why);
  for (const std::string& hint : hints) {
    print_note("age: hint: " + hint);
  }
}

// The usage ends in a line end of its own.
void print_usage() {
  const std::string text = usage();
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    print_note(text.substr(at, end - at));
    at = end + 1;
  }
}

int run_words(std::span<char* const> words) {
  try {
    // What all commands of paes answer goes to standard output, and what age answers elsewhere.
    if (words.size() == 1 && std::string_view(words[0]) == "--help") {
      print_result(usage());
      return exit_done;
    }
    if (words.size() == 1 && words[0] == list_option) {
      print_result(to_json(list_of_flags()));
      return exit_done;
    }
    const AgeCommand command = parse(words);
    if (command.help || words.empty()) {
      print_usage();
      return command.help ? exit_done : exit_failed;
    }
    return run(command);
  } catch (const BadFlag& error) {
    print_note(error.why);
    print_usage();
    return exit_bad_flag;
  } catch (const Refusal& error) {
    print_refusal(error.why, error.hints);
  } catch (const ClosedOutput&) {
    throw;  // nobody reads: the process dies of SIGPIPE, as age does
  } catch (...) {
    const Error error = current_error();
    print_refusal(error.what(),
                  error.hint.empty() ? std::vector<std::string>{} : std::vector{error.hint});
  }
  return exit_failed;
}

}  // namespace

extern const Command command_age = {"age", "take the arguments of age(1), and do what it does",
                                    nullptr, run_words};

}  // namespace paes::cli
