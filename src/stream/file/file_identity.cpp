// SPDX-License-Identifier: Apache-2.0
#include "stream/file/file_identity.hpp"

#include "core/descriptor.hpp"

namespace paes::stream {

FileIdentity identity_of(const struct stat& status) noexcept {
  return S_ISBLK(status.st_mode) ? FileIdentity{status.st_rdev, 0}
                                 : FileIdentity{status.st_dev, status.st_ino};
}

struct stat status_of(int descriptor, const std::string& name) {
  struct stat status = {};
  if (fstat(descriptor, &status) != 0) {
    throw_errno(name);
  }
  return status;
}

bool is_storage(mode_t mode) noexcept { return S_ISREG(mode) || S_ISBLK(mode); }

}  // namespace paes::stream
