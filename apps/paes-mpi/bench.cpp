// `paes-mpi bench`: what the ranks reach together, timed between barriers, after MPI has started.
// docs/cluster.md makes a model of these figures.
#include <CLI/CLI.hpp>
#include <memory>

#include "paes-mpi/bench_runs.hpp"
#include "paes-mpi/ranks.hpp"
#include "paes/decimal.hpp"

namespace paes::cli {

namespace {

void declare_common(CLI::App& app, RankBenchRequest& request) {
  app.add_option("-T,--threads", request.threads,
                 "threads of each rank; 0, the default, is its share of the processors")
      ->check(decimal())
      ->check(CLI::Range(0U, 4096U));
  app.add_option("--kernel", request.kernel, "the kernel by name")->capture_default_str();
  app.add_option("--runs", request.runs, "runs (the default is 5)")
      ->check(decimal())
      ->check(CLI::Range(1U, 1000U));
  app.add_flag("--json", request.json, "print JSON (bench/schema/bench-mpi.schema.json)");
}

void declare_sizes(CLI::App& app, RankBenchRequest& request, const char* description) {
  takes_bytes(app.add_option("--bytes", request.bytes, description)->delimiter(','));
}

Action declare(CLI::App& app) {
  app.require_subcommand(1, 1);
  const auto request = std::make_shared<RankBenchRequest>();
  CLI::App* memory = app.add_subcommand("memory", "each rank encrypts its share, in its memory");
  CLI::App* scatter = app.add_subcommand(
      "scatter", "data of rank 0 is scattered, encrypted and gathered, each timed apart");
  CLI::App* file = app.add_subcommand("file", "encrypt, decrypt and verify a file of all ranks");
  for (CLI::App* one : {memory, scatter}) {
    one->add_option("--cipher", request->cipher,
                    "aes-256-gcm (the default) or another whose encryption is parallel");
  }
  declare_sizes(*memory, *request, "bytes of all ranks together (the default is 1GiB)");
  declare_sizes(*scatter, *request, "bytes on rank 0; several with commas (the default is 64MiB)");
  declare_sizes(*file, *request, "bytes of the file (the default is 1GiB)");
  file->add_option(
      "--dir", request->folder,
      "a folder that all ranks share; the default is memory (/dev/shm) if it has room, "
      "else TMPDIR");
  file->add_option("--access", request->access, "posix (the default) or mpi")
      ->check(CLI::IsMember({"posix", "mpi"}));
  for (CLI::App* one : {memory, scatter, file}) {
    declare_common(*one, *request);
  }
  return [memory, file, request] {
    if (memory->parsed()) {
      bench_ranks_in_memory(*request);
    } else if (file->parsed()) {
      bench_ranks_on_file(*request);
    } else {
      bench_scattering(*request);
    }
    return exit_done;
  };
}

}  // namespace

const Command mpi_command_bench = {"bench", "measure these ranks", declare};

}  // namespace paes::cli
