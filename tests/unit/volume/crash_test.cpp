// SPDX-License-Identifier: Apache-2.0
// What a crash leaves. The backing calls of each script are recorded and replayed into a fresh
// folder: each prefix of them, each prefix with its last write torn, and each with one change of
// content, or the rest of the changes of names, left out that no sync had ordered before the crash.
// The model of the system is a journal: changes of names last in their order, and a sync of
// anything makes all earlier ones last, but the content of that one file alone.
#include <algorithm>
#include <cerrno>

#include "comparable_results.hpp"
#include "scripts.hpp"

namespace paes::volume::test {
namespace {

constexpr std::size_t no_call = ~std::size_t{0};

// Where a record is replayed: its files and folders, as far as they exist here.
struct Replay {
  std::vector<Descriptor> objects;
  bool tears = false;  // half of the next write is lost

  [[nodiscard]] int operator[](std::size_t object) const {
    return object < objects.size() ? objects[object].number() : -1;
  }
  void put(std::size_t object, int number) {
    if (objects.size() <= object) {
      objects.resize(object + 1);
    }
    objects[object] = Descriptor(number);
  }
};

enum class CallKind { name, content, sync, sync_all };

struct Call {
  CallKind kind;
  std::size_t object;  // whose content it changes or syncs
  bool is_own;         // the content is a folder's IV or a long name
  std::function<void(Replay&)> run;
};

// Does what it is asked, and keeps a record. What a record names by descriptors are objects of a
// number; the root is 0.
class Recorder final : public Backing {
 public:
  explicit Recorder(const std::string& root) {
    struct stat status = {};
    (void)stat(root.c_str(), &status);
    numbers_[status.st_ino] = 0;
  }

  [[nodiscard]] const std::vector<Call>& calls() const noexcept { return calls_; }

