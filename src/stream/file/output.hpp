// SPDX-License-Identifier: Apache-2.0
// Outputs. An Output gets its name only when it is complete and synced. Until then it has no name.
// It has an unpredictable one (temporary.hpp) if the file system lacks O_TMPFILE, if other
// processes write it, too, and for a moment before it replaces another file. A failure removes it
// unless it is resumable. If the process is killed, a file without a name vanishes, and a file with
// a name stays. A program that uses outputs ignores SIGPIPE and SIGXFSZ, so that a closed pipe and
// a size limit come as errors.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "core/bytes.hpp"
#include "core/forks.hpp"
#include "core/new_name.hpp"
#include "stream/file/input.hpp"
#include "stream/file/room.hpp"
#include "stream/file/run_outputs.hpp"
#include "stream/transfer/cancel.hpp"
#include "stream/transfer/ends.hpp"

namespace paes::stream {

// What a new file is for.
enum class FileRole : unsigned {
  alone,
  // commit() leaves it complete but without its name: a GroupCommit syncs it together with others
  // and names it (group_commit.hpp).
  grouped,
  // Other processes open it under temporary_path() and write it, too: it must be a new file.
  shared,
  // It is written as TARGET.partial and survives a failure: see resumable_files.hpp.
  resumable,
};

// How a new file is made, and what it is when it is complete. They say nothing about an output that
// exists already.
struct NewFileOptions {
  FileRole role = FileRole::alone;
  // Permission bits of the finished file: encrypted_mode or decrypted_mode of the input's.
  mode_t permissions = 0600;
  // The file fails rather than lets others in whom `permissions` shut out, where its file system
  // keeps none. Without this, warning() tells of it.
  bool must_be_private = false;
  // The file is removed again if its folder cannot be synced.
  bool must_last = false;
  // When the finished file was last modified: as its source. Nothing: now.
  std::optional<struct timespec> modified = std::nullopt;
  // With overwrite: those of this run, none of which is replaced. May be null; must outlive the
  // Output.
  RunOutputs* written = nullptr;
  const NewFileCalls* calls = &system_calls;  // must outlive the Output
};

struct OutputOptions {
  bool overwrite = false;  // -f
  // The file holds a secret: if the name exists, that file is not opened and that link is not
  // followed.
  bool only_new = false;
  // What the user can do where something has the name already; with only_new there is one answer.
  const char* when_taken = "give -f to replace it, or name another output";
  // False: the name was made from the input's. Then it must not lie among devices, and a FIFO or
  // device of that name is written to only with -f.
  bool is_named = true;
  const Input* source = nullptr;   // refused as the output, also through a link
  const Cancel* cancel = nullptr;  // must outlive the Output
  // Called with what may go wrong, before the work, and with what could not be removed, after it.
  // May be null.
  std::function<void(const std::string& what_why)> warn = nullptr;
  NewFileOptions file = {};
};

class NewFile;
class ResumableFiles;

// Where it is seekable, write_at takes any offset. Destroying it discards what has not been
// committed.
class Output : public Sink {
 public:
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  [[nodiscard]] const std::string& name() const noexcept override { return name_; }
  [[nodiscard]] virtual int descriptor() const noexcept = 0;
  [[nodiscard]] bool is_terminal() const noexcept;
  // True if a failure takes back what was written.
  [[nodiscard]] bool is_discardable() const noexcept { return is_seekable(); }

  // The folder in which a new file will be: its path, and open. Empty and -1 for any other output.
  [[nodiscard]] virtual std::string folder() const { return ""; }
  [[nodiscard]] virtual int folder_descriptor() const noexcept { return -1; }
  // Where the file is until it gets its name, for other processes to open; empty where it has none.
  [[nodiscard]] virtual std::string temporary_path() const { return ""; }
  // The files of a resumable output, else null. They must be started or taken up before anything is
  // written.
  [[nodiscard]] virtual ResumableFiles* resumable() noexcept { return nullptr; }

  // What will be written, before any of it is. Throws Error(failure) where there is certainly no
  // room for it, and warns where there may be none.
  void expect(const Need& need);
  // Writes after the last write. Not for concurrent callers.
  void write(std::span<const iovec> from);
  void write(Bytes from);

  // Completes the file at `bytes` long (what was never written reads as zero), syncs it, gives it
  // its permissions and its name, syncs the folder. A block device and standard output that is a
  // file are only synced. For pipes and other devices this does nothing. A file that is grouped is
  // only completed; then unnamed() gives it.
  virtual void commit(std::uint64_t bytes) = 0;
  // Calls `write_all`, which writes everything and returns the number of bytes, and commits. If it
  // throws an Error, the Error is rethrown and also says how much was written that cannot be taken
  // back.
  void complete(const std::function<std::uint64_t()>& write_all);
  virtual void discard() noexcept = 0;
  // The file that commit() has left to a GroupCommit, else null.
  [[nodiscard]] virtual NewFile* unnamed() noexcept { return nullptr; }
  // True once the complete file has its name, also when commit fails after that.
  [[nodiscard]] virtual bool has_its_name() const noexcept { return false; }
  // What is not as it should be with a committed file, "NAME: why"; mostly empty.
  [[nodiscard]] const std::string& warning() const noexcept { return warning_; }

 protected:
  Output(std::string name, const OutputOptions& options);

  // Does what expect() says.
  virtual void look_for_room(const Need& need) const = 0;
  // Looks on the output's file system. `taken_bytes` of what is needed have room already.
  void check_room_there(const Need& need, std::uint64_t taken_bytes = 0) const;
  // Throws the error for errno. The first `before_bytes` of the file are not ours.
  [[noreturn]] void fail_to_write(std::uint64_t before_bytes = 0) const;
  // A forked child leaves alone what its parent has begun.
  [[nodiscard]] bool is_forked() const noexcept { return forks_ != forks(); }

  const Cancel* const cancel_;
  const std::function<void(const std::string& what_why)> warn_;
  std::string warning_;
  std::uint64_t position_ = 0;  // of write(): how many bytes went out in order

 private:
  std::string name_;  // as the user gave it
  std::optional<Need> need_;
  std::uint32_t forks_ = count_forks();
};

}  // namespace paes::stream
