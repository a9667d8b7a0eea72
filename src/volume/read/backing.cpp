// SPDX-License-Identifier: Apache-2.0
#include "volume/read/backing.hpp"

#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <vector>

#include "volume/read/system_calls.hpp"

namespace paes::volume {

namespace {

// The attribute calls take no descriptor that is open as a mere place. The path of the same
// descriptor in /proc leads to the same file, also where that is a symbolic link.
template <typename OfDescriptor, typename OfPath>
ssize_t attribute_call(FileRef file, const OfDescriptor& of_descriptor, const OfPath& of_path) {
  const ssize_t answer = of_descriptor();
  if (answer >= 0 || errno != EBADF) {
    return answer;
  }
  const ssize_t by_path = of_path(path_of_descriptor(file.number()).c_str());
  if (by_path < 0 && errno == ENOENT) {
    errno = EOPNOTSUPP;  // there is no /proc
  }
  return by_path;
}

// What `call` writes into a buffer, of which it says the length when it is called without one.
// Somebody may change the value between two calls.
template <typename Call>
Result<std::string> sized_value(const Call& call) {
  std::string value(256, '\0');
  for (;;) {
    const ssize_t bytes = call(value.data(), value.size());
    if (bytes >= 0) {
      value.resize(static_cast<std::size_t>(bytes));
      return value;
    }
    if (errno != ERANGE) {
      return Errno(errno);
    }
    const ssize_t needed = call(nullptr, 0);
    if (needed < 0) {
      return Errno(errno);
    }
    value.resize(static_cast<std::size_t>(needed) + 1);
  }
}

Result<std::uint64_t> found_by_seek(FileRef file, std::uint64_t offset, int what) {
  const Result<off_t> found =
      try_call([&] { return lseek(file.number(), static_cast<off_t>(offset), what); });
  return found ? Result<std::uint64_t>(static_cast<std::uint64_t>(*found)) : found.error();
}

}  // namespace

Result<Descriptor> Backing::open(FolderRef folder, const char* name, int flags) const {
  return try_open([&] { return openat(folder.number(), name, flags | O_NOFOLLOW | O_CLOEXEC); });
}

Result<Descriptor> Backing::open_again(FileRef file, int flags) const {
  if ((flags & O_PATH) != 0) {
    return try_open([&] { return fcntl(file.number(), F_DUPFD_CLOEXEC, 0); });
  }
  // The path in /proc leads to a symbolic link itself, but O_NOFOLLOW would take the path for one.
  const std::string path = path_of_descriptor(file.number());
  return try_open([&] { return ::open(path.c_str(), flags | O_CLOEXEC); });
}

Result<struct stat> Backing::status(EntryRef entry) const {
  struct stat status = {};
  constexpr int flags = AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH;
  if (fstatat(entry.base(), entry.name(), &status, flags) != 0) {
    return Errno(errno);
  }
  return status;
}

Result<std::size_t> Backing::read(FileRef file, std::uint64_t offset, MutableBytes into) const {
  std::size_t done = 0;
  while (done < into.size()) {
    const Result<ssize_t> bytes = try_call([&] {
      return pread(file.number(), into.data() + done, into.size() - done,
                   static_cast<off_t>(offset + done));
    });
    if (!bytes) {
      return bytes.error();
    }
    if (*bytes == 0) {
      break;
    }
    done += static_cast<std::size_t>(*bytes);
  }
  return done;
}

Result<std::uint64_t> Backing::next_data(FileRef file, std::uint64_t offset) const {
  return found_by_seek(file, offset, SEEK_DATA);
}

Result<std::uint64_t> Backing::next_hole(FileRef file, std::uint64_t offset) const {
  return found_by_seek(file, offset, SEEK_HOLE);
}

Result<std::string> Backing::link_target(EntryRef entry) const {
  char target[PATH_MAX];
  const ssize_t bytes = readlinkat(entry.base(), entry.name(), target, sizeof target);
  if (bytes < 0) {
    return Errno(errno);
  }
  return std::string(target, static_cast<std::size_t>(bytes));
}

Result<std::size_t> Backing::entries(FolderRef folder, MutableBytes into) const {
  const Result<long> bytes =
      try_call([&] { return syscall(SYS_getdents64, folder.number(), into.data(), into.size()); });
  return bytes ? Result<std::size_t>(static_cast<std::size_t>(*bytes)) : bytes.error();
}

Result<void> Backing::rewind(FolderRef folder) const {
  return Result<void>(found_by_seek(folder, 0, SEEK_SET));
}

Result<std::string> Backing::attribute(FileRef file, const char* name) const {
  return sized_value([&](char* into, std::size_t bytes) {
    return attribute_call(
        file, [&] { return fgetxattr(file.number(), name, into, bytes); },
        [&](const char* path) { return getxattr(path, name, into, bytes); });
  });
}

Result<std::string> Backing::attribute_names(FileRef file) const {
  return sized_value([&](char* into, std::size_t bytes) {
    return attribute_call(
        file, [&] { return flistxattr(file.number(), into, bytes); },
        [&](const char* path) { return listxattr(path, into, bytes); });
  });
}

Result<struct statvfs> Backing::file_system(FileRef file) const {
  struct statvfs status = {};
  const Result<void> asked = try_to([&] { return fstatvfs(file.number(), &status); });
  return asked ? Result<struct statvfs>(status) : asked.error();
}

}  // namespace paes::volume
