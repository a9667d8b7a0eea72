// SPDX-License-Identifier: Apache-2.0
#include "volume/read/link.hpp"

#include <cerrno>

namespace paes::volume {

Result<std::string> read_link(const Volume& volume, EntryRef entry, std::string_view path) {
  Result<std::string> target = volume.backing().link_target(entry);
  if (!target) {
    return volume.failed(path, "the link", target.error());
  }
  if (volume.features().has_plaintext_names) {
    return target;
  }
  std::optional<std::string> opened =
      vault::open_link_target(volume.content(), *target, volume.features());
  if (!opened) {
    volume.report({std::string(path), "the link's target is not authentic"});
    return Errno(EIO);
  }
  return std::move(*opened);
}

Result<std::string> stored_target(const Volume& volume, std::string_view target) {
  if (target.empty() || target.find('\0') != std::string_view::npos) {
    return Errno(target.empty() ? ENOENT : EINVAL);
  }
  if (target.size() > vault::block_bytes) {
    return Errno(ENAMETOOLONG);
  }
  return volume.features().has_plaintext_names
             ? std::string(target)
             : vault::seal_link_target(volume.content(), target, volume.features());
}

namespace {

std::uint64_t link_length(const Volume& volume, std::uint64_t stored_bytes, EntryRef entry) {
  const vault::Features& features = volume.features();
  if (!features.has_plaintext_names && !features.has_raw_base64) {
    // A link that cannot be read, perhaps because its name is gone by now, can still be looked at
    // and removed, so its length is no more than inexact.
    if (const Result<std::string> target = volume.backing().link_target(entry)) {
      return vault::link_target_length(volume.content(), *target, features);
    }
  }
  return vault::link_target_length(volume.content(), stored_bytes, features);
}

}  // namespace

std::uint64_t length_of(const Volume& volume, const struct stat& backing, EntryRef entry) {
  const auto stored_bytes = static_cast<std::uint64_t>(backing.st_size);
  if (S_ISREG(backing.st_mode)) {
    return volume.content().layout().text_length(stored_bytes);
  }
  return S_ISLNK(backing.st_mode) ? link_length(volume, stored_bytes, entry) : stored_bytes;
}

}  // namespace paes::volume
