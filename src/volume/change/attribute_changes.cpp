// SPDX-License-Identifier: Apache-2.0
#include "volume/change/attribute_changes.hpp"

#include <sys/stat.h>

#include <cerrno>

#include "volume/read/attributes.hpp"

namespace paes::volume {

namespace {

constexpr std::string_view capabilities = "security.capability";

}  // namespace

Result<void> set_attribute(const Volume& volume, FileRef file, std::string_view attribute,
                           Bytes value, int flags) {
  const Result<std::string> stored = stored_attribute(volume, attribute);
  if (!stored) {
    return stored.error();
  }
  if (is_acl(attribute)) {
    return volume.backing().set_attribute(file, stored->c_str(), value, flags);
  }
  const std::vector<std::uint8_t> sealed = vault::seal_attribute(volume.content(), value);
  return volume.backing().set_attribute(file, stored->c_str(), sealed, flags);
}

Result<void> remove_attribute(const Volume& volume, FileRef file, std::string_view attribute) {
  const Result<std::string> stored = stored_attribute(volume, attribute);
  return stored ? volume.backing().remove_attribute(file, stored->c_str()) : stored.error();
}

Result<void> remove_privileges(const Volume& volume, FileRef file) {
  const Result<struct stat> status = volume.backing().status(file);
  if (!status) {
    return status.error();
  }
  if (S_ISDIR(status->st_mode)) {
    return {};
  }
  mode_t mode = status->st_mode & ~static_cast<mode_t>(S_IFMT | S_ISUID);
  if ((mode & S_IXGRP) != 0) {
    mode &= ~static_cast<mode_t>(S_ISGID);
  }
  if (mode != (status->st_mode & ~static_cast<mode_t>(S_IFMT))) {
    if (const Result<void> done = volume.backing().set_mode(file, mode); !done) {
      return done;
    }
  }
  if (!S_ISREG(status->st_mode)) {
    return {};  // nothing else has attributes of users, as which this one is stored
  }
  const Result<void> removed = remove_attribute(volume, file, capabilities);
  if (removed.failed_with(ENODATA, EOPNOTSUPP)) {
    return {};
  }
  if (!removed.failed_with(EPERM, EACCES)) {
    return removed;
  }
  // Who may not write to the file is told so even if it has no such attribute.
  const Result<std::string> stored = stored_attribute(volume, capabilities);
  return stored && volume.backing().attribute(file, stored->c_str()) ? removed : Result<void>();
}

}  // namespace paes::volume
