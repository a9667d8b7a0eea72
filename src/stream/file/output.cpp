// SPDX-License-Identifier: Apache-2.0
#include "stream/file/output.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <atomic>
#include <cassert>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>

#include "core/descriptor.hpp"
#include "core/folder.hpp"
#include "paes/error.hpp"
#include "stream/file/output_target.hpp"
#include "stream/file/permissions.hpp"
#include "stream/file/resumable_files.hpp"
#include "stream/file/temporary.hpp"
#include "stream/transfer/wait.hpp"

namespace paes::stream {

namespace {

// From /proc, because asking with umask(2) changes it for other threads meanwhile.
mode_t current_umask() {
  std::ifstream status("/proc/self/status");
  const std::string field = "Umask:";
  for (std::string word; status >> word;) {
    unsigned mask = 0;
    if (word == field && status >> std::oct >> mask) {
      return static_cast<mode_t>(mask);
    }
  }
  const mode_t mask = umask(077);
  (void)umask(mask);
  return mask;
}

void refuse_source(const std::string& name, const struct stat& status, const Input* source) {
  if (source != nullptr && source->is_storage() && identity_of(status) == source->identity()) {
    throw Error(ErrorCode::usage, name + ": is the input itself", "name another output with -o");
  }
}

// /dev/null keeps nothing. In an operating-system container its owner may be an unknown user.
bool is_null_device(const struct stat& status) noexcept {
  constexpr unsigned memory = 1;
  constexpr unsigned null = 3;
  return S_ISCHR(status.st_mode) && status.st_rdev == makedev(memory, null);
}

bool appends_to_file(int descriptor) noexcept {
  struct stat status = {};
  return fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) &&
         (fcntl(descriptor, F_GETFL) & O_APPEND) != 0;
}

// The device number of the file system where a link was refused last: a file there gets a name at
// once, so that its content need not move when it is complete.
std::atomic<dev_t> refuses_links{0};

bool is_name_of_standard_output(const std::string& path) noexcept {
  return path == "/dev/stdout" || path == "/dev/fd/1" || path == "/proc/self/fd/1";
}

}  // namespace

mode_t new_file_mode() { return 0666 & ~current_umask(); }

mode_t encrypted_mode(const Input& source) {
  return source.is_regular() ? source.permissions() : source.permissions() & ~current_umask();
}

mode_t decrypted_mode(const Input& source) {
  return source.permissions() & 0700 & ~current_umask();
}

Output Output::create(const std::string& path, const OutputOptions& options) {
  if (!options.only_new && !options.is_shared && options.folder == AT_FDCWD &&
      is_name_of_standard_output(path)) {
    return standard_output(options);
  }
  Output output;
  output.name_ = path;
  output.options_ = options;
  Target target =
      find_target({path, options.folder}, options.only_new ? Links::kept : Links::followed);
  output.check_target(target);
  if (target.found.is_open() && !S_ISREG(target.status.st_mode)) {
    output.open_direct(target);
    return output;
  }
  output.folder_ = std::move(target.folder);
  output.in_folder_ = std::move(target.in_folder);
  output.file_ = std::move(target.file);
  output.kind_ = Kind::new_file;
  if (options.resumable) {
    output.resumable_ = std::make_unique<ResumableFiles>(output.folder_.number(), output.file_,
                                                         output.in_folder_ + output.file_);
  } else {
    output.open_new();
  }
  return output;
}

