// SPDX-License-Identifier: Apache-2.0
// Whether somebody takes names away or gives them to others right now. Whoever looks a name up
// beside that has to look again.
#pragma once

#include <atomic>
#include <cstdint>

namespace paes::mount {

// Safe to use from any number of threads.
class NameChanges {
 public:
  [[nodiscard]] bool are_under_way() const noexcept { return under_way_.load() != 0; }
  // How many have ended.
  [[nodiscard]] std::uint64_t ended() const noexcept { return ended_.load(); }

 private:
  friend class NameChange;
  std::atomic<unsigned> under_way_{0};
  std::atomic<std::uint64_t> ended_{0};
};

// One of them, from its beginning to its end.
class NameChange {
 public:
  explicit NameChange(NameChanges& changes) noexcept : changes_(changes) { ++changes_.under_way_; }
  ~NameChange() {
    ++changes_.ended_;
    --changes_.under_way_;
  }
  NameChange(const NameChange&) = delete;
  NameChange& operator=(const NameChange&) = delete;

 private:
  NameChanges& changes_;
};

}  // namespace paes::mount
