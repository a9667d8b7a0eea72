// SPDX-License-Identifier: Apache-2.0
#include "volume/change/tree_changes.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>

#include "core/secret.hpp"
#include "volume/change/own_files.hpp"
#include "volume/change/sealed_run.hpp"
#include "volume/read/link.hpp"

namespace paes::volume {

namespace {

constexpr mode_t changeable = S_IRWXU;

// A change of owner takes them away, from root as well.
constexpr mode_t privileges = S_ISUID | S_ISGID;

// With which mode something is made that then gets its owner, and all of its mode only after that.
mode_t first_mode(const NewEntry& entry) noexcept {
  return entry.owner ? entry.mode & ~privileges : entry.mode;
}

// A folder keeps its privileges whoever gets it.
NewEntry as_folder(const NewEntry& entry) noexcept { return {S_IFDIR, entry.owner}; }

// Whether what is open, perhaps as a mere place, is what this process has just made with that mode,
// as far as can be told. Another process that may change the folder can have given the name to
// something else before it was opened: to a file that has other names, perhaps, or to a folder that
// has entries.
Result<bool> is_still_new(const WritableVolume& volume, FileRef opened, mode_t mode, dev_t device) {
  const Result<struct stat> status = volume.backing().status(opened);
  if (!status) {
    return status.error();
  }
  if ((status->st_mode & S_IFMT) != (mode & S_IFMT) || status->st_uid != geteuid()) {
    return false;
  }
  if (S_ISDIR(mode)) {
    const Result<void> empty = check_empty(volume.volume(), FolderRef(opened.number()));
    return empty || empty.failed_with(ENOTEMPTY) ? Result<bool>(bool(empty)) : empty.error();
  }
  const bool is_device = S_ISCHR(mode) || S_ISBLK(mode);
  return status->st_nlink == 1 && (!is_device || status->st_rdev == device);
}

// Gives what is open, perhaps as a mere place, to its owner, and then the privileges in its mode.
Result<void> give(const WritableVolume& volume, FolderRef folder, FileRef made,
                  const NewEntry& entry) {
  if (!entry.owner) {
    return {};
  }
  const Backing& backing = volume.backing();
  const Result<struct stat> parent = backing.status(folder);
  if (!parent) {
    return parent.error();
  }
  const bool inherits = (parent->st_mode & S_ISGID) != 0;
  const Result<void> owned = backing.set_owner(
      made, entry.owner->user, inherits ? static_cast<gid_t>(-1) : entry.owner->group);
  if (!owned || (entry.mode & privileges) == 0) {
    return owned;
  }
  const Result<struct stat> given = backing.status(made);
  if (!given) {
    return given.error();
  }
  return backing.set_mode(
      made, (given->st_mode & ~static_cast<mode_t>(S_IFMT)) | (entry.mode & privileges));
}

// The same for what was just made under a name and is not open. What has taken the name since then
// is not given away. After an error nothing is left.
Result<void> give_named(const WritableVolume& volume, FolderRef folder, const char* stored,
                        const NewEntry& entry, dev_t device) {
  if (!entry.owner) {
    return {};
  }
  const Backing& backing = volume.backing();
  const Result<Descriptor> made = backing.open(folder, stored, O_PATH);
  Result<void> given(made);
  if (made) {
    const Result<bool> is_new = is_still_new(volume, *made, entry.mode, device);
    given = is_new && *is_new ? give(volume, folder, *made, entry) : Result<void>(is_new);
  }
  if (!given) {
    (void)backing.remove(folder, stored, S_ISDIR(entry.mode));
  }
  return given;
}

// A new file that has been given to its owner. After an error nothing is left.
Result<Descriptor> create_given(const WritableVolume& volume, FolderRef folder, const char* stored,
                                int flags, const NewEntry& entry) {
  const mode_t mode = first_mode(entry) & ~static_cast<mode_t>(S_IFMT);
  Result<Descriptor> made = volume.backing().create(folder, stored, flags, mode);
  if (!made) {
    return made;
  }
  if (const Result<void> given = give(volume, folder, *made, entry); !given) {
    (void)volume.backing().remove(folder, stored, false);
    return given.error();
  }
  return made;
}

// Runs `make` with the stored name once the file of a long name is there.
template <typename Make>
Result<void> make_entry(WritableVolume& volume, const Folder& folder, std::string_view name,
                        const Make& make) {
  const Result<StoredName> stored = folder.stored_name(name);
  if (!stored) {
    return stored.error();
  }
  const auto locks = volume.lock_folders({folder.descriptor()});
  LongNameFile long_name(volume, folder.descriptor(), *stored);
  return long_name.make().and_then(
      [&] { return long_name.undo_unless(make(stored->name.c_str())); });
}

// A folder that is complete before it gets its name.
class NewFolder {
 public:
  NewFolder(WritableVolume& volume, FolderRef parent)
      : volume_(volume), parent_(parent), hidden_(new_hidden_name()) {}

