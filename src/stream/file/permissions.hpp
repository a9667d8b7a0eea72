// SPDX-License-Identifier: Apache-2.0
// Who may read and write a file, as far as its mode and its ACL say. Some file systems have no
// permission bits: they refuse to set them, or report success and set nothing.
#pragma once

#include <sys/stat.h>

#include <string>

namespace paes::stream {

// The permission bits with which a file without an ACL lets in nobody whom this open file shuts
// out. They are those of the file's mode. But if it has an ACL, the mode's bits for the group are
// the ACL's mask; they are then reduced to what the owning group may do. `status` is the file's.
[[nodiscard]] mode_t permissions_of(int descriptor, const struct stat& status) noexcept;
// Does the same for a folder or file that is not open.
[[nodiscard]] mode_t permissions_of(const std::string& path, const struct stat& status) noexcept;

// Sets the permission bits of a file, and checks what the file has then. If others have more access
// than `wanted` gives them, as on a file system without such bits, the answer says why; otherwise
// it is empty. Throws Error(failure) "NAME: why" if the system fails.
[[nodiscard]] std::string set_permissions(int descriptor, mode_t wanted, const std::string& name);

}  // namespace paes::stream
