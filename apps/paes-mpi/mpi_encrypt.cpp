// SPDX-License-Identifier: Apache-2.0
// `paes-mpi encrypt`: rank 0 makes the key and its envelope; each rank encrypts a run of stripes.
#include <CLI/CLI.hpp>

#include "cli/remains.hpp"
#include "cli/report.hpp"
#include "cli/sealing.hpp"
#include "message/cipher_name.hpp"
#include "mpi/shared_container.hpp"
#include "mpi/shared_resume.hpp"
#include "paes-mpi/mpi_job.hpp"
#include "paes-mpi/ranks.hpp"

namespace paes::cli {

namespace {

struct MpiEncryptCommand {
  SealOptions sealing;
  JobOptions job;
};

stream::Totals encrypt_afresh(const MpiEncryptCommand& command, std::optional<Sealer>& sealer,
                              mpi::SharedInput& input, const std::string& path,
                              const stream::Work& work) {
  JobOutput output(command.job, path, input, true);
  mpi::SharedPayload sealed;
  on_first([&] {
    sealer->ask_passphrase();
    stream::NewKey made = sealer->make_key();
    sealed = {sealer->shape(), std::move(made.envelope), std::move(made.input_key)};
  });
  const stream::Totals totals = mpi::encrypt(ranks(), input, output, std::move(sealed), work);
  output.report(command.job);
  warn_of_leftover(path);
  warn_of_partial(path);
  return totals;
}

stream::Totals encrypt_resumably(const MpiEncryptCommand& command, std::optional<Sealer>& sealer,
                                 mpi::SharedInput& input, const std::string& path,
                                 const stream::Work& work) {
  std::unique_ptr<stream::Output> output;  // this and `task` are set on rank 0 alone
  stream::ResumableEncryption task = {};
  on_first([&] {
    output = create_output(command.job.transfer, path, input.here(),
                           {.encrypts = true, .is_resumable = true});
    sealer->ask_passphrase();
    task = sealer->resumable();
  });
  const stream::Totals totals = mpi::encrypt_resumably(ranks(), input, output.get(), task, work);
  if (output) {
    report_written(command.job.transfer, *output, totals);
    warn_of_leftover(path);
  }
  return totals;
}

int encrypt(MpiEncryptCommand& command) {
  std::optional<Sealer> sealer;  // on rank 0
  const SealOptions& sealing = command.sealing;
  const std::string path = command.job.output_or(encrypted_name(command.job.file));
  settle(command.job, sealing.standard_input_uses());
  on_first([&] {
    const bool resume = command.job.transfer.resume;
    sealing.check(resume, "-r RECIPIENT, -R FILE or -p; paes keygen makes keys");
    sealer.emplace(sealing, sealing.shape());
    sealing.refuse_as_output(path);
  });
  WorkChooser chooser = choose_work(command.job, find_cipher_name("aes-256-gcm"));
  const auto task = [&](mpi::SharedInput& input, const std::string& output,
                        const stream::Work& work) {
    const auto run =
        is_resumable_job(command.job, input, output) ? encrypt_resumably : encrypt_afresh;
    return run(command, sealer, input, output, work);
  };
  return run_job(command.job, chooser, {"encrypt", path, task});
}

Action declare(CLI::App& app) {
  const auto command = std::make_shared<MpiEncryptCommand>();
  command->sealing.declare(app, "the terminal of rank 0", false);
  command->job.declare_output(app);
  command->job.transfer.declare_resume(app);
  command->sealing.declare_reopen(app);
  command->job.declare(app);
  return [command] {
    return run_with_file("encrypt", command->job, [&] { return encrypt(*command); });
  };
}

}  // namespace

const Command mpi_command_encrypt = {"encrypt", "encrypt a file", declare};

}  // namespace paes::cli
