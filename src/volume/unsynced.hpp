// The volume's own small files (a folder's IV, a long name) that are not yet on disk. Without them
// everything below a new folder, or a file with a new long name, would be lost at a power failure.
// So whoever syncs something syncs them first.
#pragma once

#include <mutex>
#include <vector>

#include "core/descriptor.hpp"
#include "volume/backing.hpp"

namespace paes::volume {

// Safe to use from any number of threads.
class Unsynced {
 public:
  // Both outlive this. `root` is any file on the same file system.
  Unsynced(const Backing& backing, int root) noexcept : backing_(backing), root_(root) {}

  void add(Descriptor file);
  // 0 or an errno. All that was added before the call is on disk when the answer is 0. What could
  // not be synced stays, for the next call.
  [[nodiscard]] int sync();

 private:
  // Above it the whole file system is synced instead: descriptors are few.
  static constexpr std::size_t max_files = 64;

  const Backing& backing_;
  int root_;
  std::mutex syncing_;  // held by who syncs, so that nobody reports what another is still syncing
  std::mutex mutex_;
  std::vector<Descriptor> files_;
  bool are_too_many_ = false;
};

}  // namespace paes::volume
