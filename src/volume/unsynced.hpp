// The volume's own small files (a folder's IV, a long name) that are not yet on disk. Without them
// everything below a new folder, or a file with a new long name, would be lost at a power failure.
// So whoever syncs something syncs them first.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "core/descriptor.hpp"
#include "volume/backing.hpp"
#include "volume/whole_sync.hpp"

namespace paes::volume {

// Safe to use from any number of threads.
class Unsynced {
 public:
  // Both outlive this.
  Unsynced(const Backing& backing, WholeSync& whole) noexcept : backing_(backing), whole_(whole) {}

  // `content` is the whole content of the file, which is open for writing. 0, or the errno for
  // which the list has no room for it: those in it cannot be synced.
  [[nodiscard]] int add(Descriptor file, Bytes content);
  // Closes the file with that name, if it is in the list, because it is about to go. Some file
  // systems give a file that is open another name then, and its folder cannot be removed.
  void forget(int folder, const char* name);
  // Removes it as well. 0, or an errno for which it stays.
  [[nodiscard]] int remove(int folder, const char* name);
  // 0 or an errno. All that was added before the call is on disk when the answer is 0. The system
  // reports only once that it could not write something, and takes it for written from then on. So
  // what could not be synced is written anew by the next call. Where the whole file system was
  // synced that cannot be done: its error is then the answer for ever.
  [[nodiscard]] int sync();

 private:
  struct File {
    Descriptor descriptor;
    std::vector<std::uint8_t> content;
    struct stat status = {};
    bool has_failed = false;
  };

  // 0 or an errno.
  [[nodiscard]] int sync(File& file) const;
  // As forget(). The answer is what the file contains, or empty if it was not in the list.
  [[nodiscard]] std::vector<std::uint8_t> take(int folder, const char* name);

  // Descriptors are few. Above it the whole file system is synced instead, and where that does not
  // answer for the files, these are synced to make room.
  static constexpr std::size_t max_files = 64;

  const Backing& backing_;
  WholeSync& whole_;
  std::mutex syncing_;  // held by who syncs, so that nobody reports what another is still syncing
  std::mutex mutex_;
  std::vector<File> files_;
  bool are_too_many_ = false;
  int lost_ = 0;  // the errno of a sync of the file system, for whoever holds syncing_
};

}  // namespace paes::volume
