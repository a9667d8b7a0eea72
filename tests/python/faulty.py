# More libraries for LD_PRELOAD (see the fixture `preloaded`): calls that fail, and a SIGKILL at the
# worst moment.

# Of the calls of fsync, syncfs and unlink the one with the number $FAIL_AT fails with EIO. The file
# $CALLS gets the name of each.
FAILING = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
static int calls = 0;
static int fails(const char* name) {
  FILE* file = fopen(getenv("CALLS"), "a");
  fprintf(file, "%s\\n", name);
  fclose(file);
  if (++calls != atoi(getenv("FAIL_AT"))) return 0;
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

# Dies as it calls what -DFUNCTION="name" says; with -DNAMED on a file system that makes no files
# without a name.
KILLED = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef FUNCTION
int die(void) __asm__(FUNCTION);
int die(void) {
  kill(getpid(), SIGKILL);
  return -1;
}
#endif
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

# A file system of the kind KIND, or with -DUNKNOWN one that says nothing about its blocks.
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
