// The two files beside a target that survive an interruption: TARGET.partial, which becomes the
// target, and TARGET.journal, which says how much of it is complete and whose lock says that a run
// is at work. Only regular files of ours without another link are taken up, never through a
// symbolic link, and nothing is replaced that is not known to be paes's.
//
// The journal is there, synced, before the partial file and until after it has its final name: a
// partial file without a journal is somebody else's.
#pragma once

#include <optional>
#include <string>

#include "core/descriptor.hpp"
#include "stream/journal.hpp"

namespace paes::stream {

// TARGET.partial and TARGET.journal.
[[nodiscard]] std::string partial_path(const std::string& target);
[[nodiscard]] std::string journal_path(const std::string& target);

// For reading and writing. `folder` may be AT_FDCWD; `name` is for errors. Not open when there is
// no such file; throws Error(failure) when it is no regular file of this user alone.
[[nodiscard]] Descriptor open_own_file(int folder, const std::string& file, const std::string& name,
                                       int more_flags = 0);

class ResumableFiles {
 public:
  // Makes an empty journal if there is none, and locks it. `folder` must outlive this; `path` leads
  // to the target itself, not to a symbolic link. Throws Error(failure): another run has the lock,
  // or a file is in the way that is not ours.
  ResumableFiles(int folder, std::string file, std::string path);
  // Leaves what a next run can use, and else nothing.
  ~ResumableFiles();
  ResumableFiles(const ResumableFiles&) = delete;
  ResumableFiles& operator=(const ResumableFiles&) = delete;

  // What an earlier run left, or nothing: no partial file, or no whole journal header.
  [[nodiscard]] bool was_interrupted() const noexcept { return partial_.is_open(); }
  [[nodiscard]] const std::optional<JournalHeader>& found() const noexcept { return found_; }

  // One of these two before anything is written.
  void take_up();
  // Whatever was there is removed first. The journal has room for so many records. The new partial
  // file is so long, begins with `head` and is full of zeros after that.
  void start(const JournalHeader& header, std::uint64_t stripes, std::uint64_t bytes,
             Bytes head = {});
  [[nodiscard]] bool is_in_use() const noexcept { return in_use_; }

  [[nodiscard]] std::string partial_file() const { return partial_path(file_); }
  // Paths, under which other processes find the files, for errors as well.
  [[nodiscard]] std::string journal_name() const { return journal_path(name_); }
  [[nodiscard]] std::string partial_name() const { return partial_path(name_); }
  [[nodiscard]] int partial() const noexcept { return partial_.number(); }
  [[nodiscard]] int journal() const noexcept { return journal_.number(); }
  [[nodiscard]] std::uint64_t partial_bytes() const;

  // For the owner alone, whatever permissions it had got already.
  void protect() const noexcept;
  // The partial file has its final name.
  void finish() noexcept;
  // Nothing of it is of use: both are removed.
  void remove() noexcept;

 private:
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
