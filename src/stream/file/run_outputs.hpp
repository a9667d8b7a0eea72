// SPDX-License-Identifier: Apache-2.0
// The files that one run has written, so that none replaces another. On many file systems two
// spellings of a name lead to one file; each has its own rules for the case of letters and accents.
#pragma once

#include <sys/stat.h>

#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace paes::stream {

// Where an output has its name.
struct OutputName {
  int folder;                         // an open one
  const std::string& path_of_folder;  // as the run names it
  const std::string& file;            // in that folder
};

// Any thread may use it. It holds `mutex` from the call of has() until it has done what follows
// from the answer.
//
// A file is recognised by its inode number. FAT, exFAT and some servers give a file another number
// once it has left the system's memory. So it is also recognised by its folder and by its name
// without the case of letters. If two names differ only in that, the folder tells whether they lead
// to one file.
class RunOutputs {
 public:
  // Whether the file that has this name is one of them.
  [[nodiscard]] bool has(const OutputName& name) const;
  // `file` is the output's.
  void add(const OutputName& name, const struct stat& file);

  std::mutex mutex;

 private:
  using Key = std::pair<std::string, std::wstring>;  // of a folder, of a name without case
  [[nodiscard]] static std::vector<Key> keys_of(const OutputName& name);

  std::set<std::pair<dev_t, ino_t>> files_;
  std::map<Key, std::vector<std::string>> spellings_;
};

}  // namespace paes::stream
