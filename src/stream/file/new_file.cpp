// SPDX-License-Identifier: Apache-2.0
#include "stream/file/new_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>
#include <utility>

#include "core/folder.hpp"
#include "core/new_name.hpp"
#include "paes/error.hpp"
#include "stream/file/permissions.hpp"
#include "stream/file/resumable_files.hpp"
#include "stream/file/temporary.hpp"
#include "stream/transfer/wait.hpp"

namespace paes::stream {

namespace {

// The device number of the file system where a link was refused last: a file there gets a name at
// once, so that its content need not move when it is complete.
std::atomic<dev_t> refuses_links{0};

bool can_stay_unnamed(int folder, const std::string& name) {
  // A file without a name gets one through /proc, so it is of use only where that is mounted.
  static const bool has_proc = access("/proc/self/fd", F_OK) == 0;
  return has_proc &&
         (refuses_links.load() == 0 || refuses_links.load() != status_of(folder, name).st_dev);
}

}  // namespace

void throw_exists(const std::string& name, const OutputOptions& options) {
  throw Error(ErrorCode::failure, name + ": already exists",
              options.only_new ? "it is never replaced: move it away, or choose another name"
                               : options.when_taken);
}

NewFile::NewFile(Target target, const std::string& name, const OutputOptions& options)
    : Output(name, options),
      folder_(std::move(target.folder)),
      in_folder_(std::move(target.in_folder)),
      file_(std::move(target.file)),
      options_(options.file),
      overwrite_(options.overwrite),
      only_new_(options.only_new),
      when_taken_(options.when_taken) {}

NewFile::NewFile(const std::string& name, Target target, const OutputOptions& options)
    : NewFile(std::move(target), name, options) {
  Temporary made =
      make_temporary(folder_->number(),
                     options_.role != FileRole::shared && can_stay_unnamed(folder_->number(), name),
                     *options_.calls);
  if (!made.file.is_open()) {
    throw_errno(name);
  }
  descriptor_ = std::move(made.file);
  temporary_ = std::move(made.name);
}

std::string NewFile::temporary_path() const {
  return temporary_.empty() ? std::string() : in_folder_ + temporary_;
}

void NewFile::look_for_room(const Need& need) const {
  if (options_.role != FileRole::grouped) {
    check_room_there(need);
  }  // else a small file: a write that fails tells as much, and as early
}

void NewFile::write_at(std::uint64_t offset, std::span<const iovec> from) {
  if (!write_file_at(descriptor(), offset, from, cancel_)) {
    fail_to_write();
  }
  const std::uint64_t end = offset + bytes_of(from);
  std::uint64_t before = end_.load(std::memory_order_relaxed);
  while (before < end && !end_.compare_exchange_weak(before, end, std::memory_order_relaxed)) {
  }
}

void NewFile::commit(std::uint64_t bytes) {
  check(cancel_);
  // Nobody else has written to a grouped file, so it ends where the last write ended.
  const bool has_its_length =
      options_.role == FileRole::grouped && end_.load(std::memory_order_relaxed) == bytes;
  if (!has_its_length && ftruncate(descriptor(), static_cast<off_t>(bytes)) != 0) {
    fail_to_write();
  }
  set_modified();
  if (options_.role == FileRole::grouped) {
    is_unnamed_ = true;
    return;
  }
  sync();
  give_name();
  end_commit(sync_folder(folder_->number(), descriptor()));
}

void NewFile::sync() {
  if (fsync(descriptor()) != 0) {
    fail_to_write();
  }
}

void NewFile::check_synced() const {
  // Waits for nothing, because nothing is left to be written, and gives the errors of this file.
  if (sync_file_range(descriptor(), 0, 0, SYNC_FILE_RANGE_WAIT_BEFORE) != 0 && errno != ENOSYS &&
      errno != ESPIPE) {
    fail_to_write();
  }
}

// The file is synced before others get access: the sync takes long, and a kill during it leaves the
// file.
void NewFile::give_name() {
  set_permissions();
  place();
  temporary_.clear();
  is_unnamed_ = false;
  has_its_name_ = true;
}

// The complete file now has its name. If the name may not survive a crash, the error says so.
void NewFile::end_commit(int error) {
  if (error == 0) {
    return;
  }
  std::string what = ": complete, but its folder could not be synced";
  if (options_.must_last) {
    if (unlinkat(folder_->number(), file_.c_str(), 0) == 0) {
      what = ": removed again, because its folder could not be synced";
      has_its_name_ = false;
    } else {
      what = ": could not be removed again after its folder could not be synced";
    }
  }
  errno = error;
  throw_errno(name() + what);
}

// A file system that refuses a time is no reason to lose what was written.
void NewFile::set_modified() noexcept {
  if (options_.modified) {
    const struct timespec times[2] = {{0, UTIME_OMIT}, *options_.modified};
    (void)futimens(descriptor(), times);
  }
}

// A file system without permission bits (FAT, some of FUSE) is no reason to lose what was written,
// unless nobody else may ever read it.
void NewFile::set_permissions() {
  const std::string why =
      stream::set_permissions(descriptor(), options_.permissions & 0777, name());
  if (!why.empty() && options_.must_be_private) {
    throw Error(ErrorCode::failure, name() + ": " + why,
                "choose a file system that keeps permissions");
  }
  warning_ = why.empty() ? "" : name() + ": " + why;
}

std::unique_lock<std::mutex> NewFile::lock_written() const {
  return options_.written != nullptr ? std::unique_lock(options_.written->mutex)
                                     : std::unique_lock<std::mutex>();
}

void NewFile::note_written() const {
  struct stat status = {};
  if (options_.written != nullptr && fstat(descriptor(), &status) == 0) {
    options_.written->add({folder_->number(), in_folder_, file_}, status);
  }
}

void NewFile::rename_from(const std::string& unfinished) {
  const std::unique_lock lock = lock_written();
  const int folder = folder_->number();
  if (overwrite_) {
    if (options_.written != nullptr && options_.written->has({folder, in_folder_, file_})) {
      throw Error(
          ErrorCode::failure, name() + ": is the output of another input already",
          "its file system takes the names of both for one: give one of them another output");
    }
    if (renameat(folder, unfinished.c_str(), folder, file_.c_str()) != 0) {
      throw_errno(name());
    }
    return note_written();
  }
  const RenameOutcome renamed = rename_to_new_name(folder, unfinished, file_, *options_.calls);
  if (!renamed.moved_to.empty()) {
    note_moved(renamed.moved_to, renamed.error);
  }
  if (renamed.error != 0) {
    errno = renamed.error;
    fail_to_place();
  }
  if (renamed.kept_old != 0) {
    warn_of_rest(unfinished, renamed.kept_old);
  }
}

void NewFile::fail_to_place() const {
  if (errno == EEXIST) {
    throw_exists(name(), {.only_new = only_new_, .when_taken = when_taken_});
  }
  throw_errno(name());
}

// It may hold plain text, so that the user has to know of it. An error may be on its way already.
void NewFile::warn_of_rest(const std::string& file, int error) const noexcept {
  try {
    if (warn_) {
      warn_(in_folder_ + file + ": could not be removed: " + std::strerror(error));
    }
  } catch (...) {  // NOLINT(bugprone-empty-catch): nobody is left to be told
  }
}

void NewFile::place() {
  if (temporary_.empty()) {
    {
      const std::unique_lock lock = lock_written();
      if (is_linked_as(file_)) {
        return note_written();
      }
      if (errno != EEXIST && !is_refusal(errno)) {
        fail_to_place();
      }
      if (errno == EEXIST && !overwrite_) {
        fail_to_place();
      }
    }
    // A link cannot replace an existing file. A rename can, but needs a name to rename.
    give_temporary_name();
  }
  rename_from(temporary_);
}

// Gives the file, which has no name, this one. False: errno says why not.
bool NewFile::is_linked_as(const std::string& name) const noexcept {
  return options_.calls->link(AT_FDCWD, path_of_descriptor(descriptor()).c_str(), folder_->number(),
                              name.c_str(), AT_SYMLINK_FOLLOW) == 0;
}

void NewFile::give_temporary_name() {
  const std::string name = new_temporary_name();
  lock_temporary(descriptor());
  if (is_linked_as(name)) {
    temporary_ = name;
    return;
  }
  if (!is_refusal(errno)) {
    fail_to_place();
  }
  move_to_temporary();
  refuses_links.store(status_of(folder_->number(), this->name()).st_dev);
}

// Where no file gets a second name, a file without a name never gets one. So its content moves to a
// file that has a name from the start.
void NewFile::move_to_temporary() {
  const struct stat before = status_of(descriptor(), name());
  Temporary made = make_temporary(folder_->number(), false);
  if (!made.file.is_open()) {
    throw_errno(name());
  }
  temporary_ = std::move(made.name);
  const int to = made.file.number();
  copy_file(descriptor(), to, name(), cancel_);
  if (before.st_uid != geteuid() || before.st_gid != status_of(to, name()).st_gid) {
    // As for any file that replaces another: where this is refused, the user keeps it.
    (void)!fchown(to, before.st_uid, before.st_gid);
  }
  descriptor_ = std::move(made.file);
  set_modified();
  sync();
  set_permissions();
}

void NewFile::discard() noexcept {
  if (temporary_.empty() || is_forked()) {
    return;
  }
  const int error = unlinkat(folder_->number(), temporary_.c_str(), 0) == 0 ? 0 : errno;
  if (error != 0 && error != ENOENT) {
    warn_of_rest(temporary_, error);
  }
  temporary_.clear();
}

namespace {

// TARGET.partial, which a failure leaves for the next run.
class PartialFile final : public NewFile {
 public:
  PartialFile(const std::string& name, Target target, const OutputOptions& options)
      : NewFile(std::move(target), name, options) {
    files_.emplace(folder_->number(), file_, in_folder_ + file_);
  }

