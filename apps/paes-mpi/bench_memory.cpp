// `paes-mpi bench memory`: no data moves between ranks; what they reach is what their processors
// do. `paes-mpi bench scatter`: the distribution of the older studies of AES on clusters, where
// rank 0 has all data and gets it back: what that costs is mostly moving it.
#include <fmt/core.h>

#include <algorithm>

#include "core/secret.hpp"
#include "mpi/placement.hpp"
#include "mpi/together.hpp"
#include "paes-mpi/bench_runs.hpp"
#include "paes-mpi/ranks.hpp"
#include "paes/bench_report.hpp"
#include "paes/bench_statistics.hpp"

namespace paes::cli {

namespace {

using nlohmann::ordered_json;

constexpr std::uint64_t page_bytes = 4096;

std::uint64_t whole_pages(std::uint64_t bytes) {
  return std::max<std::uint64_t>((bytes + page_bytes - 1) / page_bytes, 1) * page_bytes;
}

double gb_per_s(std::uint64_t bytes, double seconds) {
  return static_cast<double>(bytes) / 1e9 / seconds;
}

// Encryption and back gives what was there, before anything is timed; and what lies between is
// something else.
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

ordered_json row_of(const RankBenchRequest& request, const MemoryCipher& cipher,
                    const Executor& executor, std::uint64_t bytes) {
  return {{"cipher", request.cipher},
          {"kernel", cipher.kernel().name},
          {"threads", executor.threads()},
          {"bytes", bytes},
          {"runs", request.runs}};
}

ordered_json measure_memory(const RankBenchRequest& request, const Executor& executor,
                            std::uint64_t bytes) {
  const MemoryCipher cipher(request, bytes);
  const Range own = mpi::share_of_groups(bytes, page_bytes, ranks().ranks(), ranks().rank());
  std::vector<std::uint8_t> data;
  mpi::together(ranks(), [&] { data.resize(static_cast<std::size_t>(own.count())); });
  check_cipher(cipher, own.first, data, executor);
  std::vector<double> seconds;
  seconds.reserve(request.runs);
  for (unsigned run = 0; run < request.runs; ++run) {
    seconds.push_back(
        seconds_of_all([&] { cipher.crypt(Direction::encrypt, own.first, data, executor); }));
  }
  ordered_json row = row_of(request, cipher, executor, bytes);
  row["seconds"] = summary_of(seconds);
  row["gb_per_s"] = gb_per_s(bytes, median(seconds));
  return row;
}

// In proportion to the ranks, which are alike; whole pages, so that every mode can start at them.
std::vector<Range> ranges_of(std::uint64_t bytes) {
  std::vector<Range> ranges;
  ranges.reserve(ranks().ranks());
  constexpr std::uint64_t page_blocks = page_bytes / block_bytes;
  for (unsigned rank = 0; rank < ranks().ranks(); ++rank) {
    ranges.push_back(mpi::share_of_groups(bytes / block_bytes, page_blocks, ranks().ranks(), rank));
  }
  return ranges;
}

ordered_json measure_scattering(const RankBenchRequest& request, const Executor& executor,
                                std::uint64_t bytes) {
  const MemoryCipher cipher(request, bytes);
  const std::vector<Range> ranges = ranges_of(bytes);
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
  // The first round is the check: there and back, and each rank got its own part.
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
  for (unsigned run = 0; run < request.runs; ++run) {
    scatter.push_back(seconds_of_all([&] { ranks().scatter(all.data(), ranges, mine); }));
    compute.push_back(
        seconds_of_all([&] { cipher.crypt(Direction::encrypt, offset, mine, executor); }));
    gather.push_back(seconds_of_all([&] { ranks().gather(mine, ranges, all.data()); }));
  }
  ordered_json row = row_of(request, cipher, executor, bytes);
  row["scatter_seconds"] = summary_of(scatter);
  row["compute_seconds"] = summary_of(compute);
  row["gather_seconds"] = summary_of(gather);
  row["gb_per_s"] = gb_per_s(bytes, median(scatter) + median(compute) + median(gather));
  return row;
}

std::string name_of(const ordered_json& row) {
  return fmt::format("{} {}, {} threads a rank, {}", row["cipher"].get<std::string>(),
                     row["kernel"].get<std::string>(), row["threads"].get<unsigned>(),
                     exact_bytes(row["bytes"].get<std::uint64_t>()));
}

}  // namespace

void bench_ranks_in_memory(const RankBenchRequest& request) {
  const auto executor = bench_executor(request);
  std::vector<ordered_json> rows;
  for (const std::uint64_t bytes :
       request.bytes.empty() ? std::vector{std::uint64_t{1} << 30} : request.bytes) {
    rows.push_back(measure_memory(request, *executor, whole_pages(bytes)));
  }
  print_rows(request, "bench memory", rows, [](const ordered_json& row) {
    return fmt::format("{}: {:.2f} GB/s", name_of(row), row["gb_per_s"].get<double>());
  });
}

void bench_scattering(const RankBenchRequest& request) {
  const auto executor = bench_executor(request);
  std::vector<ordered_json> rows;
  for (const std::uint64_t bytes :
       request.bytes.empty() ? std::vector{std::uint64_t{64} << 20} : request.bytes) {
    mpi::together(ranks(), [&] {
      // MPI counts blocks in an int.
      if (bytes / block_bytes > INT32_MAX) {
        throw Error(ErrorCode::usage, "bytes: more than 32 GiB cannot be scattered");
      }
    });
    rows.push_back(measure_scattering(request, *executor, whole_pages(bytes)));
  }
  print_rows(request, "bench scatter", rows, [](const ordered_json& row) {
    const auto ms = [&](const char* phase) { return row[phase]["median"].get<double>() * 1e3; };
    return fmt::format("{}: scatter {:.3f} ms, compute {:.3f} ms, gather {:.3f} ms, {:.2f} GB/s",
                       name_of(row), ms("scatter_seconds"), ms("compute_seconds"),
                       ms("gather_seconds"), row["gb_per_s"].get<double>());
  });
}

}  // namespace paes::cli
