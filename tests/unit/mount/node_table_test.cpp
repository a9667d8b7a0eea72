// SPDX-License-Identifier: Apache-2.0
// The nodes of a mount, over a vault with plain names, so that a test can see what it does below.
#include "paes-mount/node_table.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <new>
#include <optional>
#include <set>
#include <string>
#include <thread>

#include "comparable_results.hpp"
#include "kernel/registry.hpp"
#include "paes/error.hpp"

namespace {

// Allocations of this thread until one fails. 0: none does.
thread_local long allocations_left = 0;

}  // namespace

// Not inlined: g++ would take one without the other for a mismatch.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  const bool is_refused = allocations_left > 0 && --allocations_left == 0;
  void* const memory = is_refused ? nullptr : std::malloc(bytes);
  return memory != nullptr ? memory : throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace paes::mount {
namespace {

// Runs `work` in a thread whose stack is small, so that little depth is enough to overflow it.
void with_small_stack(const std::function<void()>& work) {
  constexpr std::size_t stack_bytes = std::size_t{256} << 10;
  pthread_attr_t attributes;
  ASSERT_EQ(pthread_attr_init(&attributes), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, stack_bytes), 0);
  pthread_t thread{};
  const auto run = [](void* argument) -> void* {
    (*static_cast<const std::function<void()>*>(argument))();
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, &attributes, run, const_cast<std::function<void()>*>(&work)),
            0);
  (void)pthread_join(thread, nullptr);
  (void)pthread_attr_destroy(&attributes);
}

namespace fs = std::filesystem;

vault::Features plain_names() {
  vault::Features features;
  features.has_plaintext_names = true;
  features.has_directory_ivs = features.has_long_names = features.has_raw_base64 = false;
  return features;
}

class Nodes : public testing::Test {
 protected:
  Nodes() {
    std::string name = (fs::temp_directory_path() / "paes-nodes-XXXXXX").string();
    root_ = mkdtemp(name.data());
    volume_.emplace(Descriptor(open(root_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)),
                    plain_names(), vault::MasterKey::random(), best_kernel(Cipher::aes));
  }
  ~Nodes() override { fs::remove_all(root_); }

  void make_folder(const std::string& name) const { fs::create_directories(root_ / name); }
  void make_file(const std::string& name, const std::string& text = "") const {
    std::ofstream(root_ / name) << text;
  }
  [[nodiscard]] struct stat status(const std::string& name) const {
    struct stat found = {};
    EXPECT_EQ(lstat((root_ / name).c_str(), &found), 0) << name;
    return found;
  }
  // As the system looks a path up, one name after the other.
  SharedNode look_up(NodeTable& table, const std::string& path) const {
    SharedNode node = table.root();
    fs::path so_far;
    for (const fs::path& name : fs::path(path)) {
      so_far /= name;
      node = table.enter(node, name.string(), name.string(), status(so_far.string()));
    }
    return node;
  }

  fs::path root_;
  std::optional<volume::Volume> volume_;
};

TEST_F(Nodes, OneNodeForOneInodeUntilAllLookupsAreTakenBack) {
  make_file("file");
  make_file("other");
  NodeTable table(*volume_, 8, PathNames::plain);
  const SharedNode node = look_up(table, "file");
  EXPECT_EQ(look_up(table, "file"), node);
  EXPECT_NE(look_up(table, "other"), node);
  EXPECT_EQ(table.nodes(), 2U);
  table.forget(*node, 1);
  EXPECT_EQ(look_up(table, "file"), node);
  table.forget(*node, 2);
  EXPECT_EQ(table.nodes(), 1U);
  const SharedNode again = look_up(table, "file");
  EXPECT_NE(again, node);
  EXPECT_NE(again->generation, node->generation);
}

TEST_F(Nodes, TheRootIsNeverForgotten) {
  NodeTable table(*volume_, 8, PathNames::plain);
  table.forget(*table.root(), 1000);
  EXPECT_TRUE(table.folder(table.root()));
  EXPECT_EQ(table.path_of(*table.root()), "");
}

