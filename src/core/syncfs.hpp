// SPDX-License-Identifier: Apache-2.0
// What a sync of a whole file system (syncfs) says.
#pragma once

namespace paes {

// Whether syncfs(2) is known to report, for the file system of an open file, each write that has
// failed since the descriptor was opened: a local file system that keeps the errors itself, on
// Linux 5.8 or later. False for one that lies on top of another, as overlayfs does, because the
// errors belong to the one below. False also where a server or a program keeps the files, and for
// all that are not known: sync each file there.
[[nodiscard]] bool syncfs_reports_errors(int descriptor) noexcept;

}  // namespace paes