// Throws when `target` must not become this output.
void Output::check_target(const Target& target) const {
  if (!options_.is_named && target.is_among_devices()) {
    throw Error(ErrorCode::usage, name_ + ": would be a file among devices",
                "name the output with -o");
  }
  if (!target.found.is_open()) {
    if (target.has_links && !options_.overwrite) {
      throw_exists();  // a symbolic link that leads nowhere
    }
    return;
  }
  const mode_t mode = target.status.st_mode;
  if (S_ISDIR(mode)) {
    throw Error(ErrorCode::usage, name_ + ": is a directory", "name the file to write in it");
  }
  if (options_.only_new) {
    throw_exists();
  }
  refuse_source(name_, target.status, options_.source);
  if (is_storage(mode) && !options_.overwrite) {
    throw_exists();
  }
  if (S_ISREG(mode)) {
    return;
  }
  if (options_.resumable) {
    throw Error(ErrorCode::usage, name_ + ": is no regular file, which --resume needs");
  }
  if (options_.is_shared) {
    throw Error(ErrorCode::usage, name_ + ": is no file that ranks could share",
                "name a new file with -o");
  }
  if (options_.folder != AT_FDCWD) {
    throw Error(ErrorCode::failure, name_ + ": is no regular file",
                "move it away, or name its input and -o in a command of their own");
  }
  if (options_.overwrite) {
    return;
  }
  if (!options_.is_named) {
    throw Error(ErrorCode::failure, name_ + ": is no regular file",
                "give -f to write into it, or another name with -o");
  }
  if (!target.is_private && !is_null_device(target.status)) {
    throw Error(ErrorCode::failure, name_ + ": is no regular file, and may be another user's",
                "give -f to write into it, or another name with -o");
  }
}

void Output::open_direct(const Target& target) {
  descriptor_ = open_found(target, name_, options_.cancel);
  is_storage_ = is_storage(target.status.st_mode);
  stop_ = std::make_unique<Cancel>();
  if (S_ISFIFO(target.status.st_mode)) {
    (void)fcntl(number(), F_SETFL, fcntl(number(), F_GETFL) | O_NONBLOCK);
  }
}

void Output::open_new() {
  // A file without a name gets one through /proc, so it is of use only where that is mounted.
  static const bool has_proc = access("/proc/self/fd", F_OK) == 0;
  const bool may_be_unnamed = !options_.is_shared && has_proc &&
                              (refuses_links.load() == 0 ||
                               refuses_links.load() != status_of(folder_.number(), name_).st_dev);
  Temporary made = make_temporary(folder_.number(), may_be_unnamed, *options_.calls);
  if (!made.file.is_open()) {
    throw_errno(name_);
  }
  descriptor_ = std::move(made.file);
  temporary_ = std::move(made.name);
}

Output Output::standard_output(const OutputOptions& options) {
  Output output;
  output.name_ = "standard output";
  output.standard_output_ = true;
  output.options_ = options;
  output.descriptor_ = Descriptor(STDOUT_FILENO, false);
  output.stop_ = std::make_unique<Cancel>();
  const struct stat status = status_of(STDOUT_FILENO, output.name_);
  refuse_source(output.name_, status, options.source);
  output.is_storage_ = is_storage(status.st_mode);
  if (S_ISFIFO(status.st_mode)) {
    // An open file description of our own can be non-blocking without affecting the processes that
    // share the other one.
    const std::string path = path_of_descriptor(STDOUT_FILENO);
    Descriptor own(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK));
    if (own.is_open()) {
      output.descriptor_ = std::move(own);
    }
  } else if (S_ISREG(status.st_mode)) {
    const off_t here = lseek(STDOUT_FILENO, 0, SEEK_CUR);
    const int flags = fcntl(STDOUT_FILENO, F_GETFL);
    // A descriptor that appends ignores offsets, and holes are possible only at the end of the
    // file.
    if ((flags & O_APPEND) != 0) {
      output.start_ = static_cast<std::uint64_t>(status.st_size);
    } else if (here >= 0 && here == status.st_size) {
      output.kind_ = Kind::standard_file;
      output.start_ = static_cast<std::uint64_t>(here);
    }
  }
  return output;
}

void Output::throw_exists() const {
  throw Error(ErrorCode::failure, name_ + ": already exists",
              options_.only_new ? "it is never replaced: move it away, or choose another name"
                                : "give -f to replace it, or another name with -o");
}

Output::~Output() { discard(); }

Output::Output(Output&& other) noexcept = default;

std::string Output::temporary_path() const {
  if (resumable_ != nullptr) {
    return resumable_->partial_name();
  }
  return temporary_.empty() ? std::string() : in_folder_ + temporary_;
}