TEST_F(Nodes, AnInodeOfAnotherTypeIsAnotherNode) {
  make_file("file");
  NodeTable table(*volume_, 8, PathNames::plain);
  const SharedNode file = look_up(table, "file");
  struct stat reused = status("file");
  reused.st_mode = S_IFDIR | 0755;
  const SharedNode folder = table.enter(table.root(), "file", "file", reused);
  EXPECT_NE(folder, file);
  EXPECT_EQ(table.nodes(), 2U);  // the system still knows both
  table.forget(*file, 1);
  EXPECT_EQ(table.nodes(), 1U);
  table.forget(*folder, 1);
  EXPECT_EQ(table.nodes(), 0U);
}

TEST_F(Nodes, PathsAreOfTheVolumeOrOfTheBackingTree) {
  make_folder("a/b");
  for (const auto& [names, path] :
       {std::pair(PathNames::plain, "folder/name"), std::pair(PathNames::stored, "a/b")}) {
    NodeTable table(*volume_, 8, names);
    const SharedNode folder = table.enter(table.root(), "folder", "a", status("a"));
    const SharedNode node = table.enter(folder, "name", "b", status("a/b"));
    EXPECT_EQ(table.path_of(*node), path);
  }
}

TEST_F(Nodes, AFolderThatWasMovedIsFoundWhereItWasLookedUpLast) {
  make_folder("a/b/c");
  make_folder("d");
  NodeTable table(*volume_, 1, PathNames::plain);
  const SharedNode c = look_up(table, "a/b/c");
  fs::rename(root_ / "a/b", root_ / "d/e");
  // Nobody has looked it up yet, and it is not kept open: only one folder is.
  ASSERT_TRUE(table.folder(look_up(table, "d")));
  EXPECT_EQ(table.folder(c), ESTALE);
  EXPECT_EQ(look_up(table, "d/e/c"), c);
  EXPECT_EQ(table.path_of(*c), "d/e/c");
  EXPECT_TRUE(table.folder(c));
}

TEST_F(Nodes, AnotherFolderOfTheSameNameIsNotTakenForIt) {
  make_folder("a");
  NodeTable table(*volume_, 8, PathNames::plain);
  const SharedNode node = look_up(table, "a");
  fs::rename(root_ / "a", root_ / "old");
  make_folder("a");
  EXPECT_EQ(table.folder(node), ESTALE);
  EXPECT_NE(look_up(table, "a"), node);
}

TEST_F(Nodes, NothingComesToLieWithinItself) {
  make_folder("a/b");
  NodeTable table(*volume_, 8, PathNames::plain);
  const SharedNode b = look_up(table, "a/b");
  const SharedNode a = look_up(table, "a");
  // Others turn the two around, and b is still known in a.
  fs::rename(root_ / "a/b", root_ / "b");
  fs::rename(root_ / "a", root_ / "b/a");
  EXPECT_EQ(table.enter(b, "a", "a", status("b/a")), a);
  EXPECT_EQ(table.path_of(*b), "a/b");  // as it was; the other would have no end
  EXPECT_EQ(look_up(table, "b"), b);
  EXPECT_EQ(look_up(table, "b/a"), a);
  EXPECT_EQ(table.path_of(*a), "b/a");
}

TEST_F(Nodes, AHardLinkIsOneNode) {
  make_file("one");
  fs::create_hard_link(root_ / "one", root_ / "two");
  NodeTable table(*volume_, 8, PathNames::plain);
  const SharedNode node = look_up(table, "one");
  EXPECT_EQ(look_up(table, "two"), node);
  EXPECT_EQ(table.path_of(*node), "two");
  table.forget(*node, 2);
  EXPECT_EQ(table.nodes(), 0U);
}

