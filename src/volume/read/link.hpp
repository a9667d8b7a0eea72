// SPDX-License-Identifier: Apache-2.0
// Symbolic links of a volume.
#pragma once

#include <string>
#include <string_view>

#include "volume/read/volume.hpp"

namespace paes::volume {

// The target of a link of the backing tree. EIO if it is damaged, after `path` has been reported.
[[nodiscard]] Result<std::string> read_link(const Volume& volume, EntryRef entry,
                                            std::string_view path);

// The target of the link of the backing tree that has this one in the volume. Fails as symlink(2)
// for what no link can have.
[[nodiscard]] Result<std::string> stored_target(const Volume& volume, std::string_view target);

// What stat(2) says of the length of something in a volume, from what it says of the same in the
// backing tree: the length of a file's text or of a link's target. A link is read only where its
// length alone does not tell that of the target.
[[nodiscard]] std::uint64_t length_of(const Volume& volume, const struct stat& backing,
                                      EntryRef entry);

}  // namespace paes::volume
