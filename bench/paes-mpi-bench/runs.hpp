// SPDX-License-Identifier: Apache-2.0
// What the measurements of paes-mpi-bench share: options, the clock between barriers, a cipher over
// data in memory, the report.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "exec/executor.hpp"
#include "message/cipher_name.hpp"
#include "message/gcm.hpp"
#include "message/raw_key.hpp"
#include "mpi/shared_raw.hpp"

namespace CLI {
class App;
}

namespace paes::cli {

struct RankOptions {
  unsigned threads = 0;
  unsigned runs = 5;
  bool json = false;

  void declare_ranks(CLI::App& app);
};

struct RunOptions : RankOptions {
  std::vector<std::uint64_t> bytes;  // every size is measured
  std::string kernel = "auto";

  explicit RunOptions(std::uint64_t default_bytes) : bytes{default_bytes} {}
  void declare_runs(CLI::App& app, const char* about_bytes);
};

// For data in memory.
struct MemoryOptions : RunOptions {
  std::string cipher = "aes-256-gcm";

  using RunOptions::RunOptions;
  void declare(CLI::App& app, const char* about_bytes);
};

// Collective. The seconds from the moment when all ranks have begun to the moment when all have
// ended.
[[nodiscard]] double seconds_of_all(const std::function<void()>& work);

// {"median", "min", "max"}.
[[nodiscard]] nlohmann::ordered_json summary_of(const std::vector<double>& seconds);
[[nodiscard]] double gb_per_s(std::uint64_t bytes, double seconds);

// Collective. Prints the rows on rank 0, as JSON or one line for each.
void print_rows(const RankOptions& options, const char* command,
                const std::vector<nlohmann::ordered_json>& rows,
                const std::function<std::string(const nlohmann::ordered_json& row)>& line);

// Collective. Returns a started executor, with the number of threads from the options or this
// rank's share.
[[nodiscard]] std::unique_ptr<Executor> make_rank_executor(const RankOptions& options);

// Encrypts any part of one message in memory, in place. The key is the same on all ranks.
class MemoryCipher {
 public:
  static constexpr std::uint64_t page_bytes = 4096;

  // Collective. Throws Agreed for a cipher whose encryption is chained, and if a message cannot
  // have this many bytes.
  MemoryCipher(const MemoryOptions& options, std::uint64_t message_bytes);
  MemoryCipher(const MemoryCipher&) = delete;
  MemoryCipher& operator=(const MemoryCipher&) = delete;

  // `offset` is a multiple of page_bytes.
  void crypt(Direction direction, std::uint64_t offset, MutableBytes data,
             const Executor& executor) const;
  [[nodiscard]] const Kernel& kernel() const noexcept { return *kernel_; }

 private:
  const CipherName& name_;
  const Kernel* kernel_ = nullptr;
  mpi::RawSecrets secrets_;
  std::optional<GcmKey> gcm_;
  std::optional<RawKey> raw_;
};

// Rounds up to whole pages, at least one, so that every mode can start at a rank's first byte.
[[nodiscard]] std::uint64_t whole_pages(std::uint64_t bytes);

// The beginning of rows about data in memory, and what a line says about them.
[[nodiscard]] nlohmann::ordered_json memory_row(const MemoryOptions& options,
                                                const MemoryCipher& cipher,
                                                const Executor& executor, std::uint64_t bytes);
[[nodiscard]] std::string name_of(const nlohmann::ordered_json& row);

// Data computed from its offset, so that any rank can make and check any part of it.
void fill_pattern(std::uint64_t offset, MutableBytes data);
[[nodiscard]] bool is_pattern(std::uint64_t offset, Bytes data);

}  // namespace paes::cli
