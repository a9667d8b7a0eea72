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

#include "cuda/runtime.hpp"
#include "exec/executor.hpp"
#include "message/cipher_name.hpp"
#include "message/device.hpp"
#include "message/gcm.hpp"
#include "message/raw_key.hpp"
#include "mpi/shared_raw.hpp"
#include "stream/transfer/work.hpp"

namespace CLI {
class App;
}

namespace paes::cuda {
struct DeviceKernel;
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
  std::string device = "cpu";

  using RunOptions::RunOptions;
  void declare(CLI::App& app, const char* about_bytes);
};

// Collective. The seconds from the moment when the first rank begins to the moment when all have
// ended, the same on all ranks.
[[nodiscard]] double seconds_of_all(const std::function<void()>& work);

// {"median", "min", "max"}.
[[nodiscard]] nlohmann::ordered_json summary_of(const std::vector<double>& seconds);
[[nodiscard]] double gb_per_s(std::uint64_t bytes, double seconds);

// The device of a rank.
struct RankDevice {
  std::unique_ptr<Device> device;  // null with --device cpu
  cuda::DeviceProperties properties = {};
};

// Collective. Opens this rank's device, if the options ask for one: the one whose number on the
// machine is the rank's, modulo their count. Throws Agreed if a rank has none.
[[nodiscard]] RankDevice open_rank_device(const MemoryOptions& options);

// Collective. Prints the rows on rank 0, as JSON or one line for each.
void print_rows(const RankOptions& options, const char* command,
                const std::vector<nlohmann::ordered_json>& rows,
                const std::function<std::string(const nlohmann::ordered_json& row)>& line,
                const RankDevice& device = {});

// Collective. Returns a started executor, with the number of threads from the options or this
// rank's share, and at least one for each call that the device serves at a time.
[[nodiscard]] std::unique_ptr<Executor> make_rank_executor(const RankOptions& options,
                                                           const RankDevice& device = {});

// Encrypts any part of one message in memory, in place. The key is the same on all ranks.
class MemoryCipher {
 public:
  static constexpr std::uint64_t page_bytes = 4096;  // a data unit of XTS

  // Collective. Throws Agreed for a cipher whose encryption is chained, and if a message cannot
  // have this many bytes. The device must outlive it.
  MemoryCipher(const MemoryOptions& options, const RankDevice& device, std::uint64_t message_bytes);
  MemoryCipher(const MemoryCipher&) = delete;
  MemoryCipher& operator=(const MemoryCipher&) = delete;

  // Ranks have whole units: a data unit of XTS, otherwise a block of 16 bytes.
  [[nodiscard]] std::uint64_t unit_bytes() const noexcept { return unit_bytes_; }
  // Rounds up to whole units, at least one.
  [[nodiscard]] std::uint64_t whole_units(std::uint64_t bytes) const noexcept;
  // `offset` is a multiple of unit_bytes().
  void crypt(Direction direction, std::uint64_t offset, MutableBytes data,
             const Executor& executor) const;
  // The kernel that computes, the device's if there is one.
  [[nodiscard]] const char* kernel_name() const noexcept;

 private:
  const CipherName& name_;
  const Kernel* kernel_ = nullptr;
  const cuda::DeviceKernel* device_kernel_ = nullptr;
  std::size_t piece_bytes_ = stream::default_piece_bytes;
  std::uint64_t unit_bytes_ = block_bytes;
  mpi::RawSecrets secrets_;
  std::optional<GcmKey> gcm_;
  std::optional<RawKey> raw_;
};

// The beginning of rows about data in memory, and what a line says about them.
[[nodiscard]] nlohmann::ordered_json memory_row(const MemoryOptions& options,
                                                const MemoryCipher& cipher,
                                                const Executor& executor, std::uint64_t bytes);
[[nodiscard]] std::string name_of(const nlohmann::ordered_json& row);

// Data computed from its offset, so that any rank can make and check any part of it.
void fill_pattern(std::uint64_t offset, MutableBytes data);
[[nodiscard]] bool is_pattern(std::uint64_t offset, Bytes data);

}  // namespace paes::cli