std::set<std::string> stored_names(const Node& node) {
  std::set<std::string> names = {node.place()->stored};
  for (const auto& place : node.other_places()) {
    EXPECT_TRUE(names.insert(place->stored).second) << place->stored;
  }
  return names;
}

TEST_F(Nodes, AllNamesOfAFileAreKnownUntilTheyAreGone) {
  using Names = std::set<std::string>;
  make_file("file");
  const struct stat file = status("file");
  NodeTable table(*volume_, 10, PathNames::plain);
  const SharedNode& root = table.root();
  const SharedNode node = table.enter(root, "a", "a", file);
  for (const char* name : {"b", "c", "a", "b"}) {
    EXPECT_EQ(table.enter(root, name, name, file), node);
    EXPECT_EQ(node->place()->stored, name);
  }
  EXPECT_EQ(stored_names(*node), (Names{"a", "b", "c"}));
  table.move(*node, root, "a", root, "d", "d");
  EXPECT_EQ(stored_names(*node), (Names{"b", "c", "d"}));
  EXPECT_EQ(node->place()->stored, "d");
  table.lose(*node, root, "unknown");
  table.lose(*node, root, "b");
  EXPECT_EQ(stored_names(*node), (Names{"c", "d"}));
  table.lose(*node, root, "d");
  EXPECT_EQ(stored_names(*node), (Names{"c"}));
  EXPECT_FALSE(node->is_retired());
  table.lose(*node, root, "c");
  EXPECT_EQ(stored_names(*node), (Names{"c"}));  // for messages
  table.retire(node);
  EXPECT_TRUE(node->is_retired());
}

TEST_F(Nodes, FewFoldersAreKeptOpen) {
  constexpr std::size_t most = 4;
  NodeTable table(*volume_, most, PathNames::plain);
  std::vector<SharedNode> folders;
  for (int i = 0; i < 20; ++i) {
    make_folder(std::to_string(i));
    folders.push_back(look_up(table, std::to_string(i)));
  }
  for (int turn = 0; turn < 3; ++turn) {
    for (const SharedNode& folder : folders) {
      ASSERT_TRUE(table.folder(folder));
      EXPECT_NE(table.kept_folder(*folder), nullptr);
      const auto open = std::count_if(folders.begin(), folders.end(), [&](const SharedNode& one) {
        return table.kept_folder(*one) != nullptr;
      });
      EXPECT_LE(open, static_cast<long>(most));
    }
  }
  EXPECT_EQ(table.kept_folders(), most);
  // One that somebody uses stays open for him.
  const SharedFolder used = *table.folder(folders[0]);
  table.close_folders();
  EXPECT_EQ(table.kept_folder(*folders[0]), nullptr);
  EXPECT_EQ(table.kept_folders(), 0U);
  EXPECT_TRUE(volume_->backing().status(used->folder.descriptor()));
  EXPECT_TRUE(table.folder(folders[0]));
}

TEST_F(Nodes, WhatIsCachedIsKeptOnlyWhenNothingChangedForAWhile) {
  NodeTable table(*volume_, 8, PathNames::plain);
  make_file("file");
  const SharedNode node = look_up(table, "file");
  struct stat before = status("file");
  const std::time_t now = before.st_mtim.tv_sec + 100;
  EXPECT_FALSE(node->may_keep_cache(before, now));  // nothing is known before the first call
  EXPECT_TRUE(node->may_keep_cache(before, now));
  struct stat grown = before;
  grown.st_size += 1;
  EXPECT_FALSE(node->may_keep_cache(grown, now));
  struct stat touched = grown;
  touched.st_mtim.tv_nsec ^= 1;
  EXPECT_FALSE(node->may_keep_cache(touched, now));
  struct stat changed = touched;
  changed.st_ctim.tv_nsec ^= 1;
  EXPECT_FALSE(node->may_keep_cache(changed, now));
  EXPECT_TRUE(node->may_keep_cache(changed, now));
  // Somebody could write again within the same step of the clock.
  EXPECT_FALSE(node->may_keep_cache(before, before.st_mtim.tv_sec));
  EXPECT_FALSE(node->may_keep_cache(before, before.st_mtim.tv_sec));
}

