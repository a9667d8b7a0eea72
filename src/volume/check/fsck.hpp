// SPDX-License-Identifier: Apache-2.0
// The check of a volume, or of a part of it: every name, IV, header, block, link target, extended
// attribute and long name, on many threads. Nothing is changed.
//
// It finds all that gocryptfs -fsck finds, and counts a header that is cut short as damage, of
// which gocryptfs speaks without counting it. No folder can show one name twice: a stored name
// counts only if it is the one that its name is stored under. Permissions are no damage, and links
// may lead anywhere.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "exec/executor.hpp"
#include "volume/check/fsck_report.hpp"
#include "volume/read/volume.hpp"

namespace paes::volume {

// Throws Error(usage) for a path that the volume does not have, before anything else is checked.
// Paths count from the volume's root; none: everything. A path below a folder that is damaged
// itself is reported as that. A folder is open while what is in it is checked: about
// `most_folders` at a time, and those that lie deeper come later.
[[nodiscard]] FsckCounts fsck(const Volume& volume, const std::vector<std::string>& paths,
                              const Executor& executor, const FsckWatch& watch,
                              std::size_t most_folders = 512);

}  // namespace paes::volume