  [[nodiscard]] Result<Descriptor> create(FolderRef folder, const char* name, int flags,
                                          mode_t mode) const override {
    Result<Descriptor> made = Backing::create(folder, name, flags, mode);
    if (made) {
      const std::size_t parent = number_of(folder);
      const std::size_t object = new_number(*made);
      if (name == vault::folder_iv_name ||
          std::string_view(name).ends_with(vault::long_name_suffix)) {
        own_.insert(object);
      }
      add(CallKind::name, object, [=, name = std::string(name)](Replay& replay) {
        replay.put(object, openat(replay[parent], name.c_str(), O_RDWR | O_CREAT | O_EXCL, mode));
      });
    }
    return made;
  }
  [[nodiscard]] Result<std::size_t> write(FileRef file, std::uint64_t offset,
                                          Bytes from) const override {
    const Result<std::size_t> written = Backing::write(file, offset, from);
    if (written) {
      const std::size_t object = number_of(file);
      const Text text(from.begin(), from.begin() + static_cast<std::ptrdiff_t>(*written));
      add(CallKind::content, object, [=](Replay& replay) {
        const std::size_t bytes = replay.tears ? text.size() / 2 : text.size();
        (void)!pwrite(replay[object], text.data(), bytes, static_cast<off_t>(offset));
      });
    }
    return written;
  }
  [[nodiscard]] Result<void> set_length(FileRef file, std::uint64_t bytes) const override {
    const std::size_t object = number_of(file);
    return noted(Backing::set_length(file, bytes), CallKind::content, object, [=](Replay& replay) {
      (void)!ftruncate(replay[object], static_cast<off_t>(bytes));
    });
  }
  [[nodiscard]] Result<void> allocate(FileRef file, int mode, std::uint64_t offset,
                                      std::uint64_t bytes) const override {
    const std::size_t object = number_of(file);
    return noted(Backing::allocate(file, mode, offset, bytes), CallKind::content, object,
                 [=](Replay& replay) {
                   (void)fallocate(replay[object], mode, static_cast<off_t>(offset),
                                   static_cast<off_t>(bytes));
                 });
  }
  [[nodiscard]] Result<void> sync(FileRef file, bool) const override {
    return noted({}, CallKind::sync, number_of(file), [](Replay&) {});
  }
  [[nodiscard]] Result<void> sync_file_system(FileRef) const override {
    return noted({}, CallKind::sync_all, 0, [](Replay&) {});
  }
  [[nodiscard]] Result<void> make_folder(FolderRef folder, const char* name,
                                         mode_t mode) const override {
    const Result<void> result = Backing::make_folder(folder, name, mode);
    if (result) {
      const std::size_t parent = number_of(folder);
      const Descriptor made(openat(folder.number(), name, O_PATH | O_DIRECTORY));
      const std::size_t object = new_number(made);
      add(CallKind::name, object, [=, name = std::string(name)](Replay& replay) {
        if (mkdirat(replay[parent], name.c_str(), mode) == 0) {
          replay.put(object, openat(replay[parent], name.c_str(), O_PATH | O_DIRECTORY));
        }
      });
    }
    return result;
  }
  [[nodiscard]] Result<void> make_node(FolderRef folder, const char* name, mode_t mode,
                                       dev_t device) const override {
    const std::size_t parent = number_of(folder);
    return noted(Backing::make_node(folder, name, mode, device), CallKind::name, parent,
                 [=, name = std::string(name)](Replay& replay) {
                   (void)mknodat(replay[parent], name.c_str(), mode, device);
                 });
  }
  [[nodiscard]] Result<void> make_link(FolderRef folder, const char* name,
                                       const char* target) const override {
    const std::size_t parent = number_of(folder);
    return noted(Backing::make_link(folder, name, target), CallKind::name, parent,
                 [=, name = std::string(name), target = std::string(target)](Replay& replay) {
                   (void)!symlinkat(target.c_str(), replay[parent], name.c_str());
                 });
  }
  [[nodiscard]] Result<void> add_name(EntryRef entry, FolderRef to_folder,
                                      const char* to_name) const override {
    const std::size_t from = number_of(FileRef(entry.base()));
    const std::size_t to = number_of(to_folder);
    return noted(Backing::add_name(entry, to_folder, to_name), CallKind::name, to,
                 [=, this, name = std::string(entry.name()),
                  to_name = std::string(to_name)](Replay& replay) {
                   (void)Backing::add_name({FolderRef{replay[from]}, name.c_str()},
                                           FolderRef{replay[to]}, to_name.c_str());
                 });
  }
  [[nodiscard]] Result<void> rename(FolderRef folder, const char* name, FolderRef to_folder,
                                    const char* to_name, unsigned flags) const override {
    const std::size_t from = number_of(folder);
    const std::size_t to = number_of(to_folder);
    return noted(Backing::rename(folder, name, to_folder, to_name, flags), CallKind::name, to,
                 [=, name = std::string(name), to_name = std::string(to_name)](Replay& replay) {
                   (void)renameat2(replay[from], name.c_str(), replay[to], to_name.c_str(), flags);
                 });
  }
  [[nodiscard]] Result<void> remove(FolderRef folder, const char* name,
                                    bool is_folder) const override {
    const std::size_t parent = number_of(folder);
    return noted(Backing::remove(folder, name, is_folder), CallKind::name, parent,
                 [=, name = std::string(name)](Replay& replay) {
                   (void)unlinkat(replay[parent], name.c_str(), is_folder ? AT_REMOVEDIR : 0);
                 });
  }
  [[nodiscard]] Result<void> set_attribute(FileRef file, const char* name, Bytes value,
                                           int flags) const override {
    const std::size_t object = number_of(file);
    return noted(
        Backing::set_attribute(file, name, value, flags), CallKind::name, object,
        [=, name = std::string(name), value = Text(value.begin(), value.end())](Replay& replay) {
          (void)fsetxattr(replay[object], name.c_str(), value.data(), value.size(), 0);
        });
  }
  [[nodiscard]] Result<void> remove_attribute(FileRef file, const char* name) const override {
    const std::size_t object = number_of(file);
    return noted(Backing::remove_attribute(file, name), CallKind::name, object,
                 [=, name = std::string(name)](Replay& replay) {
                   (void)fremovexattr(replay[object], name.c_str());
                 });
  }

