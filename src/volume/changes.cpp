#include "volume/changes.hpp"

#include <fcntl.h>

#include <array>
#include <cerrno>
#include <cstdio>

#include "core/secret.hpp"
#include "volume/own_files.hpp"
#include "volume/sealed_run.hpp"

namespace paes::volume {

namespace {

constexpr mode_t changeable = S_IRWXU;

// A change of owner takes them away, from root as well.
constexpr mode_t privileges = S_ISUID | S_ISGID;

// With which mode something is made that then gets its owner, and all of its mode only after that.
mode_t first_mode(const NewEntry& entry) noexcept {
  return entry.owner ? entry.mode & ~privileges : entry.mode;
}

// Gives what was just made to its owner, and then the privileges in `mode`. 0 or an errno.
int give_to(const WritableVolume& volume, int folder, const char* stored,
            const std::optional<Owner>& owner, mode_t mode) {
  if (!owner) {
    return 0;
  }
  const Result<struct stat> parent = volume.backing().status(folder, "");
  if (!parent) {
    return parent.error();
  }
  const bool inherits = (parent->st_mode & S_ISGID) != 0;
  const int error = volume.backing().set_owner(folder, stored, owner->user,
                                               inherits ? static_cast<gid_t>(-1) : owner->group);
  if (error != 0 || (mode & privileges) == 0) {
    return error;
  }
  const Result<struct stat> made = volume.backing().status(folder, stored);
  if (!made) {
    return made.error();
  }
  return volume.backing().set_mode(
      folder, stored, (made->st_mode & ~static_cast<mode_t>(S_IFMT)) | (mode & privileges));
}

// Runs `make` with the stored name once the file of a long name is there, and gives the result to
// its owner. 0 or an errno.
template <typename Make>
int make_entry(WritableVolume& volume, const Folder& folder, std::string_view name,
               const NewEntry& entry, const Make& make) {
  const Result<StoredName> stored = folder.stored_name(name);
  if (!stored) {
    return stored.error();
  }
  const auto locks = volume.lock_folders({folder.descriptor()});
  LongNameFile long_name(volume, folder.descriptor(), *stored);
  if (const int error = long_name.make(); error != 0) {
    return error;
  }
  if (const int error = make(stored->name.c_str()); error != 0) {
    return long_name.undo(error);
  }
  const int error =
      give_to(volume, folder.descriptor(), stored->name.c_str(), entry.owner, entry.mode);
  if (error != 0) {
    (void)volume.backing().remove(folder.descriptor(), stored->name.c_str(), false);
    return long_name.undo(error);
  }
  return 0;
}

// A folder that is complete before it gets its name.
class NewFolder {
 public:
  NewFolder(WritableVolume& volume, int parent)
      : volume_(volume), parent_(parent), hidden_(new_hidden_name()) {}

  // 0 or an errno, and then nothing is left.
  [[nodiscard]] int make(const char* name, const NewEntry& entry) {
    const Backing& backing = volume_.backing();
    if (const int error = backing.make_folder(parent_, hidden_.c_str(), entry.mode | changeable);
        error != 0) {
      return error;
    }
    int error = fill(entry);
    if (error == 0) {
      error = rename_to_free_name(backing, parent_, hidden_.c_str(), parent_, name);
    }
    if (error != 0) {
      if (has_iv_) {
        (void)backing.remove(content_.number(), folder_iv_file(), false);
      }
      (void)backing.remove(parent_, hidden_.c_str(), true);
    }
    return error;
  }

