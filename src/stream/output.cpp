// Writing: a new file has no name (O_TMPFILE) or an unpredictable one until it is complete, and
// gets its own by a link or rename that cannot replace another file. Each way has one to fall back
// on for file systems that lack it.
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cassert>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "core/descriptor.hpp"
#include "core/secret.hpp"
#include "paes/error.hpp"
#include "stream/files.hpp"
#include "stream/resumable_files.hpp"
#include "stream/wait.hpp"

namespace paes::stream {

namespace {

mode_t current_umask() noexcept {
  const mode_t mask = umask(077);
  (void)umask(mask);
  return mask;
}

void refuse_source(const std::string& name, const struct stat& status, const Input* source) {
  if (source != nullptr && FileIdentity{status.st_dev, status.st_ino} == source->identity() &&
      source->is_regular()) {
    throw Error(ErrorCode::usage, name + ": is the input itself", "name another output with -o");
  }
}

[[noreturn]] void throw_exists(const std::string& name) {
  throw Error(ErrorCode::failure, name + ": already exists",
              "give -f to replace it, or another name with -o");
}

std::string unpredictable_name() {
  std::uint8_t random[8];
  random_bytes(random);
  char text[32];
  (void)std::snprintf(text, sizeof text, ".paes-%016llx",
                      static_cast<unsigned long long>(load_be64(random)));
  return text;
}

// A description of our own for the pipe behind `descriptor`, so that it can be non-blocking without
// changing what other processes share. Not open where the system does not give one.
Descriptor reopen_nonblocking(int descriptor) {
  const std::string path = "/proc/self/fd/" + std::to_string(descriptor);
  return Descriptor(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK));
}

bool is_pipe(int descriptor) noexcept {
  struct stat status = {};
  return fstat(descriptor, &status) == 0 && S_ISFIFO(status.st_mode);
}

}  // namespace

mode_t encrypted_mode(const Input& source) noexcept {
  return source.is_regular() ? source.permissions() : source.permissions() & ~current_umask();
}

mode_t decrypted_mode(const Input& source) noexcept {
  return source.permissions() & 0700 & ~current_umask();
}

Output Output::create(const std::string& path, const OutputOptions& options) {
  if (path == "/dev/stdout" || path == "/dev/fd/1") {
    return standard_output(options);
  }
  Output output;
  output.name_ = path;
  output.options_ = options;
  std::string target = path;
  struct stat status = {};
  if (stat(path.c_str(), &status) == 0) {
    if (S_ISDIR(status.st_mode)) {
      throw Error(ErrorCode::failure, path + ": is a directory");
    }
    refuse_source(path, status, options.source);
    const bool overwrites = S_ISREG(status.st_mode) || S_ISBLK(status.st_mode);
    if (overwrites && !options.overwrite) {
      throw_exists(path);
    }
    if (!S_ISREG(status.st_mode)) {
      if (options.resumable) {
        throw Error(ErrorCode::usage, path + ": is no regular file, which --resume needs");
      }
      output.block_device_ = S_ISBLK(status.st_mode);
      output.open_direct();
      return output;
    }
    // Replacing what a symbolic link points to, not the link.
    const std::unique_ptr<char, decltype(&std::free)> real(realpath(path.c_str(), nullptr),
                                                           &std::free);
    if (real == nullptr) {
      throw_errno(path);
    }
    target = real.get();
  } else if (errno != ENOENT) {
    throw_errno(path);
  } else if (lstat(path.c_str(), &status) == 0 && !options.overwrite) {
    throw_exists(path);  // a symbolic link that leads nowhere
  }
  output.open_folder(target);
  if (options.resumable) {
    output.kind_ = Kind::resumable;
    output.seekable_ = true;
    output.resumable_ =
        std::make_unique<ResumableFiles>(output.folder_.number(), output.file_, target);
  } else {
    output.open_new();
  }
  return output;
}

void Output::open_direct() {
  int number = -1;
  do {
    check(options_.cancel);
    number = ::open(name_.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY);
  } while (number < 0 && errno == EINTR);
  if (number < 0) {
    throw_errno(name_);
  }
  descriptor_ = Descriptor(number);
  stop_ = std::make_unique<Cancel>();
  if (is_pipe(number)) {
    (void)fcntl(number, F_SETFL, fcntl(number, F_GETFL) | O_NONBLOCK);
  }
}