 private:
  [[nodiscard]] std::size_t number_of(FileRef descriptor) const {
    struct stat status = {};
    (void)fstat(descriptor.number(), &status);
    const auto found = numbers_.find(status.st_ino);
    if (found == numbers_.end()) {
      throw std::runtime_error("a call on what was not recorded");
    }
    return found->second;
  }
  // The system gives the inode of what is gone to something new.
  [[nodiscard]] std::size_t new_number(FileRef descriptor) const {
    struct stat status = {};
    (void)fstat(descriptor.number(), &status);
    numbers_[status.st_ino] = ++last_number_;
    return last_number_;
  }
  void add(CallKind kind, std::size_t object, std::function<void(Replay&)> run) const {
    calls_.push_back(
        {kind, object, kind == CallKind::content && own_.contains(object), std::move(run)});
  }
  [[nodiscard]] Result<void> noted(Result<void> result, CallKind kind, std::size_t object,
                                   std::function<void(Replay&)> run) const {
    if (result) {
      add(kind, object, std::move(run));
    }
    return result;
  }

  mutable std::map<ino_t, std::size_t> numbers_;
  mutable std::size_t last_number_ = 0;
  mutable std::set<std::size_t> own_;  // whose content is the volume's
  mutable std::vector<Call> calls_;
};

// The tree after each step, and how many calls that took.
struct Version {
  std::size_t calls;
  Tree tree;
};

class Crash {
 public:
  Crash(const std::vector<Call>& calls, const std::vector<Version>& versions)
      : calls_(calls), versions_(versions) {}

  // A crash after `end` calls, of which `dropped` is lost, with all later changes of names if it is
  // one; or the second half of the last one.
  void check(std::size_t end, std::size_t dropped, bool tears) {
    loses_names_ = dropped != no_call && calls_[dropped].kind == CallKind::name;
    const ScratchFolder scratch;
    replay(scratch, end, dropped, tears);
    WrittenVolume volume(scratch.path());
    const Tree found = TreeReader(volume.volume()).read();
    const std::size_t intact = tears ? end - 1 : dropped == no_call ? end : dropped;
    std::size_t first = versions_.size() - 1;
    while (versions_[first].calls > intact) {
      --first;
    }
    std::size_t last = first;
    while (last + 1 < versions_.size() && versions_[last].calls < end) {
      ++last;
    }
    if (last == first && versions_[first].calls < end) {
      last = std::min(first + 1, versions_.size() - 1);
    }
    const bool is_plain = dropped == no_call && !tears;
    SCOPED_TRACE("after " + std::to_string(end) + " calls, " +
                 (is_plain ? "all there"
                  : tears  ? "the last one torn"
                           : "without " + std::to_string(dropped)) +
                 ", versions " + std::to_string(first) + " to " + std::to_string(last));
    is_damaged_ = !found.damaged_folders.empty();
    for (const auto& [path, item] : found.items) {
      check_item(path, item, first, last, is_plain);
    }
    // A sync of anything makes names last, whatever of the volume's own they take.
    const std::size_t named = std::max(first, last_synced(end));
    check_missing(found, named, last);
    if (dropped == no_call || calls_[dropped].is_own) {
      check_moved(found, named, last);
    }
    if (is_plain) {
      check_names(found, first, last);
      EXPECT_TRUE(found.damaged_folders.empty());
      check_lengths(scratch);
      check_with_fsck(volume.volume());
      remove_all(volume, scratch);
    } else {
      if (loses_names_) {
        check_names(found, first, std::min(first + 1, last));
      }
      for (const std::string& path : found.damaged_folders) {
        EXPECT_FALSE(is_in_all(path, named, last) || path.starts_with("synced"))
            << path << " is damaged";
      }
    }
  }

