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

struct Request {
  UnlockOptions unlock;
  TransferOptions transfer;
};

Written verify_one(const Request& request, Unlocker& unlocker, const FileTask& task) {
  refuse_terminal(task.input);
  const stream::EncryptedFile file(task.input);
  task.outcome.take(file.head().format());
  const stream::OpenedPayload payload = unlocker.open(file, task.options);
  const stream::Verification found = stream::verify(file.source(), payload, task.options);
  add_damage(task.outcome.more, found);
  task.outcome.result = verified_text(request.transfer, task.input.name(), found);
  return {{found.extent.text_bytes}};
}

int verify_files(Request& request) {
  FileList list =
      settle(request.transfer, Takes::encrypted, nullptr, request.unlock.standard_input_uses());
  WorkChooser chooser = request.transfer.device.choose("", request.transfer.notes());
  Unlocker unlocker(request.unlock);
  Transfer transfer{"verify", nullptr, Takes::encrypted,
                    [&](const FileTask& task) { return verify_one(request, unlocker, task); }};
  transfer.layout = [](std::uint64_t offset, std::optional<std::uint64_t> text_bytes,
                       const stream::Options& options) {
    return stream::opening_layout(offset, text_bytes, options);
  };
  return run_transfer(request.transfer, chooser, transfer, std::move(list));
}

Action declare(CLI::App& app) {
  const auto request = std::make_shared<Request>();
  request->unlock.declare(app);
  request->transfer.declare_common(app, "transfer");
  request->transfer.inputs.declare(app, false);
  app.add_option("FILE", request->transfer.files, "files to verify; - is standard input");
  return [request] {
    refuse(request->transfer.files.empty() && request->transfer.inputs.list.empty(),
           "verify: FILE is required", "paes verify --help");
    return run_with_files("verify", request->transfer, [&] { return verify_files(*request); });
  };
}

}  // namespace

extern const Command command_verify = {"verify", "authenticate files without writing anything",
                                       declare, nullptr, Operands::encrypted_files};

}  // namespace paes::cli