std::string Output::folder() const {
  if (kind_ != Kind::new_file) {
    return "";
  }
  return in_folder_.empty() ? "." : in_folder_;
}

int Output::number() const noexcept {
  return resumable_ != nullptr ? resumable_->partial() : descriptor_.number();
}

bool Output::is_terminal() const noexcept {
  return kind_ != Kind::new_file && isatty(number()) == 1;
}

void Output::expect(const Need& need) {
  need_ = need;
  if (kind_ == Kind::direct && is_storage_ && !standard_output_) {  // a block device
    const off_t end = lseek(number(), 0, SEEK_END);
    (void)lseek(number(), 0, SEEK_SET);
    if (end >= 0 && static_cast<std::uint64_t>(end) < need.bytes) {
      throw Error(ErrorCode::failure, name_ + ": has " + std::to_string(end) + " bytes, and " +
                                          std::to_string(need.bytes) + " are needed");
    }
  } else if (options_.is_grouped) {
    return;  // a small file: a write that fails tells as much, and as early
  } else if (is_seekable() || appends_to_file(number())) {
    const std::string warning =
        check_room(name_, number(), need, resumable_ != nullptr ? taken_bytes(number()) : 0);
    if (!warning.empty() && options_.warn) {
      options_.warn(warning);
    }
  }
}

void Output::write(std::span<const iovec> from) {
  if (is_seekable()) {
    write_at(position_, from);
    position_ += bytes_of(from);
    return;
  }
  VectorCursor rest(from);
  while (!rest.is_done()) {
    check(options_.cancel);
    const ssize_t put = writev(number(), rest.data(), rest.count());
    if (put == 0 && rest.data()->iov_len != 0) {
      errno = EIO;  // nothing was taken, and nothing will be the next time
      throw_errno(name_);
    }
    if (put >= 0) {
      rest.advance(static_cast<std::size_t>(put));
      position_ += static_cast<std::uint64_t>(put);
    } else if (errno == EAGAIN) {
      wait_ready(number(), POLLOUT, options_.cancel, stop_.get());
    } else if (errno != EINTR) {
      if (appends_to_file(number())) {
        fail_to_write();
      }
      if (standard_output_) {
        throw_standard_output_errno();
      }
      throw_errno(name_);
    }
  }
}

void Output::write(Bytes from) {
  const iovec one = {const_cast<std::uint8_t*>(from.data()), from.size()};
  write(std::span(&one, 1));
}

void Output::write_at(std::uint64_t offset, std::span<const iovec> from) {
  if (!is_seekable()) {
    assert(offset == position_);
    write(from);
    return;
  }
  if (!write_file_at(number(), start_ + offset, from, options_.cancel)) {
    fail_to_write();
  }
}

void Output::complete(const std::function<std::uint64_t()>& write_all) {
  if (!is_seekable()) {
    enlarge_pipe(number());
  }
  std::uint64_t bytes = 0;
  try {
    bytes = write_all();
  } catch (const Error& error) {
    if (is_discardable() || position_ == 0) {
      throw;
    }
    const std::string what = std::string(error.what()) + "; " + std::to_string(position_) +
                             " bytes before that were already written to " + name_;
    if (dynamic_cast<const ClosedOutput*>(&error) != nullptr) {
      throw ClosedOutput(error.code, what, error.hint);
    }
    throw Error(error.code, what, error.hint);
  }
  commit(bytes);
}

void Output::fail_to_write() const { throw write_error(name_, number(), need_, start_); }

void Output::stop_waiting() noexcept {
  if (stop_ != nullptr) {
    stop_->request();
  }
}

// Committing: a complete file is synced and gets its permissions and its own name, by a link or
// rename that cannot replace another file. Where a file system lacks one way, the next is tried.

