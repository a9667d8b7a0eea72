# Libraries for LD_PRELOAD, which make other file systems out of the one there is. The fixture
# `preloaded` of conftest.py compiles them.

# A file system without a ctime of its own, which shows the mtime in its place; with -DNAMED it makes
# no files without a name either.
FORGETFUL = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
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

# A file system that says it is of the kind KIND.
OF_A_KIND = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/vfs.h>
int fstatfs(int file, struct statfs* status) {
  int (*real)(int, struct statfs*) = dlsym(RTLD_NEXT, "fstatfs");
  int result = real(file, status);
  status->f_type = KIND;
  return result;
}
"""
