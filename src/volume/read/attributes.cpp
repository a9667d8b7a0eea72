// SPDX-License-Identifier: Apache-2.0
#include "volume/read/attributes.hpp"

#include <algorithm>
#include <cerrno>

#include "crypto/libcrypto.hpp"

namespace paes::volume {

namespace {

constexpr std::size_t max_attribute_name_bytes = 255;  // xattr(7)

}  // namespace

bool is_acl(std::string_view attribute) noexcept {
  return attribute == "system.posix_acl_access" || attribute == "system.posix_acl_default";
}

Result<std::string> stored_attribute(const Volume& volume, std::string_view attribute) {
  if (is_acl(attribute)) {
    return std::string(attribute);
  }
  if (attribute.empty() || attribute.size() > max_attribute_name_bytes ||
      attribute.find('\0') != std::string_view::npos) {
    return Errno(EOPNOTSUPP);
  }
  std::string stored = volume.names().encode_attribute(attribute);
  if (stored.size() > max_attribute_name_bytes) {
    return Errno(EOPNOTSUPP);
  }
  return stored;
}

Result<std::vector<std::uint8_t>> read_attribute(const Volume& volume, FileRef file,
                                                 std::string_view attribute,
                                                 std::string_view path) {
  const Result<std::string> name = stored_attribute(volume, attribute);
  if (!name) {
    return name.error();
  }
  const Result<std::string> stored = volume.backing().attribute(file, name->c_str());
  if (!stored) {
    return volume.failed(path, "attribute " + *name, stored.error());
  }
  const Bytes value = libcrypto::bytes_of(*stored);
  if (is_acl(attribute)) {
    return std::vector<std::uint8_t>(value.begin(), value.end());
  }
  std::optional<std::vector<std::uint8_t>> opened = vault::open_attribute(volume.content(), value);
  if (!opened) {
    volume.report({std::string(path), "attribute " + *name + " is not authentic"});
    return Errno(EIO);
  }
  return std::move(*opened);
}

Result<std::vector<std::string>> list_attributes(const Volume& volume, FileRef file,
                                                 std::string_view path) {
  const Result<std::string> stored = volume.backing().attribute_names(file);
  if (!stored) {
    return volume.failed(path, "the list of attributes", stored.error());
  }
  std::vector<std::string> names;
  for (std::string_view rest = *stored; !rest.empty();) {
    const std::string_view name = rest.substr(0, rest.find('\0'));
    rest.remove_prefix(std::min(rest.size(), name.size() + 1));
    if (is_acl(name)) {
      names.emplace_back(name);
      continue;
    }
    if (!name.starts_with(vault::attribute_prefix)) {
      continue;
    }
    std::optional<std::string> decoded = volume.names().decode_attribute(name);
    // Before 2.0, gocryptfs encrypted ACLs, too. No system finds those, so that they are out of
    // use, and nobody wants to hear of them.
    if (decoded && is_acl(*decoded)) {
      continue;
    }
    if (!decoded) {
      volume.report(
          {std::string(path), "the name of attribute " + std::string(name) + " is damaged"});
      continue;
    }
    names.push_back(std::move(*decoded));
  }
  return names;
}

}  // namespace paes::volume
