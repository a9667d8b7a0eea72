// SPDX-License-Identifier: Apache-2.0
// `paes-bench vault`: how long it takes to seal a block of a vault in four ways that take turns:
// directly with a random IV; directly with an IV that is a function of a number; with such an IV
// and keystream from a thread that runs when the system is idle; and with both certainly ready. A
// delay between blocks stands in for the rest of a write.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <nlohmann/json.hpp>
#include <vector>

#include "cli/decimal.hpp"
#include "cli/report.hpp"
#include "core/secret.hpp"
#include "kernel/registry.hpp"
#include "paes-bench/bench_commands.hpp"
#include "paes-bench/bench_report.hpp"
#include "paes-bench/interrupt.hpp"
#include "paes-bench/statistics.hpp"
#include "paes/error.hpp"
#include "vault/content_key.hpp"
#include "volume/change/sealed_run.hpp"
#include "volume/change/sealing_ahead.hpp"

namespace paes::cli {

namespace {

using nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;
using vault::block_bytes;

constexpr std::size_t key_bytes = 32;
const vault::FileId file_id = {1, 2, 3};

struct MeasureVaultCommand {
  std::vector<std::string> kernels = {"auto"};
  std::vector<unsigned> aheads = {64};
  std::vector<unsigned> delays_us = {0, 20};
  unsigned blocks = 4096;
  unsigned rounds = 5;
  bool json = false;
};

struct Latency {
  double p50_ns;
  double p99_ns;
};

// Writes one block after the other, like a file. Each is kept until the turn is over, and then
// opened.
class Writer {
 public:
  Writer(const Kernel& kernel, Bytes key, unsigned blocks)
      : kernel_(kernel),
        key_(vault::make_content_key(vault::ContentCipher::aes_256_gcm, key, kernel)),
        stride_(key_->layout().stride()),
        text_(block_bytes),
        sealed_(blocks * stride_) {
    random_bytes(text_);
  }

  // With null, nothing is made ahead.
  [[nodiscard]] Latency write(const volume::SealingAhead* ahead, bool is_filled,
                              unsigned delay_us) {
    const unsigned blocks = static_cast<unsigned>(sealed_.size() / stride_);
    std::vector<double> times;
    times.reserve(blocks);
    for (unsigned block = 0; block < blocks; ++block) {
      if (is_filled) {
        ahead->fill(Clock::now() + std::chrono::seconds(1));
      }
      const Clock::time_point start = Clock::now();
      seal(ahead, block);
      const Clock::time_point end = Clock::now();
      times.push_back(std::chrono::duration<double, std::nano>(end - start).count());
      while (Clock::now() < end + std::chrono::microseconds(delay_us)) {
      }
    }
    check();
    std::sort(times.begin(), times.end());
    return {times[times.size() / 2], times[times.size() * 99 / 100]};
  }

 private:
  [[nodiscard]] MutableBytes sealed(unsigned block) noexcept {
    return MutableBytes(sealed_).subspan(block * stride_, stride_);
  }

  // Seals a request of one block, like volume::SealedRun.
  void seal(const volume::SealingAhead* ahead, unsigned block) {
    const vault::BlockPlace place = {block, &file_id};
    if (ahead != nullptr && ahead->seal(place, text_, sealed(block))) {
      return;
    }
    std::array<std::uint8_t, vault::max_iv_bytes> random;
    const MutableBytes iv = MutableBytes(random).first(key_->layout().iv_bytes);
    volume::random_ivs(iv, iv.size());
    key_->seal(place, iv, text_, sealed(block));
  }

  void check() {
    std::vector<std::uint8_t> opened(block_bytes);
    for (unsigned block = 0; block < sealed_.size() / stride_; ++block) {
      if (!vault::open_block(*key_, {block, &file_id}, sealed(block), opened) || opened != text_) {
        throw Error(ErrorCode::failure,
                    fmt::format("{}: wrong output of block {}", kernel_.name, block));
      }
    }
  }

