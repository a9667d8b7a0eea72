// SPDX-License-Identifier: Apache-2.0
// A complete file gets its own name in one step, and never takes the place of another file, where
// the file system has a call for that. File systems differ in the calls that they have. On one that
// has none, an empty file holds the name first: new_name.cpp says what can then go wrong.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <string>

namespace paes {

// The calls that not every file system has. What makes or names a file takes them from here, so
// that a test can refuse each of them.
struct NewFileCalls {
  decltype(&openat) open_unnamed = openat;  // with O_TMPFILE
  decltype(&linkat) link = linkat;
  decltype(&renameat2) rename = renameat2;  // with RENAME_NOREPLACE
};
inline constexpr NewFileCalls system_calls{};

// Whether this errno of linkat(2) or renameat2(2) says that the file system, or a policy of the
// system, has no such call for these files. Another way may then do the same.
[[nodiscard]] bool is_refusal(int error) noexcept;

struct Renamed {
  int error = 0;     // an errno, EEXIST among them; 0: the file has its new name
  int kept_old = 0;  // an errno: the file has its old name as well, which could not be removed
  // With an error: the name of ours that the file has now, counted as `from`; mostly empty. It went
  // there for a trial and could not go back.
  std::string moved_to = {};
};

// Renames `from` to `to`, both in `folder` (or counted from it), unless something has the name
// `to`. Two names of one file may be left by a crash.
[[nodiscard]] Renamed rename_to_new_name(int folder, const std::string& from, const std::string& to,
                                         const NewFileCalls& calls = system_calls) noexcept;

}  // namespace paes
