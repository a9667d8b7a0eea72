// The three benches of paes-mpi, and what they share: the clock between barriers, a cipher over
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
#include "mpi/raw.hpp"

namespace paes::cli {

struct RankBenchRequest {
  std::string cipher = "aes-256-gcm";
  std::string kernel = "auto";
  std::vector<std::uint64_t> bytes;
  unsigned threads = 0;
  unsigned runs = 5;
  std::string folder;
  std::string access = "posix";
  bool json = false;
};

// Collective, all three; they print on rank 0. Throw Agreed.
void bench_ranks_in_memory(const RankBenchRequest& request);
void bench_scattering(const RankBenchRequest& request);
void bench_ranks_on_file(const RankBenchRequest& request);

// Collective. The seconds from when all ranks have begun to when all have ended.
[[nodiscard]] double seconds_of_all(const std::function<void()>& work);

// {"median", "min", "max"}.
[[nodiscard]] nlohmann::ordered_json summary_of(const std::vector<double>& seconds);

// Collective. Prints the rows as JSON, or one line for each.
void print_rows(const RankBenchRequest& request, const char* command,
                const std::vector<nlohmann::ordered_json>& rows,
                const std::function<std::string(const nlohmann::ordered_json& row)>& line);

// Collective. Started, with the request's threads or this rank's share.
[[nodiscard]] std::unique_ptr<Executor> bench_executor(const RankBenchRequest& request);

// Any part of one message in memory, encrypted where it lies; the key is the same on all ranks.
class MemoryCipher {
 public:
  // Collective. Throws Agreed for a cipher whose encryption is chained, and for more bytes than a
  // message may have.
  MemoryCipher(const RankBenchRequest& request, std::uint64_t message_bytes);
  MemoryCipher(const MemoryCipher&) = delete;
  MemoryCipher& operator=(const MemoryCipher&) = delete;

  // `offset` is a multiple of 4 KiB.
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

// Data that follows from its place, so that any rank can make and check any part of it.
void fill_pattern(std::uint64_t offset, MutableBytes data);
[[nodiscard]] bool is_pattern(std::uint64_t offset, Bytes data);

}  // namespace paes::cli
