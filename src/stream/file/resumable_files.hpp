// SPDX-License-Identifier: Apache-2.0
// The two files beside a target that survive an interruption: TARGET.partial, which becomes the
// target, and TARGET.journal, which says how much of it is complete and whose lock says that a run
// is at work. Only this user's regular files with a single name are taken up, never through a
// symbolic link. Only files known to be paes's are replaced.
//
// The journal is made and synced before the partial file, and removed after that has its final
// name. So a partial file without a journal is not paes's.
#pragma once

#include <fcntl.h>

#include <optional>
#include <string>

#include "core/descriptor.hpp"
#include "stream/resume/journal.hpp"

namespace paes::stream {

// TARGET.partial and TARGET.journal, or shorter names that begin like it (path_beside). `target`
// counts from the folder.
[[nodiscard]] std::string partial_path(const std::string& target, int folder = AT_FDCWD);
[[nodiscard]] std::string journal_path(const std::string& target, int folder = AT_FDCWD);

// For reading and writing. `folder` may be AT_FDCWD; `name` is for errors. Not open when there is
// no such file; throws Error(failure) when it is not a regular file of this user alone.
[[nodiscard]] Descriptor open_own_file(int folder, const std::string& file, const std::string& name,
                                       int more_flags = 0);

class ResumableFiles {
 public:
  // Makes an empty journal if there is none, and locks it. `folder` must outlive this; `path` leads
  // to the target itself, not to a symbolic link. Throws Error(failure) if another run has the
  // lock, or if a file in the way is not ours, and Error(usage) where nobody could tell whose a new
  // file is, because the file system has no permission bits. Then nothing is left.
  ResumableFiles(int folder, std::string file, std::string path);
  // Removes the journal if it is of no use to the next run.
  ~ResumableFiles();
  ResumableFiles(const ResumableFiles&) = delete;
  ResumableFiles& operator=(const ResumableFiles&) = delete;

  // Whether an earlier run left a partial file, and the header of its journal if that is whole.
  [[nodiscard]] bool was_interrupted() const noexcept { return partial_.is_open(); }
  [[nodiscard]] const std::optional<JournalHeader>& found() const noexcept { return found_; }

  // Call take_up() or start() before anything is written.
  void take_up();
  // Removes what was there. Makes a journal with room for a record of each of `stripes`, and a
  // partial file of `bytes` that begins with `head` and is zero after it.
  void start(const JournalHeader& header, std::uint64_t stripes, std::uint64_t bytes,
             Bytes head = {});
  [[nodiscard]] bool is_in_use() const noexcept { return in_use_; }

  [[nodiscard]] std::string partial_file() const { return partial_path(file_, folder_); }
  // The paths of both files, for other processes and for errors.
  [[nodiscard]] std::string journal_name() const { return journal_path(name_); }
  [[nodiscard]] std::string partial_name() const { return partial_path(name_); }
  [[nodiscard]] int partial() const noexcept { return partial_.number(); }
  [[nodiscard]] int journal() const noexcept { return journal_.number(); }
  [[nodiscard]] std::uint64_t partial_bytes() const;

  // Gives the partial file permissions for its owner alone.
  void protect() const noexcept;
  // Call it once the partial file has its final name: removes the journal.
  void finish() noexcept;
  // Removes both files.
  void remove() noexcept;

 private:
  [[nodiscard]] std::string journal_file() const { return journal_path(file_, folder_); }
  void open_journal();
  void lock_journal();
  void read_header();
  void sync_folder() const;

  int folder_;
  std::string file_;
  std::string name_;
  Descriptor journal_;
  Descriptor partial_;
  std::optional<JournalHeader> found_;
  bool journal_is_new_ = false;
  bool in_use_ = false;
};

}  // namespace paes::stream
