// SPDX-License-Identifier: Apache-2.0
#include "paes-mount/mount_context.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <utility>

#include "volume/read/link.hpp"

namespace paes::mount {

using std::chrono::steady_clock;

Mount::Mount(const volume::Volume& volume, const MountOptions& options)
    : volume_(&volume),
      options_(options),
      writable_(
          volume, volume::SavedBlocks::where_room_may_end,
          options.lifetimes.keeps_names ? volume::OtherWriters::none : volume::OtherWriters::some,
          options.ahead, options.pending),
      nodes_(volume, options.max_folders, options.path_names),
      left_files_(std::max<std::size_t>(options.max_folders, 1)),
      last_use_(steady_clock::now()),
      devices_{nodes_.root()->key.device},
      notices_([this](const Node& folder, const std::string& name) {
        (void)fuse_lowlevel_notify_inval_entry(session_, number_of(folder), name.data(),
                                               name.size());
      }) {}

// ---- the session

void Mount::attach(fuse_session* session, std::function<void()> on_ready) {
  session_ = session;
  on_ready_ = std::move(on_ready);
}

void Mount::note_ready(bool enforces_acls) {
  enforces_acls_ = enforces_acls;
  if (on_ready_) {
    on_ready_();
  }
}

void Mount::write_back() {
  for (const SharedNode& node : nodes_.with_open_files()) {
    // Before the system forgets what it has of a file, it writes that. It waits for the writes.
    const int answer = fuse_lowlevel_notify_inval_inode(session_, number_of(*node), 0, 0);
    if (answer < 0 && answer != -ENOENT) {  // the latter: the system has forgotten the file
      note_lost(Errno(-answer));
    }
  }
}

Result<void> Mount::sync() {
  const Result<void> synced = writable_.sync();
  const Result<void> written = lost_.load();
  return written ? synced : written;
}

void Mount::note_use() noexcept { last_use_.store(steady_clock::now(), std::memory_order_relaxed); }

steady_clock::duration Mount::idle_time() const noexcept {
  return steady_clock::now() - last_use_.load(std::memory_order_relaxed);
}

// ---- nodes and what the system is told of them

Node& Mount::node_at(fuse_ino_t number) noexcept {
  return number == FUSE_ROOT_ID ? *nodes_.root() : *std::bit_cast<Node*>(number);
}

fuse_ino_t Mount::number_of(const Node& node) const noexcept {
  return &node == nodes_.root().get() ? FUSE_ROOT_ID : reinterpret_cast<fuse_ino_t>(&node);
}

// A mount is one file system, whatever number of them is below it: the inodes of all but the
// first are told apart by bits that inodes hardly ever use.
std::uint64_t Mount::shown_inode(dev_t device, ino_t inode) {
  constexpr unsigned device_shift = 48;
  if (device == nodes_.root()->key.device) {
    return inode;
  }
  const std::lock_guard lock(devices_mutex_);
  auto known = std::find(devices_.begin(), devices_.end(), device);
  if (known == devices_.end()) {
    known = devices_.insert(devices_.end(), device);
  }
  return inode ^ (static_cast<std::uint64_t>(known - devices_.begin()) << device_shift);
}

struct stat Mount::shown(const struct stat& backing, volume::EntryRef entry) {
  struct stat told = backing;
  told.st_ino = shown_inode(backing.st_dev, backing.st_ino);
  told.st_size = static_cast<off_t>(volume::length_of(*volume_, backing, entry));
  return told;
}

fuse_entry_param Mount::entry_of(const Node& node, const struct stat& backing,
                                 volume::EntryRef entry) {
  fuse_entry_param told{};
  told.ino = number_of(node);
  told.generation = node.generation;
  told.attr = shown(backing, entry);
  if (holds_writes_back()) {
    told.attr.st_mtim = node.believed().value_or(told.attr.st_mtim);
  }
  told.attr_timeout = options_.lifetimes.attributes;
  told.entry_timeout = options_.lifetimes.entries;
  return told;
}

void Mount::forget_attributes(const Node& node) const noexcept {
  (void)fuse_lowlevel_notify_inval_inode(session_, number_of(node), -1, 0);
}

void Mount::forget_name(SharedNode folder, std::string name, std::chrono::milliseconds patience) {
  notices_.post(std::move(folder), std::move(name), patience);
}

}  // namespace paes::mount
