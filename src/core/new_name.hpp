// SPDX-License-Identifier: Apache-2.0
// Gives a complete file its own name in one step, without ever replacing another file. File systems
// differ in the calls that they have for this. Where there is none, an empty file holds the name
// first; new_name.cpp says what can then go wrong.
#pragma once

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <string>

namespace paes {

// musl, with which the Python package runs as well, has no function for it.
inline int call_renameat2(int from, const char* name, int to, const char* new_name,
                          unsigned flags) noexcept {
#ifdef __GLIBC__
  return renameat2(from, name, to, new_name, flags);
#else
  return static_cast<int>(syscall(SYS_renameat2, from, name, to, new_name, flags));
#endif
}

// The calls that not every file system has. What makes or names a file takes them from here, so
// that a test can refuse each of them.
struct NewFileCalls {
  // Written out, because with _FORTIFY_SOURCE newer C libraries overload it for clang.
  int (*open_unnamed)(int, const char*, int, ...) = openat;  // with O_TMPFILE
  decltype(&linkat) link = linkat;
  decltype(&call_renameat2) rename = call_renameat2;  // with RENAME_NOREPLACE
};
inline constexpr NewFileCalls system_calls{};

// True if this errno of linkat(2) or renameat2(2) means that the file system, or a policy of the
// system, has no such call for these files. Another call may then do the same.
[[nodiscard]] bool is_refusal(int error) noexcept;

struct RenameOutcome {
  int error = 0;     // an errno, EEXIST among them; 0: the file has its new name
  int kept_old = 0;  // an errno: the old name could not be removed, so the file has both
  // After an error, the file's present name, relative to the same folder as `from`, if a trial gave
  // it one of ours and could not undo that. Usually empty.
  std::string moved_to = {};
};

// Renames `from` to `to`, both relative to `folder`, unless something has the name `to`. A crash
// may leave the file with both names.
[[nodiscard]] RenameOutcome rename_to_new_name(int folder, const std::string& from,
                                               const std::string& to,
                                               const NewFileCalls& calls = system_calls) noexcept;

}  // namespace paes
