// SPDX-License-Identifier: Apache-2.0
// `paes-mpi-bench scatter`: the distribution of the older studies of AES on clusters, where rank 0
// has all data, sends it out and gets it back. Most of the cost is moving it.
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

// Each rank's share in blocks. All shares are alike, because the ranks are.
std::vector<Range> ranges_of(std::uint64_t bytes, std::uint64_t unit_bytes) {
  std::vector<Range> ranges;
  ranges.reserve(ranks().ranks());
  const std::uint64_t unit_blocks = unit_bytes / block_bytes;
  for (unsigned rank = 0; rank < ranks().ranks(); ++rank) {
    ranges.push_back(mpi::share_of_groups(bytes / block_bytes, unit_blocks, ranks().ranks(), rank));
  }
  return ranges;
}

ordered_json measure(const MemoryOptions& options, const RankDevice& device,
                     const Executor& executor, std::uint64_t wanted_bytes) {
  const MemoryCipher cipher(options, device, wanted_bytes);
  const std::uint64_t bytes = cipher.whole_units(wanted_bytes);
  const std::vector<Range> ranges = ranges_of(bytes, cipher.unit_bytes());
  const Range own = ranges[ranks().rank()];
  const std::uint64_t offset = own.first * block_bytes;
  std::vector<std::uint8_t> all;
  std::vector<std::uint8_t> mine;
  mpi::together(ranks(), [&] {
    all.resize(ranks().is_first() ? static_cast<std::size_t>(bytes) : 0);
    mine.resize(static_cast<std::size_t>(own.count() * block_bytes));
  });
  on_first([&] { fill_pattern(0, all); });
  std::vector<double> scatter;
  std::vector<double> compute;
  std::vector<double> gather;
  std::vector<double> all_phases;
  // The first round is the check: data goes there and back, and each rank gets its own part.
  ranks().scatter(all.data(), ranges, mine);
  mpi::together(ranks(), [&] {
    if (!is_pattern(offset, mine)) {
      throw Error(ErrorCode::failure, "bench: scattered wrongly");
    }
    cipher.crypt(Direction::encrypt, offset, mine, executor);
  });
  ranks().gather(mine, ranges, all.data());
  on_first([&] {
    cipher.crypt(Direction::decrypt, 0, all, executor);
    if (!is_pattern(0, all)) {
      throw Error(ErrorCode::failure, "bench: wrong output");
    }
  });
  for (unsigned run = 0; run < options.runs; ++run) {
    scatter.push_back(seconds_of_all([&] { ranks().scatter(all.data(), ranges, mine); }));
    compute.push_back(
        seconds_of_all([&] { cipher.crypt(Direction::encrypt, offset, mine, executor); }));
    gather.push_back(seconds_of_all([&] { ranks().gather(mine, ranges, all.data()); }));
    all_phases.push_back(scatter.back() + compute.back() + gather.back());
  }
  ordered_json row = memory_row(options, cipher, executor, bytes);
  row["scatter_seconds"] = summary_of(scatter);
  row["compute_seconds"] = summary_of(compute);
  row["gather_seconds"] = summary_of(gather);
  row["seconds"] = summary_of(all_phases);
  row["gb_per_s"] = gb_per_s(bytes, median(all_phases));
  return row;
}

int run(const MemoryOptions& options) {
  const RankDevice device = open_rank_device(options);
  const auto executor = make_rank_executor(options, device);
  std::vector<ordered_json> rows;
  rows.reserve(options.bytes.size());
  for (const std::uint64_t bytes : options.bytes) {
    mpi::together(ranks(), [&] {
      // MPI counts blocks in an int.
      if (bytes / block_bytes > INT32_MAX) {
        throw Error(ErrorCode::usage, "bytes: more than 32 GiB cannot be scattered");
      }
    });
    rows.push_back(measure(options, device, *executor, bytes));
  }
  print_rows(
      options, "bench scatter", rows,
      [](const ordered_json& row) {
        const auto ms = [&](const char* phase) { return row[phase]["median"].get<double>() * 1e3; };
        return fmt::format(
            "{}: scatter {:.3f} ms, compute {:.3f} ms, gather {:.3f} ms, {:.2f} GB/s", name_of(row),
            ms("scatter_seconds"), ms("compute_seconds"), ms("gather_seconds"),
            row["gb_per_s"].get<double>());
      },
      device);
  return exit_done;
}

Action declare(CLI::App& app) {
  const auto options = std::make_shared<MemoryOptions>(std::uint64_t{64} << 20);
  options->declare(app, "bytes on rank 0; several with commas (the default is 64MiB)");
  return [options] { return run(*options); };
}

}  // namespace

const Command mpi_bench_command_scatter = {
    "scatter", "data of rank 0 is scattered, encrypted and gathered, each timed apart", declare};

}  // namespace paes::cli
