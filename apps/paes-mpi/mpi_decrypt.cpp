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

struct MpiDecryptCommand {
  UnlockOptions unlock;
  JobOptions job;
};

stream::Totals decrypt_afresh(const MpiDecryptCommand& command, std::optional<Unlocker>& unlocker,
                              mpi::SharedInput& input, const std::string& path,
                              const stream::Work& work) {
  JobOutput output(command.job, path, input, false);
  const stream::Totals totals =
      mpi::decrypt(ranks(), input, output, open_envelope(unlocker, input), work);
  output.report(command.job);
  warn_of_partial(path);
  return totals;
}

stream::Totals decrypt_resumably(const MpiDecryptCommand& command,
                                 std::optional<Unlocker>& unlocker, mpi::SharedInput& input,
                                 const std::string& path, const stream::Work& work) {
  std::unique_ptr<stream::Output> output;  // this, `preamble` and `key` are set on rank 0 alone
  stream::Preamble preamble = {};
  SecretBytes key;
  on_first([&] {
    preamble = stream::read_preamble(input.here());
    output = create_output(command.job.transfer, path, input.here(),
                           {.encrypts = false, .is_resumable = true});
    key = unlocker->open(preamble.envelope()).take_plaintext();
  });
  const stream::Totals totals = mpi::decrypt_resumably(ranks(), input, output.get(), preamble,
                                                       std::move(key), print_warning, work);
  if (output) {
    report_written(command.job.transfer, *output, totals);
  }
  return totals;
}

int decrypt(MpiDecryptCommand& command) {
  std::string path;
  settle(command.job, command.unlock.standard_input_uses());
  mpi::together(ranks(), [&] {
    path = command.job.transfer.output.empty() ? decrypted_name(command.job.file)
                                               : command.job.transfer.output;
  });
  WorkChooser chooser = choose_work(command.job, find_cipher_name("aes-256-gcm"));
  std::optional<Unlocker> unlocker;
  on_first([&] {
    command.unlock.refuse_as_output(path);
    unlocker.emplace(command.unlock);
  });
  const auto task = [&](mpi::SharedInput& input, const std::string& output,
                        const stream::Work& work) {
    const auto run =
        is_resumable_job(command.job, input, output) ? decrypt_resumably : decrypt_afresh;
    return run(command, unlocker, input, output, work);
  };
  return run_job(command.job, chooser, {"decrypt", path, task});
}

Action declare(CLI::App& app) {
  const auto command = std::make_shared<MpiDecryptCommand>();
  command->unlock.declare(app);
  command->job.declare_output(app);
  command->job.transfer.declare_resume(app);
  command->job.declare(app);
  return [command] {
    return run_with_file("decrypt", command->job, [&] { return decrypt(*command); });
  };
}

}  // namespace

const Command mpi_command_decrypt = {"decrypt", "decrypt and authenticate a file", declare, nullptr,
                                     Operands::encrypted_files};

}  // namespace paes::cli