TEST_F(Nodes, NamesAreKeptForALimitedTime) {
  NodeTable table(*volume_, 8, PathNames::plain);
  const struct stat before = status("");
  const std::time_t now = before.st_mtim.tv_sec + 100;
  constexpr std::time_t lifetime_s = 60;
  EXPECT_FALSE(table.root()->may_keep_names(before, now, lifetime_s));
  EXPECT_TRUE(table.root()->may_keep_names(before, now + lifetime_s - 1, lifetime_s));
  EXPECT_FALSE(table.root()->may_keep_names(before, now + lifetime_s, lifetime_s));
  EXPECT_TRUE(table.root()->may_keep_names(before, now + lifetime_s + 1, lifetime_s));
}

TEST_F(Nodes, WhatTheSystemWasToldIsRemembered) {
  NodeTable table(*volume_, 8, PathNames::plain);
  make_file("file", "text");
  const SharedNode node = look_up(table, "file");
  struct stat known = status("file");
  EXPECT_FALSE(node->are_as_told(known));
  node->told(known);
  EXPECT_TRUE(node->are_as_told(known));
  known.st_size += 1;
  EXPECT_FALSE(node->are_as_told(known));
}

TEST_F(Nodes, WhatOthersChangedIsNotTakenForOurOwn) {
  NodeTable table(*volume_, 8, PathNames::plain);
  make_file("file", "text");
  const SharedNode node = look_up(table, "file");
  const struct stat first = status("file");
  node->note_first(first);
  struct stat theirs = first;
  theirs.st_size += 1;
  const auto change = [&](const struct stat& before, const struct stat& after) {
    node->begin_change(&before, node->changes());
    node->end_change([&](const auto&) { return Result<struct stat>(after); });
  };
  struct stat ours = first;
  ours.st_mtim.tv_nsec ^= 1;
  change(first, ours);
  EXPECT_FALSE(node->has_changed_outside(ours, node->changes()));
  change(theirs, theirs);  // of a mode, say, which leaves the content as it is
  EXPECT_TRUE(node->has_changed_outside(theirs, node->changes()));
  change(theirs, ours);
  EXPECT_TRUE(node->has_changed_outside(ours, node->changes()));  // the system has not looked yet
}

TEST_F(Nodes, TheLastOfSeveralChangesSaysWhatAFileHas) {
  NodeTable table(*volume_, 8, PathNames::plain);
  make_file("file", "text");
  const SharedNode node = look_up(table, "file");
  const struct stat before = status("file");
  struct stat after = before;
  after.st_size += 2;
  node->begin_change(&before, node->changes());
  node->begin_change(&before, node->changes());
  bool has_looked = false;
  node->end_change([&](const auto&) {
    has_looked = true;
    return Result<struct stat>(before);
  });
  EXPECT_FALSE(has_looked);
  EXPECT_FALSE(node->has_changed_outside(after, node->changes()));  // one still goes on
  node->end_change([&](const auto&) { return Result<struct stat>(after); });
  EXPECT_FALSE(node->has_changed_outside(after, node->changes()));
  EXPECT_TRUE(node->has_changed_outside(before, node->changes()));
}

// A tree may be deeper than a stack, because the system needs only names and no paths.
TEST_F(Nodes, ADeepTreeIsOpened) {
  constexpr int depth = 1500;
  std::string path;
  std::vector<std::string> folders;
  for (int level = 0; level < depth; ++level) {
    path += level == 0 ? "d" : "/d";
    folders.push_back((root_ / path).string());
    ASSERT_EQ(mkdir(folders.back().c_str(), 0755), 0) << level;
  }
  with_small_stack([&] {
    NodeTable table(*volume_, 1, PathNames::plain);
    SharedNode node = table.root();
    for (const std::string& folder : folders) {
      struct stat found = {};
      ASSERT_EQ(lstat(folder.c_str(), &found), 0);
      node = table.enter(node, "d", "d", found);
    }
    EXPECT_TRUE(table.folder(node));
    EXPECT_EQ(table.path_of(*node), path);
  });
  for (auto each = folders.rbegin(); each != folders.rend(); ++each) {
    EXPECT_EQ(rmdir(each->c_str()), 0);
  }
}

