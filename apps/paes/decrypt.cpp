// `paes decrypt`: opens the envelope, then writes what the payload authenticates, whole or a range.
#include <CLI/CLI.hpp>

#include "format/range.hpp"
#include "paes/command.hpp"
#include "paes/keys.hpp"
#include "paes/remains.hpp"
#include "paes/report.hpp"
#include "paes/transfer.hpp"

namespace paes::cli {

namespace {

struct Request {
  UnlockOptions unlock;
  TransferOptions transfer;
  std::string range;
};

int decrypt_files(Request& request) {
  settle(request.transfer, true, request.unlock.standard_input_uses());
  std::optional<ByteRange> range;
  if (!request.range.empty()) {
    range = parse_range(request.range);
    refuse(request.transfer.resume, "range: does not go with --resume", "leave out one of them");
    // The default name is that of the whole text, and with -f a part of it would replace that.
    refuse(request.transfer.output.empty(), "range: needs an output of its own",
           "name it with -o; -o - is standard output");
  }
  WorkChooser chooser = request.transfer.device.choose(request.transfer.notes());
  Unlocker unlocker(request.unlock);
  const auto work = [&](stream::Input& input, const std::string& path,
                        const stream::Options& options) {
    refuse_terminal(input);
    request.unlock.refuse_as_output(path);
    const bool resumable = is_resumable(request.transfer, input, path);
    const stream::Preamble preamble = stream::read_preamble(input);
    stream::Output output = create_output(request.transfer, path, input, false, resumable);
    const SecretBytes key = unlocker.open(preamble.envelope());
    stream::ResumedTotals totals;
    if (resumable) {
      totals = stream::decrypt_resumably(input, output, preamble, key, print_warning, options);
    } else {
      const stream::OpenedPayload payload =
          stream::open_container(input, preamble.header, key, options.kernel, options.device_use);
      totals.text_bytes = stream::decrypt(input, output, payload, range, options).text_bytes;
      warn_of_partial(path);
    }
    report_written(request.transfer, output, totals);
    return totals;
  };
  return run_transfer(request.transfer, chooser, {"decrypt", decrypted_name, work});
}

Action declare(CLI::App& app) {
  const auto request = std::make_shared<Request>();
  request->unlock.declare(app);
  app.add_option(
         "--range", request->range,
         "only these bytes of the plaintext, FIRST-LAST or FIRST-, counted from 0, both ends "
         "included")
      ->type_name("FIRST-LAST");
  request->transfer.declare_output(app);
  request->transfer.declare_resume(app);
  request->transfer.declare_common(app, "transfer");
  app.add_option("FILE", request->transfer.files,
                 "files to decrypt; - is standard input, the default");
  return [request] {
    return run_with_files("decrypt", request->transfer, [&] { return decrypt_files(*request); });
  };
}

}  // namespace

const Command command_decrypt = {"decrypt", "decrypt and authenticate files", declare};

}  // namespace paes::cli
