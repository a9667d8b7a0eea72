// SPDX-License-Identifier: Apache-2.0
#include "volume/read/block_locks.hpp"

#include <algorithm>

namespace paes::volume {

std::list<BlockLocks::Claim>::iterator BlockLocks::claim(const Claim& claim) {
  std::unique_lock lock(mutex_);
  const auto own = claims_.insert(claims_.end(), claim);
  released_.wait(lock, [&] {
    return std::none_of(claims_.begin(), own, [&](const Claim& earlier) {
      return (earlier.changes || claim.changes) && earlier.blocks.first < claim.blocks.end &&
             claim.blocks.first < earlier.blocks.end;
    });
  });
  return own;
}

void BlockLocks::release(std::list<Claim>::iterator claim) {
  {
    const std::lock_guard lock(mutex_);
    claims_.erase(claim);
  }
  released_.notify_all();
}

}  // namespace paes::volume
