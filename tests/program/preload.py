# SPDX-License-Identifier: Apache-2.0
# Libraries for LD_PRELOAD, which make other file systems out of the one there is, let calls fail, and
# kill at the worst moment. The fixture `preloaded` of conftest.py compiles them.

# The beginning of a library; with -DNAMED, its file system makes no files without a name.
OPENAT = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#ifdef NAMED
int openat(int folder, const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  if ((flags & O_TMPFILE) == O_TMPFILE) {
    errno = EOPNOTSUPP;
    return -1;
  }
  int (*real)(int, const char*, int, ...) = dlsym(RTLD_NEXT, "openat");
  return real(folder, path, flags, mode);
}
#endif
"""

# A file system without a ctime of its own, which shows the mtime in its place.
FORGETFUL = OPENAT + """
#include <sys/stat.h>
#define FORGET(name, parameters, arguments, ctime, mtime)       \\
  int name parameters {                                         \\
    int (*real) parameters = dlsym(RTLD_NEXT, #name);           \\
    int result = real arguments;                                \\
    if (result == 0) status->ctime = status->mtime;             \\
    return result;                                              \\
  }
FORGET(stat, (const char* path, struct stat* status), (path, status), st_ctim, st_mtim)
FORGET(lstat, (const char* path, struct stat* status), (path, status), st_ctim, st_mtim)
FORGET(fstat, (int file, struct stat* status), (file, status), st_ctim, st_mtim)
FORGET(fstatat, (int folder, const char* path, struct stat* status, int flags),
       (folder, path, status, flags), st_ctim, st_mtim)
FORGET(statx, (int folder, const char* path, int flags, unsigned mask, struct statx* status),
       (folder, path, flags, mask, status), stx_ctime, stx_mtime)
"""

# A file system whose times of change are whole multiples of 10 ms.
COARSE = FORGETFUL.replace(
    "status->ctime = status->mtime", "status->ctime.tv_nsec -= status->ctime.tv_nsec % 10000000")

# A file system without permission bits, where all may do all: the call that sets them reports success.
MODELESS = OPENAT + """
#include <sys/stat.h>
int fchmod(int file, mode_t mode) { return 0; }
#define OPEN_TO_ALL(name, parameters, arguments)                             \\
  int name parameters {                                                      \\
    int (*real) parameters = dlsym(RTLD_NEXT, #name);                        \\
    int result = real arguments;                                             \\
    if (result == 0 && S_ISREG(status->st_mode)) status->st_mode |= 0777;    \\
    return result;                                                           \\
  }
OPEN_TO_ALL(stat, (const char* path, struct stat* status), (path, status))
OPEN_TO_ALL(lstat, (const char* path, struct stat* status), (path, status))
OPEN_TO_ALL(fstat, (int file, struct stat* status), (file, status))
OPEN_TO_ALL(fstatat, (int folder, const char* path, struct stat* status, int flags),
            (folder, path, status, flags))
"""

# A file system that gives no file a second name (errno LINK), or renames none with flags (errno RENAME).
LINKLESS = OPENAT + """
#ifdef LINK
int linkat(int from, const char* path, int to, const char* to_path, int flags) {
  errno = LINK;
  return -1;
}
#endif
#ifdef RENAME
int renameat2(int from, const char* path, int to, const char* to_path, unsigned flags) {
  errno = RENAME;
  return -1;
}
#endif
"""

# A file system that locks nothing.
LOCKLESS = """
#include <errno.h>
int flock(int file, int how) {
  errno = ENOLCK;
  return -1;
}
"""

# A file system on which a name in capitals leads to the file in small letters. With -DNUMBERS_CHANGE it gives a file
# another number each time that its name is looked up.
CASELESS = """
#define _GNU_SOURCE
#include <ctype.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#define REAL(call) __typeof__(call)* real = dlsym(RTLD_NEXT, #call)
/* The path itself if it leads to something, or with its last name in small letters of Latin-1 in UTF-8. */
static const char* small(int folder, const char* path, char* to) {
  struct stat status;
  REAL(fstatat);
  if (strlen(path) > 4000 || real(folder, path, &status, AT_SYMLINK_NOFOLLOW) == 0) return path;
  char* name = strrchr(strcpy(to, path), '/');
  for (name = name == NULL ? to : name; *name != 0; ++name) {
    int is_second = name != to && name[-1] == '\\303' && (*name & 0xff) < 0x9f;
    *name = is_second ? *name | 0x20 : isupper(*name & 0x7f) && (*name & 0x80) == 0 ? tolower(*name) : *name;
  }
  return to;
}
int stat(const char* path, struct stat* status) {
  char to[4096];
  REAL(stat);
  return real(small(AT_FDCWD, path, to), status);
}
int fstatat(int folder, const char* path, struct stat* status, int flags) {
  char to[4096];
  REAL(fstatat);
  int result = real(folder, small(folder, path, to), status, flags);
#ifdef NUMBERS_CHANGE
  static _Atomic unsigned long number = 1UL << 40;
  if (result == 0 && S_ISREG(status->st_mode)) status->st_ino = ++number;
#endif
  return result;
}
int openat(int folder, const char* path, int flags, ...) {
  char to[4096];
  REAL(openat);
  va_list rest;
  va_start(rest, flags);
  mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return real(folder, small(folder, path, to), flags, mode);
}
int linkat(int from_folder, const char* from, int folder, const char* path, int flags) {
  char to[4096];
  REAL(linkat);
  return real(from_folder, from, folder, small(folder, path, to), flags);
}
int renameat(int from_folder, const char* from, int folder, const char* path) {
  char to[4096];
  REAL(renameat);
  return real(from_folder, from, folder, small(folder, path, to));
}
"""

# A file system that says it is of the kind KIND, or with -DUNKNOWN one that says nothing about its blocks.
CLAIMING = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/vfs.h>
int fstatfs(int file, struct statfs* status) {
  int (*real)(int, struct statfs*) = dlsym(RTLD_NEXT, "fstatfs");
  int result = real(file, status);
#ifdef KIND
  status->f_type = KIND;
#endif
#ifdef UNKNOWN
  status->f_blocks = status->f_bfree = status->f_bavail = 0;
#endif
  return result;
}
"""

# With CLAIMING: a folder that takes no file, except those of --resume.
UNWRITABLE = """
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
int openat(int folder, const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  if ((flags & O_TMPFILE) == O_TMPFILE || ((flags & O_CREAT) && strncmp(path, ".paes-", 6) == 0)) {
    errno = EROFS;
    return -1;
  }
  int (*real)(int, const char*, int, ...) = dlsym(RTLD_NEXT, "openat");
  return real(folder, path, flags, mode);
}
"""

# Fails with EIO the call with the number $FAIL_AT among those of fsync, syncfs and unlinkat, or from that
# one on all if $FAIL_AT ends with "-". The file $CALLS gets the name of each.
FAILING = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static int calls = 0;
static int fails(const char* name) {
  FILE* file = fopen(getenv("CALLS"), "a");
  fprintf(file, "%s\\n", name);
  fclose(file);
  const char* at = getenv("FAIL_AT");
  ++calls;
  if (strchr(at, '-') ? calls < atoi(at) : calls != atoi(at)) return 0;
  errno = EIO;
  return 1;
}
#define COUNT(name, type)                        \\
  int name(type argument) {                      \\
    int (*real)(type) = dlsym(RTLD_NEXT, #name); \\
    return fails(#name) ? -1 : real(argument);   \\
  }
COUNT(fsync, int)
COUNT(syncfs, int)
int unlinkat(int folder, const char* path, int flags) {
  int (*real)(int, const char*, int) = dlsym(RTLD_NEXT, "unlinkat");
  return fails("unlinkat") ? -1 : real(folder, path, flags);
}
"""

# Adds a line to the file $CALLS for each sync that succeeds: the device and the number of what is synced, or of a whole
# file system its device and 0.
NOTED_SYNCS = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
static int note(int result, int file, int is_whole) {
  struct stat status;
  if (result != 0 || fstat(file, &status) != 0) return result;
  FILE *calls = fopen(getenv("CALLS"), "a");
  fprintf(calls, "%lu %lu\n", (unsigned long)status.st_dev, is_whole ? 0 : (unsigned long)status.st_ino);
  fclose(calls);
  return result;
}
#define NOTE(name, is_whole)                               \
  int name(int file) {                                     \
    int (*real)(int) = dlsym(RTLD_NEXT, #name);            \
    return note(real(file), file, is_whole);               \
  }
NOTE(fsync, 0)
NOTE(fdatasync, 0)
NOTE(syncfs, 1)
"""

# Adds a byte to the file $CALLS for each entry of a folder that is read.
READING = """
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
struct dirent* readdir(DIR* folder) {
  struct dirent* (*real)(DIR*) = dlsym(RTLD_NEXT, "readdir");
  FILE* file = fopen(getenv("CALLS"), "a");
  fputc('.', file);
  fclose(file);
  return real(folder);
}
"""

# Lets the call that $FAILS names fail for the file that is standard output: "fsync", "close", or "sync"
# for an fsync that says that there is nothing to sync.
LATE = r"""
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static int fails(const char *call, int descriptor) {
  const char *wanted = getenv("FAILS");
  struct stat one, output;
  const char *letter = wanted;
  for (; wanted != NULL && *letter != 0 && *letter == *call; ++letter, ++call) {
  }
  return wanted != NULL && *letter == 0 && *call == 0 && fstat(descriptor, &one) == 0 &&
         fstat(1, &output) == 0 && one.st_ino == output.st_ino && one.st_dev == output.st_dev;
}

int fsync(int descriptor) {
  if (fails("fsync", descriptor)) {
    errno = EIO;
    return -1;
  }
  if (fails("sync", descriptor)) {
    errno = EINVAL;  // nothing to sync there
    return -1;
  }
  return (int)syscall(SYS_fsync, descriptor);
}

int close(int descriptor) {
  const int late = fails("close", descriptor);
  const int result = (int)syscall(SYS_close, descriptor);
  if (late) {
    errno = ENOSPC;
    return -1;
  }
  return result;
}
"""

# Once there is a file $DEAF, each thread that could receive a request gets an error once.
DEAF = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
static __thread int has_failed = 0;
static int fails(void) {
  if (has_failed || access(getenv("DEAF"), F_OK) != 0) return 0;
  has_failed = 1;
  errno = ENOMEM;
  return 1;
}
ssize_t read(int descriptor, void *into, size_t bytes) {
  ssize_t (*real)(int, void *, size_t) = dlsym(RTLD_NEXT, "read");
  struct stat opened, fuse;
  if (!has_failed && fstat(descriptor, &opened) == 0 && stat("/dev/fuse", &fuse) == 0 &&
      opened.st_rdev == fuse.st_rdev) {
    struct pollfd readable = {descriptor, POLLIN, 0};
    if (poll(&readable, 1, -1) < 0 || fails()) return -1;
  }
  return real(descriptor, into, bytes);
}
long syscall(long number, ...) {
  long (*real)(long, long, long, long, long, long, long) = dlsym(RTLD_NEXT, "syscall");
  long a[6];
  __builtin_va_list rest;
  __builtin_va_start(rest, number);
  for (int i = 0; i < 6; ++i) a[i] = __builtin_va_arg(rest, long);
  __builtin_va_end(rest);
  if (number == SYS_io_uring_enter && fails()) return -1;
  return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
"""

# With -DREFUSED=ENOSYS or another error, the system sets no ring up. With -DSLOW, it does so only after
# half a second. With -DFOREIGN, it refuses what a ring asks of the mount, because that is not connected
# to it.
RINGLESS = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>
long syscall(long number, ...) {
  long (*real)(long, long, long, long, long, long, long) = dlsym(RTLD_NEXT, "syscall");
  long a[6];
  __builtin_va_list rest;
  __builtin_va_start(rest, number);
  for (int i = 0; i < 6; ++i) a[i] = __builtin_va_arg(rest, long);
  __builtin_va_end(rest);
#ifdef REFUSED
  if (number == SYS_io_uring_setup) {
    errno = REFUSED;
    return -1;
  }
#endif
#ifdef SLOW
  if (number == SYS_io_uring_setup) usleep(500000);
#endif
#ifdef FOREIGN
  const int register_files = 2;
  if (number == SYS_io_uring_register && a[1] == register_files) {
    *(int *)a[2] = open("/dev/fuse", O_RDWR | O_CLOEXEC);
  }
#endif
  return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
"""

# A sync takes until there is a file $SYNCED. At its beginning it makes the file $SYNCS.
SLOW_TO_SYNC = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
static int sync_late(const char *name, int file) {
  int (*real)(int) = dlsym(RTLD_NEXT, name);
  close(open(getenv("SYNCS"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  while (access(getenv("SYNCED"), F_OK) != 0) usleep(1000);
  return real(file);
}
int fsync(int file) { return sync_late("fsync", file); }
int fdatasync(int file) { return sync_late("fdatasync", file); }
"""

# Dies at the call with the number $CALL of those that change files and names: within a write, of which $PART
# thousandths are done, or before any other call.
KILLED_AT = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>
static int is_the_one(void) {
  static _Atomic long count;
  return ++count == atol(getenv("CALL"));
}
static void die(void) {
  kill(getpid(), SIGKILL);
  for (;;) pause();
}
ssize_t pwrite(int file, const void *from, size_t bytes, off_t offset) {
  ssize_t (*real)(int, const void *, size_t, off_t) = dlsym(RTLD_NEXT, "pwrite");
  if (is_the_one()) {
    (void)!real(file, from, bytes * (size_t)atol(getenv("PART")) / 1000, offset);
    die();
  }
  return real(file, from, bytes, offset);
}
int openat(int folder, const char *path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  if ((flags & O_CREAT) && is_the_one()) die();
  int (*real)(int, const char *, int, ...) = dlsym(RTLD_NEXT, "openat");
  return real(folder, path, flags, mode);
}
#define BEFORE(name, parameters, arguments)           \
  int name parameters {                               \
    if (is_the_one()) die();                          \
    int (*real) parameters = dlsym(RTLD_NEXT, #name); \
    return real arguments;                            \
  }
BEFORE(ftruncate, (int file, off_t bytes), (file, bytes))
BEFORE(mkdirat, (int folder, const char *path, mode_t mode), (folder, path, mode))
BEFORE(unlinkat, (int folder, const char *path, int flags), (folder, path, flags))
BEFORE(renameat2, (int from, const char *path, int to, const char *to_path, unsigned flags),
       (from, path, to, to_path, flags))
"""

# Counts the calls with which a mount reaches its vault, and fails the one with the number that the file $FAULTS has. That
# file is shared memory: calls so far, the number, whether all from that number on fail, the errno, how many have failed,
# and the name of the first of those. An errno other than EIO is for calls that may take room. With 0, writes alone are
# counted, and the one says that it has written all, which it has not.
FAILING_AT = r"""
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>
static struct {
  _Atomic long counted, at, goes_on, error, failed;
  char name[24];
} *faults;
__attribute__((constructor)) static void map(void) {
  const int file = open(getenv("FAULTS"), O_RDWR);
  faults = mmap(0, sizeof *faults, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
}
// What may find no room, and what finds none on a file system that stays full.
enum { ANY_CALL, ROOM_ONCE, ROOM_ALWAYS };
static int fails(const char *name, int takes_room) {
  if (faults->error != EIO && takes_room < (faults->goes_on ? ROOM_ALWAYS : ROOM_ONCE)) return 0;
  if (faults->error == 0 && strcmp(name, "pwrite") != 0) return 0;
  const long number = ++faults->counted;
  if (faults->at == 0 || number < faults->at || (number > faults->at && !faults->goes_on)) return 0;
  if (faults->failed++ == 0) strcpy(faults->name, name);
  errno = (int)faults->error;
  return 1;
}
#define FAILING(result, name, takes_room, failed, parameters, arguments) \
  result name parameters {                                              \
    if (fails(#name, takes_room)) return failed;                        \
    result(*real) parameters = dlsym(RTLD_NEXT, #name);                 \
    return real arguments;                                              \
  }
#define ANY(name, parameters, arguments) FAILING(int, name, ANY_CALL, -1, parameters, arguments)
#define ONCE(name, parameters, arguments) FAILING(int, name, ROOM_ONCE, -1, parameters, arguments)
#define ROOM(name, parameters, arguments) FAILING(int, name, ROOM_ALWAYS, -1, parameters, arguments)
#define ANY_BYTES(name, parameters, arguments) FAILING(ssize_t, name, ANY_CALL, -1, parameters, arguments)
// A file system that is full still writes where the file has bytes already.
ssize_t pwrite(int file, const void *from, size_t bytes, off_t offset) {
  ssize_t (*real)(int, const void *, size_t, off_t) = dlsym(RTLD_NEXT, "pwrite");
  struct stat status;
  off_t fit = 0;
  if (faults->goes_on && fstat(file, &status) == 0) fit = status.st_size - offset;
  if (fit >= (off_t)bytes || !fails("pwrite", ROOM_ALWAYS)) return real(file, from, bytes, offset);
  if (fit > 0) return real(file, from, (size_t)fit, offset);
  return faults->error == 0 ? (ssize_t)bytes : -1;
}
int fallocate(int file, int mode, off_t offset, off_t bytes) {
  int (*real)(int, int, off_t, off_t) = dlsym(RTLD_NEXT, "fallocate");
  const int makes_hole = (mode & FALLOC_FL_PUNCH_HOLE) != 0;
  return fails("fallocate", makes_hole ? ROOM_ONCE : ROOM_ALWAYS) ? -1 : real(file, mode, offset, bytes);
}
ROOM(mkdirat, (int folder, const char *path, mode_t mode), (folder, path, mode))
ROOM(mknodat, (int folder, const char *path, mode_t mode, dev_t device), (folder, path, mode, device))
ROOM(symlinkat, (const char *target, int folder, const char *path), (target, folder, path))
ROOM(linkat, (int from, const char *path, int to, const char *to_path, int flags),
     (from, path, to, to_path, flags))
ROOM(renameat2, (int from, const char *path, int to, const char *to_path, unsigned flags),
     (from, path, to, to_path, flags))
ROOM(fsetxattr, (int file, const char *name, const void *value, size_t bytes, int flags),
     (file, name, value, bytes, flags))
ROOM(setxattr, (const char *path, const char *name, const void *value, size_t bytes, int flags),
     (path, name, value, bytes, flags))
ONCE(fsync, (int file), (file))
ONCE(fdatasync, (int file), (file))
ONCE(syncfs, (int file), (file))
ONCE(ftruncate, (int file, off_t bytes), (file, bytes))
ANY(fstatat, (int folder, const char *path, struct stat *status, int flags), (folder, path, status, flags))
ANY(fstatfs, (int file, struct statfs *status), (file, status))
ANY(fstatvfs, (int file, struct statvfs *status), (file, status))
ANY(unlinkat, (int folder, const char *path, int flags), (folder, path, flags))
ANY(chmod, (const char *path, mode_t mode), (path, mode))
ANY(fchmod, (int file, mode_t mode), (file, mode))
ANY(fchownat, (int folder, const char *path, uid_t user, gid_t group, int flags),
    (folder, path, user, group, flags))
ANY(utimensat, (int folder, const char *path, const struct timespec *times, int flags),
    (folder, path, times, flags))
ANY(fremovexattr, (int file, const char *name), (file, name))
ANY(removexattr, (const char *path, const char *name), (path, name))
ANY_BYTES(pread, (int file, void *into, size_t bytes, off_t offset), (file, into, bytes, offset))
ANY_BYTES(readlinkat, (int folder, const char *path, char *into, size_t bytes), (folder, path, into, bytes))
ANY_BYTES(fgetxattr, (int file, const char *name, void *into, size_t bytes), (file, name, into, bytes))
ANY_BYTES(getxattr, (const char *path, const char *name, void *into, size_t bytes), (path, name, into, bytes))
ANY_BYTES(flistxattr, (int file, char *into, size_t bytes), (file, into, bytes))
ANY_BYTES(listxattr, (const char *path, char *into, size_t bytes), (path, into, bytes))
FAILING(off_t, lseek, ANY_CALL, -1, (int file, off_t offset, int from), (file, offset, from))
int openat(int folder, const char *path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  if (fails(flags & O_CREAT ? "openat to create" : "openat", flags & O_CREAT ? ROOM_ALWAYS : ANY_CALL)) return -1;
  int (*real)(int, const char *, int, ...) = dlsym(RTLD_NEXT, "openat");
  return real(folder, path, flags, mode);
}
long syscall(long number, ...) {
  va_list rest;
  va_start(rest, number);
  long words[6];
  for (int i = 0; i < 6; ++i) words[i] = va_arg(rest, long);
  va_end(rest);
  if (number == SYS_getdents64 && fails("getdents64", ANY_CALL)) return -1;
  long (*real)(long, ...) = dlsym(RTLD_NEXT, "syscall");
  return real(number, words[0], words[1], words[2], words[3], words[4], words[5]);
}
"""

# A system before Linux 6.6, which has no fchmodat2.
NO_FCHMODAT2 = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
long syscall(long number, ...) {
  va_list rest;
  va_start(rest, number);
  long words[6];
  for (int i = 0; i < 6; ++i) words[i] = va_arg(rest, long);
  va_end(rest);
  if (number == 452) {
    errno = ENOSYS;
    return -1;
  }
  long (*real)(long, ...) = dlsym(RTLD_NEXT, "syscall");
  return real(number, words[0], words[1], words[2], words[3], words[4], words[5]);
}
"""

# A file system that says it has written, and of long writes every second time has not.
LOSING = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdatomic.h>
#include <unistd.h>
ssize_t pwrite(int file, const void *from, size_t bytes, off_t offset) {
  ssize_t (*real)(int, const void *, size_t, off_t) = dlsym(RTLD_NEXT, "pwrite");
  static _Atomic long count;
  // Nothing but whole texts: whoever misses a header or a part of a block finds damage instead.
  const int is_text = offset > 0 && bytes > 8192;
  return is_text && ++count % 2 == 0 ? (ssize_t)bytes : real(file, from, bytes, offset);
}
"""

# At the end, the file $REQUESTS gets a line "OPCODE COUNT" for each kind of request of the system.
REQUESTS = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
static _Atomic long counts[64];
struct request { size_t size; int flags; void *text; };  // the beginning of libfuse's fuse_buf
void fuse_session_process_buf(void *session, const struct request *request) {
  void (*real)(void *, const struct request *) = dlsym(RTLD_NEXT, "fuse_session_process_buf");
  const uint32_t opcode = ((const uint32_t *)request->text)[1];
  if (opcode < 64) ++counts[opcode];
  real(session, request);
}
__attribute__((destructor)) static void tell(void) {
  FILE *file = fopen(getenv("REQUESTS"), "w");
  for (int i = 0; i < 64; ++i) {
    if (counts[i] != 0) fprintf(file, "%d %ld\n", i, counts[i]);
  }
  fclose(file);
}
"""

# The first thread goes on a second late after each wait that has a limit.
LATE_TO_WAKE = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>
int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                           const struct timespec* end) {
  int (*real)(pthread_cond_t*, pthread_mutex_t*, clockid_t, const struct timespec*) =
      dlsym(RTLD_NEXT, "pthread_cond_clockwait");
  const int result = real(condition, mutex, clock, end);
  if (gettid() == getpid()) {
    const struct timespec late = {1, 0};
    pthread_mutex_unlock(mutex);
    nanosleep(&late, 0);
    pthread_mutex_lock(mutex);
  }
  return result;
}
"""

# Stops at the end, after everything else of the program.
STOPPED = """
#include <signal.h>
__attribute__((destructor)) static void stop(void) { raise(SIGSTOP); }
"""

# Dies as it calls what -DFUNCTION="name" says.
KILLED = OPENAT + """
#include <signal.h>
#include <unistd.h>
#ifdef FUNCTION
int die(void) __asm__(FUNCTION);
int die(void) {
  kill(getpid(), SIGKILL);
  return -1;
}
#endif
"""

# The file $LOG is the system's log.
LOGGING = """
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
static void append(const char* format, va_list rest) {
  FILE* file = fopen(getenv("LOG"), "a");
  vfprintf(file, format, rest);
  fputc('\\n', file);
  fclose(file);
}
#define LOG(name, parameters)     \\
  void name parameters {          \\
    va_list rest;                 \\
    va_start(rest, format);       \\
    append(format, rest);         \\
    va_end(rest);                 \\
  }
LOG(syslog, (int priority, const char* format, ...))
LOG(__syslog_chk, (int priority, int flag, const char* format, ...))
"""

# The system refuses THREADS threads, the first ones that are asked for or those after -DAFTER others.
THREADS_REFUSED = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#ifndef AFTER
#define AFTER 0
#endif
static int calls = 0;
int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*), void* argument) {
  int (*real)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*) = dlsym(RTLD_NEXT, "pthread_create");
  const int call = calls++;
  return call >= AFTER && call < AFTER + THREADS ? EAGAIN : real(thread, attributes, run, argument);
}
"""

# Storage that takes its time, so that a run can be interrupted in the middle.
SLOW = OPENAT + """
#include <sys/uio.h>
#include <unistd.h>
ssize_t pwritev(int file, const struct iovec* from, int count, off_t offset) {
  ssize_t (*real)(int, const struct iovec*, int, off_t) = dlsym(RTLD_NEXT, "pwritev");
  usleep(10000);
  return real(file, from, count, offset);
}
ssize_t pwritev64(int file, const struct iovec* from, int count, off_t offset) {
  return pwritev(file, from, count, offset);
}
"""

# The sync of a partial file fails once, as where a disk has lost what it took. Another sync would succeed, and whoever
# then writes to a journal is ended with code 99.
LOST_AT_THE_END = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
static int is_lost;
static int ends_with(int file, const char* end) {
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  const long got = readlink(link, path, sizeof path);
  const long bytes = (long)strlen(end);
  return got > bytes && memcmp(path + got - bytes, end, bytes) == 0;
}
int fsync(int file) {
  if (!is_lost && ends_with(file, ".partial")) {
    is_lost = 1;
    errno = EIO;
    return -1;
  }
  return ((int (*)(int))dlsym(RTLD_NEXT, "fsync"))(file);
}
ssize_t pwrite64(int file, const void* from, size_t bytes, off_t offset) {
  if (is_lost && ends_with(file, ".journal")) {
    _exit(99);
  }
  return ((ssize_t (*)(int, const void*, size_t, off_t))dlsym(RTLD_NEXT, "pwrite64"))(file, from, bytes, offset);
}
ssize_t pwrite(int file, const void* from, size_t bytes, off_t offset) { return pwrite64(file, from, bytes, offset); }
"""
