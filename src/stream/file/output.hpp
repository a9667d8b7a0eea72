// SPDX-License-Identifier: Apache-2.0
// Outputs. An Output appears under its name only when it is complete and synced. Until then it has
// no name, or an unpredictable one (temporary.hpp). A failure removes it unless it is resumable. If
// the process is killed, a file without a name vanishes, and a file with a name stays. An
// unfinished file has a name if the file system lacks O_TMPFILE, if other processes write it too,
// and for a moment before it replaces another file. A program that uses outputs ignores SIGPIPE and
// SIGXFSZ, so that a closed pipe and a size limit come as errors.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>

#include "core/bytes.hpp"
#include "core/descriptor.hpp"
#include "core/new_name.hpp"
#include "stream/file/input.hpp"
#include "stream/file/room.hpp"
#include "stream/file/run_outputs.hpp"
#include "stream/transfer/cancel.hpp"
#include "stream/transfer/ends.hpp"

namespace paes::stream {

struct OutputOptions {
  bool overwrite = false;  // -f
  // False: the name was made from the input's. Then it must not lie among devices, and a FIFO or
  // device of that name is written to only with -f.
  bool is_named = true;
  // The file holds a secret: if the name exists, that file is not opened and that link is not
  // followed.
  bool only_new = false;
  // The file fails rather than lets others in whom `permissions` shut out, where its file system
  // keeps none. Without this, warning() tells of it.
  bool must_be_private = false;
  // Permission bits of the finished file: encrypted_mode or decrypted_mode of the input's.
  mode_t permissions = 0600;
  const Input* source = nullptr;  // refused as the output, also through a link
  // Where the path's last name is looked up, without following a link (file_place.hpp): then only a
  // regular file is replaced. The path is for messages.
  int folder = AT_FDCWD;
  const Cancel* cancel = nullptr;  // must outlive the Output
  // The file is written as TARGET.partial and survives a failure: see resumable_files.hpp.
  bool resumable = false;
  // Other processes open it under temporary_path() and write it, too: it must be a new file.
  bool is_shared = false;
  // The file is removed again if its folder cannot be synced.
  bool must_last = false;
  // With overwrite: those of this run, none of which is replaced. May be null; must outlive the
  // Output.
  RunOutputs* written = nullptr;
  // commit() leaves a new file complete but without its name: a GroupCommit syncs it together with
  // others and names it (group_commit.hpp).
  bool is_grouped = false;
  // When the finished file was last modified: as its source. Nothing: now.
  std::optional<struct timespec> modified = std::nullopt;
  // Called with what may go wrong, before the work, and with what could not be removed, after it.
  // May be null.
  std::function<void(const std::string& what_why)> warn = nullptr;
  const NewFileCalls* calls = &system_calls;  // must outlive the Output
};

// An encrypted file is as accessible as its source; set-id and sticky bits are not copied.
[[nodiscard]] mode_t encrypted_mode(const Input& source);
// A decrypted file is for its owner alone, and the umask applies.
[[nodiscard]] mode_t decrypted_mode(const Input& source);

// A file that has no source gets what the umask leaves.
[[nodiscard]] mode_t new_file_mode();

class ResumableFiles;
struct Target;

class Output : public Sink {
 public:
  // Throws Error: the target exists (unless overwrite), is a directory, is the source. A regular
  // file is replaced and never opened. If the path is a symbolic link, its target is replaced or
  // created. What is no regular file (/dev/null, a FIFO) is written to directly, but without
  // overwrite only where no other user can have put it (output_target.hpp), and a block device not
  // at all.
  [[nodiscard]] static Output create(const std::string& path, const OutputOptions& options);
  // Standard output; `source` is refused as above. After a failure, a regular file that stood at
  // its end is cut back to its old length.
  [[nodiscard]] static Output standard_output(const OutputOptions& options);
  ~Output() override;  // discards what has not been committed
  Output(Output&& other) noexcept;
  Output& operator=(Output&&) = delete;

  [[nodiscard]] const std::string& name() const noexcept override { return name_; }
  // True when write_at takes any offset: our own new file, or standard output at the end of a
  // regular file.
  [[nodiscard]] bool is_seekable() const noexcept override { return kind_ != Kind::direct; }
  [[nodiscard]] bool is_terminal() const noexcept;
  // True if a failure takes back what was written.
  [[nodiscard]] bool is_discardable() const noexcept { return is_seekable(); }

