// SPDX-License-Identifier: Apache-2.0
#include "volume/read/volume_folder.hpp"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "volume/read/hidden_names.hpp"
#include "volume/read/listing.hpp"

namespace paes::volume {

namespace {

using vault::StoredKind;

constexpr int folder_flags = O_RDONLY | O_DIRECTORY;
// A pipe in the place of a file that the volume keeps for itself must not make anybody wait.
constexpr int own_file_flags = O_RDONLY | O_NONBLOCK | O_NOCTTY;

// That the process ran out of something says nothing about the volume.
bool is_shortage(Errno error) noexcept { return error.is(ENOMEM, EMFILE, ENFILE); }
bool is_forbidden(Errno error) noexcept { return error.is(EACCES, EPERM); }

// The whole of a small file. EFBIG if it is longer than `into`, ENXIO if it is not a regular file.
Result<std::size_t> read_own_file(const Backing& backing, FolderRef folder, const char* name,
                                  MutableBytes into) {
  const Result<Descriptor> file = backing.open(folder, name, own_file_flags);
  if (!file) {
    return file.error();
  }
  const Result<struct stat> status = backing.status(*file);
  if (!status) {
    return status.error();
  }
  if (!S_ISREG(status->st_mode)) {
    return Errno(ENXIO);
  }
  const Result<std::size_t> bytes = backing.read(*file, 0, into);
  if (bytes && *bytes == into.size()) {
    return Errno(EFBIG);
  }
  return bytes;
}

}  // namespace

std::string path_of(std::string_view folder, std::string_view name) {
  std::string path;
  path.reserve(folder.size() + 1 + name.size());
  path += folder;
  if (!folder.empty()) {
    path += '/';
  }
  path += name;
  return path;
}

Result<Folder> Folder::open(const Volume& volume, FolderRef parent, const char* stored,
                            std::string_view path) {
  const bool is_root = *stored == '\0';
  const FolderRef base = is_root ? volume.root() : parent;
  const char* const name = is_root ? "." : stored;
  Result<Descriptor> descriptor = volume.backing().open(base, name, folder_flags);
  if (descriptor.failed_with(EACCES)) {
    descriptor = volume.backing().open(base, name, O_PATH | O_DIRECTORY);
  }
  if (!descriptor) {
    return volume.failed(path, "the folder", descriptor.error());
  }
  Folder folder(volume, std::move(*descriptor), is_root);
  // Whoever removes a folder takes its name first, and then its IV.
  const auto has_lost_name = [&] {
    const Result<struct stat> named = volume.backing().status({base, name});
    const Result<struct stat> opened = volume.backing().status(folder.descriptor());
    return named.failed_with(ENOENT) ||
           (named && opened &&
            (named->st_dev != opened->st_dev || named->st_ino != opened->st_ino));
  };
  if (const Result<void> done = folder.read_iv(path, has_lost_name); !done) {
    return done.error();
  }
  return folder;
}

Result<void> Folder::read_iv(std::string_view path, const std::function<bool()>& has_lost_name) {
  const vault::Features& features = volume_->features();
  if (features.has_plaintext_names || !features.has_directory_ivs) {
    return {};
  }
  std::array<std::uint8_t, std::tuple_size_v<vault::FolderIv> + 1> read{};
  const Result<std::size_t> bytes = read_own_file(volume_->backing(), descriptor(),
                                                  std::string(vault::folder_iv_name).c_str(), read);
  const char* damage = nullptr;
  if (!bytes) {
    switch (bytes.error().number()) {
      case ENOENT:
        if (has_lost_name()) {
          return Errno(ENOENT);
        }
        damage = "gocryptfs.diriv is missing";
        break;
      case EFBIG:
        damage = "gocryptfs.diriv is too long";
        break;
      case ELOOP:
      case EISDIR:
      case ENXIO:
      case EAGAIN:
      case ESPIPE:
        damage = "gocryptfs.diriv is not a regular file";
        break;
      default:
        return volume_->failed(path, vault::folder_iv_name, bytes.error());
    }
  } else if (*bytes != iv_.size()) {
    damage = "gocryptfs.diriv is too short";
  } else {
    std::copy_n(read.begin(), iv_.size(), iv_.begin());
    if (iv_ == vault::FolderIv{}) {
      damage = "gocryptfs.diriv is all zero";
    }
  }
  if (damage != nullptr) {
    volume_->report({std::string(path), damage});
    return Errno(EIO);
  }
  return {};
}

StoredKind Folder::kind_of(std::string_view stored) const noexcept {
  const StoredKind kind = volume_->names().kind_of(stored);
  // In a volume without long names nothing else begins like this either.
  if (is_hidden(*volume_, stored)) {
    return StoredKind::long_name_file;
  }
  return kind == StoredKind::configuration && !is_root_ ? StoredKind::name : kind;
}

Result<StoredName> Folder::stored_name(std::string_view name) const {
  if (name.size() > vault::max_name_bytes) {
    return Errno(ENAMETOOLONG);
  }
  if (name.empty() || name == "." || name == ".." ||
      name.find_first_of(std::string_view("/\0", 2)) != std::string_view::npos) {
    return Errno(ENOENT);
  }
  if (volume_->features().has_plaintext_names) {
    if ((is_root_ && name == vault::configuration_name) || is_hidden(*volume_, name)) {
      return Errno(ENOENT);
    }
    return StoredName{std::string(name), {}};
  }
  const vault::NameCipher& names = volume_->names();
  std::string encoded = names.encode(name, iv_);
  if (names.is_long(encoded)) {
    std::string hashed = names.hashed(encoded);
    return StoredName{std::move(hashed), std::move(encoded)};
  }
  return StoredName{std::move(encoded), {}};
}

Result<std::string> Folder::name_of(std::string_view stored, std::string_view path) const {
  switch (kind_of(stored)) {
    case StoredKind::configuration:
    case StoredKind::folder_iv:
    case StoredKind::long_name_file:
      return Errno(ENOENT);
    case StoredKind::long_name:
      return long_name_of(stored, path);
    case StoredKind::name:
      break;
  }
  if (volume_->features().has_plaintext_names) {
    return std::string(stored);
  }
  std::optional<std::string> name = volume_->names().decode(stored, iv_);
  // Such a name would be looked for under its hash.
  if (!name || volume_->names().is_long(stored)) {
    volume_->report({path_of(path, stored), "the name is damaged"});
    return Errno(EIO);
  }
  return std::move(*name);
}

Result<std::string> Folder::long_name_of(std::string_view stored, std::string_view path) const {
  const auto damaged = [&](std::string what) {
    volume_->report({path_of(path, stored), std::move(what)});
    return Errno(EIO);
  };
  const std::string beside = std::string(stored) + std::string(vault::long_name_suffix);
  std::array<std::uint8_t, vault::max_encoded_name_bytes + 1> read;
  const Result<std::size_t> bytes =
      read_own_file(volume_->backing(), descriptor(), beside.c_str(), read);
  if (!bytes) {
    const Errno error = bytes.error();
    if (is_shortage(error) || is_forbidden(error)) {
      return error;
    }
    if (error.is(EFBIG)) {
      return damaged("the file of its long name is too long");
    }
    if (error.is(ENXIO)) {
      return damaged("the file of its long name is not a regular file");
    }
    if (!error.is(ENOENT)) {
      return damaged("the file of its long name cannot be read: " + error.message());
    }
    // Whoever removes something removes this file last.
    const Result<struct stat> status =
        volume_->backing().status({descriptor(), std::string(stored).c_str()});
    if (status.failed_with(ENOENT)) {
      return Errno(ENOENT);
    }
    return damaged("the file of its long name is missing");
  }
  const std::string_view encoded(reinterpret_cast<const char*>(read.data()), *bytes);
  const vault::NameCipher& names = volume_->names();
  std::optional<std::string> name = names.decode(encoded, iv_);
  if (!name) {
    return damaged("the file of its long name is damaged");
  }
  if (!names.is_long(encoded) || names.hashed(encoded) != stored) {
    return damaged("the file of its long name holds another name");
  }
  return std::move(*name);
}

Result<void> Folder::list(std::string_view path,
                          const std::function<void(FolderEntry)>& visit) const {
  const auto show = [&](const StoredEntry& stored) -> Result<void> {
    Result<std::string> name = name_of(stored.name, path);
    if (name) {
      visit({std::move(*name), std::string(stored.name), stored.inode, stored.type});
    } else if (is_shortage(name.error())) {
      return name.error();
    }
    return {};
  };
  const Result<void> listed = for_each_stored(volume_->backing(), descriptor(), show);
  if (listed) {
    return {};
  }
  // EBADF: the folder is open as a mere place, because it may not be listed.
  return volume_->failed(path, "the folder",
                         listed.failed_with(EBADF) ? Errno(EACCES) : listed.error());
}

}  // namespace paes::volume