TEST_F(Nodes, ADeepTreeIsForgotten) {
  constexpr ino_t depth = 20'000;
  make_folder("d");
  struct stat found = status("d");
  with_small_stack([&] {
    NodeTable table(*volume_, 1, PathNames::plain);
    std::vector<SharedNode> nodes = {table.root()};
    for (ino_t level = 0; level < depth; ++level) {
      found.st_ino += 1;
      nodes.push_back(table.enter(nodes.back(), "d", "d", found));
    }
    SharedNode deepest = nodes.back();
    for (std::size_t i = 1; i < nodes.size(); ++i) {
      table.forget(*nodes[i], 1);
    }
    nodes.clear();
    EXPECT_EQ(table.nodes(), 0U);
    deepest.reset();  // all that lie above go with it
  });
}

TEST_F(Nodes, WithoutMemoryNothingIsCounted) {
  make_file("file");
  make_folder("other");
  NodeTable table(*volume_, 8, PathNames::plain);
  const SharedNode other = look_up(table, "other");
  const std::string long_name(100, 'n');
  const auto enter = [&](const SharedNode& parent, const struct stat& found) {
    SharedNode node;
    bool has_failed = false;
    for (long fails_at = 1; node == nullptr; ++fails_at) {
      allocations_left = fails_at;
      try {
        node = table.enter(parent, long_name, long_name, found);
      } catch (const std::bad_alloc&) {
        has_failed = true;
      }
      allocations_left = 0;
      EXPECT_TRUE(table.with_open_files().empty());
    }
    EXPECT_TRUE(has_failed);
    return node;
  };
  const struct stat found = status("file");
  const SharedNode node = enter(table.root(), found);
  EXPECT_EQ(enter(other, found), node);  // it moves
  struct stat another = found;
  another.st_mode = S_IFIFO | 0644;
  const SharedNode replacing = enter(other, another);
  EXPECT_EQ(table.nodes(), 3U);
  table.forget(*node, 2);
  EXPECT_EQ(table.nodes(), 2U);
  table.forget(*replacing, 1);
  table.forget(*other, 1);
  EXPECT_EQ(table.nodes(), 0U);
}

TEST_F(Nodes, ThreadsLookUpAndForgetTheSame) {
  for (int i = 0; i < 10; ++i) {
    make_folder(std::to_string(i) + "/in");
  }
  NodeTable table(*volume_, 3, PathNames::plain);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      for (int turn = 0; turn < 300; ++turn) {
        const std::string name = std::to_string((turn * 7 + thread) % 10);
        const SharedNode above = table.enter(table.root(), name, name, status(name));
        const SharedNode node = table.enter(above, "in", "in", status(name + "/in"));
        EXPECT_TRUE(table.folder(node));
        EXPECT_EQ(table.path_of(*node), name + "/in");
        table.forget(*node, 1);
        table.forget(*above, 1);
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(table.nodes(), 0U);
}

TEST_F(Nodes, ARootWithoutItsIvIsDamaged) {
  const volume::Volume encrypted(
      Descriptor(open(root_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)), vault::Features(),
      vault::MasterKey::random(), best_kernel(Cipher::aes));
  try {
    const NodeTable table(encrypted, 8, PathNames::plain);
    FAIL() << "a vault without gocryptfs.diriv was opened";
  } catch (const Error& error) {
    EXPECT_EQ(error.code, ErrorCode::corrupt);
  }
}

}  // namespace
}  // namespace paes::mount
