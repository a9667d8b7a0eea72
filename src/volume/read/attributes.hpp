// SPDX-License-Identifier: Apache-2.0
// Extended attributes of a volume's files and folders. Their names and values are encrypted, but
// for POSIX ACLs, which the backing file system has to understand.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "volume/read/volume.hpp"

namespace paes::volume {

// Whether the attribute is stored as it is.
[[nodiscard]] bool is_acl(std::string_view attribute) noexcept;

// Under which name an attribute is stored. EOPNOTSUPP for one that cannot be: an empty name, or one
// that is too long.
[[nodiscard]] Result<std::string> stored_attribute(const Volume& volume,
                                                   std::string_view attribute);

// ENODATA if there is no such attribute, and EIO if its value is damaged. Damage is reported with
// `path` and the attribute's stored name: a report may go to a log, where no plain text belongs.
[[nodiscard]] Result<std::vector<std::uint8_t>> read_attribute(const Volume& volume, FileRef file,
                                                               std::string_view attribute,
                                                               std::string_view path);

// The names of all attributes. Damaged ones are reported and left out. Those that are no part of
// the volume are left out, and so are encrypted ACLs, which old versions of gocryptfs have left
// over.
[[nodiscard]] Result<std::vector<std::string>> list_attributes(const Volume& volume, FileRef file,
                                                               std::string_view path);

}  // namespace paes::volume