  [[nodiscard]] int descriptor() const noexcept override { return files_ ? files_->partial() : -1; }
  [[nodiscard]] std::string temporary_path() const override {
    return files_ ? files_->partial_name() : "";
  }
  [[nodiscard]] ResumableFiles* resumable() noexcept override {
    return files_ ? &*files_ : nullptr;
  }
  void discard() noexcept override { files_.reset(); }

  void give_name() override {
    try {
      NewFile::give_name();
    } catch (const Error&) {
      files_->protect();
      throw;
    }
  }
  void end_commit(int error) override {
    files_->finish();
    NewFile::end_commit(error);
  }

 private:
  void look_for_room(const Need& need) const override {
    check_room_there(need, taken_bytes(descriptor()));
  }
  void place() override { rename_from(files_->partial_file()); }
  void note_moved(const std::string& file, int error) override { warn_of_rest(file, error); }

  std::optional<ResumableFiles> files_;
};

}  // namespace

std::unique_ptr<Output> create_file(const std::string& name, Target target,
                                    const OutputOptions& options) {
  if (options.file.role == FileRole::resumable) {
    return std::make_unique<PartialFile>(name, std::move(target), options);
  }
  return std::make_unique<NewFile>(name, std::move(target), options);
}

}  // namespace paes::stream