 private:
  [[nodiscard]] int fill(const NewEntry& entry) {
    const Backing& backing = volume_.backing();
    Result<Descriptor> content = backing.open(parent_, hidden_.c_str(), O_PATH | O_DIRECTORY);
    if (!content) {
      return content.error();
    }
    content_ = std::move(*content);
    vault::FolderIv iv;
    random_ivs(iv, iv.size());
    if (const int error = write_folder_iv(volume_, content_.number(), iv); error != 0) {
      return error;
    }
    has_iv_ = true;
    if (const int error = give_to(volume_, parent_, hidden_.c_str(), entry.owner, 0); error != 0) {
      return error;
    }
    if ((entry.mode & changeable) == changeable) {
      return 0;
    }
    const Result<struct stat> status = backing.status(content_.number(), "");
    if (!status) {
      return status.error();
    }
    // What the umask and the parent have made of the mode stays.
    const mode_t kept = status->st_mode & ~static_cast<mode_t>(S_IFMT | changeable);
    return backing.set_mode(content_.number(), "", kept | (entry.mode & changeable));
  }

  WritableVolume& volume_;
  int parent_;
  std::string hidden_;
  Descriptor content_;
  bool has_iv_ = false;
};

}  // namespace

Result<WritableFile> create_file(WritableVolume& volume, const Folder& folder,
                                 std::string_view name, const NewEntry& entry) {
  std::optional<WritableFile> file;
  const int error = make_entry(volume, folder, name, entry, [&](const char* stored) {
    Result<Descriptor> made =
        volume.backing().create(folder.descriptor(), stored, O_RDWR, first_mode(entry));
    if (!made) {
      return made.error();
    }
    Result<WritableFile> opened = WritableFile::open(volume, std::move(*made));
    if (!opened) {
      (void)volume.backing().remove(folder.descriptor(), stored, false);
      return opened.error();
    }
    file.emplace(std::move(*opened));
    return 0;
  });
  if (error != 0 || !file) {
    return Failure{error};
  }
  return std::move(*file);
}

int make_folder(WritableVolume& volume, const Folder& folder, std::string_view name,
                const NewEntry& entry) {
  const Result<StoredName> stored = folder.stored_name(name);
  if (!stored) {
    return stored.error();
  }
  const int parent = folder.descriptor();
  const auto locks = volume.lock_folders({parent});
  LongNameFile long_name(volume, parent, *stored);
  if (const int error = long_name.make(); error != 0) {
    return error;
  }
  if (has_folder_ivs(volume.volume())) {
    return long_name.undo(NewFolder(volume, parent).make(stored->name.c_str(), entry));
  }
  if (const int error = volume.backing().make_folder(parent, stored->name.c_str(), entry.mode);
      error != 0) {
    return long_name.undo(error);
  }
  const int error = give_to(volume, parent, stored->name.c_str(), entry.owner, 0);
  if (error != 0) {
    (void)volume.backing().remove(parent, stored->name.c_str(), true);
    return long_name.undo(error);
  }
  return 0;
}

int make_node(WritableVolume& volume, const Folder& folder, std::string_view name,
              const NewEntry& entry, dev_t device) {
  return make_entry(volume, folder, name, entry, [&](const char* stored) {
    return volume.backing().make_node(folder.descriptor(), stored, first_mode(entry), device);
  });
}

int make_link(WritableVolume& volume, const Folder& folder, std::string_view name,
              std::string_view target, const std::optional<Owner>& owner) {
  if (target.empty() || target.find('\0') != std::string_view::npos) {
    return target.empty() ? ENOENT : EINVAL;
  }
  if (target.size() > vault::block_bytes) {
    return ENAMETOOLONG;
  }
  const Volume& opened = volume.volume();
  const std::string sealed =
      opened.features().has_plaintext_names
          ? std::string(target)
          : vault::seal_link_target(opened.content(), target, opened.features());
  return make_entry(volume, folder, name, {.mode = 0, .owner = owner}, [&](const char* stored) {
    return volume.backing().make_link(folder.descriptor(), stored, sealed.c_str());
  });
}

int add_name(WritableVolume& volume, int from, const char* stored, const Folder& folder,
             std::string_view name) {
  return make_entry(volume, folder, name, {}, [&](const char* to_stored) {
    // As in rename(): the old name may go, and then the file depends on what the new one needs.
    if (const int error = volume.unsynced().sync(); error != 0) {
      return error;
    }
    return volume.backing().add_name(from, stored, folder.descriptor(), to_stored);
  });
}

}  // namespace paes::volume
