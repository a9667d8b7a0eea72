// `paes verify`: reads and authenticates every byte of files, and writes nothing.
#include <CLI/CLI.hpp>
#include <utility>

#include "paes/command.hpp"
#include "paes/keys.hpp"
#include "paes/transfer.hpp"

namespace paes::cli {

namespace {

struct Request {
  UnlockOptions unlock;
  TransferOptions transfer;
};

int verify_files(Request& request) {
  settle(request.transfer, false, request.unlock.standard_input_uses());
  WorkChooser chooser = request.transfer.device.choose(request.transfer.notes());
  Unlocker unlocker(request.unlock);
  stream::Verification found;
  const auto work = [&](stream::Input& input, const std::string&, const stream::Options& options) {
    refuse_terminal(input);
    const stream::Preamble preamble = stream::read_preamble(input);
    const SecretBytes key = unlocker.open(preamble.envelope());
    const stream::OpenedPayload payload =
        stream::open_container(input, preamble.header, key, options.kernel, options.device_use);
    found = stream::verify(input, payload, options);
    report_verified(request.transfer, input.name(), found);
    return stream::ResumedTotals{found.extent.text_bytes};
  };
  Transfer transfer{"verify", nullptr, work};
  transfer.more_of_failure = [&](auto& file) { add_damage(file, std::exchange(found, {})); };
  return run_transfer(request.transfer, chooser, transfer);
}

Action declare(CLI::App& app) {
  const auto request = std::make_shared<Request>();
  request->unlock.declare(app);
  request->transfer.declare_common(app, "transfer");
  app.add_option("FILE", request->transfer.files, "files to verify; - is standard input")
      ->required();
  return [request] {
    return run_with_files("verify", request->transfer, [&] { return verify_files(*request); });
  };
}

}  // namespace

const Command command_verify = {"verify", "authenticate files without writing anything", declare};

}  // namespace paes::cli
