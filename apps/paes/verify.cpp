// SPDX-License-Identifier: Apache-2.0
// `paes verify`: reads and authenticates every byte of files, and writes nothing.
#include <CLI/CLI.hpp>
#include <utility>

#include "cli/command.hpp"
#include "cli/file_run.hpp"
#include "cli/key_options.hpp"
#include "cli/report.hpp"

namespace paes::cli {

namespace {

struct VerifyCommand {
  UnlockOptions unlock;
  TransferOptions transfer;
};

WrittenOutput verify_one(const VerifyCommand& command, Unlocker& unlocker, const FileTask& task) {
  refuse_terminal(task.input);
  const stream::EncryptedFile file(task.input);
  task.outcome.take(file.head().format());
  const stream::OpenedPayload payload = unlocker.open(file, task.work);
  const stream::Verification found = stream::verify_file(file.source(), payload, task.work);
  add_damage(task.outcome.more, found);
  task.outcome.result = verified_text(command.transfer, task.input.name(), found);
  return {{found.extent.text_bytes}};
}

int verify_files(VerifyCommand& command) {
  FileList list =
      settle(command.transfer, InputKind::encrypted, nullptr, command.unlock.standard_input_uses());
  WorkChooser chooser = command.transfer.device.choose("", command.transfer.notes());
  Unlocker unlocker(command.unlock);
  Transfer transfer{"verify", nullptr, InputKind::encrypted,
                    [&](const FileTask& task) { return verify_one(command, unlocker, task); }};
  transfer.layout = [](const stream::Work& work) {
    return stream::opening_layout(0, std::nullopt, work);
  };
  return run_transfer(command.transfer, chooser, transfer, std::move(list));
}

Action declare(CLI::App& app) {
  const auto command = std::make_shared<VerifyCommand>();
  command->unlock.declare(app);
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
