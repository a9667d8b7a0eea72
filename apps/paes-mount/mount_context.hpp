// SPDX-License-Identifier: Apache-2.0
// What the operations of a mount share: the volume, the options, the nodes that the system knows,
// and what it is told of them. The operations themselves are functions, in a file for each subject
// (*_operations.hpp); operations.cpp has the table of them.
#pragma once

#include <sys/stat.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "paes-mount/fuse.hpp"
#include "paes-mount/left_files.hpp"
#include "paes-mount/listers.hpp"
#include "paes-mount/name_changes.hpp"
#include "paes-mount/name_notices.hpp"
#include "paes-mount/node_table.hpp"
#include "volume/change/tree_changes.hpp"
#include "volume/change/writable_volume.hpp"

namespace paes::mount {

// For how long the system may believe what it was told, in seconds.
struct Lifetimes {
  double entries = 60;     // that a name leads to this node
  double attributes = 60;  // sizes, times, permissions
  double absences = 1;     // that there is no such name
  // Whether the system may keep the names of a folder for as long as entries.
  bool keeps_names = true;

  // For a vault that others change meanwhile.
  [[nodiscard]] static constexpr Lifetimes shared() noexcept { return {0, 1, 0, false}; }
};

enum class Access {
  read,
  write,       // what is written reaches the vault before the call of the system returns
  write_back,  // the system holds what is written for a while
};

struct MountOptions {
  Lifetimes lifetimes;
  Access access = Access::read;
  std::size_t max_folders = 1024;  // kept open
  PathNames path_names = PathNames::plain;
  bool has_acls = false;  // the system enforces POSIX ACLs
  bool has_suid = false;  // set-user-ID programs and file capabilities count
  // Both outlive the mount. Null: none.
  const volume::SealingAhead* ahead = nullptr;
  volume::PendingWrites* pending = nullptr;
};

// Safe to use from any number of threads once it is attached.
class Mount {
 public:
  // `volume` must outlive it. Throws as NodeTable does.
  Mount(const volume::Volume& volume, const MountOptions& options);
  Mount(const Mount&) = delete;
  Mount& operator=(const Mount&) = delete;

  // ---- the session

  // Before the first request: the session that gets them, and what is called once the system and
  // the program have agreed on the protocol.
  void attach(fuse_session* session, std::function<void()> on_ready);
  // They have agreed on it, and on whether the system enforces ACLs.
  void note_ready(bool enforces_acls);
  [[nodiscard]] bool enforces_acls() const noexcept { return enforces_acls_.load(); }

  // What the system writes from now on is the last that it holds.
  void begin_last_writes() noexcept { lost_.store({}); }
  // Something that the system held back could not be stored.
  void note_lost(Errno error) noexcept { lost_.store(error); }
  // Has the system write what it still holds of all files that are open. The caller is no thread
  // that answers requests.
  void write_back();
  // Syncs the backing tree. Fails also for last writes that have failed: nobody else gets to know
  // of those.
  [[nodiscard]] Result<void> sync();

  // Somebody may have waited for a request.
  void note_use() noexcept;
  // Since the last of these requests.
  [[nodiscard]] std::chrono::steady_clock::duration idle_time() const noexcept;

  // Files and folders that are open.
  [[nodiscard]] std::uint64_t open_handles() const noexcept { return handles_.load(); }
  void note_handle_opened() noexcept { ++handles_; }
  void note_handle_closed() noexcept { --handles_; }

  // ---- what it is made of

  [[nodiscard]] const volume::Volume& volume() const noexcept { return *volume_; }
  [[nodiscard]] const volume::Backing& backing() const noexcept { return volume_->backing(); }
  [[nodiscard]] volume::WritableVolume& writable() noexcept { return writable_; }
  [[nodiscard]] const MountOptions& options() const noexcept { return options_; }
  [[nodiscard]] bool is_writable() const noexcept { return options_.access != Access::read; }
  // Whether the system holds what is written for a while.
  [[nodiscard]] bool holds_writes_back() const noexcept {
    return options_.access == Access::write_back;
  }
  [[nodiscard]] NodeTable& nodes() noexcept { return nodes_; }
  [[nodiscard]] const NodeTable& nodes() const noexcept { return nodes_; }
  [[nodiscard]] LeftFiles& left_files() noexcept { return left_files_; }
  [[nodiscard]] Listers& listers() noexcept { return listers_; }
  [[nodiscard]] NameChanges& name_changes() noexcept { return name_changes_; }

  // ---- nodes and what the system is told of them

  // A node's number is its address: the system uses no number after it has forgotten the node.
  [[nodiscard]] Node& node_at(fuse_ino_t number) noexcept;
  [[nodiscard]] SharedNode node_of(fuse_ino_t number) { return node_at(number).shared_from_this(); }
  [[nodiscard]] fuse_ino_t number_of(const Node& node) const noexcept;

  // The inode that the system is told of one in the backing tree.
  [[nodiscard]] std::uint64_t shown_inode(dev_t device, ino_t inode);
  // What the system is told of an entry of the backing tree, of which that says `backing`.
  [[nodiscard]] struct stat shown(const struct stat& backing, volume::EntryRef entry);
  // What the system is told of a node that it looks up. The others are as for shown().
  [[nodiscard]] fuse_entry_param entry_of(const Node& node, const struct stat& backing,
                                          volume::EntryRef entry);

  // The system asks for the node's attributes when it next needs them. Safe while answering a
  // request: the call takes no lock of the system.
  void forget_attributes(const Node& node) const noexcept;
  // The system looks the name up anew. Returns once it has been told, or after `patience`.
  void forget_name(SharedNode folder, std::string name, std::chrono::milliseconds patience);
  // The session ends, so the system is told nothing on our own account any more.
  void stop_notices() noexcept { notices_.stop(); }

 private:
  const volume::Volume* volume_;
  MountOptions options_;
  volume::WritableVolume writable_;
  NodeTable nodes_;
  LeftFiles left_files_;
  NameChanges name_changes_;
  Listers listers_;
  fuse_session* session_ = nullptr;
  std::function<void()> on_ready_;
  std::atomic<std::uint64_t> handles_{0};
  std::atomic<bool> enforces_acls_{false};
  std::atomic<Result<void>> lost_{};  // whether all that the system held back could be stored
  std::atomic<std::chrono::steady_clock::time_point> last_use_;
  std::mutex devices_mutex_;
  std::vector<dev_t> devices_;  // of the backing tree, the root's first
  NameNotices notices_;
};

}  // namespace paes::mount