 private:
  void replay(const ScratchFolder& scratch, std::size_t end, std::size_t dropped, bool tears) {
    { const WrittenVolume root(scratch.path()); }  // makes the root's IV
    Replay replay;
    replay.put(0, open(scratch.path().c_str(), O_RDONLY | O_DIRECTORY));
    for (std::size_t i = 0; i < end; ++i) {
      if (i != dropped && !(loses_names_ && i > dropped && calls_[i].kind == CallKind::name)) {
        replay.tears = tears && i + 1 == end;
        calls_[i].run(replay);
      }
    }
  }

  // Each block has what it has in one of the versions.
  void check_item(const std::string& path, const Item& item, std::size_t first, std::size_t last,
                  bool is_plain) {
    bool is_known = false;
    for (std::size_t v = first; v <= last; ++v) {
      const auto known = versions_[v].tree.items.find(path);
      is_known =
          is_known || (known != versions_[v].tree.items.end() && known->second.type == item.type);
    }
    EXPECT_TRUE(is_known) << path << " is no name";
    std::size_t most = item.blocks.size();
    for (std::size_t v = first; v <= last; ++v) {
      if (const auto known = versions_[v].tree.items.find(path);
          known != versions_[v].tree.items.end()) {
        most = std::max(most, known->second.blocks.size());
      }
    }
    for (std::size_t block = 0; block < most; ++block) {
      const std::optional<std::optional<Text>> content = block_of(item, block);
      bool is_version = false;
      bool is_changed = false;
      bool shrinks = false;
      for (std::size_t v = first; v <= last; ++v) {
        const auto old = version_of(path, block, v);
        is_version = is_version || old == content ||
                     (v > first && is_cut(content, version_of(path, block, v - 1), old));
        is_changed = is_changed || old != version_of(path, block, first);
        shrinks = shrinks || (v > first && size_of(old) < size_of(version_of(path, block, v - 1)));
      }
      const bool is_lost = content.has_value() && !content->has_value();
      is_damaged_ = is_damaged_ || is_lost;
      // To cut a block takes two calls: its new text, and its new length.
      const bool may_be_lost = is_plain ? shrinks : is_changed;
      EXPECT_TRUE(is_version || (may_be_lost && is_lost) ||
                  (!is_plain && is_changed && !content.has_value()) ||
                  (!is_plain && is_padded(content, path, block, first, last)) ||
                  (loses_names_ && is_of_any_file(content, block, first, last)))
          << path << " block " << block
          << (is_lost   ? " is damaged"
              : content ? " has other text"
                        : " is missing");
    }
  }

  // Nothing: there is no such block. Nothing in that: it is damaged.
  static std::optional<std::optional<Text>> block_of(const Item& item, std::size_t block) {
    std::optional<std::optional<Text>> found;
    if (block < item.blocks.size()) {
      found.emplace(item.blocks[block]);
    }
    return found;
  }
  [[nodiscard]] std::optional<std::optional<Text>> version_of(const std::string& path,
                                                              std::size_t block,
                                                              std::size_t version) const {
    const auto known = versions_[version].tree.items.find(path);
    if (known == versions_[version].tree.items.end()) {
      return {};
    }
    return block_of(known->second, block);
  }
  // New text in a block that has not yet grown.
  static bool is_cut(const std::optional<std::optional<Text>>& content,
                     const std::optional<std::optional<Text>>& before,
                     const std::optional<std::optional<Text>>& after) {
    return content && *content && size_of(content) == size_of(before) &&
           size_of(content) < size_of(after) &&
           std::equal((*content)->begin(), (*content)->end(), (*after)->begin());
  }
  static std::size_t size_of(const std::optional<std::optional<Text>>& block) {
    return block && *block ? (*block)->size() : 0;
  }
  // A file that keeps a name because the renaming is lost may have been written to since.
  [[nodiscard]] bool is_of_any_file(const std::optional<std::optional<Text>>& content,
                                    std::size_t block, std::size_t first, std::size_t last) const {
    for (std::size_t v = first; v <= last; ++v) {
      for (const auto& [path, item] : versions_[v].tree.items) {
        if (!content || block_of(item, block) == content) {
          return true;
        }
      }
    }
    return false;
  }
  // A block that was never written, because that call is lost, is a hole if others follow it.
  [[nodiscard]] bool is_padded(const std::optional<std::optional<Text>>& content,
                               const std::string& path, std::size_t block, std::size_t first,
                               std::size_t last) const {
    bool was_missing = false;
    for (std::size_t v = first; v <= last; ++v) {
      was_missing = was_missing || !version_of(path, block, v);
    }
    return was_missing && content && *content && **content == Text(vault::block_bytes);
  }

