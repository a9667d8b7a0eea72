// SPDX-License-Identifier: Apache-2.0
// The names of a folder of the backing tree, as they are stored.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "volume/read/backing.hpp"

namespace paes::volume {

struct Stored {
  std::string_view name;  // followed by a zero byte; valid during the call
  std::uint64_t inode = 0;
  unsigned char type = 0;  // DT_* of readdir(3), perhaps DT_UNKNOWN
};

// Calls `visit` with each entry that Backing::entries has given, except "." and "..", until the
// answer is another number than 0. That number is the answer here too; or EIO, where these are no
// entries; or 0.
[[nodiscard]] int for_each_entry(Bytes entries, const std::function<int(const Stored&)>& visit);

// The same for all of a folder. The answer may be an errno, where the folder cannot be listed.
[[nodiscard]] int for_each_stored(const Backing& backing, int folder,
                                  const std::function<int(const Stored&)>& visit);

}  // namespace paes::volume
