// SPDX-License-Identifier: Apache-2.0
// Short pieces of work on a volume, step by step, which other tests interrupt: by a crash after any
// of the backing calls (crash_test), by an error of any of them (faults_test). And a volume's tree
// as its readers see it.
#pragma once

#include <linux/falloc.h>
#include <sys/xattr.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "volume/change/attribute_changes.hpp"
#include "volume/change/unfinished.hpp"
#include "volume/read/attributes.hpp"
#include "volume/read/link.hpp"
#include "written_volume.hpp"

namespace paes::volume::test {

struct Item {
  char type;                                // file, directory, link, attribute, other
  std::vector<std::optional<Text>> blocks;  // of a file's text; the whole of a target or a value;
                                            // none where it is damaged
  bool operator==(const Item&) const = default;
};

struct Tree {
  std::map<std::string, Item> items;  // by path; an attribute's path is its file's, '@', its name
  std::set<std::string> damaged_folders;

  [[nodiscard]] bool is_damaged() const {
    return !damaged_folders.empty() ||
           std::any_of(items.begin(), items.end(), [](const auto& item) {
             return std::any_of(item.second.blocks.begin(), item.second.blocks.end(),
                                [](const auto& block) { return !block; });
           });
  }
  [[nodiscard]] std::set<std::string> paths() const {
    std::set<std::string> paths;
    for (const auto& [path, item] : items) {
      paths.insert(path);
    }
    return paths;
  }
};

class TreeReader {
 public:
  explicit TreeReader(const Volume& volume) : volume_(volume) {}

  [[nodiscard]] Tree read() {
    const Result<Folder> root = Folder::open(volume_, volume_.root(), "", "");
    if (!root) {
      throw std::runtime_error("the root cannot be opened");
    }
    read_folder(*root, "");
    return std::move(tree_);
  }

 private:
  void read_folder(const Folder& folder, const std::string& path) {
    (void)folder.list(path, [&](const FolderEntry& entry) {
      read_entry(folder, entry, path_of(path, entry.name));
    });
  }

  void read_entry(const Folder& folder, const FolderEntry& entry, const std::string& path) {
    const Backing& backing = volume_.backing();
    const char* const stored = entry.stored.c_str();
    const Result<struct stat> status = backing.status({folder.descriptor(), stored});
    if (!status) {
      throw std::runtime_error("no status of " + path);
    }
    if (S_ISDIR(status->st_mode)) {
      tree_.items[path] = {'d', {}};
      const Result<Folder> below = Folder::open(volume_, folder.descriptor(), stored, path);
      if (below) {
        read_folder(*below, path);
      } else {
        tree_.damaged_folders.insert(path);
      }
    } else if (S_ISLNK(status->st_mode)) {
      const Result<std::string> target = read_link(volume_, {folder.descriptor(), stored}, path);
      tree_.items[path] = {'l', {}};
      tree_.items[path].blocks.push_back(
          target ? std::optional(Text(target->begin(), target->end())) : std::nullopt);
    } else if (S_ISREG(status->st_mode)) {
      read_file(folder, entry, path);
    } else {
      tree_.items[path] = {'o', {}};
    }
  }

  void read_file(const Folder& folder, const FolderEntry& entry, const std::string& path) {
    Result<Descriptor> opened =
        volume_.backing().open(folder.descriptor(), entry.stored.c_str(), O_RDONLY);
    if (!opened) {
      throw std::runtime_error("cannot open " + path);
    }
    const File file(volume_, std::move(*opened));
    struct stat status = {};
    (void)fstat(file.descriptor().number(), &status);
    const std::uint64_t length =
        volume_.content().layout().text_length(static_cast<std::uint64_t>(status.st_size));
    Item item{'f', {}};
    for (std::uint64_t offset = 0; offset < length; offset += vault::block_bytes) {
      Text text(
          static_cast<std::size_t>(std::min<std::uint64_t>(vault::block_bytes, length - offset)));
      const Result<std::size_t> bytes = file.read(offset, text, path);
      item.blocks.push_back(bytes && *bytes == text.size() ? std::optional(text) : std::nullopt);
    }
    tree_.items[path] = std::move(item);
    const auto names = list_attributes(volume_, file.descriptor(), path);
    for (const std::string& name : names ? *names : std::vector<std::string>{}) {
      const auto value = read_attribute(volume_, file.descriptor(), name, path);
      tree_.items[path + "@" + name] = {'a', {}};
      tree_.items[path + "@" + name].blocks.push_back(value ? std::optional(*value) : std::nullopt);
    }
  }

