// SPDX-License-Identifier: Apache-2.0
// The names of a folder of the backing tree, as they are stored.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "volume/read/backing.hpp"

namespace paes::volume {

struct StoredEntry {
  std::string_view name;  // followed by a zero byte; valid during the call
  std::uint64_t inode = 0;
  unsigned char type = 0;  // DT_* of readdir(3), perhaps DT_UNKNOWN
};

// Calls `visit` with each entry that Backing::entries has given, except "." and "..", until it
// fails, and fails as that has. EIO where these are no entries.
[[nodiscard]] Result<void> for_each_entry(
    Bytes entries, const std::function<Result<void>(const StoredEntry&)>& visit);

// Calls `visit` with each entry of a folder, as for_each_entry() does.
[[nodiscard]] Result<void> for_each_stored(
    const Backing& backing, FolderRef folder,
    const std::function<Result<void>(const StoredEntry&)>& visit);

}  // namespace paes::volume
