// SPDX-License-Identifier: Apache-2.0
// `paes-mpi decrypt`: rank 0 opens the envelope; each rank decrypts a run of stripes.
#include <CLI/CLI.hpp>

#include "cli/remains.hpp"
#include "cli/report.hpp"
#include "message/cipher_name.hpp"
#include "mpi/shared_container.hpp"
#include "mpi/shared_resume.hpp"
#include "mpi/together.hpp"
#include "paes-mpi/mpi_job.hpp"
#include "paes-mpi/ranks.hpp"

namespace paes::cli {

namespace {

struct Request {
  UnlockOptions unlock;
  JobOptions job;
};

stream::ResumedTotals decrypt_afresh(const Request& request, std::optional<Unlocker>& unlocker,
                                     mpi::SharedInput& input, const std::string& path,
                                     const stream::Options& options) {
  JobOutput output(request.job, path, input, false);
  const stream::Totals totals =
      mpi::decrypt(ranks(), input, output, open_envelope(unlocker, input), options);
  output.report(request.job);
  warn_of_partial(path);
  return {totals.text_bytes};
}

stream::ResumedTotals decrypt_resumably(const Request& request, std::optional<Unlocker>& unlocker,
                                        mpi::SharedInput& input, const std::string& path,
                                        const stream::Options& options) {
  std::unique_ptr<stream::Output> output;  // this, `preamble` and `key` are set on rank 0 alone
  stream::Preamble preamble = {};
  SecretBytes key;
  on_first([&] {
    preamble = stream::read_preamble(input.here());
    output = create_output(request.job.transfer, path, input.here(),
                           {.encrypts = false, .is_resumable = true});
    key = unlocker->open(preamble.envelope()).take_plaintext();
  });
  const stream::ResumedTotals totals = mpi::decrypt_resumably(
      ranks(), input, output.get(), preamble, std::move(key), print_warning, options);
  if (output) {
    report_written(request.job.transfer, *output, totals);
  }
  return totals;
}

int decrypt(Request& request) {
  std::string path;
  settle(request.job, request.unlock.standard_input_uses());
  mpi::together(ranks(), [&] {
    path = request.job.transfer.output.empty() ? decrypted_name(request.job.file)
                                               : request.job.transfer.output;
  });
  WorkChooser chooser = choose_work(request.job, find_cipher_name("aes-256-gcm"));
  std::optional<Unlocker> unlocker;
  on_first([&] {
    request.unlock.refuse_as_output(path);
    unlocker.emplace(request.unlock);
  });
  const auto work = [&](mpi::SharedInput& input, const std::string& output,
                        const stream::Options& options) {
    const auto run =
        is_resumable_job(request.job, input, output) ? decrypt_resumably : decrypt_afresh;
    return run(request, unlocker, input, output, options);
  };
  return run_job(request.job, chooser, {"decrypt", path, work});
}

Action declare(CLI::App& app) {
  const auto request = std::make_shared<Request>();
  request->unlock.declare(app);
  request->job.declare_output(app);
  request->job.transfer.declare_resume(app);
  request->job.declare(app);
  return [request] {
    return run_with_file("decrypt", request->job, [&] { return decrypt(*request); });
  };
}

}  // namespace

const Command mpi_command_decrypt = {"decrypt", "decrypt and authenticate a file", declare, nullptr,
                                     Operands::encrypted_files};

}  // namespace paes::cli