void Output::commit(std::uint64_t bytes) {
  check(options_.cancel);
  complete_file(bytes);
  if (kind_ != Kind::new_file) {
    if (is_storage_) {
      sync_written(number(), name_);
    }
    if (kind_ == Kind::standard_file) {
      // Whoever shares the descriptor continues after us.
      (void)lseek(number(), static_cast<off_t>(start_ + bytes), SEEK_SET);
    }
    finished_ = true;
    return;
  }
  if (options_.is_grouped && resumable_ == nullptr) {
    is_unnamed_ = true;
    return;
  }
  sync();
  give_name();
  end_commit(sync_folder(folder_.number(), number()));
}

void Output::complete_file(std::uint64_t bytes) {
  if (is_seekable() && ftruncate(number(), static_cast<off_t>(start_ + bytes)) != 0) {
    fail_to_write();
  }
  if (kind_ == Kind::new_file) {
    set_modified();
  }
}

void Output::sync() {
  if (fsync(number()) != 0) {
    fail_to_write();
  }
}

void Output::check_synced() const {
  // Waits for nothing, because nothing is left to be written, and gives the errors of this file.
  if (sync_file_range(number(), 0, 0, SYNC_FILE_RANGE_WAIT_BEFORE) != 0 && errno != ENOSYS &&
      errno != ESPIPE) {
    fail_to_write();
  }
}

// The file is synced before others get access: the sync takes long, and a kill during it leaves the
// file.
void Output::give_name() {
  try {
    set_permissions();
    place();
  } catch (const Error&) {
    if (resumable_ != nullptr) {
      resumable_->protect();
    }
    throw;
  }
  temporary_.clear();
  is_unnamed_ = false;
  has_its_name_ = true;
}

// The complete file now has its name. If the name may not survive a crash, the error says so.
void Output::end_commit(int error) {
  if (resumable_ != nullptr) {
    resumable_->finish();
  }
  finished_ = true;
  if (error == 0) {
    return;
  }
  std::string what = ": complete, but its folder could not be synced";
  if (options_.must_last) {
    if (unlinkat(folder_.number(), file_.c_str(), 0) == 0) {
      what = ": removed again, because its folder could not be synced";
      has_its_name_ = false;
    } else {
      what = ": could not be removed again after its folder could not be synced";
    }
  }
  errno = error;
  throw_errno(name_ + what);
}

// A file system that refuses a time is no reason to lose what was written.
void Output::set_modified() noexcept {
  if (options_.modified) {
    const struct timespec times[2] = {{0, UTIME_OMIT}, *options_.modified};
    (void)futimens(number(), times);
  }
}

// A file system without permission bits (FAT, some of FUSE) is no reason to lose what was written,
// unless nobody else may ever read it.
void Output::set_permissions() {
  const std::string why = stream::set_permissions(number(), options_.permissions & 0777, name_);
  if (!why.empty() && options_.must_be_private) {
    throw Error(ErrorCode::failure, name_ + ": " + why,
                "choose a file system that keeps permissions");
  }
  warning_ = why.empty() ? "" : name_ + ": " + why;
}

std::unique_lock<std::mutex> Output::lock_written() const {
  return options_.written != nullptr ? std::unique_lock(options_.written->mutex)
                                     : std::unique_lock<std::mutex>();
}

void Output::note_written() const {
  struct stat status = {};
  if (options_.written != nullptr && fstat(number(), &status) == 0) {
    options_.written->add({folder_.number(), in_folder_, file_}, status);
  }
}

// Gives the finished file its name in one step, and replaces an existing file only with -f. The
// other outputs of the run wait only for the step, not for a copy.
void Output::place() {
  if (resumable_ == nullptr && temporary_.empty()) {
    {
      const std::unique_lock lock = lock_written();
      if (is_linked_as(file_)) {
        return note_written();
      }
      if (errno != EEXIST && !is_refusal(errno)) {
        fail_to_place();
      }
      if (errno == EEXIST && !options_.overwrite) {
        throw_exists();
      }
    }
    // A link cannot replace an existing file. A rename can, but needs a name to rename.
    give_temporary_name();
  }
  const std::unique_lock lock = lock_written();
  const int folder = folder_.number();
  const std::string from = resumable_ != nullptr ? resumable_->partial_file() : temporary_;
  if (options_.overwrite) {
    replace(from);
    return note_written();
  }
  const Renamed renamed = rename_to_new_name(folder, from, file_, *options_.calls);
  if (!renamed.moved_to.empty()) {
    if (resumable_ == nullptr) {
      temporary_ = renamed.moved_to;  // discard() removes it or tells of it
    } else {
      warn_of_rest(in_folder_ + renamed.moved_to, renamed.error);
    }
  }
  if (renamed.error != 0) {
    errno = renamed.error;
    fail_to_place();
  }
  if (renamed.kept_old != 0) {
    warn_of_rest(in_folder_ + from, renamed.kept_old);
  }
}

