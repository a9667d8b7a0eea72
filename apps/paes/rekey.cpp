// SPDX-License-Identifier: Apache-2.0
// `paes rekey`: other recipients for files, by new envelopes around the same input keys. The
// payload of a container stays where it is, and that of an age file is copied into a file that
// replaces the old one. Only to and from a key that its owner keeps is the text encrypted anew,
// into another file, because the key of such a payload cannot be changed.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "cli/decimal.hpp"
#include "cli/file_transfer.hpp"
#include "cli/inputs.hpp"
#include "cli/key_options.hpp"
#include "cli/opening.hpp"
#include "cli/own_key.hpp"
#include "cli/process.hpp"
#include "cli/remains.hpp"
#include "cli/report.hpp"
#include "core/current_error.hpp"
#include "stream/container/chunk_cipher.hpp"
#include "stream/container/container_file.hpp"
#include "stream/container/new_envelope.hpp"
#include "stream/container/opened_text.hpp"

namespace paes::cli {

namespace {

struct RekeyCommand {
  OpenOptions keys;
  RecipientOptions recipients;
  PassphraseOptions new_passphrase;
  OwnKeyOptions new_key;
  std::string output;
  bool add = false;
  std::vector<std::size_t> remove;  // counted from 1, as inspect lists them
  bool restore = false;
  bool quiet = false;
  bool json = false;
  InputOptions inputs;
  std::vector<std::string> files;

  // Whether the text is encrypted anew, into another file.
  [[nodiscard]] bool is_anew() const { return keys.own_key.is_given() || new_key.is_given(); }
  // What a text that is encrypted anew becomes.
  [[nodiscard]] const stream::FileFormat& new_format() const {
    return stream::find_format(new_key.is_given() ? "cobblestone" : "paes");
  }
  // Whether recipients stay: else the new ones replace all of them.
  [[nodiscard]] bool keeps_some() const { return add || !remove.empty(); }
  [[nodiscard]] const char* action() const {
    return restore           ? "restored"
           : is_anew()       ? "encrypted-anew"
           : !remove.empty() ? "removed"
           : add             ? "added"
                             : "replaced";
  }
};

void check(const RekeyCommand& command) {
  const bool passphrase = command.new_passphrase.given();
  const bool recipients = command.recipients.given();
  const bool removes = !command.remove.empty();
  command.keys.check();
  command.new_key.check(recipients || passphrase);
  refuse(command.is_anew() && (command.restore || command.add || removes),
         "rekey: a file under a key of its owner has no recipients that could stay or go",
         "leave out --add, --remove and --restore");
  refuse(!command.output.empty() &&
             (!command.is_anew() || command.files.size() > 1 || command.inputs.are_listed()),
         "output: -o names the one file that is encrypted anew to or from a key of its owner",
         "leave out -o");
  refuse(command.output == "-",
         "output: rekey makes a new file, of which nothing stays if the old one is damaged",
         "name the new file with -o");
  refuse(command.restore && (command.add || removes || recipients || passphrase),
         "rekey: --restore takes no new recipients");
  refuse(!command.restore && !recipients && !passphrase && !removes && !command.new_key.is_given(),
         "rekey: no new recipients",
         "give -r RECIPIENT, -R FILE, --new-passphrase, --new-key-file FILE or --remove NUMBER");
  refuse(removes && (passphrase || (recipients && !command.add)),
         "rekey: new recipients replace all of the old ones, so there is none to remove",
         "leave out --remove, or give --add");
  refuse(passphrase && (command.add || recipients),
         "rekey: a passphrase cannot be combined with other recipients");
  refuse(removes && (command.files.size() > 1 || command.inputs.are_listed()),
         "rekey: --remove counts the recipients of one file, and others may have other ones",
         "name one file, or give all that shall open them with -r");
  refuse(command.files.empty() && command.inputs.list.empty(), "rekey: FILE is required",
         "paes rekey --help");
  refuse_several_uses_of_standard_input(
      command.keys.standard_input_uses() + command.recipients.standard_input_uses() +
      command.new_passphrase.standard_input_uses() + command.new_key.standard_input_uses() +
      command.inputs.standard_input_uses());
}

// In order, and counted from 0.
std::vector<std::size_t> places_of(std::vector<std::size_t> numbers) {
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  for (std::size_t& number : numbers) {
    --number;
  }
  return numbers;
}

// Changes the recipients of one file after the other.
class Rekeyer {
 public:
  explicit Rekeyer(const RekeyCommand& command)
      : command_(command),
        opener_(command.keys),
        recipients_(command.recipients.load()),
        change_{places_of(command.remove), recipients_, until_signal()} {
    if (command.new_key.is_given()) {
      new_key_ = command.new_key.read();
    }
  }

