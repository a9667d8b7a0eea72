// SPDX-License-Identifier: Apache-2.0
// `paes-mpi-bench libcrypto`: what paes has no kernels for (paes-bench/libcrypto_work.hpp), by
// ranks. Each has its share of the agreements, and encrypts its share of the bytes as a message of
// its own, so no data moves between ranks.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <exception>

#include "cli/process.hpp"
#include "mpi/placement.hpp"
#include "mpi/together.hpp"
#include "paes-bench/libcrypto_options.hpp"
#include "paes-bench/statistics.hpp"
#include "paes-mpi-bench/mpi_bench_commands.hpp"
#include "paes-mpi-bench/runs.hpp"
#include "paes-mpi/ranks.hpp"
#include "paes/error.hpp"

namespace paes::cli {

namespace {

using nlohmann::ordered_json;

struct MpiLibcryptoCommand : RankOptions {
  LibcryptoWorkOptions work;
};

ordered_json measure(const MpiLibcryptoCommand& command, const std::string& algorithm,
                     const Executor& executor) {
  const LibcryptoWorkOptions& all = command.work;
  const auto share = [](std::uint64_t count, std::uint64_t group) {
    return mpi::share_of_groups(count, group, ranks().ranks(), ranks().rank()).count();
  };
  std::unique_ptr<LibcryptoWork> work;
  mpi::together(ranks(), [&] {
    work = make_libcrypto_work(algorithm,
                               {.message_bytes = share(all.message_bytes, all.piece_bytes),
                                .piece_bytes = all.piece_bytes,
                                .agreements = share(all.agreements, 1)},
                               &cancel());
  });
  std::exception_ptr failure;
  const auto run_all = [&] {
    try {
      executor.for_each(work->total().items, [&](std::size_t item) { work->run(item); });
    } catch (...) {
      failure = std::current_exception();  // the other ranks wait for this one
    }
  };
  std::vector<double> seconds;
  // The first run, which is not counted, has memory and libcrypto ready for the others.
  for (unsigned run = 0; run <= command.runs; ++run) {
    work->clear();
    const double taken = seconds_of_all(run_all);
    mpi::together(ranks(), [&] {
      if (failure) {
        std::rethrow_exception(failure);
      }
      require_right(algorithm, *work);
    });
    if (run != 0) {
      seconds.push_back(taken);
    }
  }
  const auto [items, bytes] = total_of(algorithm, all.size());
  const double typical = median(seconds);
  return {{"algorithm", algorithm},
          {"threads", executor.threads()},
          {"bytes", bytes},
          {"items", items},
          {"runs", command.runs},
          {"seconds", summary_of(seconds)},
          {"gb_per_s", gb_per_s(bytes, typical)},
          {"items_per_s", static_cast<double>(items) / typical}};
}

int run(const MpiLibcryptoCommand& command) {
  mpi::together(ranks(), [&] { command.work.check(); });
  const auto executor = make_rank_executor(command);
  std::vector<ordered_json> rows;
  rows.reserve(command.work.algorithms.size());
  for (const std::string& algorithm : command.work.algorithms) {
    rows.push_back(measure(command, algorithm, *executor));
  }
  print_rows(command, "bench libcrypto", rows, [](const ordered_json& row) {
    return fmt::format("{}, {} threads a rank: {:.4f} GB/s, {:.0f} items/s",
                       row["algorithm"].get<std::string>(), row["threads"].get<unsigned>(),
                       row["gb_per_s"].get<double>(), row["items_per_s"].get<double>());
  });
  return exit_done;
}

Action declare(CLI::App& app) {
  const auto command = std::make_shared<MpiLibcryptoCommand>();
  command->work.declare(app);
  command->declare_ranks(app);
  return [command] { return run(*command); };
}

}  // namespace

const Command mpi_bench_command_libcrypto = {
    "libcrypto", "each rank has its share of ChaCha20 and X25519, in its memory", declare};

}  // namespace paes::cli
