// Where bytes come from and where they go. An Input is a file or a pipe. An Output appears under
// its name only when it is complete and synced; until then it has none, or an unpredictable one
// (temporary.hpp) that every failure removes, unless it is resumable. A process that is killed
// removes nothing: what has no name goes with it, what has one stays. The file system must give
// such a name where it lacks O_TMPFILE, where other processes write the file as well, and, for the
// moment before a rename, where a complete file replaces another. A program that uses them ignores
// SIGPIPE and SIGXFSZ, so that a closed pipe and a size limit come as errors.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "core/bytes.hpp"
#include "core/descriptor.hpp"
#include "stream/cancel.hpp"
#include "stream/room.hpp"

namespace paes::stream {

// Exactly these bytes at an offset, from or to wherever they lie; any thread, or an exception.
using ReadAt = std::function<void(std::uint64_t offset, std::span<const iovec> to)>;
using WriteAt = std::function<void(std::uint64_t offset, std::span<const iovec> from)>;

// What a file is, whatever path led to it. A block device is its number: it may have many nodes.
struct FileIdentity {
  dev_t device;
  ino_t inode;  // 0 for a block device
  bool operator==(const FileIdentity&) const = default;
};
[[nodiscard]] FileIdentity identity_of(const struct stat& status) noexcept;
// Whether it keeps what is written to it: a regular file or a block device.
[[nodiscard]] bool is_storage(mode_t mode) noexcept;

// By which a file's content is known to be the same later, without reading it. Every change moves
// the time of the last status change (ctime), which programs cannot set back, where the file system
// has such a time (stream/change_time.hpp).
struct SourceStamp {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t bytes = 0;
  std::uint64_t modified_s = 0;
  std::uint64_t modified_ns = 0;
  std::uint64_t changed_s = 0;
  std::uint64_t changed_ns = 0;
  bool operator==(const SourceStamp&) const = default;
};

class Input {
 public:
  // Both throw Error "PATH: why"; a directory is refused. `cancel` may be null and must outlive the
  // Input.
  [[nodiscard]] static Input open(const std::string& path, const Cancel* cancel = nullptr);
  [[nodiscard]] static Input standard_input(const Cancel* cancel = nullptr);
  // Nothing when `path` leads to something else than a regular file, which is then neither waited
  // for nor followed.
  [[nodiscard]] static std::optional<Input> open_regular(const std::string& path,
                                                         const Cancel* cancel = nullptr);
  // A file that is open already, from where it stands.
  [[nodiscard]] static Input of(Descriptor descriptor, std::string name,
                                const Cancel* cancel = nullptr);

  [[nodiscard]] const std::string& name() const noexcept { return name_; }  // for messages
  [[nodiscard]] int descriptor() const noexcept { return descriptor_.number(); }
  [[nodiscard]] const FileIdentity& identity() const noexcept { return identity_; }
  [[nodiscard]] bool is_regular() const noexcept { return S_ISREG(mode_); }
  [[nodiscard]] bool is_storage() const noexcept { return stream::is_storage(mode_); }
  // True when read_at works and bytes() is known: regular files (also as standard input, from where
  // it stands) and block devices.
  [[nodiscard]] bool is_seekable() const noexcept { return seekable_; }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
  // Permission bits without the set-id bits; for what is not a regular file 0666.
  [[nodiscard]] mode_t permissions() const noexcept;
  [[nodiscard]] bool is_terminal() const noexcept;

  // The next bytes in order; fewer than asked for only at the end. Not for concurrent callers.
  [[nodiscard]] std::size_t read(std::span<const iovec> to);
  [[nodiscard]] std::size_t read(MutableBytes to);
  // Makes a read that waits, and every later one, throw: somebody else has failed.
  void stop_waiting() noexcept;
  // Exactly these bytes, from any number of threads. Throws when the file has become shorter.
  void read_at(std::uint64_t offset, std::span<const iovec> to) const;
  void read_at(std::uint64_t offset, MutableBytes to) const;
  // The same as a value, for as long as the Input stays where it is.
  [[nodiscard]] ReadAt reader() const;
  // Throws when a regular file no longer has the size it had when it was opened.
  void check_same_size() const;
  // The same, and the time of its last modification: what was read may be half old and half new. A
  // new name or other permissions do not count: hours of work are not lost to a chmod.
  void check_unchanged() const;
  // As the file is now.
  [[nodiscard]] SourceStamp stamp() const;
  // For pipes: more room between us and the writer. For files: tells the system how it is read.
  void expect_sequential() const noexcept;

 private:
  Input(std::string name, Descriptor descriptor, const Cancel* cancel);
  [[nodiscard]] struct stat status_now() const;