  // The last version that ended with a sync, of those before the crash.
  [[nodiscard]] std::size_t last_synced(std::size_t end) const {
    std::size_t synced = 0;
    for (std::size_t v = 1; v < versions_.size() && versions_[v].calls <= end; ++v) {
      if (versions_[v].calls > versions_[v - 1].calls &&
          calls_[versions_[v].calls - 1].kind == CallKind::sync) {
        synced = v;
      }
    }
    return synced;
  }

  [[nodiscard]] bool is_in_all(const std::string& path, std::size_t first, std::size_t last) const {
    return std::all_of(versions_.begin() + static_cast<std::ptrdiff_t>(first),
                       versions_.begin() + static_cast<std::ptrdiff_t>(last) + 1,
                       [&](const Version& version) { return version.tree.items.contains(path); });
  }

  void check_missing(const Tree& found, std::size_t first, std::size_t last) const {
    for (const auto& [path, item] : versions_[first].tree.items) {
      EXPECT_TRUE(found.items.contains(path) || !is_in_all(path, first, last))
          << path << " is missing";
    }
  }

  // What is in all versions under some name has one, wherever it was moved to meanwhile.
  void check_moved(const Tree& found, std::size_t first, std::size_t last) const {
    for (const auto& [path, item] : versions_[first].tree.items) {
      if (item.type != 'f' || item.blocks.empty()) {
        continue;
      }
      const auto is_in = [&wanted = item](const Tree& tree) {
        return std::any_of(tree.items.begin(), tree.items.end(),
                           [&](const auto& other) { return other.second == wanted; });
      };
      const bool stays = std::all_of(versions_.begin() + static_cast<std::ptrdiff_t>(first),
                                     versions_.begin() + static_cast<std::ptrdiff_t>(last) + 1,
                                     [&](const Version& version) { return is_in(version.tree); });
      EXPECT_TRUE(!stays || is_in(found)) << "what was synced as " << path << " has no name";
    }
  }

  // A step is one change of names, so that all of it has happened or nothing; but in between a
  // folder that replaces another has both names.
  void check_names(const Tree& found, std::size_t first, std::size_t last) const {
    ASSERT_LE(last, first + 1);
    const std::set<std::string> paths = found.paths();
    const std::set<std::string> before = versions_[first].tree.paths();
    const std::set<std::string> after = versions_[last].tree.paths();
    std::set<std::string> both = before;
    both.insert(after.begin(), after.end());
    EXPECT_TRUE(paths == before || paths == after ||
                (std::includes(both.begin(), both.end(), paths.begin(), paths.end()) &&
                 std::includes(paths.begin(), paths.end(), after.begin(), after.end())))
        << "names are neither the old nor the new ones";
  }

  // The format stores an empty file as nothing at all. A mere header is none of its files.
  static void check_lengths(const ScratchFolder& scratch) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(scratch.path())) {
      const std::string name = entry.path().filename();
      if (entry.is_regular_file() && !entry.is_symlink() && name != vault::folder_iv_name &&
          !name.ends_with(vault::long_name_suffix)) {
        EXPECT_TRUE(entry.file_size() == 0 || entry.file_size() > vault::header_bytes)
            << name << " has " << entry.file_size() << " bytes";
      }
    }
  }