void Output::open_folder(const std::string& target) {
  const std::size_t slash = target.rfind('/');
  in_folder_ = slash == std::string::npos ? "" : target.substr(0, slash + 1);
  const std::string folder = in_folder_.empty() ? "." : in_folder_;
  file_ = slash == std::string::npos ? target : target.substr(slash + 1);
  folder_ = Descriptor(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder_.is_open()) {
    // One may be allowed to create files in a folder that one may not list; it cannot be synced.
    folder_ = Descriptor(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    folder_synced_ = false;
  }
  if (!folder_.is_open()) {
    throw_errno(name_);
  }
}

void Output::open_new() {
  seekable_ = true;
  kind_ = Kind::unnamed;
  if (!options_.avoid_unnamed) {
    descriptor_ = Descriptor(
        openat(folder_.number(), ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, S_IRUSR | S_IWUSR));
    // It gets its name through /proc, so it is of use only where that is mounted.
    if (descriptor_.is_open() && access(descriptor_path().c_str(), F_OK) == 0) {
      return;
    }
  }
  kind_ = Kind::temporary;
  do {
    temporary_ = unpredictable_name();
    descriptor_ =
        Descriptor(openat(folder_.number(), temporary_.c_str(),
                          O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR));
  } while (!descriptor_.is_open() && errno == EEXIST);
  if (!descriptor_.is_open()) {
    temporary_.clear();
    throw_errno(name_);
  }
}

Output Output::standard_output(const OutputOptions& options) {
  Output output;
  output.name_ = "standard output";
  output.options_ = options;
  output.descriptor_ = Descriptor(STDOUT_FILENO, false);
  output.stop_ = std::make_unique<Cancel>();
  struct stat status = {};
  if (fstat(STDOUT_FILENO, &status) != 0) {
    throw_errno(output.name_);
  }
  refuse_source(output.name_, status, options.source);
  if (S_ISFIFO(status.st_mode)) {
    if (Descriptor own = reopen_nonblocking(STDOUT_FILENO); own.is_open()) {
      output.descriptor_ = std::move(own);
    }
  } else if (S_ISREG(status.st_mode)) {
    const off_t here = lseek(STDOUT_FILENO, 0, SEEK_CUR);
    const int flags = fcntl(STDOUT_FILENO, F_GETFL);
    // Offsets mean nothing to a descriptor that appends, and holes need that nothing lies behind.
    if (here >= 0 && here == status.st_size && (flags & O_APPEND) == 0) {
      output.kind_ = Kind::standard_file;
      output.seekable_ = true;
      output.start_ = static_cast<std::uint64_t>(here);
    }
  }
  return output;
}

Output::~Output() { discard(); }

Output::Output(Output&& other) noexcept
    : kind_(other.kind_),
      name_(std::move(other.name_)),
      file_(std::move(other.file_)),
      in_folder_(std::move(other.in_folder_)),
      temporary_(std::exchange(other.temporary_, {})),
      warning_(std::move(other.warning_)),
      folder_(std::move(other.folder_)),
      resumable_(std::move(other.resumable_)),
      descriptor_(std::move(other.descriptor_)),
      options_(other.options_),
      stop_(std::move(other.stop_)),
      seekable_(other.seekable_),
      folder_synced_(other.folder_synced_),
      block_device_(other.block_device_),
      finished_(std::exchange(other.finished_, true)),
      start_(other.start_),
      position_(other.position_) {}

std::string Output::temporary_path() const {
  if (resumable_ != nullptr) {
    return resumable_->partial_name();
  }
  return temporary_.empty() ? std::string() : in_folder_ + temporary_;
}

int Output::number() const noexcept {
  return resumable_ != nullptr ? resumable_->partial() : descriptor_.number();
}

bool Output::is_terminal() const noexcept { return isatty(number()) == 1; }

void Output::write(std::span<const iovec> from) {
  if (seekable_) {
    write_at(position_, from);
    for (const iovec& part : from) {
      position_ += part.iov_len;
    }
    return;
  }
  VectorCursor rest(from);
  while (!rest.is_done()) {
    check(options_.cancel);
    const ssize_t put = writev(number(), rest.data(), rest.count());
    if (put >= 0) {
      rest.advance(static_cast<std::size_t>(put));
      position_ += static_cast<std::uint64_t>(put);
    } else if (errno == EAGAIN) {
      wait_ready(number(), POLLOUT, options_.cancel, stop_.get());
    } else if (errno != EINTR) {
      throw_errno(name_);
    }
  }
}

void Output::write(Bytes from) {
  const iovec one = {const_cast<std::uint8_t*>(from.data()), from.size()};
  write(std::span(&one, 1));
}

void Output::write_at(std::uint64_t offset, std::span<const iovec> from) const {
  assert(seekable_);
  VectorCursor rest(from);
  auto at = static_cast<off_t>(start_ + offset);
  while (!rest.is_done()) {
    const ssize_t put = pwritev(number(), rest.data(), rest.count(), at);
    if (put >= 0) {
      rest.advance(static_cast<std::size_t>(put));
      at += put;
    } else if (errno != EINTR) {
      throw_errno(name_);
    } else {
      check(options_.cancel);
    }
  }
}

void Output::write_at(std::uint64_t offset, Bytes from) const {
  const iovec one = {const_cast<std::uint8_t*>(from.data()), from.size()};
  write_at(offset, std::span(&one, 1));
}

WriteAt Output::writer() const {
  return [this](std::uint64_t offset, std::span<const iovec> from) { write_at(offset, from); };
}

Error Output::with_written(const Error& error) const {
  if (is_discardable() || position_ == 0) {
    return error;
  }
  return {error.code,
          std::string(error.what()) + "; " + std::to_string(position_) +
              " bytes before that were already written to " + name_,
          error.hint};
}

void Output::stop_waiting() noexcept {
  if (stop_ != nullptr) {
    stop_->request();
  }
}

void Output::expect_sequential() const noexcept {
  if (!seekable_) {
    enlarge_pipe(number());
  }
}

std::string Output::descriptor_path() const {
  return "/proc/self/fd/" + std::to_string(descriptor_.number());
}

void Output::commit(std::uint64_t bytes) {
  check(options_.cancel);
  if (seekable_ && ftruncate(number(), static_cast<off_t>(start_ + bytes)) != 0) {
    throw_errno(name_);
  }
  if (kind_ == Kind::standard_file) {
    // Whoever shares the descriptor continues behind us.
    (void)lseek(number(), static_cast<off_t>(start_ + bytes), SEEK_SET);
  } else if (kind_ != Kind::direct) {
    if (resumable_ != nullptr) {
      // Synced before it is anybody else's to read, because an interruption here leaves it.
      resumable_->sync();
      temporary_ = resumable_->partial_file();
    }
    try {
      set_permissions();
      if (fsync(number()) != 0) {
        throw_errno(name_);
      }
      place();
    } catch (const Error&) {
      if (resumable_ != nullptr) {
        resumable_->protect();
      }
      throw;
    }
    // Some file systems cannot sync a folder and say so with EINVAL.
    const int error = folder_synced_ && fsync(folder_.number()) != 0 ? errno : 0;
    if (resumable_ != nullptr) {
      resumable_->finish();
    }
    if (error != 0 && error != EINVAL) {
      errno = error;
      throw_errno(name_ + ": complete, but its folder could not be synced");
    }
  } else if (block_device_ && fsync(number()) != 0) {
    throw_errno(name_);
  }
  finished_ = true;
}

// A file system without permission bits (FAT, some of FUSE) refuses to set them, which is no reason
// to lose what was written. It matters where others can do more with the file than they should.
void Output::set_permissions() {
  const mode_t wanted = options_.permissions & 0777;
  if (fchmod(number(), wanted) == 0) {
    return;
  }
  const int error = errno;
  struct stat status = {};
  if ((error != EPERM && error != EOPNOTSUPP && error != ENOSYS) || fstat(number(), &status) != 0) {
    errno = error;
    throw_errno(name_);
  }
  constexpr mode_t of_others = S_IRGRP | S_IWGRP | S_IROTH | S_IWOTH;
  if ((status.st_mode & ~wanted & of_others) != 0) {
    warning_ = name_ +
               ": other users have more access than they should, for its permissions "
               "could not be set: " +
               std::strerror(error);
  }
}

// Gives the finished file its name: as one step, and never over a file that is there unless asked.
void Output::place() {
  const int folder = folder_.number();
  if (kind_ == Kind::unnamed) {
    const bool beside = options_.overwrite;  // a link cannot replace, but a rename can
    const std::string name = beside ? unpredictable_name() : file_;
    if (linkat(AT_FDCWD, descriptor_path().c_str(), folder, name.c_str(), AT_SYMLINK_FOLLOW) != 0) {
      fail_to_place();
    }
    if (!beside) {
      return;
    }
    temporary_ = name;
  }
  if (options_.overwrite) {
    rename_temporary();
    return;
  }
  if (!options_.avoid_noreplace) {
    if (renameat2(folder, temporary_.c_str(), folder, file_.c_str(), RENAME_NOREPLACE) == 0) {
      temporary_.clear();
      return;
    }
    if (errno != EINVAL && errno != ENOSYS) {
      fail_to_place();
    }
  }
  if (!options_.avoid_link) {
    if (linkat(folder, temporary_.c_str(), folder, file_.c_str(), 0) == 0) {
      (void)unlinkat(folder, temporary_.c_str(), 0);
      temporary_.clear();
      return;
    }
    if (errno == EEXIST) {
      fail_to_place();
    }
  }
  // A file system without either: an empty file of our own holds the name until the rename.
  const Descriptor holder(
      openat(folder, file_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (!holder.is_open()) {
    fail_to_place();
  }
  try {
    rename_temporary();
  } catch (...) {
    (void)unlinkat(folder, file_.c_str(), 0);
    throw;
  }
}

void Output::rename_temporary() {
  if (renameat(folder_.number(), temporary_.c_str(), folder_.number(), file_.c_str()) != 0) {
    throw_errno(name_);
  }
  temporary_.clear();
}

void Output::fail_to_place() const {
  if (errno == EEXIST) {
    throw_exists(name_);
  }
  throw_errno(name_);
}

void Output::discard() noexcept {
  if (resumable_ != nullptr) {
    temporary_.clear();
    resumable_.reset();  // which leaves what the next run can use
  }
  if (!temporary_.empty()) {
    (void)unlinkat(folder_.number(), temporary_.c_str(), 0);
    temporary_.clear();
  }
  if (!finished_ && kind_ == Kind::standard_file &&
      ftruncate(number(), static_cast<off_t>(start_)) != 0) {
    // Nothing can be done about it here; the error that led to this is what the user sees.
  }
  finished_ = true;
}

}  // namespace paes::stream
