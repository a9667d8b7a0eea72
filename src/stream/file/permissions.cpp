// SPDX-License-Identifier: Apache-2.0
#include "stream/file/permissions.hpp"

#include <linux/posix_acl_xattr.h>
#include <sys/xattr.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <functional>

#include "core/bytes.hpp"
#include "core/descriptor.hpp"
#include "stream/file/file_identity.hpp"

namespace paes::stream {

namespace {

constexpr const char* access_acl = "system.posix_acl_access";
constexpr std::uint16_t owning_group = 0x04;  // ACL_GROUP_OBJ

constexpr mode_t others_access = S_IRGRP | S_IWGRP | S_IROTH | S_IWOTH;

// The attribute is a header and an array of entries, both little-endian.
std::uint16_t load_le16(const std::uint8_t* from) noexcept {
  return static_cast<std::uint16_t>(from[0] | from[1] << 8);
}

// What an ACL lets the owning group do, before its mask. Nothing if the ACL does not say.
mode_t rights_of_owning_group(Bytes acl) noexcept {
  constexpr std::size_t header_bytes = sizeof(posix_acl_xattr_header);
  constexpr std::size_t entry_bytes = sizeof(posix_acl_xattr_entry);
  for (std::size_t at = header_bytes; at + entry_bytes <= acl.size(); at += entry_bytes) {
    if (load_le16(acl.data() + at) == owning_group) {
      return (load_le16(acl.data() + at + 2) & 7U) << 3;
    }
  }
  return 0;
}

mode_t less_mask(const struct stat& status,
                 const std::function<ssize_t(void* to, std::size_t bytes)>& read_acl) noexcept {
  const mode_t mode = status.st_mode & 0777;
  if ((mode & S_IRWXG) == 0) {
    return mode;
  }
  std::array<std::uint8_t, 4096> acl;  // with a longer one, the group gets no rights
  const ssize_t bytes = read_acl(acl.data(), acl.size());
  if (bytes < 0) {
    const bool has_none = errno == ENODATA || errno == EOPNOTSUPP || errno == ENOSYS;
    return has_none ? mode : mode & ~static_cast<mode_t>(S_IRWXG);
  }
  const mode_t group = rights_of_owning_group(Bytes(acl).first(static_cast<std::size_t>(bytes)));
  return (mode & ~static_cast<mode_t>(S_IRWXG)) | (mode & group);
}

}  // namespace

mode_t permissions_of(int descriptor, const struct stat& status) noexcept {
  return less_mask(status, [&](void* to, std::size_t bytes) {
    return fgetxattr(descriptor, access_acl, to, bytes);
  });
}

mode_t permissions_of(const std::string& path, const struct stat& status) noexcept {
  return less_mask(status, [&](void* to, std::size_t bytes) {
    return getxattr(path.c_str(), access_acl, to, bytes);
  });
}

std::string set_permissions(int descriptor, mode_t wanted, const std::string& name) {
  const int error = fchmod(descriptor, wanted) == 0 ? 0 : errno;
  if (error != 0 && error != EPERM && error != EOPNOTSUPP && error != ENOSYS) {
    errno = error;
    throw_errno(name);
  }
  const struct stat status = status_of(descriptor, name);
  if ((status.st_mode & ~wanted & others_access) == 0) {
    return "";
  }
  return "other users have more access than they should, for its permissions could not be set: " +
         std::string(error != 0 ? std::strerror(error) : "the file system keeps none");
}

}  // namespace paes::stream
