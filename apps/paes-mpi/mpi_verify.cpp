// SPDX-License-Identifier: Apache-2.0
// `paes-mpi verify`: every rank authenticates a run of stripes; nothing is written.
#include <CLI/CLI.hpp>
#include <utility>

#include "cli/report.hpp"
#include "message/cipher_name.hpp"
#include "mpi/shared_container.hpp"
#include "mpi/together.hpp"
#include "paes-mpi/mpi_job.hpp"
#include "paes-mpi/ranks.hpp"

namespace paes::cli {

namespace {

struct MpiVerifyCommand {
  UnlockOptions unlock;
  JobOptions job;
};

int verify(MpiVerifyCommand& command) {
  settle(command.job, command.unlock.standard_input_uses());
  WorkChooser chooser = choose_work(command.job, find_cipher_name("aes-256-gcm"));
  std::optional<Unlocker> unlocker;
  on_first([&] { unlocker.emplace(command.unlock); });
  stream::Verification found;
  const auto task = [&](mpi::SharedInput& input, const std::string&, const stream::Work& work) {
    found = mpi::verify(ranks(), input, open_envelope(unlocker, input), work);
    // Rank 0 alone is heard; the others throw what it throws.
    mpi::together(ranks(), [&] {
      const std::string text = verified_text(command.job.transfer, input.name(), found);
      if (!text.empty()) {
        print_result(text);
      }
    });
    return stream::Totals{found.extent.text_bytes};
  };
  MpiJob job{"verify", "", task};
  job.more_of_failure = [&](auto& file) { add_damage(file, std::exchange(found, {})); };
  return run_job(command.job, chooser, job);
}

Action declare(CLI::App& app) {
  const auto command = std::make_shared<MpiVerifyCommand>();
  command->unlock.declare(app);
  command->job.declare(app);
  return
      [command] { return run_with_file("verify", command->job, [&] { return verify(*command); }); };
}

}  // namespace

const Command mpi_command_verify = {"verify", "authenticate a file without writing anything",
                                    declare, nullptr, Operands::encrypted_files};

}  // namespace paes::cli
