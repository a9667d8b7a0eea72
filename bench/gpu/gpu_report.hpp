// SPDX-License-Identifier: Apache-2.0
// The results of gpu_bench, and two ways to print them: as JSON
// (bench/schema/gpu-bench.schema.json) and as a table. A JSON library would be too much for the
// machines that this runs on.
#pragma once

#include <cstdio>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gpu/limits.hpp"

namespace paes::bench {

// Data in the device's memory, before and after.
struct ResidentRow {
  std::string cipher;  // aes-128-ctr
  std::string direction;
  std::string kernel;
  std::string way;  // "message", or for GCM "chunks" of 16 KiB
  std::size_t bytes;
  unsigned repetitions;
  double seconds_median;
  std::optional<Limit> limit;

  [[nodiscard]] double gb_per_s() const {
    return static_cast<double>(bytes) / seconds_median / 1e9;
  }
};

// Data in the host's memory, before and after.
struct HostRow {
  std::string cipher;
  std::string kernel;
  std::string way;  // "pinned", "pageable", "keystream", "hybrid", "processor"
  unsigned slots;   // 0: no device
  std::size_t piece_bytes;
  unsigned threads;
  std::size_t bytes;
  unsigned repetitions;
  double seconds_median;

  [[nodiscard]] double gb_per_s() const {
    return static_cast<double>(bytes) / seconds_median / 1e9;
  }
};

struct CopyRates {  // GB/s of pinned memory
  double in;
  double out;
  double both;  // per direction, with both under way
};

// What was measured, as members of a JSON object: names, and values as printed.
using Factors = std::vector<std::pair<std::string, std::string>>;

// A measurement of bench/schema/lab.schema.json.
struct Measurement {
  Factors of;
  std::string quantity;
  std::string unit;
  double median, least, most;
  unsigned rounds;
};
struct Study {
  std::string experiment;  // of the lab: E1
  double seconds;          // how long it took
  std::vector<Measurement> measurements;
  std::vector<std::pair<std::string, std::string>> left_out;  // what, and why
  std::optional<double> others;  // the share of the processors that other programs used
};

struct Report {
  std::string device;
  std::string architecture;
  unsigned multiprocessors;
  double clock_hz;
  std::size_t memory_bytes;
  std::size_t shared_bytes;
  int driver;
  int toolkit;
  std::string processor;
  unsigned threads;
  bool is_emulated;
  std::vector<ResidentRow> resident;
  std::optional<CopyRates> copies;
  std::vector<HostRow> host;
  std::vector<Study> studies;
  std::vector<std::string> left_out;  // for lack of time
  unsigned failures = 0;              // rows whose output was wrong; they are not timed
};

// The text as a JSON string.
[[nodiscard]] std::string quoted(const std::string& text);

void write_json(const Report& report, std::FILE* file);

// Rows are printed as they come.
void print(const ResidentRow& row);
void print(const HostRow& row, const CopyRates& copies);

}  // namespace paes::bench