  const Volume& volume_;
  Tree tree_;
};

// The tree of a volume in that folder, read anew.
inline Tree read_tree(const std::string& root) {
  WrittenVolume volume(root);
  return TreeReader(volume.volume()).read();
}

// What a script works with: the files that it has opened stay open.
class Session {
 public:
  explicit Session(WrittenVolume& volume) : volume_(volume), root_(volume.root()) {}

  [[nodiscard]] WritableVolume& writable() noexcept { return volume_.writable(); }
  // The path has at most one folder, so that scripts stay easy to read.
  template <typename Work>
  Result<void> in_folder(const std::string& path, const Work& work) {
    const std::size_t slash = path.find('/');
    if (slash == std::string::npos) {
      return work(root_, path);
    }
    const Result<Folder> folder = volume_.folder(root_, path.substr(0, slash));
    return folder ? work(*folder, path.substr(slash + 1)) : folder.error();
  }
  template <typename Work>
  Result<void> with_file(const std::string& path, const Work& work) {
    if (const auto found = files_.find(path); found != files_.end()) {
      return work(found->second);
    }
    return in_folder(path, [&](const Folder& folder, const std::string& name) {
      Result<WritableFile> file = volume_.open(folder, name);
      return file ? work(files_.emplace(path, std::move(*file)).first->second) : file.error();
    });
  }
  [[nodiscard]] const std::map<std::string, WritableFile>& files() const noexcept { return files_; }

