// SPDX-License-Identifier: Apache-2.0
// `paes rekey`: other recipients for files, by new envelopes around the same input keys. The
// payloads stay where and what they are.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "cli/decimal.hpp"
#include "cli/inputs.hpp"
#include "cli/key_options.hpp"
#include "cli/process.hpp"
#include "cli/remains.hpp"
#include "cli/report.hpp"
#include "core/current_error.hpp"
#include "stream/container/new_envelope.hpp"

namespace paes::cli {

namespace {

struct RekeyCommand {
  UnlockOptions unlock;
  RecipientOptions recipients;
  PassphraseOptions new_passphrase;
  bool add = false;
  std::vector<std::size_t> remove;  // counted from 1, as inspect lists them
  bool restore = false;
  bool quiet = false;
  bool json = false;
  InputOptions inputs;
  std::vector<std::string> files;

  // Whether recipients stay: else the new ones replace all of them.
  [[nodiscard]] bool keeps_some() const { return add || !remove.empty(); }
  [[nodiscard]] const char* action() const {
    return restore ? "restored" : !remove.empty() ? "removed" : add ? "added" : "replaced";
  }
};

void check(const RekeyCommand& command) {
  const bool passphrase = command.new_passphrase.given();
  const bool recipients = command.recipients.given();
  const bool removes = !command.remove.empty();
  refuse(command.restore && (command.add || removes || recipients || passphrase),
         "rekey: --restore takes no new recipients");
  refuse(!command.restore && !recipients && !passphrase && !removes, "rekey: no new recipients",
         "give -r RECIPIENT, -R FILE, --new-passphrase or --remove NUMBER");
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
      command.unlock.standard_input_uses() + command.recipients.standard_input_uses() +
      command.new_passphrase.standard_input_uses() + command.inputs.standard_input_uses());
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
        unlocker_(command.unlock),
        recipients_(command.recipients.load()),
        change_{places_of(command.remove), recipients_, until_signal()} {}

  // How many recipients the file has now.
  [[nodiscard]] std::size_t rekey(const stream::FilePlace& place);

 private:
  [[nodiscard]] age::SealTo seal_to();

  const RekeyCommand& command_;
  Unlocker unlocker_;
  const std::vector<age::SharedRecipient> recipients_;
  const age::RecipientChange change_;  // with --add or --remove; else all recipients are new
  SecretBytes new_passphrase_;         // empty until the first file needs it
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
          [this](const stream::Rekeying::Use& use) { unlocker_.with_credentials(use); },
      .seal_to = [this] { return seal_to(); },
      .warn = print_warning};
  return command_.restore ? stream::restore_recipients(file, rekeying)
                          : stream::rekey_file(file, rekeying);
}

// Notes in the outcome what came of it. Failures are printed, not thrown.
void rekey_one(const RekeyCommand& command, Rekeyer& rekeyer, Outcome& outcome) {
  try {
    if (outcome.status == Status::not_begun) {
      outcome.more["recipients"] =
          rekeyer.rekey({outcome.input, outcome.place.folder(outcome.input)});
      outcome.status = Status::done;
    }
  } catch (...) {
    outcome.fail(about(outcome, current_error()));
  }
  if (outcome.error) {
    print_error(*outcome.error);
  } else if (outcome.status == Status::done && command.restore && !command.quiet) {
    print_note("paes: " + shown_name(outcome.input) + ": the old recipients are back");
  }
}

int rekey_files(const RekeyCommand& command) {
  check(command);
  std::vector<Outcome> outcomes =
      collect_inputs(command.inputs, command.files, InputKind::encrypted, nullptr).files;
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
    print_json({{"command", "rekey"},
                {"exit_code", code},
                {"action", command.action()},
                {"counts", to_json(counts)},
                {"files", to_json(outcomes)}});
  }
  return code;
}

Action declare(CLI::App& app) {
  const auto command = std::make_shared<RekeyCommand>();
  command->unlock.declare(app);
  command->recipients.declare(app);
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

extern const Command command_rekey = {"rekey",
                                      "change who can decrypt files, without rewriting them",
                                      declare, nullptr, Operands::encrypted_files};

}  // namespace paes::cli