  // The path of the folder in which a new file will be; empty for any other output.
  [[nodiscard]] std::string folder() const;
  // Where the file is until it gets its name, for other processes to open; empty where it has none.
  [[nodiscard]] std::string temporary_path() const;

  // What will be written, before any of it is. Throws Error(failure) where there is certainly no
  // room for it, and warns where there may be none.
  void expect(const Need& need);
  // Writes after the last write. Not for concurrent callers.
  void write(std::span<const iovec> from);
  void write(Bytes from);
  void write_at(std::uint64_t offset, std::span<const iovec> from) override;
  using Sink::write_at;
  // The files of a resumable output, else null. They must be started or taken up before anything is
  // written.
  [[nodiscard]] ResumableFiles* resumable() noexcept { return resumable_.get(); }
  void stop_waiting() noexcept override;

  // Completes the file at `bytes` long (what was never written reads as zero), syncs it, gives it
  // its permissions and its name, syncs the folder. A block device and standard output that is a
  // file are only synced. For pipes and other devices this does nothing. A file that is grouped is
  // only completed; then is_unnamed() is true.
  void commit(std::uint64_t bytes);
  // Calls `write_all`, which writes everything and returns the number of bytes, and commits. If it
  // throws an Error, the Error is rethrown and also says how much was written that cannot be taken
  // back.
  void complete(const std::function<std::uint64_t()>& write_all);
  // True once the complete file has its name, also when commit fails after that.
  [[nodiscard]] bool has_its_name() const noexcept { return has_its_name_; }
  // What is not as it should be with a committed file, "NAME: why"; mostly empty.
  [[nodiscard]] const std::string& warning() const noexcept { return warning_; }
  void discard() noexcept;

  // The rest of a commit, for a GroupCommit, which does each step for many files before the next.
  // All throw Error.
  [[nodiscard]] bool is_unnamed() const noexcept { return is_unnamed_; }
  void sync();
  // Throws if something that was written did not reach the disk, when its file system has been
  // synced as a whole.
  void check_synced() const;
  void give_name();
  // `error` is what came of syncing the folder: 0 or an errno.
  void end_commit(int error);
  // The new file, and the folder that it lies in.
  [[nodiscard]] int descriptor() const noexcept { return number(); }
  [[nodiscard]] int folder_descriptor() const noexcept { return folder_.number(); }

 private:
  enum class Kind {
    new_file,       // or one that is taken up; it gets its name when it is complete
    direct,         // what exists and is no regular file, or cannot be written at offsets
    standard_file,  // standard output at the end of a regular file
  };

  Output() = default;
  void check_target(const Target& target) const;
  void open_direct(const Target& target);
  void open_new();
  [[nodiscard]] int number() const noexcept;
  [[noreturn]] void throw_exists() const;
  [[noreturn]] void fail_to_write() const;
  void complete_file(std::uint64_t bytes);
  void set_modified() noexcept;
  void set_permissions();
  [[nodiscard]] std::unique_lock<std::mutex> lock_written() const;
  void note_written() const;
  void place();
  void replace(const std::string& from) const;
  [[nodiscard]] bool is_linked_as(const std::string& name) const noexcept;
  void give_temporary_name();
  void move_to_temporary();
  [[noreturn]] void fail_to_place() const;
  void warn_of_rest(const std::string& path, int error) const noexcept;

  Kind kind_ = Kind::direct;
  std::string name_;       // as the user gave it
  std::string file_;       // the target's name in its folder
  std::string in_folder_;  // the path of that folder, empty or with a slash at its end
  std::string temporary_;  // the unfinished file's name in that folder; empty if it has none
  std::string warning_;
  Descriptor folder_;
  std::unique_ptr<ResumableFiles> resumable_;
  Descriptor descriptor_;
  OutputOptions options_;
  std::unique_ptr<Cancel> stop_;  // only where writes can wait
  bool is_storage_ = false;       // the output exists already and keeps what is written to it
  bool has_its_name_ = false;
  bool standard_output_ = false;
  bool finished_ = false;
  bool is_unnamed_ = false;     // complete, and waits for a GroupCommit
  pid_t process_ = getpid();    // a forked child leaves alone what its parent has begun
  std::uint64_t start_ = 0;     // where standard output stood
  std::uint64_t position_ = 0;  // of write(): how many bytes went out in order
  std::optional<Need> need_;
};

}  // namespace paes::stream
