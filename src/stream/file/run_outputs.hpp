// SPDX-License-Identifier: Apache-2.0
// The files that one run has written, so that none replaces another: many file systems take two
// names for one, each by rules of its own for the case of letters and for accents.
#pragma once

#include <sys/stat.h>

#include <mutex>
#include <set>
#include <utility>

namespace paes::stream {

// Any thread may use it, with `mutex` held from the question to what follows from the answer.
class RunOutputs {
 public:
  [[nodiscard]] bool has(const struct stat& status) const {
    return files_.contains({status.st_dev, status.st_ino});
  }
  void add(const struct stat& status) { files_.insert({status.st_dev, status.st_ino}); }

  std::mutex mutex;

 private:
  std::set<std::pair<dev_t, ino_t>> files_;
};

}  // namespace paes::stream