  // After a failure nothing is left.
  [[nodiscard]] Result<void> make(const char* name, const NewEntry& entry) {
    const Backing& backing = volume_.backing();
    if (const Result<void> done =
            backing.make_folder(parent_, hidden_.c_str(), entry.mode | changeable);
        !done) {
      return done;
    }
    const Result<void> made =
        fill(entry)
            .and_then(
                [&] { return entry.is_synced_first ? volume_.unsynced().sync() : Result<void>(); })
            .and_then([&] {
              return rename_to_free_name(backing, parent_, hidden_.c_str(), parent_, name);
            });
    if (!made) {
      if (has_iv_) {
        (void)volume_.unsynced().remove(content(), folder_iv_file());
      }
      (void)backing.remove(parent_, hidden_.c_str(), true);
    }
    return made;
  }

 private:
  [[nodiscard]] Result<void> fill(const NewEntry& entry) {
    const Backing& backing = volume_.backing();
    Result<Descriptor> opened = backing.open(parent_, hidden_.c_str(), O_PATH | O_DIRECTORY);
    if (!opened) {
      return opened.error();
    }
    content_ = std::move(*opened);
    const Result<bool> is_new =
        entry.owner ? is_still_new(volume_, content(), S_IFDIR, 0) : Result<bool>(true);
    if (!is_new) {
      return is_new.error();
    }
    vault::FolderIv iv{};
    random_ivs(iv, iv.size());
    if (const Result<void> done = write_folder_iv(volume_, content(), iv); !done) {
      return done;
    }
    has_iv_ = true;
    if (!*is_new) {
      return {};
    }
    if (const Result<void> done = give(volume_, parent_, content(), as_folder(entry)); !done) {
      return done;
    }
    if ((entry.mode & changeable) == changeable) {
      return {};
    }
    const Result<struct stat> status = backing.status(content());
    if (!status) {
      return status.error();
    }
    // What the umask and the parent have made of the mode stays.
    const mode_t kept = status->st_mode & ~static_cast<mode_t>(S_IFMT | changeable);
    return backing.set_mode(content(), kept | (entry.mode & changeable));
  }

  [[nodiscard]] FolderRef content() const noexcept { return FolderRef(content_); }

  WritableVolume& volume_;
  FolderRef parent_;
  std::string hidden_;
  Descriptor content_;
  bool has_iv_ = false;
};

}  // namespace

Result<WritableFile> create_file(WritableVolume& volume, const Folder& folder,
                                 std::string_view name, const NewEntry& entry) {
  std::optional<WritableFile> file;
  const auto make = [&](const char* stored) -> Result<void> {
    Result<Descriptor> made = create_given(volume, folder.descriptor(), stored, O_RDWR, entry);
    if (!made) {
      return made.error();
    }
    Result<WritableFile> opened = WritableFile::open(volume, std::move(*made));
    if (!opened) {
      (void)volume.backing().remove(folder.descriptor(), stored, false);
      return opened.error();
    }
    file.emplace(std::move(*opened));
    return {};
  };
  const Result<void> made = make_entry(volume, folder, name, make);
  return made ? Result<WritableFile>(std::move(*file)) : made.error();
}

Result<void> make_folder(WritableVolume& volume, const Folder& folder, std::string_view name,
                         const NewEntry& entry) {
  const FolderRef parent = folder.descriptor();
  return make_entry(volume, folder, name, [&](const char* stored) {
    if (has_folder_ivs(volume.volume())) {
      return NewFolder(volume, parent).make(stored, entry);
    }
    return volume.backing().make_folder(parent, stored, entry.mode).and_then([&] {
      return give_named(volume, parent, stored, as_folder(entry), 0);
    });
  });
}

Result<void> make_node(WritableVolume& volume, const Folder& folder, std::string_view name,
                       const NewEntry& entry, dev_t device) {
  const FolderRef parent = folder.descriptor();
  return make_entry(volume, folder, name, [&](const char* stored) {
    if (S_ISREG(entry.mode) || (entry.mode & S_IFMT) == 0) {
      return Result<void>(create_given(volume, parent, stored, O_RDONLY, entry));
    }
    return volume.backing().make_node(parent, stored, first_mode(entry), device).and_then([&] {
      return give_named(volume, parent, stored, entry, device);
    });
  });
}

Result<void> make_link(WritableVolume& volume, const Folder& folder, std::string_view name,
                       std::string_view target, const std::optional<Owner>& owner) {
  const Result<std::string> sealed = stored_target(volume.volume(), target);
  if (!sealed) {
    return sealed.error();
  }
  const FolderRef parent = folder.descriptor();
  return make_entry(volume, folder, name, [&](const char* stored) {
    return volume.backing().make_link(parent, stored, sealed->c_str()).and_then([&] {
      return give_named(volume, parent, stored, {S_IFLNK, owner}, 0);
    });
  });
}

Result<void> add_name(WritableVolume& volume, EntryRef entry, const Folder& folder,
                      std::string_view name) {
  return make_entry(volume, folder, name, [&](const char* to_stored) {
    // As in rename(): the old name may go, and then the file depends on what the new one needs.
    return volume.unsynced().sync().and_then(
        [&] { return volume.backing().add_name(entry, folder.descriptor(), to_stored); });
  });
}

}  // namespace paes::volume
