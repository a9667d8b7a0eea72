// SPDX-License-Identifier: Apache-2.0
// `paes-mpi-bench memory`: no data moves between ranks, so this measures only what their processors
// do.
#include <fmt/core.h>

#include "mpi/placement.hpp"
#include "mpi/together.hpp"
#include "paes-bench/statistics.hpp"
#include "paes-mpi-bench/mpi_bench_commands.hpp"
#include "paes-mpi-bench/runs.hpp"
#include "paes-mpi/ranks.hpp"

namespace paes::cli {

namespace {

using nlohmann::ordered_json;

// Before anything is timed: encrypting and decrypting must restore the data, and the ciphertext
// must differ from it.
void check_cipher(const MemoryCipher& cipher, std::uint64_t offset, MutableBytes data,
                  const Executor& executor) {
  mpi::together(ranks(), [&] {
    fill_pattern(offset, data);
    cipher.crypt(Direction::encrypt, offset, data, executor);
    const bool changed = data.empty() || !is_pattern(offset, data);
    cipher.crypt(Direction::decrypt, offset, data, executor);
    if (!changed || !is_pattern(offset, data)) {
      throw Error(ErrorCode::failure, "bench: wrong output");
    }
  });
}

ordered_json measure(const MemoryOptions& options, const RankDevice& device,
                     const Executor& executor, std::uint64_t wanted_bytes) {
  const MemoryCipher cipher(options, device, wanted_bytes);
  const std::uint64_t bytes = cipher.whole_units(wanted_bytes);
  const Range own =
      mpi::share_of_groups(bytes, cipher.unit_bytes(), ranks().ranks(), ranks().rank());
  std::vector<std::uint8_t> data;
  mpi::together(ranks(), [&] { data.resize(static_cast<std::size_t>(own.count())); });
  check_cipher(cipher, own.first, data, executor);
  std::vector<double> seconds;
  seconds.reserve(options.runs);
  for (unsigned run = 0; run < options.runs; ++run) {
    seconds.push_back(
        seconds_of_all([&] { cipher.crypt(Direction::encrypt, own.first, data, executor); }));
  }
  ordered_json row = memory_row(options, cipher, executor, bytes);
  row["seconds"] = summary_of(seconds);
  row["gb_per_s"] = gb_per_s(bytes, median(seconds));
  return row;
}

int run(const MemoryOptions& options) {
  const RankDevice device = open_rank_device(options);
  const auto executor = make_rank_executor(options, device);
  std::vector<ordered_json> rows;
  rows.reserve(options.bytes.size());
  for (const std::uint64_t bytes : options.bytes) {
    rows.push_back(measure(options, device, *executor, bytes));
  }
  print_rows(
      options, "bench memory", rows,
      [](const ordered_json& row) {
        return fmt::format("{}: {:.2f} GB/s", name_of(row), row["gb_per_s"].get<double>());
      },
      device);
  return exit_done;
}

Action declare(CLI::App& app) {
  const auto options = std::make_shared<MemoryOptions>(std::uint64_t{1} << 30);
  options->declare(app, "bytes of all ranks together (the default is 1GiB)");
  return [options] { return run(*options); };
}

}  // namespace

const Command mpi_bench_command_memory = {"memory", "each rank encrypts its share, in its memory",
                                          declare};

}  // namespace paes::cli
