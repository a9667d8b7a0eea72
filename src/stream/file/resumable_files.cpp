// SPDX-License-Identifier: Apache-2.0
#include "stream/file/resumable_files.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "core/descriptor.hpp"
#include "core/folder.hpp"
#include "paes/error.hpp"
#include "stream/file/input.hpp"
#include "stream/file/temporary.hpp"
#include "stream/transfer/wait.hpp"

namespace paes::stream {

namespace {

constexpr int open_flags = O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;

[[noreturn]] void throw_in_the_way(const std::string& name, const std::string& why) {
  throw Error(ErrorCode::failure, name + ": is in the way, " + why,
              "move it away, or name another output with -o");
}

void check_own(int descriptor, const std::string& name) {
  const struct stat status = status_of(descriptor, name);
  if (const char* const why = why_not_own(status); why != nullptr) {
    throw_in_the_way(name, std::string("and ") + why);
  }
  if (status.st_nlink != 1) {
    throw_in_the_way(name, "and has another name as well");
  }
}

}  // namespace

// Suffixes of one length, so that both short names begin alike.
std::string partial_path(const std::string& target, int folder) {
  return path_beside(target, ".partial", folder);
}
std::string journal_path(const std::string& target, int folder) {
  return path_beside(target, ".journal", folder);
}

Descriptor open_own_file(int folder, const std::string& file, const std::string& name,
                         int more_flags) {
  Descriptor descriptor(openat(folder, file.c_str(), open_flags | more_flags, S_IRUSR | S_IWUSR));
  if (descriptor.is_open()) {
    check_own(descriptor.number(), name);
  } else if (errno == ELOOP) {
    throw_in_the_way(name, "and is a symbolic link");
  } else if (errno == EISDIR || errno == ENXIO || errno == ENODEV) {
    throw_in_the_way(name, "and is not a regular file");
  } else if (errno == EACCES) {
    throw_in_the_way(name, "and cannot be opened: " + std::string(std::strerror(errno)));
  } else if (errno != ENOENT) {
    throw_errno(name);
  }
  return descriptor;
}

ResumableFiles::ResumableFiles(int folder, std::string file, std::string path)
    : folder_(folder), file_(std::move(file)), name_(std::move(path)) {
  lock_journal();
  try {
    read_header();
    partial_ = open_own_file(folder_, partial_file(), partial_name());
    if (partial_.is_open() && journal_is_new_) {
      throw_in_the_way(partial_name(), "and no journal of an interrupted run lies beside it");
    }
  } catch (...) {
    if (journal_is_new_) {
      (void)unlinkat(folder_, journal_file().c_str(), 0);
    }
    throw;
  }
}

ResumableFiles::~ResumableFiles() {
  if (journal_.is_open() && journal_is_new_ && !in_use_) {
    (void)unlinkat(folder_, journal_file().c_str(), 0);
  }
}

// A new file that is not known to be this user's alone would be refused by the next run: whoever
// puts another journal in its place decides the key that a run continues with.
void ResumableFiles::open_journal() {
  const std::string file = journal_file();
  const std::string name = journal_name();
  journal_ =
      Descriptor(openat(folder_, file.c_str(), open_flags | O_CREAT | O_EXCL, S_IRUSR | S_IWUSR));
  if (!journal_.is_open()) {
    if (errno != EEXIST) {
      throw_errno(name);
    }
    journal_ = open_own_file(folder_, file, name);
    return;
  }
  const char* const why = why_not_own(status_of(journal_.number(), name));
  if (why != nullptr) {
    (void)unlinkat(folder_, file.c_str(), 0);
    throw Error(ErrorCode::usage,
                name_ + ": on its file system a new file " + why + ", which --resume does not take",
                "leave out --resume, or mount it so that files are yours alone (umask=022)");
  }
}

// The lock is on the file, and a run that ends removes its name: what was locked must still be what
// the name says.
void ResumableFiles::lock_journal() {
  const std::string file = journal_file();
  const std::string name = journal_name();
  for (;;) {
    open_journal();
    if (!journal_.is_open()) {
      continue;  // it has just lost its name
    }
    if (flock(journal_.number(), LOCK_EX | LOCK_NB) != 0) {
      if (errno == EWOULDBLOCK) {
        throw Error(ErrorCode::failure, name_ + ": another run with --resume is writing it");
      }
      throw_errno(name);
    }
    struct stat named = {};
    if (fstatat(folder_, file.c_str(), &named, AT_SYMLINK_NOFOLLOW) == 0 &&
        identity_of(named) == identity_of(status_of(journal_.number(), name))) {
      return;
    }
  }
}

// An empty journal, or one that a power loss left without its contents, was never used.
void ResumableFiles::read_header() {
  JournalHeader header = {};
  const iovec to = {header.data(), header.size()};
  const std::size_t got =
      read_file_at(journal_.number(), 0, std::span(&to, 1), journal_name(), nullptr);
  if (header == JournalHeader{}) {
    journal_is_new_ = true;
  } else if (!claims_to_be_journal(Bytes(header).first(got))) {
    throw_in_the_way(journal_name(), "and is not a journal of paes");
  } else if (got == header.size()) {
    found_ = header;
  }
}

void ResumableFiles::take_up() {
  protect();
  in_use_ = true;
}

void ResumableFiles::protect() const noexcept {
  (void)fchmod(partial_.number(), S_IRUSR | S_IWUSR);
}

// Between any two steps an interruption leaves either nothing that looks like a partial file, or a
// journal that does not fit it, or both as they should be.
void ResumableFiles::start(const JournalHeader& header, std::uint64_t stripes, std::uint64_t bytes,
                           Bytes head) {
  const std::string name = journal_name();
  if (partial_.is_open()) {
    if (unlinkat(folder_, partial_file().c_str(), 0) != 0) {
      throw_errno(partial_name());
    }
    partial_ = Descriptor();
    sync_folder();
  }
  found_.reset();
  const iovec all = {const_cast<std::uint8_t*>(header.data()), header.size()};
  if (ftruncate(journal_.number(), 0) != 0 ||
      !write_file_at(journal_.number(), 0, std::span(&all, 1))) {
    throw_errno(name);
  }
  // So that a full disk does not keep what was done from being recorded.
  (void)fallocate(journal_.number(), 0, 0,
                  static_cast<off_t>(header.size() + stripes * sizeof(JournalRecord)));
  if (fsync(journal_.number()) != 0) {
    throw_errno(name);
  }
  sync_folder();
  partial_ = Descriptor(
      openat(folder_, partial_file().c_str(), open_flags | O_CREAT | O_EXCL, S_IRUSR | S_IWUSR));
  if (!partial_.is_open()) {
    const int error = errno;
    finish();
    errno = error;
    throw_errno(partial_name());
  }
  in_use_ = true;
  try {
    check_own(partial_.number(), partial_name());
    const iovec from = {const_cast<std::uint8_t*>(head.data()), head.size()};
    if (ftruncate(partial_.number(), static_cast<off_t>(bytes)) != 0 ||
        !write_file_at(partial_.number(), 0, std::span(&from, 1))) {
      throw_errno(partial_name());
    }
  } catch (...) {
    remove();
    throw;
  }
}

std::uint64_t ResumableFiles::partial_bytes() const {
  return static_cast<std::uint64_t>(status_of(partial_.number(), partial_name()).st_size);
}

void ResumableFiles::sync_folder() const {
  if (const int error = paes::sync_folder(folder_, journal_.number()); error != 0) {
    errno = error;
    throw_errno(name_ + ": its folder could not be synced");
  }
}

void ResumableFiles::finish() noexcept {
  (void)unlinkat(folder_, journal_file().c_str(), 0);
  in_use_ = false;
  journal_is_new_ = false;
}

void ResumableFiles::remove() noexcept {
  (void)unlinkat(folder_, partial_file().c_str(), 0);
  (void)paes::sync_folder(folder_, journal_.number());
  finish();
}

}  // namespace paes::stream