  // What is made from now on is given away: to the one who owns it already, as all users may do.
  Result<void> give_away() {
    owner_ = Owner{.user = geteuid(), .group = getegid()};
    return {};
  }
  Result<void> create(const std::string& path) {
    return in_folder(path, [&](const Folder& folder, const std::string& name) {
      Result<WritableFile> file =
          create_file(writable(), folder, name, {.mode = 0644, .owner = owner_});
      if (file) {
        files_.erase(path);
        files_.emplace(path, std::move(*file));
      }
      return Result<void>(file);
    });
  }
  Result<void> write(const std::string& path, std::int64_t offset, std::int64_t bytes,
                     std::int64_t seed) {
    return with_file(path, [&](WritableFile& file) {
      const Text text =
          random_text(static_cast<std::size_t>(bytes), static_cast<std::uint64_t>(seed));
      const Result<std::size_t> written =
          file.write(static_cast<std::uint64_t>(offset), text, path);
      return written && *written < text.size() ? Errno(EIO) : Result<void>(written);
    });
  }
  Result<void> set_length(const std::string& path, std::int64_t bytes) {
    return with_file(path, [&](WritableFile& file) {
      return file.set_length(static_cast<std::uint64_t>(bytes), path);
    });
  }
  Result<void> allocate(const std::string& path, int mode, std::int64_t offset,
                        std::int64_t bytes) {
    return with_file(path, [&](WritableFile& file) {
      return file.allocate(mode, static_cast<std::uint64_t>(offset),
                           static_cast<std::uint64_t>(bytes), path);
    });
  }
  Result<void> copy(const std::string& from, const std::string& to, std::int64_t to_offset,
                    std::int64_t bytes) {
    return with_file(from, [&](WritableFile& source) {
      return with_file(to, [&](WritableFile& target) {
        const Result<std::size_t> copied =
            copy_range(source, 0, from, target, static_cast<std::uint64_t>(to_offset), to,
                       static_cast<std::size_t>(bytes));
        return copied && *copied < static_cast<std::size_t>(bytes) ? Errno(EIO)
                                                                   : Result<void>(copied);
      });
    });
  }
  Result<void> sync(const std::string& path) {
    return with_file(path, [](WritableFile& file) { return file.sync(false); });
  }
  Result<void> sync_root() { return writable().sync_folder(root_); }
  Result<void> mkdir(const std::string& path) {
    return in_folder(path, [&](const Folder& folder, const std::string& name) {
      return make_folder(writable(), folder, name, {.mode = 0755, .owner = owner_});
    });
  }
  Result<void> mkdir_synced(const std::string& path) {
    return in_folder(path, [&](const Folder& folder, const std::string& name) {
      return make_folder(writable(), folder, name,
                         {.mode = 0755, .owner = owner_, .is_synced_first = true});
    });
  }
  Result<void> rmdir(const std::string& path) {
    return in_folder(path, [&](const Folder& folder, const std::string& name) {
      return remove_folder(writable(), folder, name);
    });
  }
  Result<void> unlink(const std::string& path) {
    return in_folder(path, [&](const Folder& folder, const std::string& name) {
      return remove_file(writable(), folder, name);
    });
  }
  Result<void> symlink(const std::string& path, const std::string& target) {
    return in_folder(path, [&](const Folder& folder, const std::string& name) {
      return make_link(writable(), folder, name, target, owner_);
    });
  }
  Result<void> mknod(const std::string& path, mode_t mode) {
    return in_folder(path, [&](const Folder& folder, const std::string& name) {
      return make_node(writable(), folder, name, {.mode = mode, .owner = owner_}, 0);
    });
  }
  Result<void> link(const std::string& from, const std::string& to) {
    return with_file(from, [&](WritableFile& file) {
      return in_folder(to, [&](const Folder& folder, const std::string& name) {
        return add_name(writable(), file.descriptor(), folder, name);
      });
    });
  }
  Result<void> move(const std::string& from, const std::string& to, unsigned flags = 0) {
    const Result<void> moved = in_folder(from, [&](const Folder& folder, const std::string& name) {
      return in_folder(to, [&](const Folder& to_folder, const std::string& to_name) {
        return rename(writable(), folder, name, to_folder, to_name, flags);
      });
    });
    if (moved) {
      files_.erase(from);
      files_.erase(to);
    }
    return moved;
  }
  // A file of that text takes the place of what has the name.
  Result<void> replace(const std::string& path, std::int64_t bytes, std::int64_t seed) {
    return in_folder(path, [&](const Folder& folder, const std::string& name) {
      Unfinished made(writable(), shared(folder));
      Result<WritableFile> file = made.make_file();
      if (!file) {
        return Result<void>(file);
      }
      const Text text =
          random_text(static_cast<std::size_t>(bytes), static_cast<std::uint64_t>(seed));
      const Result<std::size_t> written = file->write(0, text, path);
      if (!written || *written < text.size()) {
        return written ? Errno(EIO) : Result<void>(written);
      }
      const Result<void> named =
          file->sync(false).and_then([&] { return made.take_name(name, true); });
      if (named) {
        files_.erase(path);
      }
      return named;
    });
  }
  Result<void> replace_link(const std::string& path, const std::string& target) {
    return in_folder(path, [&](const Folder& folder, const std::string& name) {
      Unfinished made(writable(), shared(folder));
      return made.make_link(target).and_then([&] { return made.take_name(name, true); });
    });
  }
  Result<void> set_xattr(const std::string& path, const std::string& name, std::int64_t bytes) {
    return with_file(path, [&](WritableFile& file) {
      return set_attribute(volume_.volume(), file.descriptor(), name,
                           random_text(static_cast<std::size_t>(bytes), 9), 0);
    });
  }
  Result<void> remove_xattr(const std::string& path, const std::string& name) {
    return with_file(path, [&](WritableFile& file) {
      return remove_attribute(volume_.volume(), file.descriptor(), name);
    });
  }

 private:
  // The caller keeps the folder.
  [[nodiscard]] static std::shared_ptr<const Folder> shared(const Folder& folder) {
    return {std::shared_ptr<void>(), &folder};
  }