  // How many recipients the file has now.
  [[nodiscard]] std::size_t rekey(const stream::FilePlace& place);
  // The old file stays.
  void encrypt_anew(const stream::FilePlace& place, const stream::FilePlace& to);

 private:
  [[nodiscard]] stream::Input open(const stream::FilePlace& place) const;
  [[nodiscard]] age::SealTo seal_to();

  const RekeyCommand& command_;
  Opener opener_;
  const std::vector<age::SharedRecipient> recipients_;
  const age::RecipientChange change_;  // with --add or --remove; else all recipients are new
  SecretBytes new_passphrase_;         // empty until the first file needs it
  std::optional<OwnKey> new_key_;
};

age::SealTo Rekeyer::seal_to() {
  if (command_.new_passphrase.given() && new_passphrase_.empty()) {
    new_passphrase_ = command_.new_passphrase.read_new();
  }
  return {recipients_, new_passphrase_, age::written_work_factor, until_signal()};
}

std::size_t Rekeyer::rekey(const stream::FilePlace& place) {
  const stream::PreambleFile file(
      place, {cancel(), leftover_hint(place.path), print_warning_with_hint, warn_of_abandoned});
  const stream::Rekeying rekeying = {
      .change = command_.keeps_some() ? &change_ : nullptr,
      .with_credentials =
          [this](const stream::Rekeying::Use& use) { opener_.unlocker().with_credentials(use); },
      .seal_to = [this] { return seal_to(); },
      .warn = print_warning};
  return command_.restore ? stream::restore_recipients(file, rekeying)
                          : stream::rekey_file(file, rekeying);
}

stream::Input Rekeyer::open(const stream::FilePlace& place) const {
  if (!place.has_folder()) {
    return stream::Input::open(place.path, &cancel());
  }
  std::optional<stream::Input> input = stream::Input::open_regular(place, &cancel());
  refuse(!input, place.path + ": is not a regular file");
  return std::move(*input);
}

void Rekeyer::encrypt_anew(const stream::FilePlace& place, const stream::FilePlace& to) {
  stream::Input input = open(place);
  const InputToOpen sealed(input, opener_);
  refuse(!sealed.source().is_seekable(),
         input.name() + ": is a pipe or text, and rekey takes neither",
         "decrypt it, and encrypt what comes out");
  const WorkChooser chooser = WorkOptions().choose("", Notes::none);
  stream::Work work = chooser.cpu();
  const std::unique_ptr<Executor> threads = chooser.start_threads(work, input.bytes());
  const stream::OpenedPayload payload = sealed.open(work);
  stream::OpenedText text(sealed.source(), payload, work);
  command_.keys.refuse_as_output(to);
  command_.recipients.refuse_as_output(to);
  command_.new_passphrase.refuse_as_output(to);
  command_.new_key.refuse_as_output(to);
  TransferOptions options;
  options.output = command_.output;
  const auto output =
      create_output(options, to, input,
                    {.encrypts = true, .when_taken = "move it away, or name the new file with -o"});
  refuse(!output->is_discardable(),
         output->name() + ": is not a regular file, and of a damaged file a part would be written",
         "name a new file with -o");
  const stream::NewPayload made =
      new_key_ ? stream::new_bare_payload(new_key_->key, new_key_->context, work)
               : command_.new_format().new_payload(seal_to(), container::Shape(), work);
  report_written(options, *output, stream::encrypt_file(text, *output, made, work));
}

// Notes in the outcome what came of it. Failures are printed, not thrown.
void rekey_one(const RekeyCommand& command, Rekeyer& rekeyer, Outcome& outcome) {
  try {
    if (outcome.status == Status::not_begun) {
      const stream::FilePlace place(outcome.input, outcome.place.folder(outcome.input));
      if (command.is_anew()) {
        rekeyer.encrypt_anew(place, {outcome.output, place.folder});
      } else {
        outcome.more["recipients"] = rekeyer.rekey(place);
      }
      outcome.status = Status::done;
    }
  } catch (...) {
    outcome.fail(about(outcome, current_error()));
  }
  if (outcome.error) {
    print_error(*outcome.error);
  } else if (outcome.status == Status::done && command.restore && !command.quiet) {
    print_note("paes: " + shown_name(outcome.input) + ": the old recipients are back");
  } else if (outcome.status == Status::done && command.is_anew() && !command.quiet) {
    print_note("paes: " + shown_name(outcome.input) + ": encrypted anew to " +
               shown_name(outcome.output) + "; the old file is still there");
  }
}

int rekey_files(const RekeyCommand& command) {
  check(command);
  NameOutput name_output;
  if (command.is_anew()) {
    name_output = [&](const std::string& input) {
      return !command.output.empty() ? command.output
                                     : encrypted_name(decrypted_name(input), command.new_format());
    };
  }
  std::vector<Outcome> outcomes =
      collect_inputs(command.inputs, command.files, command.keys.takes(), name_output).files;
  Rekeyer rekeyer(command);
  for (Outcome& outcome : outcomes) {
    if (!cancel().requested()) {
      rekey_one(command, rekeyer, outcome);
    }
  }
  report_not_begun(outcomes);
  const Counts counts = count(outcomes);
  if (command.inputs.are_listed() && !command.quiet) {
    print_note(summary_of("rekey", counts, std::nullopt));
  }
  const int code = exit_code_of(outcomes);
  if (command.json) {
    nlohmann::ordered_json document = {{"command", "rekey"},
                                       {"exit_code", code},
                                       {"action", command.action()},
                                       {"counts", to_json(counts)},
                                       {"files", to_json(outcomes)}};
    (command.new_key.is_given() ? command.new_key : command.keys.own_key).add_id(document);
    print_json(document);
  }
  return code;
}

Action declare(CLI::App& app) {
  const auto command = std::make_shared<RekeyCommand>();
  command->keys.declare(app);
  command->recipients.declare(app);
  command->new_key.declare(app, "new-");
  app.add_option("-o,--output", command->output,
                 "the new file, if one is encrypted anew to or from a key of its owner")
      ->type_name("FILE");
  app.add_flag("--add", command->add, "keep the recipients that are there and add these");
  app.add_option(
         "--remove", command->remove,
         "remove the recipient of this number, counted from 1 as inspect lists them; may be "
         "repeated")
      ->type_name("NUMBER")
      ->allow_extra_args(false)
      ->check(decimal())
      ->check(CLI::PositiveNumber);
  app.add_flag("--new-passphrase", command->new_passphrase.ask,
               "change to a passphrase, asked for at the terminal");
  command->new_passphrase.declare(app, "new-", "change to the passphrase in this file");
  app.add_flag("--restore", command->restore,
               "put back what an interrupted rekey kept beside the file");
  app.add_flag("-q,--quiet", command->quiet, "print only errors and warnings");
  app.add_flag("--json", command->json, "print JSON (docs/schema/rekey.schema.json)");
  command->inputs.declare(app, false);
  app.add_option("FILE", command->files, "the files whose recipients change");
  return [command] {
    return run_with_inputs("rekey", command->json, command->files,
                           [&] { return rekey_files(*command); });
  };
}

}  // namespace

extern const Command command_rekey = {"rekey", "change who can decrypt files", declare, nullptr,
                                      Operands::encrypted_files};

}  // namespace paes::cli
