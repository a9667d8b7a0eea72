// SPDX-License-Identifier: Apache-2.0
// `paes-mpi cipher`: one message in a raw mode whose pieces are independent, or in GCM, by all
// ranks.
#include <CLI/CLI.hpp>

#include "cipher/mode/gcm_blocks.hpp"
#include "cli/cipher_options.hpp"
#include "cli/keyfile.hpp"
#include "cli/report.hpp"
#include "message/cipher_name.hpp"
#include "mpi/shared_raw.hpp"
#include "mpi/together.hpp"
#include "paes-mpi/mpi_job.hpp"
#include "paes-mpi/ranks.hpp"

namespace paes::cli {

namespace {

struct MpiCipherCommand : CipherOptions {
  JobOptions job;
};

stream::Totals crypt_gcm(const MpiCipherCommand& command, const CipherName&,
                         const mpi::RawSecrets& secrets, mpi::SharedInput& input,
                         mpi::SharedOutput& output, const stream::Work& work) {
  std::optional<GcmKey> key;
  mpi::together(ranks(), [&] { key.emplace(secrets.key, work.kernel, work.device_use); });
  const auto crypt = command.decrypt ? mpi::open_gcm : mpi::seal_gcm;
  return crypt(ranks(), input, output, *key, secrets.iv, secrets.aad, work);
}

stream::Totals crypt_raw(const MpiCipherCommand& command, const CipherName& cipher,
                         const mpi::RawSecrets& secrets, mpi::SharedInput& input,
                         mpi::SharedOutput& output, const stream::Work& work) {
  std::optional<RawKey> key;
  mpi::together(ranks(), [&] {
    key.emplace(cipher.cipher, *cipher.mode, secrets.key, work.kernel,
                command.unit_bytes.value_or(0), work.device_use);
  });
  return mpi::crypt_raw(ranks(), input, output,
                        {.key = *key,
                         .direction = command.direction(),
                         .iv = secrets.iv,
                         .pads = command.pads(cipher),
                         .max_blocks = command.max_blocks(cipher)},
                        work);
}

int crypt(MpiCipherCommand& command) {
  const CipherName* cipher = nullptr;
  mpi::together(ranks(), [&] {
    cipher = &find_cipher_name(command.name);
    command.check(*cipher, false);
    refuse(command.job.transfer.output.empty(), "output: none is named", "name it with -o");
  });
  const std::string& path = command.job.transfer.output;
  settle(command.job, standard_input_uses({command.key_file, command.aad_file}));
  WorkChooser chooser = choose_work(command.job, *cipher, command.why_cpu_alone(*cipher));
  mpi::RawSecrets secrets;
  on_first([&] {
    command.refuse_as_output(path);
    secrets.iv = command.parse_iv(*cipher);
    secrets.key = command.read_key(*cipher);
    secrets.aad = command.read_aad();
    if (!command.job.transfer.quiet) {
      command.note_if_disallowed(*cipher);
    }
    command.warn_if_unlimited(*cipher);
  });
  mpi::share(ranks(), secrets);
  const auto task = [&](mpi::SharedInput& input, const std::string& named,
                        const stream::Work& work) {
    JobOutput output(command.job, named, input, !command.decrypt);
    const auto run = cipher->is_gcm() ? crypt_gcm : crypt_raw;
    const stream::Totals totals = run(command, *cipher, secrets, input, output, work);
    output.report(command.job);
    return totals;
  };
  MpiJob job{"cipher", path, task};
  job.more_members = [&](nlohmann::ordered_json& document) {
    document["cipher"] = cipher->name;
    document["direction"] = command.decrypt ? "decrypt" : "encrypt";
  };
  return run_job(command.job, chooser, job);
}

// Those that are parallel in one direction at least.
std::vector<std::string> parallel_names() {
  std::vector<std::string> names;
  for (const CipherName& one : all_cipher_names()) {
    const auto is_parallel = [&](Direction direction) {
      return one.is_gcm() || !formula_of(row_of(*one.mode).operation(direction)).is_chained();
    };
    if (is_parallel(Direction::encrypt) || is_parallel(Direction::decrypt)) {
      names.push_back(one.name);
    }
  }
  return names;
}

Action declare(CLI::App& app) {
  const auto command = std::make_shared<MpiCipherCommand>();
  static_cast<CipherOptions&>(*command).declare(app);
  command->job.declare_output(app);
  command->job.declare(app);
  app.footer(
      "Directions that chain their blocks (CBC, CFB and OFB encryption) are for paes, which is as "
      "fast alone. Modes other than GCM authenticate nothing.");
  return
      [command] { return run_with_file("cipher", command->job, [&] { return crypt(*command); }); };
}

}  // namespace

const Command mpi_command_cipher = {"cipher",
                                    "one message in a raw mode, for other programs' data",
                                    declare,
                                    nullptr,
                                    Operands::any_files,
                                    parallel_names};

}  // namespace paes::cli