  WrittenVolume& volume_;
  Folder root_;
  std::optional<Owner> owner_;
  std::map<std::string, WritableFile> files_;
};

using Step = std::function<Result<void>(Session&)>;

struct Script {
  const char* name;
  std::vector<Step> steps;
};

inline void PrintTo(const Script& script, std::ostream* out) { *out << script.name; }

inline const std::string long_a(200, 'a');
inline const std::string long_b(220, 'b');
// Folders that were made with is_synced_first.
inline const std::string synced_a = "synced a";
inline const std::string synced_b = "synced b";
inline const std::string synced_long = "synced " + long_a;

// The steps that `Session` offers, as values.
namespace step {
#define PAES_TEST_STEP(name)                                             \
  template <typename... Arguments>                                       \
  Step name(Arguments... arguments) {                                    \
    return [=](Session& session) { return session.name(arguments...); }; \
  }
PAES_TEST_STEP(give_away)
PAES_TEST_STEP(create)
PAES_TEST_STEP(write)
PAES_TEST_STEP(set_length)
PAES_TEST_STEP(allocate)
PAES_TEST_STEP(copy)
PAES_TEST_STEP(sync)
PAES_TEST_STEP(sync_root)
PAES_TEST_STEP(mkdir)
PAES_TEST_STEP(mkdir_synced)
PAES_TEST_STEP(rmdir)
PAES_TEST_STEP(unlink)
PAES_TEST_STEP(symlink)
PAES_TEST_STEP(mknod)
PAES_TEST_STEP(link)
PAES_TEST_STEP(move)
PAES_TEST_STEP(replace)
PAES_TEST_STEP(replace_link)
PAES_TEST_STEP(set_xattr)
PAES_TEST_STEP(remove_xattr)
#undef PAES_TEST_STEP
}  // namespace step

inline const std::vector<Script>& scripts() {
  using namespace step;  // NOLINT: the scripts are to be read, not the names of their steps
  constexpr int punch = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
  static const std::vector<Script> all = {
      {"create_write_sync",
       {create("f"), write("f", 0, 10000, 1), sync("f"), sync_root(), create("g"),
        write("g", 0, 100, 2), write("g", 100, 5000, 3), sync("g"), write("g", 5100, 9000, 4)}},
      {"overwrite_in_place",
       {create("f"), write("f", 0, 20000, 1), sync("f"), sync_root(), write("f", 4096, 8192, 2),
        write("f", 100, 50, 3), write("f", 4000, 9000, 4), sync("f"), write("f", 8192, 4096, 5),
        write("f", 16384, 3616, 6)}},
      {"append",
       {create("f"), write("f", 0, 1000, 1), sync("f"), sync_root(), write("f", 1000, 3096, 2),
        write("f", 4096, 5000, 3), sync("f"), write("f", 9096, 10000, 4),
        write("f", 30000, 5000, 5), write("f", 50000, 1, 6)}},
      {"truncate_down_and_up",
       {create("f"), write("f", 0, 20000, 1), sync("f"), sync_root(), set_length("f", 9000),
        set_length("f", 8192), sync("f"), set_length("f", 5000), set_length("f", 12288),
        set_length("f", 12300), set_length("f", 40000), sync("f"), set_length("f", 0),
        write("f", 0, 5000, 2), sync("f"), set_length("f", 0), set_length("f", 8192)}},
      {"from_no_text",
       {create("f"), write("f", 9000, 10, 1), sync("f"), sync_root(), create("g"),
        set_length("g", 8192), create("h"), set_length("h", 4097), set_length("f", 0),
        write("f", 4096, 4096, 2), sync("f")}},
      {"replaced_beside",
       {create("f"), write("f", 0, 9000, 1), sync("f"), sync_root(), replace("f", 20000, 2),
        sync_root(), mkdir("d"), replace("d/new", 100, 3), replace(long_a, 5000, 4), sync_root(),
        replace(long_a, 4096, 5), symlink("l", "old"), replace_link("l", "new"), sync_root(),
        replace("f", 0, 6), replace_link("f", "target")}},
      {"synced_folders",
       {mkdir_synced(synced_a), replace(synced_a + "/f", 5000, 1),
        mkdir_synced(synced_a + "/inner"), mkdir_synced(synced_long),
        replace(synced_long + "/g", 100, 2), sync_root(), mkdir_synced(synced_b), sync_root(),
        rmdir(synced_b)}},
      {"folders_and_files",
       {mkdir("d"), create("d/f"), write("d/f", 0, 5000, 1), sync("d/f"), sync_root(), mkdir("e"),
        mkdir("e/inner"), create("e/g"), write("e/g", 0, 100, 2), sync("e/g"), rmdir("e/inner"),
        unlink("e/g"), rmdir("e"), sync_root()}},
      {"rename_over",
       {create("old"), write("old", 0, 5000, 1), sync("old"), sync_root(), create("new"),
        write("new", 0, 9000, 2), sync("new"), move("new", "old"), create("third"),
        write("third", 0, 10, 3), move("third", "old", unsigned{RENAME_EXCHANGE}),
        move("third", "fourth", unsigned{RENAME_NOREPLACE}), sync_root(), move("old", "fourth")}},
      {"long_names",
       {create(long_a), write(long_a, 0, 5000, 1), sync(long_a), sync_root(), move(long_a, "short"),
        move("short", long_b), create(long_a), write(long_a, 0, 100, 2), move(long_a, long_b),
        sync_root(), mkdir(long_a), create(long_a + "/f"), create(long_a + "/" + long_b),
        move(long_b, long_a + "/" + long_b), unlink(long_a + "/f"), unlink(long_a + "/" + long_b),
        rmdir(long_a)}},
      {"into_what_is_new",
       {create("f"), write("f", 0, 5000, 1), create("g"), write("g", 0, 100, 2), sync("f"),
        sync_root(), mkdir("new"), move("f", "new/f"), link("g", long_a), unlink("g"),
        create(long_b), step::move(long_a, long_b, unsigned{RENAME_EXCHANGE}), unlink(long_a)}},
      {"punch_and_zero",
       {create("f"), write("f", 0, 40000, 1), sync("f"), sync_root(),
        allocate("f", punch, 5000, 20000), sync("f"), allocate("f", punch, 100, 200),
        allocate("f", FALLOC_FL_ZERO_RANGE, 30000, 20000), allocate("f", 0, 0, 60000),
        allocate("f", FALLOC_FL_KEEP_SIZE, 0, 90000), write("f", 8192, 4096, 2)}},
      {"copy_range",
       {create("f"), write("f", 0, 30000, 1), sync("f"), create("g"), copy("f", "g", 0, 30000),
        sync("g"), sync_root(), copy("f", "g", 1000, 20000), copy("f", "f", 40000, 5000)}},
      {"links_nodes_and_attributes",
       {symlink("l", "target"), create("f"), write("f", 0, 100, 1), set_xattr("f", "user.a", 50),
        link("f", "hard"), sync("f"), sync_root(), set_xattr("f", "user.a", 10),
        set_xattr("f", "user.b", 0), step::mknod("p", mode_t{S_IFIFO | 0600}),
        remove_xattr("f", "user.a"), symlink(long_a, "elsewhere"), unlink("l"), link("f", long_b),
        unlink("f"), unlink("hard"), sync_root(), unlink("p")}},
      {"given_away",
       {give_away(), create("f"), step::mknod("p", mode_t{S_IFIFO | 0600}), symlink("l", "target"),
        mkdir("d"), sync_root(), step::mknod(long_a, mode_t{S_IFREG | 04600}), mkdir(long_b),
        symlink("d/" + long_a, "target"), create(long_b + "/" + long_b)}},
      {"folders_replaced",
       {mkdir("d"), create("d/f"), write("d/f", 0, 100, 1), mkdir("e"), sync("d/f"), sync_root(),
        move("d", "e"), mkdir(long_a), mkdir(long_b), create(long_a + "/g"), sync_root(),
        move(long_a, long_b), move(long_b + "/g", "e/g"), move("e", long_b)}},
  };
  return all;
}

}  // namespace paes::volume::test
