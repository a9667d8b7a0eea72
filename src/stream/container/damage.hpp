// SPDX-License-Identifier: Apache-2.0
// The chunks of an encrypted file that are not authentic. Verification finds them on all threads
// and in any order; the list takes bounded memory, however many there are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "stream/container/extent.hpp"

namespace paes::stream {

struct Damage {
  // At most this many ranges are listed; damaged chunks after them are only counted.
  static constexpr std::size_t max_ranges = 100;

  std::vector<Range> ranges;      // in order; neighbours are joined
  std::uint64_t more_chunks = 0;  // damaged chunks in none of the ranges

  [[nodiscard]] bool is_empty() const noexcept { return ranges.empty() && more_chunks == 0; }
  [[nodiscard]] std::uint64_t chunks() const noexcept;
};

class DamageLog {
 public:
  // Any thread may call it. Each chunk is added at most once.
  void add(Range damaged);
  // Adds what another log found. The two logs have no chunk in common.
  void add(const Damage& damage);

  [[nodiscard]] Damage found() const;

 private:
  void add_range(Range damaged);  // hold the mutex

  mutable std::mutex mutex_;
  std::map<std::uint64_t, std::uint64_t> ranges_;  // first to end, joined
  std::uint64_t forgotten_from_ = UINT64_MAX;      // chunks from here on are only counted
  std::uint64_t forgotten_chunks_ = 0;
};

// The result of verification.
struct Verification {
  Extent extent;
  Damage damage;
  bool is_cut = false;  // a pipe ended where no payload ends; `damage` is what was found before

  [[nodiscard]] bool is_authentic() const noexcept { return damage.is_empty() && !is_cut; }
};

}  // namespace paes::stream
