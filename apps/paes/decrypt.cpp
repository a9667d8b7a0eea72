// SPDX-License-Identifier: Apache-2.0
// `paes decrypt`: opens the envelope, then writes what the payload authenticates, whole or a range.
#include <CLI/CLI.hpp>
#include <utility>

#include "cli/command.hpp"
#include "cli/file_run.hpp"
#include "cli/opening.hpp"
#include "cli/remains.hpp"
#include "cli/report.hpp"
#include "format/byte_range.hpp"

namespace paes::cli {

namespace {

struct DecryptCommand {
  OpenOptions keys;
  TransferOptions transfer;
  std::string range;
};

WrittenOutput decrypt_one(const DecryptCommand& command, Opener& opener,
                          const std::optional<ByteRange>& range, const FileTask& task) {
  stream::Input& input = task.input;
  refuse_terminal(input);
  command.keys.refuse_as_output(task.output);
  const bool resumable = is_resumable(command.transfer, input, task.output.path);
  const InputToOpen file(input, opener);
  task.outcome.take(file.format());
  if (resumable && file.resumable() == nullptr) {
    throw Error(
        ErrorCode::usage,
        input.name() + ": is text or has no recipients, and --resume continues no such file",
        "decrypt it without --resume");
  }
  std::unique_ptr<stream::Output> output =
      create_output(command.transfer, task.output, input,
                    {.encrypts = false, .is_resumable = resumable, .is_grouped = task.is_grouped});
  stream::Totals totals;
  if (resumable) {
    const stream::FileHead& head = *file.resumable();
    SecretBytes key;
    opener.unlocker().with_credentials(
        [&](const age::Credentials& credentials) { key = head.open_key(credentials); });
    totals = stream::decrypt_resumably(input, *output, stream::PayloadPlace(head), key,
                                       print_warning, task.work);
  } else {
    const stream::OpenedPayload payload = file.open(task.work);
    totals = stream::decrypt_file(file.source(), *output, payload, range, task.work);
    if (may_have_remains(*output)) {
      warn_of_partial(task.output);
    }
  }
  return hand_on(command.transfer, std::move(output), totals);
}

int decrypt_files(DecryptCommand& command) {
  command.keys.check();
  FileList list = settle(command.transfer, command.keys.takes(), decrypted_name,
                         command.keys.standard_input_uses());
  std::optional<ByteRange> range;
  if (!command.range.empty()) {
    range = parse_range(command.range);
    refuse(command.transfer.resume, "range: cannot be combined with --resume",
           "leave out one of them");
    // The default name is that of the whole text, and with -f a part of it would replace that.
    refuse(command.transfer.output.empty(), "range: needs an output of its own",
           "name it with -o; -o - is standard output");
  }
  WorkChooser chooser = command.transfer.device.choose("", command.transfer.notes());
  Opener opener(command.keys);
  Transfer transfer{"decrypt", decrypted_name, command.keys.takes(), [&](const FileTask& task) {
                      return decrypt_one(command, opener, range, task);
                    }};
  transfer.more_members = [&](nlohmann::ordered_json& document) {
    command.keys.own_key.add_id(document);
  };
  transfer.layout = [](const stream::Work& work) {
    return stream::opening_layout(0, std::nullopt, work);
  };
  return run_transfer(command.transfer, chooser, transfer, std::move(list));
}

Action declare(CLI::App& app) {
  const auto command = std::make_shared<DecryptCommand>();
  command->keys.declare(app);
  app.add_option(
         "--range", command->range,
         "only these bytes of the plaintext, FIRST-LAST or FIRST-, counted from 0, both ends "
         "included")
      ->type_name("FIRST-LAST");
  // What tar -I and other callers of compressors add when they extract.
  app.add_flag("-d")->group("");
  command->transfer.declare_output(app);
  command->transfer.inputs.declare(app, true);
  command->transfer.declare_resume(app);
  command->transfer.declare_common(app, "transfer");
  app.add_option("FILE", command->transfer.files,
                 "files to decrypt; - is standard input, the default");
  return [command] {
    return run_with_files("decrypt", command->transfer, [&] { return decrypt_files(*command); });
  };
}

}  // namespace

extern const Command command_decrypt = {"decrypt", "decrypt and authenticate files", declare,
                                        nullptr, Operands::encrypted_files};

}  // namespace paes::cli
