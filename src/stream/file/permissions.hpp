// SPDX-License-Identifier: Apache-2.0
// Who may read and write a file, as far as its mode and its ACL say. Some file systems have no
// permission bits: they refuse to set them, or report success and set nothing.
#pragma once

#include <sys/stat.h>

#include <string>

namespace paes::stream {

// The permission bits of an open file that an ordinary file needs to let in as many and no more.
// They are its mode's, but with an ACL the mode has the ACL's mask in the place of what the owning
// group may do. `status` is the file's.
[[nodiscard]] mode_t permissions_of(int descriptor, const struct stat& status) noexcept;
// Does the same for a folder or file that is not open.
[[nodiscard]] mode_t permissions_of(const std::string& path, const struct stat& status) noexcept;

// Sets the permission bits of a file, and looks what became of them. If the file system has none,
// this is an error only to others who got more access than they should: then the answer says why,
// else it is empty. Throws Error(failure) "NAME: why" if the system fails.
[[nodiscard]] std::string set_permissions(int descriptor, mode_t wanted, const std::string& name);

}  // namespace paes::stream
