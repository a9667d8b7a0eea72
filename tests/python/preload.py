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

# Fails with EIO the call with the number $FAIL_AT among those of fsync, syncfs and unlink, or from that
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
COUNT(unlink, const char*)
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

# Once there is a file $DEAF, each thread that could read from /dev/fuse gets an error once.
DEAF = r"""
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
static __thread int has_failed = 0;
ssize_t read(int descriptor, void *into, size_t bytes) {
  struct stat opened, fuse;
  if (!has_failed && fstat(descriptor, &opened) == 0 && stat("/dev/fuse", &fuse) == 0 &&
      opened.st_rdev == fuse.st_rdev) {
    struct pollfd readable = {descriptor, POLLIN, 0};
    if (poll(&readable, 1, -1) < 0) return -1;
    if (access(getenv("DEAF"), F_OK) == 0) {
      has_failed = 1;
      errno = ENOMEM;
      return -1;
    }
  }
  return syscall(SYS_read, descriptor, into, bytes);
}
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

# At the end, the file $REQUESTS gets a line "OPCODE COUNT" for each kind of request of /dev/fuse.
REQUESTS = r"""
#define _GNU_SOURCE
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
static _Atomic long counts[64];
ssize_t read(int descriptor, void *into, size_t bytes) {
  const ssize_t count = syscall(SYS_read, descriptor, into, bytes);
  if (count >= 40 && bytes > 65536) {  // nothing else reads so much at once
    const uint32_t opcode = ((const uint32_t *)into)[1];
    if (opcode < 64) ++counts[opcode];
  }
  return count;
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

# The system refuses the first THREADS threads that are asked for.
THREADS_REFUSED = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
static int calls = 0;
int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*), void* argument) {
  int (*real)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*) = dlsym(RTLD_NEXT, "pthread_create");
  return calls++ < THREADS ? EAGAIN : real(thread, attributes, run, argument);
}
"""