// A file that stays under a name of ours may hold plain text, so that the user has to know of it.
// An error may be on its way already.
void Output::warn_of_rest(const std::string& path, int error) const noexcept {
  try {
    if (options_.warn) {
      options_.warn(path + ": could not be removed: " + std::strerror(error));
    }
  } catch (...) {  // NOLINT(bugprone-empty-catch): nobody is left to be told
  }
}

void Output::replace(const std::string& from) const {
  const int folder = folder_.number();
  if (options_.written != nullptr && options_.written->has({folder, in_folder_, file_})) {
    throw Error(ErrorCode::failure, name_ + ": is the output of another input already",
                "its file system takes the names of both for one: give one of them another output");
  }
  if (renameat(folder, from.c_str(), folder, file_.c_str()) != 0) {
    throw_errno(name_);
  }
}

// Gives the file, which has no name, this one. False: errno says why not.
bool Output::is_linked_as(const std::string& name) const noexcept {
  return options_.calls->link(AT_FDCWD, path_of_descriptor(number()).c_str(), folder_.number(),
                              name.c_str(), AT_SYMLINK_FOLLOW) == 0;
}

void Output::give_temporary_name() {
  const std::string name = new_temporary_name();
  lock_temporary(number());
  if (is_linked_as(name)) {
    temporary_ = name;
    return;
  }
  if (!is_refusal(errno)) {
    fail_to_place();
  }
  move_to_temporary();
  refuses_links.store(status_of(folder_.number(), name_).st_dev);
}

// Where no file gets a second name, a file without a name never gets one. So its content moves to a
// file that has a name from the start.
void Output::move_to_temporary() {
  const struct stat before = status_of(number(), name_);
  Temporary made = make_temporary(folder_.number(), false);
  if (!made.file.is_open()) {
    throw_errno(name_);
  }
  temporary_ = std::move(made.name);
  copy_file(number(), made.file.number(), name_, options_.cancel);
  if (before.st_uid != geteuid() || before.st_gid != status_of(made.file.number(), name_).st_gid) {
    // As for any file that replaces another: where this is refused, the user keeps it.
    (void)!fchown(made.file.number(), before.st_uid, before.st_gid);
  }
  descriptor_ = std::move(made.file);
  set_modified();
  sync();
  set_permissions();
}

void Output::fail_to_place() const {
  if (errno == EEXIST) {
    throw_exists();
  }
  throw_errno(name_);
}

// Does nothing where the descriptors have moved to another Output.
void Output::discard() noexcept {
  resumable_.reset();  // which leaves what the next run can use
  const bool leaves_nothing = temporary_.empty() && (finished_ || kind_ != Kind::standard_file);
  if (leaves_nothing || process_ != getpid()) {
    finished_ = true;
    return;
  }
  if (!temporary_.empty()) {
    const int error = unlinkat(folder_.number(), temporary_.c_str(), 0) == 0 ? 0 : errno;
    if (error != 0 && error != ENOENT) {
      warn_of_rest(temporary_path(), error);
    }
    temporary_.clear();
  }
  if (!finished_ && kind_ == Kind::standard_file &&
      ftruncate(number(), static_cast<off_t>(start_)) != 0) {
    // Nothing can be done about it here; the error that led to this is what the user sees.
  }
  finished_ = true;
}

}  // namespace paes::stream
