// SPDX-License-Identifier: Apache-2.0
#include "paes-mpi-bench/runs.hpp"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <set>

#include "cipher/mode/gcm_blocks.hpp"
#include "cli/decimal.hpp"
#include "cli/process.hpp"
#include "cli/report.hpp"
#include "core/secret.hpp"
#include "kernel/registry.hpp"
#include "message/gcm_message.hpp"
#include "mpi/together.hpp"
#include "paes-bench/bench_report.hpp"
#include "paes-bench/statistics.hpp"
#include "paes-mpi/ranks.hpp"
#include "stream/container/container_file.hpp"

namespace paes::cli {

namespace {

using nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

std::uint64_t word_at(std::uint64_t index) { return (index + 1) * 0x9e3779b97f4a7c15U; }

// Collective. Counts hosts by their names; only rank 0 knows all of them.
std::size_t count_hosts() {
  const std::uint64_t mine = std::hash<std::string>()(ranks().host());
  std::vector<std::uint64_t> all(ranks().ranks());
  ranks().gather({reinterpret_cast<const std::uint8_t*>(&mine), sizeof mine},
                 {reinterpret_cast<std::uint8_t*>(all.data()), all.size() * sizeof mine});
  return std::set<std::uint64_t>(all.begin(), all.end()).size();
}

}  // namespace

void RankOptions::declare_ranks(CLI::App& app) {
  app.add_option("-T,--threads", threads,
                 "threads of each rank; 0, the default, is its share of the processors")
      ->check(decimal())
      ->check(CLI::Range(0U, 4096U));
  app.add_option("--runs", runs, "runs (the default is 5)")
      ->check(decimal())
      ->check(CLI::Range(1U, 1000U));
  app.add_flag("--json", json, "print JSON (bench/schema/bench-mpi.schema.json)");
}

void RunOptions::declare_runs(CLI::App& app, const char* about_bytes) {
  takes_bytes(app.add_option("--bytes", bytes, about_bytes)->delimiter(','));
  app.add_option("--kernel", kernel, "the kernel by name")->capture_default_str();
  declare_ranks(app);
}

void MemoryOptions::declare(CLI::App& app, const char* about_bytes) {
  app.add_option("--cipher", cipher,
                 "aes-256-gcm (the default) or another whose encryption is parallel");
  declare_runs(app, about_bytes);
}

double seconds_of_all(const std::function<void()>& work) {
  mpi::together(ranks(), [] { cancel().check(); });
  ranks().barrier();
  const Clock::time_point start = Clock::now();
  work();
  ranks().barrier();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

ordered_json summary_of(const std::vector<double>& seconds) {
  const auto [min, max] = std::minmax_element(seconds.begin(), seconds.end());
  return {{"median", median(seconds)}, {"min", *min}, {"max", *max}};
}

double gb_per_s(std::uint64_t bytes, double seconds) {
  return static_cast<double>(bytes) / 1e9 / seconds;
}

void print_rows(const RankOptions& options, const char* command,
                const std::vector<ordered_json>& rows,
                const std::function<std::string(const ordered_json& row)>& line) {
  const std::size_t hosts = count_hosts();
  on_first([&] {
    if (options.json) {
      print_json({{"command", command},
                  {"machine", describe_machine()},
                  {"mpi",
                   {{"library", mpi::Communicator::library()},
                    {"ranks", ranks().ranks()},
                    {"hosts", hosts}}},
                  {"results", rows}});
      return;
    }
    std::string text = machine_line();
    for (const ordered_json& row : rows) {
      text += line(row) + "\n";
    }
    print_result(text);
  });
}

std::unique_ptr<Executor> make_rank_executor(const RankOptions& options) {
  const unsigned own = own_processors();
  std::unique_ptr<Executor> executor;
  mpi::together(ranks(), [&] {
    executor = make_executor(Schedule::omp_dynamic, options.threads != 0 ? options.threads : own);
    executor->start();
  });
  return executor;
}

MemoryCipher::MemoryCipher(const MemoryOptions& options, std::uint64_t message_bytes)
    : name_([&]() -> const CipherName& {
        const CipherName* found = nullptr;
        mpi::together(ranks(), [&] { found = &find_cipher_name(options.cipher); });
        return *found;
      }()) {
  on_first([&] {
    secrets_.key = SecretBytes(name_.key_bytes);
    random_bytes(secrets_.key);
    secrets_.iv.resize(name_.iv_bytes());
    random_bytes(secrets_.iv);
  });
  mpi::share(ranks(), secrets_);
  mpi::together(ranks(), [&] {
    kernel_ = &find_kernel(name_, options.kernel);
    if (name_.is_gcm()) {
      if (message_bytes > gcm::max_plaintext_bytes) {
        throw Error(ErrorCode::usage, "bytes: more than a message of GCM may have (64 GiB)");
      }
      gcm_.emplace(secrets_.key, *kernel_);
      return;
    }
    raw_.emplace(name_.cipher, *name_.mode, secrets_.key, *kernel_,
                 row_of(*name_.mode).has_units ? page_bytes : 0);
    if (!raw_->is_parallel(Direction::encrypt)) {
      throw Error(ErrorCode::usage,
                  "cipher: " + name_.name + " encrypts one block after the other");
    }
  });
}

void MemoryCipher::crypt(Direction direction, std::uint64_t offset, MutableBytes data,
                         const Executor& executor) const {
  if (raw_) {
    RawPosition position = raw_->at(secrets_.iv, offset, {});
    raw_->crypt(direction, position, data, data, executor, stream::default_piece_bytes);
    return;
  }
  const GcmMessage message(*gcm_, secrets_.iv, {});
  constexpr std::size_t piece_bytes = stream::default_piece_bytes;
  executor.for_each((data.size() + piece_bytes - 1) / piece_bytes, [&](std::size_t index) {
    const std::size_t first = index * piece_bytes;
    const MutableBytes piece = data.subspan(first, std::min(piece_bytes, data.size() - first));
    GhashPart part = direction == Direction::encrypt
                         ? message.encrypt(offset + first, piece, piece)
                         : message.decrypt(offset + first, piece, piece);
    wipe(part.value.bytes);
  });
}

std::uint64_t whole_pages(std::uint64_t bytes) {
  constexpr std::uint64_t page_bytes = MemoryCipher::page_bytes;
  return std::max<std::uint64_t>((bytes + page_bytes - 1) / page_bytes, 1) * page_bytes;
}

ordered_json memory_row(const MemoryOptions& options, const MemoryCipher& cipher,
                        const Executor& executor, std::uint64_t bytes) {
  return {{"cipher", options.cipher},
          {"kernel", cipher.kernel().name},
          {"threads", executor.threads()},
          {"bytes", bytes},
          {"runs", options.runs}};
}

std::string name_of(const ordered_json& row) {
  return fmt::format("{} {}, {} threads a rank, {}", row["cipher"].get<std::string>(),
                     row["kernel"].get<std::string>(), row["threads"].get<unsigned>(),
                     exact_bytes(row["bytes"].get<std::uint64_t>()));
}

void fill_pattern(std::uint64_t offset, MutableBytes data) {
  for (std::size_t at = 0; at + sizeof(std::uint64_t) <= data.size(); at += sizeof(std::uint64_t)) {
    const std::uint64_t word = word_at((offset + at) / sizeof word);
    std::memcpy(data.data() + at, &word, sizeof word);
  }
}

bool is_pattern(std::uint64_t offset, Bytes data) {
  for (std::size_t at = 0; at + sizeof(std::uint64_t) <= data.size(); at += sizeof(std::uint64_t)) {
    const std::uint64_t word = word_at((offset + at) / sizeof word);
    if (std::memcmp(data.data() + at, &word, sizeof word) != 0) {
      return false;
    }
  }
  return true;
}

}  // namespace paes::cli
