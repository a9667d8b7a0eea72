// SPDX-License-Identifier: Apache-2.0
// What a sync of a whole file system reports.
#pragma once

namespace paes {

// True if syncfs(2), for an open file's file system, is known to report every write that has failed
// since the descriptor was opened: a local file system that keeps the errors itself, on Linux 5.8
// or later. False if it lies on top of another (overlayfs), because the errors belong to the lower
// one; if a server or a program keeps the files; and for any unknown file system. Sync each file
// there.
[[nodiscard]] bool syncfs_reports_errors(int descriptor) noexcept;

}  // namespace paes
