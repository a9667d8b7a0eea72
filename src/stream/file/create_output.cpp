// SPDX-License-Identifier: Apache-2.0
#include "stream/file/create_output.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <atomic>
#include <cassert>
#include <cerrno>
#include <fstream>
#include <memory>
#include <utility>

#include "core/descriptor.hpp"
#include "paes/error.hpp"
#include "stream/file/new_file.hpp"
#include "stream/file/output_target.hpp"
#include "stream/transfer/wait.hpp"

namespace paes::stream {

namespace {

// What UmaskKept knows.
constexpr int asks_each_time = -1;
constexpr int not_asked_yet = -2;
std::atomic<int> kept_umask{asks_each_time};

// From /proc, because asking with umask(2) changes it for other threads meanwhile.
mode_t ask_for_umask() {
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

mode_t current_umask() {
  const int kept = kept_umask.load(std::memory_order_relaxed);
  if (kept >= 0) {
    return static_cast<mode_t>(kept);
  }
  const mode_t mask = ask_for_umask();
  if (kept == not_asked_yet) {
    kept_umask.store(static_cast<int>(mask), std::memory_order_relaxed);
  }
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

bool is_name_of_standard_output(const std::string& path) noexcept {
  return path == "/dev/stdout" || path == "/dev/fd/1" || path == "/proc/self/fd/1";
}

// Throws when `target` must not become the output of that name.
void check_target(const Target& target, const FilePlace& place, const OutputOptions& options) {
  const std::string& name = place.path;
  if (!options.is_named && target.is_among_devices()) {
    throw Error(ErrorCode::usage, name + ": would be a file among devices",
                "name the output with -o");
  }
  if (!target.found.is_open()) {
    if (target.has_links && !options.overwrite) {
      throw_exists(name, options);  // a symbolic link that leads nowhere
    }
    return;
  }
  const mode_t mode = target.status.st_mode;
  if (S_ISDIR(mode)) {
    throw Error(ErrorCode::usage, name + ": is a directory", "name the file to write in it");
  }
  if (options.only_new) {
    throw_exists(name, options);
  }
  refuse_source(name, target.status, options.source);
  if (is_storage(mode) && !options.overwrite) {
    throw_exists(name, options);
  }
  if (S_ISREG(mode)) {
    return;
  }
  if (options.file.role == FileRole::resumable) {
    throw Error(ErrorCode::usage, name + ": is not a regular file, which --resume needs");
  }
  if (options.file.role == FileRole::shared) {
    throw Error(ErrorCode::usage, name + ": is not a file that ranks could share",
                "name a new file with -o");
  }
  if (place.has_folder()) {
    throw Error(ErrorCode::failure, name + ": is not a regular file",
                "move it away, or name its input and -o in a command of their own");
  }
  if (options.overwrite) {
    return;
  }
  if (!options.is_named) {
    throw Error(ErrorCode::failure, name + ": is not a regular file",
                "give -f to write into it, or name another output");
  }
  if (!target.is_private && !is_null_device(target.status)) {
    throw Error(ErrorCode::failure, name + ": is not a regular file, and may be another user's",
                "give -f to write into it, or name another output");
  }
}

constexpr const char* standard_output_name = "standard output";

enum class Standard { no, yes, appends };

// What takes bytes only in order: a pipe, a device, a terminal, and standard output that is a file
// at whose end it does not stand.
class DirectOutput final : public Output {
 public:
  // Standard output `appends` to a regular file.
  DirectOutput(const std::string& name, Descriptor descriptor, const struct stat& status,
               const OutputOptions& options, Standard standard)
      : Output(name, options),
        descriptor_(std::move(descriptor)),
        standard_(standard),
        is_storage_(is_storage(status.st_mode)),
        before_bytes_(static_cast<std::uint64_t>(status.st_size)) {}

  [[nodiscard]] bool is_seekable() const noexcept override { return false; }
  [[nodiscard]] int descriptor() const noexcept override { return descriptor_.number(); }
  void stop_waiting() noexcept override { stop_.request(); }

  void write_at([[maybe_unused]] std::uint64_t offset, std::span<const iovec> from) override {
    assert(offset == position_);
    VectorCursor rest(from);
    while (!rest.is_done()) {
      check(cancel_);
      const ssize_t put = writev(descriptor(), rest.data(), rest.count());
      if (put == 0 && rest.data()->iov_len != 0) {
        errno = EIO;  // nothing was taken, and nothing will be the next time
        throw_errno(name());
      }
      if (put >= 0) {
        rest.advance(static_cast<std::size_t>(put));
        position_ += static_cast<std::uint64_t>(put);
      } else if (errno == EAGAIN) {
        wait_ready(descriptor(), POLLOUT, cancel_, &stop_);
      } else if (errno != EINTR) {
        fail();
      }
    }
  }

  void commit(std::uint64_t /*bytes*/) override {
    check(cancel_);
    if (is_storage_) {
      sync_written(descriptor(), name());
    }
  }

  void discard() noexcept override {}

 private:
  void look_for_room(const Need& need) const override {
    if (standard_ == Standard::appends) {
      return check_room_there(need);
    }
    if (standard_ == Standard::yes || !is_storage_) {
      return;
    }
    const off_t end = lseek(descriptor(), 0, SEEK_END);  // a block device
    (void)lseek(descriptor(), 0, SEEK_SET);
    if (end >= 0 && static_cast<std::uint64_t>(end) < need.bytes) {
      throw Error(ErrorCode::failure, name() + ": has " + std::to_string(end) + " bytes, and " +
                                          std::to_string(need.bytes) + " are needed");
    }
  }

  [[noreturn]] void fail() const {
    if (standard_ == Standard::appends) {
      fail_to_write(before_bytes_);
    }
    if (standard_ == Standard::yes) {
      throw_standard_output_errno();
    }
    throw_errno(name());
  }

  Descriptor descriptor_;
  Standard standard_;
  bool is_storage_;             // it keeps what is written to it
  std::uint64_t before_bytes_;  // that a file had
  Cancel stop_;
};

// Standard output at the end of a regular file.
class StandardFile final : public Output {
 public:
  StandardFile(const struct stat& status, const OutputOptions& options)
      : Output(standard_output_name, options), start_(static_cast<std::uint64_t>(status.st_size)) {}
  ~StandardFile() override { StandardFile::discard(); }

  [[nodiscard]] bool is_seekable() const noexcept override { return true; }
  [[nodiscard]] int descriptor() const noexcept override { return STDOUT_FILENO; }

  void write_at(std::uint64_t offset, std::span<const iovec> from) override {
    if (!write_file_at(descriptor(), start_ + offset, from, cancel_)) {
      fail_to_write(start_);
    }
  }

  void commit(std::uint64_t bytes) override {
    check(cancel_);
    const auto end = static_cast<off_t>(start_ + bytes);
    if (ftruncate(descriptor(), end) != 0) {
      fail_to_write(start_);
    }
    sync_written(descriptor(), name());
    (void)lseek(descriptor(), end, SEEK_SET);  // whoever shares the descriptor continues after us
    is_finished_ = true;
  }

  // Nothing can be done about a failure here; the error that led to this is what the user sees.
  void discard() noexcept override {
    if (!is_finished_ && !is_forked()) {
      (void)!ftruncate(descriptor(), static_cast<off_t>(start_));
    }
    is_finished_ = true;
  }

 private:
  void look_for_room(const Need& need) const override { check_room_there(need); }

  std::uint64_t start_;  // where it stood
  bool is_finished_ = false;
};

std::unique_ptr<Output> open_direct(const std::string& name, const Target& target,
                                    const OutputOptions& options) {
  Descriptor opened = open_found(target, name, options.cancel);
  if (S_ISFIFO(target.status.st_mode)) {
    (void)fcntl(opened.number(), F_SETFL, fcntl(opened.number(), F_GETFL) | O_NONBLOCK);
  }
  return std::make_unique<DirectOutput>(name, std::move(opened), target.status, options,
                                        Standard::no);
}

}  // namespace

UmaskKept::UmaskKept() noexcept { kept_umask.store(not_asked_yet, std::memory_order_relaxed); }
UmaskKept::~UmaskKept() { kept_umask.store(asks_each_time, std::memory_order_relaxed); }

mode_t less_umask(mode_t mode) { return mode & ~current_umask(); }

mode_t new_file_mode() { return less_umask(0666); }

mode_t encrypted_mode(const Input& source) {
  return source.is_regular() ? source.permissions() : source.permissions() & ~current_umask();
}

mode_t decrypted_mode(const Input& source) { return source.owner_permissions() & ~current_umask(); }

std::unique_ptr<Output> create_output(const FilePlace& place, const OutputOptions& options) {
  const std::string& name = place.path;
  if (!options.only_new && options.file.role != FileRole::shared && !place.has_folder() &&
      is_name_of_standard_output(name)) {
    return standard_output(options);
  }
  Target target = find_target(place, options.only_new ? Links::kept : Links::followed);
  check_target(target, place, options);
  if (target.found.is_open() && !S_ISREG(target.status.st_mode)) {
    return open_direct(name, target, options);
  }
  return create_file(name, std::move(target), options);
}

std::unique_ptr<Output> standard_output(const OutputOptions& options) {
  const struct stat status = status_of(STDOUT_FILENO, standard_output_name);
  refuse_source(standard_output_name, status, options.source);
  Descriptor descriptor(STDOUT_FILENO, false);
  Standard standard = Standard::yes;
  if (S_ISFIFO(status.st_mode)) {
    // An open file description of our own can be non-blocking without affecting the processes that
    // share the other one.
    const std::string path = path_of_descriptor(STDOUT_FILENO);
    Descriptor own(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK));
    if (own.is_open()) {
      descriptor = std::move(own);
    }
  } else if (S_ISREG(status.st_mode)) {
    // A descriptor that appends ignores offsets, and holes are possible only at the end of the
    // file.
    if ((fcntl(STDOUT_FILENO, F_GETFL) & O_APPEND) != 0) {
      standard = Standard::appends;
    } else if (lseek(STDOUT_FILENO, 0, SEEK_CUR) == status.st_size) {
      return std::make_unique<StandardFile>(status, options);
    }
  }
  return std::make_unique<DirectOutput>(standard_output_name, std::move(descriptor), status,
                                        options, standard);
}

}  // namespace paes::stream
