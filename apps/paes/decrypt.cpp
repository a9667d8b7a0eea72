// SPDX-License-Identifier: Apache-2.0
// `paes decrypt`: opens the envelope, then writes what the payload authenticates, whole or a range.
#include <CLI/CLI.hpp>
#include <utility>

#include "cli/command.hpp"
#include "cli/file_run.hpp"
#include "cli/key_options.hpp"
#include "cli/remains.hpp"
#include "cli/report.hpp"
#include "format/byte_range.hpp"

namespace paes::cli {

namespace {

struct Request {
  UnlockOptions unlock;
  TransferOptions transfer;
  std::string range;
};

Written decrypt_one(const Request& request, Unlocker& unlocker,
                    const std::optional<ByteRange>& range, const FileTask& task) {
  stream::Input& input = task.input;
  refuse_terminal(input);
  request.unlock.refuse_as_output(task.output);
  const bool resumable = is_resumable(request.transfer, input, task.output.path);
  const stream::EncryptedFile file(input);
  task.outcome.take(file.head().format());
  const stream::Preamble* const container = file.head().container();
  if (resumable && container == nullptr) {
    throw Error(ErrorCode::usage,
                input.name() + ": is a file of age, which --resume cannot continue",
                "decrypt it without --resume");
  }
  std::unique_ptr<stream::Output> output =
      create_output(request.transfer, task.output, input,
                    {.encrypts = false, .is_resumable = resumable, .is_grouped = task.is_grouped});
  stream::ResumedTotals totals;
  if (resumable) {
    const SecretBytes key = unlocker.open(container->envelope()).take_plaintext();
    totals =
        stream::decrypt_resumably(input, *output, *container, key, print_warning, task.options);
  } else {
    const stream::OpenedPayload payload = unlocker.open(file, task.options);
    totals.text_bytes =
        stream::decrypt(file.source(), *output, payload, range, task.options).text_bytes;
    warn_of_partial(task.output);
  }
  return hand_on(request.transfer, std::move(output), totals);
}

int decrypt_files(Request& request) {
  FileList list = settle(request.transfer, Takes::encrypted, decrypted_name,
                         request.unlock.standard_input_uses());
  std::optional<ByteRange> range;
  if (!request.range.empty()) {
    range = parse_range(request.range);
    refuse(request.transfer.resume, "range: does not go with --resume", "leave out one of them");
    // The default name is that of the whole text, and with -f a part of it would replace that.
    refuse(request.transfer.output.empty(), "range: needs an output of its own",
           "name it with -o; -o - is standard output");
  }
  WorkChooser chooser = request.transfer.device.choose("", request.transfer.notes());
  Unlocker unlocker(request.unlock);
  Transfer transfer{"decrypt", decrypted_name, Takes::encrypted, [&](const FileTask& task) {
                      return decrypt_one(request, unlocker, range, task);
                    }};
  transfer.layout = [](std::uint64_t offset, std::optional<std::uint64_t> text_bytes,
                       const stream::Options& options) {
    return stream::opening_layout(offset, text_bytes, options);
  };
  return run_transfer(request.transfer, chooser, transfer, std::move(list));
}

Action declare(CLI::App& app) {
  const auto request = std::make_shared<Request>();
  request->unlock.declare(app);
  app.add_option(
         "--range", request->range,
         "only these bytes of the plaintext, FIRST-LAST or FIRST-, counted from 0, both ends "
         "included")
      ->type_name("FIRST-LAST");
  // What tar -I and other callers of compressors add when they extract.
  app.add_flag("-d")->group("");
  request->transfer.declare_output(app);
  request->transfer.inputs.declare(app, true);
  request->transfer.declare_resume(app);
  request->transfer.declare_common(app, "transfer");
  app.add_option("FILE", request->transfer.files,
                 "files to decrypt; - is standard input, the default");
  return [request] {
    return run_with_files("decrypt", request->transfer, [&] { return decrypt_files(*request); });
  };
}

}  // namespace

extern const Command command_decrypt = {"decrypt", "decrypt and authenticate files", declare,
                                        nullptr, Operands::encrypted_files};

}  // namespace paes::cli
