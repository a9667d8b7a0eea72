// SPDX-License-Identifier: Apache-2.0
// The nodes of a mount: what the system has been told of and may ask about again. A node stands for
// one inode of the backing tree. It knows the folder and the name under which that was last found,
// and folders that were used lately are kept open. There is no libfuse here.
#pragma once

#include <sys/stat.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <ctime>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "volume/change/writable_file.hpp"
#include "volume/read/volume_folder.hpp"

namespace paes::mount {

// An inode of the backing tree, which may have several file systems.
struct NodeKey {
  dev_t device = 0;
  ino_t inode = 0;

  bool operator==(const NodeKey&) const = default;
};

[[nodiscard]] inline NodeKey key_of(const struct stat& status) noexcept {
  return {status.st_dev, status.st_ino};
}

struct NodeKeyHash {
  [[nodiscard]] std::size_t operator()(const NodeKey& key) const noexcept {
    // An odd factor spreads consecutive inodes over all bits (2^64 divided by the golden ratio).
    return (key.inode ^ (key.device << 40)) * 0x9E3779B97F4A7C15U;
  }
};

// What tells that a file or folder of the backing tree has changed. A file system's clock has
// steps: a change within the same step as one that was seen before cannot be told apart. So a state
// counts as known only once its time lies a while back.
class BackingState {
 public:
  BackingState() = default;
  BackingState(const struct stat& status, std::time_t now) noexcept
      : bytes_(status.st_size),
        modified_(status.st_mtim),
        changed_(status.st_ctim),
        is_settled_(status.st_mtim.tv_sec + settling_s < now &&
                    status.st_ctim.tv_sec + settling_s < now) {}

  [[nodiscard]] bool equals(const BackingState& other) const noexcept {
    return bytes_ == other.bytes_ && same(modified_, other.modified_) &&
           same(changed_, other.changed_);
  }
  // Whether the content is the same, as far as can be seen.
  [[nodiscard]] bool has_content_of(const BackingState& other) const noexcept {
    return bytes_ == other.bytes_ && same(modified_, other.modified_);
  }
  // Whether nothing has changed from this state to the other one.
  [[nodiscard]] bool lasts_as(const BackingState& later) const noexcept {
    return is_settled_ && equals(later);
  }

 private:
  static constexpr std::time_t settling_s = 2;  // FAT's clock is the slowest
  static bool same(const timespec& a, const timespec& b) noexcept {
    return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
  }

  off_t bytes_ = -1;
  timespec modified_{};
  timespec changed_{};
  bool is_settled_ = false;
};

// A folder that is open. Only one thread at a time may list it.
struct OpenFolder {
  explicit OpenFolder(volume::Folder opened) : folder(std::move(opened)) {}

  volume::Folder folder;
  mutable std::mutex listing;
};
using SharedFolder = std::shared_ptr<const OpenFolder>;

class Node;
using SharedNode = std::shared_ptr<Node>;

// Where a node was last found. The root is in no folder.
struct NodePlace {
  SharedNode parent;
  std::string stored;  // in the backing tree
  std::string name;    // in the volume

  [[nodiscard]] bool is_at(const SharedNode& folder, std::string_view stored_name) const noexcept {
    return parent == folder && stored == stored_name;
  }
};

struct PlaceOrder {
  bool operator()(const std::shared_ptr<const NodePlace>& a,
                  const std::shared_ptr<const NodePlace>& b) const noexcept {
    return std::tie(a->parent, a->stored) < std::tie(b->parent, b->stored);
  }
};

class Node : public std::enable_shared_from_this<Node> {
 public:
  Node(const NodeKey& node_key, mode_t mode, std::uint32_t node_generation,
       std::shared_ptr<const NodePlace> place)
      : key(node_key), type(mode & S_IFMT), generation(node_generation), place_(std::move(place)) {}
  ~Node();
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  const NodeKey key;
  const mode_t type;               // S_IFREG, ...
  const std::uint32_t generation;  // tells nodes apart that had the same inode one after another

  [[nodiscard]] std::shared_ptr<const NodePlace> place() const;
  // The other names that the system was told of and that nobody is known to have taken away.
  [[nodiscard]] std::vector<std::shared_ptr<const NodePlace>> other_places() const;