  // What is left over is harmless.
  void check_with_fsck(const Volume& volume) const {
    for (const std::string& finding : fsck_findings(volume, false)) {
      EXPECT_TRUE(is_damaged_) << finding;
    }
  }

  // Everything that a crash leaves can be removed.
  static void remove_all(WrittenVolume& volume, const ScratchFolder& scratch) {
    const Folder root = volume.root();
    std::vector<FolderEntry> entries;
    EXPECT_EQ(root.list("", [&](const FolderEntry& entry) { entries.push_back(entry); }), 0);
    for (const FolderEntry& entry : entries) {
      if (remove_file(volume.writable(), root, entry.name) == 0) {
        continue;
      }
      const Result<Folder> folder = volume.folder(root, entry.name);
      ASSERT_TRUE(folder);
      std::vector<FolderEntry> below;
      EXPECT_EQ(folder->list("", [&](const FolderEntry& each) { below.push_back(each); }), 0);
      for (const FolderEntry& each : below) {
        EXPECT_TRUE(remove_file(volume.writable(), *folder, each.name) == 0 ||
                    remove_folder(volume.writable(), *folder, each.name) == 0);
      }
      EXPECT_EQ(remove_folder(volume.writable(), root, entry.name), 0);
    }
    for (const auto& left : std::filesystem::directory_iterator(scratch.path())) {
      const std::string name = left.path().filename();
      EXPECT_TRUE(name == vault::folder_iv_name || name.ends_with(vault::long_name_suffix)) << name;
    }
  }

  const std::vector<Call>& calls_;
  const std::vector<Version>& versions_;
  bool loses_names_ = false;
  bool is_damaged_ = false;
};

// Whether a sync before `end` has made call `which` last.
bool is_synced(const std::vector<Call>& calls, std::size_t which, std::size_t end) {
  return std::any_of(
      calls.begin() + static_cast<std::ptrdiff_t>(which),
      calls.begin() + static_cast<std::ptrdiff_t>(end), [&](const Call& call) {
        return call.kind == CallKind::sync_all ||
               (call.kind == CallKind::sync &&
                (calls[which].kind == CallKind::name || call.object == calls[which].object));
      });
}

class CrashTest : public ::testing::TestWithParam<Script> {};

TEST_P(CrashTest, LeavesWhatWasSyncedAndNothingWorseThanUnsyncedBlocks) {
  const ScratchFolder scratch;
  std::vector<Version> versions{{0, {}}};
  auto own = std::make_unique<Recorder>(scratch.path());
  const Recorder& recorder = *own;
  WrittenVolume volume(scratch.path(), {}, std::move(own));
  Session session(volume);
  for (const Step& step : GetParam().steps) {
    const Result<void> done = step(session);
    if (done.failed_with(EOPNOTSUPP)) {
      GTEST_SKIP() << scratch.path() << " has no extended attributes or no holes";
    }
    ASSERT_EQ(done, 0) << "step " << versions.size();
    versions.push_back({recorder.calls().size(), read_tree(scratch.path())});
    ASSERT_FALSE(versions.back().tree.is_damaged()) << "step " << versions.size() - 1;
  }
  const std::vector<Call>& calls = recorder.calls();
  Crash crash(calls, versions);
  for (std::size_t end = 0; end <= calls.size() && !HasFailure(); ++end) {
    crash.check(end, no_call, false);
    if (end > 0 && calls[end - 1].kind == CallKind::content) {
      crash.check(end, no_call, true);
    }
  }
  for (std::size_t dropped = 0; dropped < calls.size() && !HasFailure(); ++dropped) {
    for (const Version& version : versions) {
      if (version.calls > dropped && !is_synced(calls, dropped, version.calls)) {
        crash.check(version.calls, dropped, false);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Scripts, CrashTest, ::testing::ValuesIn(scripts()),
                         [](const auto& tested) { return std::string(tested.param.name); });

}  // namespace

}  // namespace paes::volume::test
