// SPDX-License-Identifier: Apache-2.0
#include "core/new_name.hpp"

#include <sys/stat.h>

#include <cerrno>
#include <utility>

#include "core/descriptor.hpp"

namespace paes {

namespace {

// A folder in which nobody can rename (it is append-only, or lost its permissions meanwhile) causes
// the errors of a file system without these calls. So try a rename to one of our own names first,
// before a file that may have to stay gets the user's name. Do not try it with an empty file,
// because that would stay in an append-only folder.
RenameOutcome try_rename(int folder, const std::string& from) noexcept {
  std::string trial = from.substr(0, from.rfind('/') + 1) + new_temporary_name();
  if (renameat(folder, from.c_str(), folder, trial.c_str()) != 0) {
    return {errno};
  }
  if (renameat(folder, trial.c_str(), folder, from.c_str()) != 0) {
    return {errno, 0, std::move(trial)};
  }
  return {};
}

// An empty file of ours holds the name until the rename, which replaces whatever has the name then.
// No call does both steps at once, so three risks remain. Whoever replaces the holder after we have
// looked loses that file. Whoever has opened the holder by its name writes into a file that goes
// away. A crash between the steps leaves the empty holder.
int rename_over_holder(int folder, const std::string& from, const std::string& to) noexcept {
  struct stat made = {};
  {
    // Some servers do not rename onto an open file.
    const Descriptor holder(openat(folder, to.c_str(),
                                   O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                                   S_IRUSR | S_IWUSR));
    if (!holder.is_open() || fstat(holder.number(), &made) != 0) {
      return errno;
    }
  }
  const auto is_holder = [&] {
    struct stat named = {};
    return fstatat(folder, to.c_str(), &named, AT_SYMLINK_NOFOLLOW) == 0 &&
           named.st_dev == made.st_dev && named.st_ino == made.st_ino && named.st_size == 0;
  };
  if (!is_holder()) {
    return EEXIST;
  }
  if (renameat(folder, from.c_str(), folder, to.c_str()) == 0) {
    return 0;
  }
  const int error = errno;
  if (is_holder()) {
    (void)unlinkat(folder, to.c_str(), 0);
  }
  return error;
}

}  // namespace

bool is_refusal(int error) noexcept {
  switch (error) {
    case EPERM:
    case EACCES:
    case EINVAL:
    case ENOSYS:
    case EOPNOTSUPP:
    case EXDEV:
    case EMLINK:
      return true;
    default:
      return false;
  }
}

RenameOutcome rename_to_new_name(int folder, const std::string& from, const std::string& to,
                                 const NewFileCalls& calls) noexcept {
  if (calls.rename(folder, from.c_str(), folder, to.c_str(), RENAME_NOREPLACE) == 0) {
    return {};
  }
  if (!is_refusal(errno)) {
    return {errno};
  }
  if (calls.link(folder, from.c_str(), folder, to.c_str(), 0) == 0) {
    return {0, unlinkat(folder, from.c_str(), 0) == 0 ? 0 : errno};
  }
  if (!is_refusal(errno)) {
    return {errno};
  }
  RenameOutcome tried = try_rename(folder, from);
  if (tried.error == 0) {
    tried.error = rename_over_holder(folder, from, to);
  }
  return tried;
}

}  // namespace paes