  // It has no name any more, as far as is known.
  [[nodiscard]] bool is_retired() const;
  // A mere place (O_PATH) of a file that loses its last name. The system may be about to open what
  // it has just found under that name.
  void keep_left(std::shared_ptr<const Descriptor> left);
  void drop_left();
  [[nodiscard]] std::shared_ptr<const Descriptor> left() const;

  // The system has been told these attributes, and may believe them for a while.
  void told(const struct stat& backing);
  // Whether attributes are those that the system was told last.
  [[nodiscard]] bool are_as_told(const struct stat& backing) const;

  // A file of this node that is open: somebody may have removed its name. Null if none is.
  struct OpenedFile {
    std::weak_ptr<volume::WritableFile> file;
    bool can_write = false;
  };
  void opened(const OpenedFile& file);
  [[nodiscard]] std::shared_ptr<volume::WritableFile> open_file(bool can_write = false) const;

  // Changes of a regular file's content or attributes through this mount. What such a file has
  // after them is noted, so that changes by others can be told from them. `before` is what it had
  // while changes() was `changes`: what others have changed until then is not taken for our own
  // later on. It may be null, if nobody knows.
  void begin_change(const struct stat* before, std::uint64_t changes);
  // `look` gives what the file has now, or nothing; its argument is believed(). It is called only
  // by the last of all changes that go on at once, because what the others see may be out of date
  // when they come to note it.
  template <typename Look>
  void end_change(const Look& look) {
    const std::lock_guard lock(mutex_);
    if (--changing_ != 0) {
      return;
    }
    const Result<struct stat> after = look(believed_);
    is_own_known_ = bool(after);
    if (after) {
      own_ = BackingState(*after, 0);
    }
  }
  // How often one has begun.
  [[nodiscard]] std::uint64_t changes() const;
  // With write-back: the time of modification that the system shows while changes go on, which is
  // the one from before them or what it has set since. Late writes do not change it.
  void believe(const timespec& modified);
  [[nodiscard]] std::optional<timespec> believed() const;
  // From now on it counts as changed by others (NodeTable::disown).
  void note_disowned();
  [[nodiscard]] bool is_disowned() const;
  // Notes what a file has that nobody has changed yet.
  void note_first(const struct stat& backing);
  // Whether others have changed the file: it has this size and time of modification now, and since
  // changes() was `changes` nothing was changed through this mount. False while it is open to be
  // written. Once others are known to have changed it, that stays so: the system goes on with what
  // it has of this node, until it looks up another.
  [[nodiscard]] bool has_changed_outside(const struct stat& backing, std::uint64_t changes) const;

  // Whether the system may keep what it has cached of the content since the call before this one.
  // Remembers the state for the next call. `now` in seconds.
  [[nodiscard]] bool may_keep_cache(const struct stat& backing, std::time_t now);
  // The same for the names in a folder, which are not kept for longer than `lifetime_s`.
  [[nodiscard]] bool may_keep_names(const struct stat& backing, std::time_t now,
                                    std::time_t lifetime_s);

 private:
  friend class NodeTable;

  void note_retired();
  // What has_changed_outside says, as far as it is not known yet. The caller holds the lock.
  [[nodiscard]] bool differs_from_own(const struct stat& backing, std::uint64_t changes) const;

  mutable std::mutex mutex_;  // guards all that follows but the atomic
  std::shared_ptr<const NodePlace> place_;
  std::set<std::shared_ptr<const NodePlace>, PlaceOrder> other_places_;  // of a folder: none
  bool is_retired_ = false;
  std::shared_ptr<const Descriptor> left_;
  SharedFolder folder_;  // kept open, or null
  std::vector<OpenedFile> open_files_;
  std::uint64_t changes_ = 0;
  unsigned changing_ = 0;
  bool is_disowned_ = false;
  bool is_foreign_ = false;    // others have changed it since
  bool is_own_known_ = false;  // whether the next is
  BackingState own_;
  std::optional<timespec> believed_;
  BackingState told_;
  BackingState cached_;
  std::time_t names_cached_at_ = 0;
  std::atomic<bool> is_folder_used_{false};  // since it was last considered for being closed
  std::uint64_t lookups_ = 0;                // guarded by the table's shard
};

// Under which names a path is told.
enum class PathNames {
  plain,   // those of the volume
  stored,  // those of the backing tree, which give nothing away
};

// Safe to use from any number of threads.
class NodeTable {
 public:
  // At most `max_folders` folders are kept open, the root apart. Throws Error(failure) if the root
  // cannot be opened, and Error(corrupt) if its IV is damaged.
  NodeTable(const volume::Volume& volume, std::size_t max_folders, PathNames path_names);

