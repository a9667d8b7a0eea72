#include "volume/link.hpp"

#include <cerrno>

namespace paes::volume {

Result<std::string> read_link(const Volume& volume, int folder, const char* stored,
                              std::string_view path) {
  Result<std::string> target = volume.backing().link_target(folder, stored);
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
    return Failure{EIO};
  }
  return std::move(*opened);
}

std::uint64_t length_of(const Volume& volume, const struct stat& backing) noexcept {
  const auto stored = static_cast<std::uint64_t>(backing.st_size);
  if (S_ISREG(backing.st_mode)) {
    return volume.content().layout().text_length(stored);
  }
  if (S_ISLNK(backing.st_mode) && !volume.features().has_plaintext_names) {
    return vault::link_target_length(volume.content(), stored, volume.features());
  }
  return stored;
}

}  // namespace paes::volume
