// SPDX-License-Identifier: Apache-2.0
// Who may read and who may change which blocks of a file. Those who only read, and those who write
// whole blocks in place, lock these blocks. Everybody else locks the whole file.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <limits>
#include <list>
#include <mutex>

#include "core/range.hpp"

namespace paes::volume {

// All numbers of blocks, the file's length and its header with them.
inline constexpr Range whole_file{0, std::numeric_limits<std::uint64_t>::max()};

// The header and the length alone, which change only with the whole file.
inline constexpr Range no_block{whole_file.end - 1, whole_file.end};

// First come, first served: who waits is overtaken by nobody whose blocks are in conflict, so that
// readers do not keep a writer waiting for ever.
class BlockLocks {
  struct Claim {
    Range blocks;
    bool changes;
  };

 public:
  // Holds the blocks until it is gone.
  class Lock {
   public:
    Lock(BlockLocks& locks, std::list<Claim>::iterator claim) noexcept
        : locks_(locks), claim_(claim) {}
    ~Lock() { locks_.release(claim_); }
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;

   private:
    BlockLocks& locks_;
    std::list<Claim>::iterator claim_;
  };

  [[nodiscard]] Lock to_read(const Range& blocks) { return {*this, claim({blocks, false})}; }
  [[nodiscard]] Lock to_change(const Range& blocks) { return {*this, claim({blocks, true})}; }

 private:
  [[nodiscard]] std::list<Claim>::iterator claim(const Claim& claim);
  void release(std::list<Claim>::iterator claim);

  std::mutex mutex_;
  std::condition_variable released_;
  std::list<Claim> claims_;  // in the order of their coming, those who wait among them
};

}  // namespace paes::volume
