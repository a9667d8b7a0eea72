// SPDX-License-Identifier: Apache-2.0
// The sync of the whole file system on which a volume lies, and for which files it answers.
#pragma once

#include <sys/stat.h>

#include <mutex>

#include "volume/read/backing.hpp"

namespace paes::volume {

// Safe to use from any number of threads.
class WholeSync {
 public:
  // `backing` outlives this, and `root` stays open as long: it hears of what cannot be written from
  // the beginning.
  WholeSync(const Backing& backing, FileRef root);

  // Whether sync() reports everything that could not be written to a file with that status. Each
  // other file has to be synced by itself, and by the descriptor that has written to it, because a
  // later one does not hear of errors that somebody has been told already.
  [[nodiscard]] bool covers(const struct stat& status) const noexcept {
    return reports_ && status.st_dev == device_;
  }
  // The system reports an error only once, so that it is the answer from then on.
  [[nodiscard]] Result<void> sync();

 private:
  const Backing& backing_;
  const FileRef root_;
  bool reports_ = false;
  dev_t device_ = 0;
  std::mutex mutex_;
  Result<void> lost_;
};

}  // namespace paes::volume