  [[nodiscard]] const SharedNode& root() const noexcept { return root_; }

  // The node of what was found in a folder, with one lookup more. One that is known moves to this
  // place. An inode that has another type than the known one has been used anew: it gets another
  // node.
  [[nodiscard]] SharedNode enter(const SharedNode& parent, std::string_view name,
                                 std::string_view stored, const struct stat& backing);
  // The node of an inode, if the system knows one. No lookup is counted.
  [[nodiscard]] SharedNode known(const NodeKey& key);
  // An inode has lost its last name, or its file is another one by now: whoever has the node goes
  // on with it, and what is found under this inode from now on gets another.
  void retire(const SharedNode& node);
  // What the system knows of this node's file is not true any more. Both the node and the one that
  // has its inode by now are retired, if they are not yet, and nobody opens them again. The latter
  // is the answer, if there is one.
  SharedNode disown(const SharedNode& node);
  // A node has another name in the place of the old one, which is the stored one.
  void move(Node& node, const SharedNode& old_parent, std::string_view old_stored,
            const SharedNode& parent, std::string_view name, std::string_view stored);
  // A node has lost one of its names.
  void lose(Node& node, const SharedNode& parent, std::string_view stored);
  // All that have a file open, those without a name among them.
  [[nodiscard]] std::vector<SharedNode> with_open_files() const;

  // Takes lookups back. The node is gone when none is left and nobody else holds it.
  void forget(Node& node, std::uint64_t lookups) noexcept;

  // The folder of a node, opened where it is not kept. ESTALE if it is no longer where it was last
  // found: then the system looks it up anew.
  [[nodiscard]] Result<SharedFolder> folder(const SharedNode& node);
  // The same, only if it is kept open. Null otherwise.
  [[nodiscard]] SharedFolder kept_folder(Node& node) noexcept;

  // Closes all folders that nobody uses, when the process has no descriptor left.
  void close_folders() noexcept;

  // For messages. The root's is empty.
  [[nodiscard]] std::string path_of(const Node& node) const;

  [[nodiscard]] std::size_t nodes() const;         // the root left out
  [[nodiscard]] std::size_t kept_folders() const;  // the root left out

 private:
  struct Shard {
    mutable std::mutex mutex;
    std::unordered_map<NodeKey, SharedNode, NodeKeyHash> nodes;
    // Whose inode is another's by now, and which the system has not forgotten yet. There are few.
    std::vector<SharedNode> replaced;
  };

  [[nodiscard]] Shard& shard_of(const NodeKey& key) noexcept;
  void move_to(Node& node, std::shared_ptr<const NodePlace> place);
  void add_place(Node& node, std::shared_ptr<const NodePlace> place);
  [[nodiscard]] bool is_above(const Node& node, const NodePlace& place) const;
  [[nodiscard]] Result<SharedFolder> open_in(const OpenFolder& parent, const SharedNode& node,
                                             const std::string& stored, const std::string& path);
  [[nodiscard]] std::string path_below(const std::string& folder, const NodePlace& place) const;
  [[nodiscard]] SharedFolder keep(const SharedNode& node, SharedFolder folder);
  void make_room_for(const SharedNode& node);

  static constexpr std::size_t shard_count = 64;

  const volume::Volume* volume_;
  std::size_t max_folders_;
  PathNames path_names_;
  SharedNode root_;
  std::atomic<std::uint32_t> generations_{0};
  std::array<Shard, shard_count> shards_;
  std::mutex moving_;  // held while a folder gets another place
  mutable std::mutex kept_mutex_;
  std::vector<std::weak_ptr<Node>> kept_;  // whose folders are open
  std::size_t hand_ = 0;                   // which of them is considered next
};

}  // namespace paes::mount