  const Kernel& kernel_;
  const std::unique_ptr<vault::ContentKey> key_;
  const std::size_t stride_;
  std::vector<std::uint8_t> text_;
  std::vector<std::uint8_t> sealed_;
};

struct Way {
  const char* name;
  const volume::SealingAhead* ahead;  // null: random IVs
  bool is_filled;                     // by this thread, before each block
  std::vector<double> p50 = {};
  std::vector<double> p99 = {};
};

struct Row {
  std::string kernel;
  unsigned ahead;
  unsigned delay_us;
  std::vector<Way> ways;  // the others are compared with the first
  double hit_rate;
};

Row measure(const Kernel& kernel, unsigned blocks_ahead, unsigned delay_us,
            const MeasureVaultCommand& command) {
  SecretBytes key(key_bytes);
  random_bytes(key);
  Writer writer(kernel, key, command.blocks);
  const volume::SealingAhead numbered(key, kernel, 0);
  const volume::SealingAhead ahead(key, kernel, blocks_ahead);
  const volume::SealingAhead ready(key, kernel, 4, volume::SealingAhead::Maker::fill);
  Row row = {kernel.name,
             blocks_ahead,
             delay_us,
             {{"random", nullptr, false},
              {"numbered", &numbered, false},
              {"ahead", &ahead, false},
              {"ready", &ready, true}},
             0};
  for (unsigned round = 0; round < command.rounds; ++round) {
    for (std::size_t turn = 0; turn < row.ways.size(); ++turn) {
      stop_if_interrupted();
      Way& way = row.ways[(round + turn) % row.ways.size()];  // each comes first equally often
      const Latency latency = writer.write(way.ahead, way.is_filled, delay_us);
      way.p50.push_back(latency.p50_ns);
      way.p99.push_back(latency.p99_ns);
    }
  }
  const KeystreamUse use = ahead.use();
  const auto hits = static_cast<double>(use.own + use.other);
  row.hit_rate = hits / (hits + static_cast<double>(use.direct + use.bypassed));
  return row;
}

ordered_json to_json(const Row& row, const MeasureVaultCommand& command) {
  ordered_json ways = ordered_json::array();
  for (const Way& way : row.ways) {
    ways.push_back({{"way", way.name},
                    {"p50_ns", median(way.p50)},
                    {"p99_ns", median(way.p99)},
                    {"p50_ratio", to_json(rate_ratio(way.p50, row.ways[0].p50))}});
  }
  return {{"kernel", row.kernel},     {"ahead", row.ahead},       {"delay_us", row.delay_us},
          {"blocks", command.blocks}, {"rounds", command.rounds}, {"ways", ways},
          {"hit_rate", row.hit_rate}};
}

std::string to_text(const Row& row) {
  std::string text = fmt::format("{:<10} {:>4} us between blocks  {:>4} ahead ", row.kernel,
                                 row.delay_us, row.ahead);
  for (const Way& way : row.ways) {
    text += fmt::format(" {} p50 {:.0f} p99 {:.0f} ns ({:#.3g} x) ", way.name, median(way.p50),
                        median(way.p99), rate_ratio(way.p50, row.ways[0].p50).median);
  }
  return text + fmt::format(" hits {:.0f} %\n", 100 * row.hit_rate);
}

int run(const MeasureVaultCommand& command) {
  std::vector<const Kernel*> kernels;
  kernels.reserve(command.kernels.size());
  for (const std::string& name : command.kernels) {
    kernels.push_back(&find_kernel(Cipher::aes, name));
  }
  ordered_json results = ordered_json::array();
  if (!command.json) {
    print_result(machine_line());
  }
  for (const Kernel* kernel : kernels) {
    for (const unsigned ahead : command.aheads) {
      for (const unsigned delay_us : command.delays_us) {
        const Row row = measure(*kernel, ahead, delay_us, command);
        if (!command.json) {
          print_result(to_text(row));
        }
        results.push_back(to_json(row, command));
      }
    }
  }
  if (command.json) {
    print_json({{"command", "bench vault"}, {"machine", describe_machine()}, {"results", results}});
  }
  return exit_done;
}

Action declare(CLI::App& app) {
  const auto command = std::make_shared<MeasureVaultCommand>();
  app.add_option("--kernel", command->kernels, "kernels; several with commas")->delimiter(',');
  app.add_option("--ahead", command->aheads,
                 "blocks whose IV and keystream are made ahead (the default is 64)")
      ->delimiter(',')
      ->check(decimal())
      ->check(CLI::Range(1U, volume::SealingAhead::max_blocks));
  app.add_option("--delay-us", command->delays_us,
                 "microseconds between two blocks (the default is 0,20)")
      ->delimiter(',')
      ->check(decimal())
      ->check(CLI::Range(0U, 1000000U));
  app.add_option("--blocks", command->blocks,
                 "blocks of 4 KiB that a turn seals (the default is 4096)")
      ->check(decimal())
      ->check(CLI::Range(1U, 65536U));
  app.add_option("--runs", command->rounds, "rounds, each both ways (the default is 5)")
      ->check(decimal())
      ->check(CLI::Range(1, 1000));
  app.add_flag("--json", command->json, "print JSON (bench/schema/bench-vault.schema.json)");
  return [command] { return run(*command); };
}

}  // namespace

const Command bench_command_vault = {
    "vault", "blocks of a vault sealed with IVs and keystream made ahead, against sealing at once",
    declare};

}  // namespace paes::cli
