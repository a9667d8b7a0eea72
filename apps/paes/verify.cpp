// SPDX-License-Identifier: Apache-2.0
// `paes verify`: reads and authenticates every byte of files, and writes nothing.
#include <CLI/CLI.hpp>
#include <utility>

#include "cli/command.hpp"
#include "cli/file_run.hpp"
#include "cli/opening.hpp"
#include "cli/report.hpp"

namespace paes::cli {

namespace {

struct VerifyCommand {
  OpenOptions keys;
  TransferOptions transfer;
};

WrittenOutput verify_one(const VerifyCommand& command, Opener& opener, const FileTask& task) {
  refuse_terminal(task.input);
  const InputToOpen file(task.input, opener);
  task.outcome.take(file.format());
  const stream::OpenedPayload payload = file.open(task.work);
  const stream::Verification found = stream::verify_file(file.source(), payload, task.work);
  add_damage(task.outcome.more, found);
  task.outcome.result = verified_text(command.transfer, task.input.name(), found);
  return {{found.extent.text_bytes}};
}

int verify_files(VerifyCommand& command) {
  command.keys.check();
  FileList list =
      settle(command.transfer, command.keys.takes(), nullptr, command.keys.standard_input_uses());
  WorkChooser chooser = command.transfer.device.choose("", command.transfer.notes());
  Opener opener(command.keys);
  Transfer transfer{"verify", nullptr, command.keys.takes(),
                    [&](const FileTask& task) { return verify_one(command, opener, task); }};
  transfer.more_members = [&](nlohmann::ordered_json& document) {
    command.keys.own_key.add_id(document);
  };
  transfer.layout = [](const stream::Work& work) {
    return stream::opening_layout(0, std::nullopt, work);
  };
  return run_transfer(command.transfer, chooser, transfer, std::move(list));
}

Action declare(CLI::App& app) {
  const auto command = std::make_shared<VerifyCommand>();
  command->keys.declare(app);
  command->transfer.declare_common(app, "transfer");
  command->transfer.inputs.declare(app, false);
  app.add_option("FILE", command->transfer.files, "files to verify; - is standard input");
  return [command] {
    refuse(command->transfer.files.empty() && command->transfer.inputs.list.empty(),
           "verify: FILE is required", "paes verify --help");
    return run_with_files("verify", command->transfer, [&] { return verify_files(*command); });
  };
}

}  // namespace

extern const Command command_verify = {"verify", "authenticate files without writing anything",
                                       declare, nullptr, Operands::encrypted_files};

}  // namespace paes::cli
