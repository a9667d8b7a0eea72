// SPDX-License-Identifier: Apache-2.0
// A disk for power failures: a FUSE file system with the files "disk" and "marks". A loop device
// lies on "disk", and a file system of the machine on that. Every write and every flush of the disk
// goes into a log, in their order; what is written to "marks" goes there, too, so that a test can
// say what had been promised when. disks.py makes the disk of any moment from the log.
//
// Requests are answered one at a time, so that a write that was answered before a flush stands
// before it in the log.
#define FUSE_USE_VERSION 31

#include <fcntl.h>
#include <fuse.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string_view>

namespace {

constexpr const char* disk_path = "/disk";
constexpr const char* marks_path = "/marks";
constexpr int set_io_flusher = 57;  // PR_SET_IO_FLUSHER, Linux 5.6

// Fixed in main(), before there is a request.
int image = -1;
int log_file = -1;

// What stands in the log before `bytes` bytes of content: "W" a write, "F" a flush, "M" a mark.
struct RecordHead {
  std::uint64_t kind;
  std::uint64_t offset;
  std::uint64_t bytes;
};

bool is(const char* path, const char* name) { return std::string_view(path) == name; }

template <typename Call>
int written_whole(std::size_t bytes, const Call& call) {
  std::size_t done = 0;
  while (done < bytes) {
    const ssize_t now = call(done);
    if (now < 0 && errno != EINTR) {
      return -errno;
    }
    done += now < 0 ? 0 : static_cast<std::size_t>(now);
  }
  return 0;
}

int append(const void* from, std::size_t bytes) {
  const auto* const begin = static_cast<const char*>(from);
  return written_whole(
      bytes, [&](std::size_t done) { return ::write(log_file, begin + done, bytes - done); });
}

int record(char kind, std::uint64_t offset, const char* content, std::size_t bytes) {
  const RecordHead head = {static_cast<std::uint64_t>(kind), offset, bytes};
  const int error = append(&head, sizeof head);
  return error != 0 || bytes == 0 ? error : append(content, bytes);
}

int getattr(const char* path, struct stat* status, fuse_file_info* /*file*/) {
  *status = {};
  if (is(path, "/")) {
    status->st_mode = S_IFDIR | 0700;
    status->st_nlink = 2;
    return 0;
  }
  if (!is(path, disk_path) && !is(path, marks_path)) {
    return -ENOENT;
  }
  if (is(path, disk_path) && fstat(image, status) != 0) {
    return -errno;
  }
  status->st_mode = S_IFREG | 0600;
  status->st_nlink = 1;
  return 0;
}

int readdir(const char* path, void* list, fuse_fill_dir_t add, off_t /*offset*/,
            fuse_file_info* /*file*/, fuse_readdir_flags /*flags*/) {
  if (!is(path, "/")) {
    return -ENOTDIR;
  }
  for (const char* const name : std::array{disk_path, marks_path}) {
    add(list, name + 1, nullptr, 0, fuse_fill_dir_flags{});
  }
  return 0;
}

int open(const char* path, fuse_file_info* file) {
  file->direct_io = 1;
  return is(path, disk_path) || is(path, marks_path) ? 0 : -ENOENT;
}

int read(const char* path, char* to, std::size_t bytes, off_t offset, fuse_file_info* /*file*/) {
  if (!is(path, disk_path)) {
    return 0;
  }
  const ssize_t got = pread(image, to, bytes, offset);
  return got < 0 ? -errno : static_cast<int>(got);
}

int write(const char* path, const char* from, std::size_t bytes, off_t offset,
          fuse_file_info* /*file*/) {
  int error = 0;
  if (is(path, marks_path)) {
    error = record('M', 0, from, bytes);
  } else {
    error = record('W', static_cast<std::uint64_t>(offset), from, bytes);
    if (error == 0) {
      error = written_whole(bytes, [&](std::size_t done) {
        return pwrite(image, from + done, bytes - done, offset + static_cast<off_t>(done));
      });
    }
  }
  return error != 0 ? error : static_cast<int>(bytes);
}

int truncate(const char* path, off_t /*bytes*/, fuse_file_info* /*file*/) {
  return is(path, marks_path) ? 0 : -EPERM;
}

int fsync(const char* path, int /*data_only*/, fuse_file_info* /*file*/) {
  return is(path, disk_path) ? record('F', 0, nullptr, 0) : 0;
}

void* init(fuse_conn_info* /*connection*/, fuse_config* configuration) {
  configuration->attr_timeout = 3600;
  configuration->entry_timeout = 3600;
  return nullptr;
}

fuse_operations operations() {
  fuse_operations calls = {};
  calls.getattr = getattr;
  calls.readdir = readdir;
  calls.open = open;
  calls.read = read;
  calls.write = write;
  calls.truncate = truncate;
  calls.fsync = fsync;
  calls.init = init;
  return calls;
}

}  // namespace

int main(int count, char** words) {
  if (count != 4) {
    (void)std::fprintf(stderr, "Usage: logged_disk IMAGE LOG FOLDER\n");
    return 2;
  }
  image = ::open(words[1], O_RDWR | O_CLOEXEC);
  log_file = ::open(words[2], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (image < 0 || log_file < 0) {
    (void)std::fprintf(stderr, "logged_disk: %s: %s\n", words[image < 0 ? 1 : 2],
                       std::strerror(errno));
    return 1;
  }
  // The system may want memory back by writing to the disk that this program is. So it is never
  // told to wait for that.
  (void)prctl(set_io_flusher, 1, 0, 0, 0);
  (void)mlockall(MCL_CURRENT);
  const fuse_operations calls = operations();
  std::array<char*, 6> arguments = {words[0],
                                    const_cast<char*>("-f"),
                                    const_cast<char*>("-s"),
                                    const_cast<char*>("-o"),
                                    const_cast<char*>("fsname=logged_disk"),
                                    words[3]};
  return fuse_main(static_cast<int>(arguments.size()), arguments.data(), &calls, nullptr);
}
