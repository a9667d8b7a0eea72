// SPDX-License-Identifier: Apache-2.0
// The folder that a vault is mounted on: what speaks against it is said before anybody is asked for
// a passphrase.
#pragma once

#include <string>

#include "core/descriptor.hpp"

namespace paes::mount {

// Absolute paths without symbolic links.
struct MountPaths {
  std::string vault;
  std::string mountpoint;
  Descriptor place;  // the folder that the latter led to, open (O_PATH)
};

// Throws Error(failure) unless both are folders, neither of them lies in the other, and the
// mountpoint is empty or `may_have_files`. A mountpoint whose last mount has lost its process gets
// a hint. Throws Error(failure) if this user cannot mount at all.
[[nodiscard]] MountPaths check_paths(const std::string& vault, const std::string& mountpoint,
                                     bool may_have_files);

// Throws Error(failure) if the system lets this user not mount for others, too.
void check_may_allow_others();

// Throws Error(failure) if `is_wanted` and this user is not root: files with the set-user-ID bit
// and device files are worth what their owner is, and an ordinary user makes them at will.
void check_may_allow(bool is_wanted, const char* option);

}  // namespace paes::mount