  std::string name_;
  Descriptor descriptor_;
  const Cancel* cancel_;
  std::unique_ptr<Cancel> stop_;  // only where reads can wait
  FileIdentity identity_ = {};
  mode_t mode_ = 0;
  bool seekable_ = false;
  std::uint64_t start_ = 0;  // where standard input stood when we got it
  std::uint64_t bytes_ = 0;
  struct timespec modified_ = {};
};

struct OutputOptions {
  bool overwrite = false;  // -f
  // False: the name was made from the input's. Then it must not lie among devices, and what is
  // there is written into with -f only.
  bool is_named = true;
  // The file holds a secret: whatever has the name already, nothing of it is opened or followed.
  bool only_new = false;
  // Permission bits of the finished file: encrypted_mode or decrypted_mode of the input's.
  mode_t permissions = 0600;
  const Input* source = nullptr;   // refused as the output, also through a link
  const Cancel* cancel = nullptr;  // must outlive the Output
  // The file is written as TARGET.partial and survives a failure: see resumable_files.hpp.
  bool resumable = false;
  // Other processes open it under temporary_path() and write it, too: it must be a new file.
  bool is_shared = false;
  // Removed again where its name cannot be made to last.
  bool must_last = false;
  // Told of what may go wrong, while there is time; may be null.
  std::function<void(const std::string& what_why)> warn = nullptr;
  // Ways of placing the file that are not tried, so that tests reach the ones for file systems
  // without them.
  bool avoid_unnamed = false;    // O_TMPFILE
  bool avoid_noreplace = false;  // renameat2 with RENAME_NOREPLACE
  bool avoid_link = false;       // link
};

// An encrypted file is as accessible as its source; set-id and sticky bits are not copied.
[[nodiscard]] mode_t encrypted_mode(const Input& source) noexcept;
// A decrypted one is for its owner alone, and under the umask.
[[nodiscard]] mode_t decrypted_mode(const Input& source) noexcept;

class ResumableFiles;
struct Target;

class Output {
 public:
  // Throws Error: the target exists (unless overwrite), is a directory, is the source. A regular
  // file is replaced and never opened; through a symbolic link it is the link's target, also where
  // that does not exist yet. What is no regular file (/dev/null, a FIFO) is written to directly,
  // but without overwrite only where no other user can have put it (output_target.hpp), and a block
  // device not at all.
  [[nodiscard]] static Output create(const std::string& path, const OutputOptions& options);
  // Standard output; `source` is refused as above. What a failure leaves of a regular file is cut
  // off again.
  [[nodiscard]] static Output standard_output(const OutputOptions& options);
  ~Output();  // discards what has not been committed
  Output(Output&& other) noexcept;
  Output& operator=(Output&&) = delete;

  [[nodiscard]] const std::string& name() const noexcept { return name_; }  // for messages
  // True when write_at works: our own new file, or standard output at the end of a regular file.
  [[nodiscard]] bool is_seekable() const noexcept { return seekable_; }
  [[nodiscard]] bool is_terminal() const noexcept;
  // True when a failure leaves nothing behind: no reader can have seen what was written.
  [[nodiscard]] bool is_discardable() const noexcept { return seekable_; }

  // The path of the folder in which a new file will be; empty for any other output.
  [[nodiscard]] std::string folder() const;
  // Where the file is until it gets its name, for other processes to open; empty where it has none.
  [[nodiscard]] std::string temporary_path() const;

  // What will be written, before any of it is. Throws Error(failure) where there is certainly no
  // room for it, and warns where there may be none.
  void expect(const Need& need);
  // In order; not for concurrent callers. On a seekable output it continues after the last write.
  void write(std::span<const iovec> from);
  void write(Bytes from);
  // At an offset, from any number of threads. Needs is_seekable().
  void write_at(std::uint64_t offset, std::span<const iovec> from) const;
  void write_at(std::uint64_t offset, Bytes from) const;
  // The same as a value, for as long as the Output stays where it is.
  [[nodiscard]] WriteAt writer() const;
  // Of a resumable output, which can be written to once they have been started or taken up; else
  // null.
  [[nodiscard]] ResumableFiles* resumable() noexcept { return resumable_.get(); }
  // In a catch block: throws the error that ended the work again, of the same type, and says how
  // much went out and cannot be taken back.
  [[noreturn]] void rethrow_with_written(const Error& error) const;
  // Makes a write that waits, and every later one, throw: somebody else has failed.
  void stop_waiting() noexcept;
  // For pipes: more room between us and the reader.
  void expect_sequential() const noexcept;

  // Completes the file at `bytes` long (what was never written reads as zero), syncs it, gives it
  // its permissions and its name, syncs the folder. A block device, and standard output that is a
  // file, is synced; for anything else that is not a new file, nothing of that.
  void commit(std::uint64_t bytes);
  // True once the complete file has its name, also when commit fails after that.
  [[nodiscard]] bool has_its_name() const noexcept { return has_its_name_; }
  // What is not as it should be with a committed file, "NAME: why"; mostly empty.
  [[nodiscard]] const std::string& warning() const noexcept { return warning_; }
  void discard() noexcept;

 private:
  enum class Kind {
    unnamed,        // new, without a name until it is complete (O_TMPFILE)
    temporary,      // new, under an unpredictable name until it is complete
    resumable,      // new or taken up, under a name that the next run finds
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
  void set_permissions();
  void place();
  void sync_name();
  [[nodiscard]] bool link_unnamed(const std::string& name) const;
  void rename_temporary();
  [[noreturn]] void fail_to_place() const;

  Kind kind_ = Kind::direct;
  std::string name_;       // as the user gave it
  std::string file_;       // the target's name in its folder
  std::string in_folder_;  // the path of that folder, empty or with a slash at its end
  std::string temporary_;  // the name there of what is being written, or empty
  std::string warning_;
  Descriptor folder_;
  std::unique_ptr<ResumableFiles> resumable_;
  Descriptor descriptor_;
  OutputOptions options_;
  std::unique_ptr<Cancel> stop_;  // only where writes can wait
  bool seekable_ = false;
  bool is_storage_ = false;  // what exists and keeps what is written to it
  bool has_its_name_ = false;
  bool standard_output_ = false;
  bool finished_ = false;
  std::uint64_t start_ = 0;     // where standard output stood
  std::uint64_t position_ = 0;  // of write(): how many bytes went out in order
  std::optional<Need> need_;
};

}  // namespace paes::stream
