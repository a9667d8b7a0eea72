// SPDX-License-Identifier: Apache-2.0
#include "paes-mount/node_table.hpp"

#include <algorithm>
#include <cerrno>

#include "paes/error.hpp"

namespace paes::mount {

// The last reference to a folder may be that of what lies in it. Each destructor that would run
// within another one leaves its place to the outermost, so that no tree is too deep for the stack.
Node::~Node() {
  using Place = std::shared_ptr<const NodePlace>;
  thread_local Place* left_to_outermost = nullptr;
  if (left_to_outermost != nullptr) {
    *left_to_outermost = std::move(place_);
    return;
  }
  Place above;  // at most one: a place has one folder, and a folder has one place
  left_to_outermost = &above;
  const auto release = [&](Place place) {
    for (; place != nullptr; place = std::move(above)) {
      place.reset();
    }
  };
  release(std::move(place_));
  while (!other_places_.empty()) {
    release(std::move(other_places_.extract(other_places_.begin()).value()));
  }
  left_to_outermost = nullptr;
}

std::shared_ptr<const NodePlace> Node::place() const {
  const std::lock_guard lock(mutex_);
  return place_;
}

std::vector<std::shared_ptr<const NodePlace>> Node::other_places() const {
  const std::lock_guard lock(mutex_);
  return {other_places_.begin(), other_places_.end()};
}

bool Node::is_retired() const {
  const std::lock_guard lock(mutex_);
  return is_retired_;
}

void Node::note_retired() {
  const std::lock_guard lock(mutex_);
  is_retired_ = true;
}

void Node::keep_left(std::shared_ptr<const Descriptor> left) {
  const std::lock_guard lock(mutex_);
  left_.swap(left);
}

void Node::drop_left() { keep_left(nullptr); }

std::shared_ptr<const Descriptor> Node::left() const {
  const std::lock_guard lock(mutex_);
  return left_;
}

void Node::told(const struct stat& backing) {
  const std::lock_guard lock(mutex_);
  told_ = BackingState(backing, 0);
}

bool Node::are_as_told(const struct stat& backing) const {
  const std::lock_guard lock(mutex_);
  return told_.equals(BackingState(backing, 0));
}

void Node::opened(const OpenedFile& file) {
  const std::lock_guard lock(mutex_);
  std::erase_if(open_files_, [](const OpenedFile& one) { return one.file.expired(); });
  open_files_.push_back(file);
}

std::shared_ptr<volume::WritableFile> Node::open_file(bool can_write) const {
  const std::lock_guard lock(mutex_);
  for (const OpenedFile& one : open_files_) {
    if (std::shared_ptr<volume::WritableFile> file = one.file.lock();
        file != nullptr && (one.can_write || !can_write)) {
      return file;
    }
  }
  return nullptr;
}

void Node::begin_change(const struct stat* before, std::uint64_t changes) {
  const std::lock_guard lock(mutex_);
  is_foreign_ = is_foreign_ || (before != nullptr && differs_from_own(*before, changes));
  if (changing_ == 0) {
    believed_ = before != nullptr ? std::optional(before->st_mtim) : std::nullopt;
  }
  ++changing_;
  ++changes_;
}

std::uint64_t Node::changes() const {
  const std::lock_guard lock(mutex_);
  return changes_;
}

void Node::believe(const timespec& modified) {
  const std::lock_guard lock(mutex_);
  if (changing_ != 0) {
    believed_ = modified;
  }
}

std::optional<timespec> Node::believed() const {
  const std::lock_guard lock(mutex_);
  return changing_ != 0 ? believed_ : std::nullopt;
}

void Node::note_disowned() {
  const std::lock_guard lock(mutex_);
  is_disowned_ = true;
  is_foreign_ = true;
}

bool Node::is_disowned() const {
  const std::lock_guard lock(mutex_);
  return is_disowned_;
}

void Node::note_first(const struct stat& backing) {
  const std::lock_guard lock(mutex_);
  if (!is_own_known_ && changing_ == 0) {
    own_ = BackingState(backing, 0);
    is_own_known_ = true;
  }
}

bool Node::has_changed_outside(const struct stat& backing, std::uint64_t changes) const {
  const std::lock_guard lock(mutex_);
  return (is_foreign_ && changing_ == 0) || differs_from_own(backing, changes);
}

bool Node::differs_from_own(const struct stat& backing, std::uint64_t changes) const {
  return changing_ == 0 && changes_ == changes && is_own_known_ &&
         !own_.has_content_of(BackingState(backing, 0));
}

bool Node::may_keep_cache(const struct stat& backing, std::time_t now) {
  const BackingState state(backing, now);
  const std::lock_guard lock(mutex_);
  return std::exchange(cached_, state).lasts_as(state);
}

bool Node::may_keep_names(const struct stat& backing, std::time_t now, std::time_t lifetime_s) {
  const BackingState state(backing, now);
  const std::lock_guard lock(mutex_);
  const bool is_same = std::exchange(cached_, state).lasts_as(state);
  if (is_same && now - names_cached_at_ < lifetime_s) {
    return true;
  }
  names_cached_at_ = now;
  return false;
}

NodeTable::NodeTable(const volume::Volume& volume, std::size_t max_folders, PathNames path_names)
    : volume_(&volume),
      max_folders_(std::max<std::size_t>(max_folders, 1)),
      path_names_(path_names) {
  Result<volume::Folder> folder = volume::Folder::open(volume, volume.root(), "", "");
  if (!folder) {
    const bool is_damaged = folder.failed_with(EIO);
    throw Error(
        is_damaged ? ErrorCode::corrupt : ErrorCode::failure,
        "the vault's folder: " + (is_damaged ? std::string("gocryptfs.diriv is missing or damaged")
                                             : folder.error().message()));
  }
  const Result<struct stat> status = volume.backing().status(folder->descriptor());
  if (!status) {
    throw Error(ErrorCode::failure, "the vault's folder: " + status.error().message());
  }
  root_ = std::make_shared<Node>(key_of(*status), status->st_mode, generations_.load(),
                                 std::make_shared<const NodePlace>());
  root_->folder_ = std::make_shared<const OpenFolder>(std::move(*folder));
}

NodeTable::Shard& NodeTable::shard_of(const NodeKey& key) noexcept {
  return shards_[NodeKeyHash()(key) >> 58];
}
static_assert(std::size_t{1} << (64 - 58) == 64, "six bits choose among the shards");

SharedNode NodeTable::enter(const SharedNode& parent, std::string_view name,
                            std::string_view stored, const struct stat& backing) {
  const NodeKey key = key_of(backing);
  if (key == root_->key) {
    return root_;  // reached through a bind mount; the root's lookups are not counted
  }
  Shard& shard = shard_of(key);
  SharedNode node;
  {
    const std::lock_guard lock(shard.mutex);
    const auto known = shard.nodes.find(key);
    if (known == shard.nodes.end() || known->second->type != (backing.st_mode & S_IFMT)) {
      // Without memory for it, nothing is entered.
      node = std::make_shared<Node>(key, backing.st_mode, ++generations_,
                                    std::make_shared<const NodePlace>(
                                        NodePlace{parent, std::string(stored), std::string(name)}));
      if (known == shard.nodes.end()) {
        shard.nodes.emplace(key, node);
      } else {
        shard.replaced.push_back(known->second);
        known->second->note_retired();
        known->second = node;
      }
      node->lookups_ = 1;
      return node;
    }
    node = known->second;
    ++node->lookups_;
  }
  if (!node->place()->is_at(parent, stored)) {
    try {
      add_place(*node, std::make_shared<const NodePlace>(
                           NodePlace{parent, std::string(stored), std::string(name)}));
    } catch (...) {
      forget(*node, 1);
      throw;
    }
  }
  return node;
}

SharedNode NodeTable::known(const NodeKey& key) {
  if (key == root_->key) {
    return root_;
  }
  Shard& shard = shard_of(key);
  const std::lock_guard lock(shard.mutex);
  const auto found = shard.nodes.find(key);
  return found == shard.nodes.end() ? nullptr : found->second;
}

void NodeTable::retire(const SharedNode& node) {
  Shard& shard = shard_of(node->key);
  const std::lock_guard lock(shard.mutex);
  const auto found = shard.nodes.find(node->key);
  if (found != shard.nodes.end() && found->second == node) {
    shard.replaced.push_back(found->second);
    shard.nodes.erase(found);
  }
  node->note_retired();
}

SharedNode NodeTable::disown(const SharedNode& node) {
  node->note_disowned();
  SharedNode current = known(node->key);
  if (current != nullptr) {
    current->note_disowned();
    retire(current);
  }
  return current;
}

void NodeTable::move(Node& node, const SharedNode& old_parent, std::string_view old_stored,
                     const SharedNode& parent, std::string_view name, std::string_view stored) {
  add_place(node, std::make_shared<const NodePlace>(
                      NodePlace{parent, std::string(stored), std::string(name)}));
  lose(node, old_parent, old_stored);
}

void NodeTable::lose(Node& node, const SharedNode& parent, std::string_view stored) {
  const auto lost = std::make_shared<const NodePlace>(NodePlace{parent, std::string(stored), {}});
  std::shared_ptr<const NodePlace> old;  // destroyed outside of the lock
  const std::lock_guard lock(node.mutex_);
  auto& others = node.other_places_;
  if (!node.place_->is_at(parent, stored)) {
    if (const auto known = others.find(lost); known != others.end()) {
      old = std::move(others.extract(known).value());
    }
  } else if (!others.empty()) {  // else it was there last
    old = std::exchange(node.place_, std::move(others.extract(others.begin()).value()));
  }
}

// A file may have many names, a folder has one. A name costs no more than a node would.
void NodeTable::add_place(Node& node, std::shared_ptr<const NodePlace> place) {
  if (node.type == S_IFDIR) {
    return move_to(node, std::move(place));
  }
  std::shared_ptr<const NodePlace> again;  // destroyed outside of the lock
  const std::lock_guard lock(node.mutex_);
  auto& others = node.other_places_;
  if (node.place_->is_at(place->parent, place->stored)) {
    return;
  }
  others.insert(node.place_);  // without memory for it, nothing has changed
  if (const auto known = others.find(place); known != others.end()) {
    again = std::move(others.extract(known).value());
  }
  node.place_ = std::move(place);
}

std::vector<SharedNode> NodeTable::with_open_files() const {
  std::vector<SharedNode> found;
  for (const Shard& shard : shards_) {
    const std::lock_guard lock(shard.mutex);
    for (const auto& [key, node] : shard.nodes) {
      if (node->open_file() != nullptr) {
        found.push_back(node);
      }
    }
    for (const SharedNode& node : shard.replaced) {
      if (node->open_file() != nullptr) {
        found.push_back(node);
      }
    }
  }
  return found;
}

// Nothing may be found to lie within itself: others may have moved a folder into one that it
// contained, while we still know the old place of the latter. Such a folder keeps its old place
// until that one is looked up.
void NodeTable::move_to(Node& node, std::shared_ptr<const NodePlace> place) {
  const std::lock_guard one_at_a_time(moving_);
  if (node.type == S_IFDIR && is_above(node, *place)) {
    return;
  }
  const std::lock_guard lock(node.mutex_);
  std::swap(node.place_, place);
}

bool NodeTable::is_above(const Node& node, const NodePlace& place) const {
  for (SharedNode above = place.parent; above != nullptr; above = above->place()->parent) {
    if (above.get() == &node) {
      return true;
    }
  }
  return false;
}

void NodeTable::forget(Node& node, std::uint64_t lookups) noexcept {
  if (&node == root_.get()) {
    return;
  }
  SharedNode last;  // destroyed outside of the lock
  Shard& shard = shard_of(node.key);
  const std::lock_guard lock(shard.mutex);
  node.lookups_ -= std::min(lookups, node.lookups_);
  if (node.lookups_ != 0) {
    return;
  }
  const auto known = shard.nodes.find(node.key);
  if (known != shard.nodes.end() && known->second.get() == &node) {
    last = std::move(known->second);
    shard.nodes.erase(known);
    return;
  }
  const auto replaced = std::find_if(shard.replaced.begin(), shard.replaced.end(),
                                     [&](const SharedNode& one) { return one.get() == &node; });
  if (replaced != shard.replaced.end()) {
    last = std::move(*replaced);
    shard.replaced.erase(replaced);
  }
}

// From the nearest folder above that is kept open down to this one: a loop, because a tree may be
// deeper than a stack.
Result<SharedFolder> NodeTable::folder(const SharedNode& node) {
  std::vector<std::pair<SharedNode, std::shared_ptr<const NodePlace>>> closed;
  SharedNode above = node;
  SharedFolder folder = kept_folder(*above);
  while (folder == nullptr) {
    closed.emplace_back(above, above->place());
    above = closed.back().second->parent;
    folder = kept_folder(*above);
  }
  std::string path = closed.empty() ? std::string() : path_of(*above);
  for (auto each = closed.rbegin(); each != closed.rend(); ++each) {
    path = path_below(path, *each->second);
    Result<SharedFolder> opened = open_in(*folder, each->first, each->second->stored, path);
    if (!opened) {
      return opened;
    }
    folder = std::move(*opened);
  }
  return folder;
}

Result<SharedFolder> NodeTable::open_in(const OpenFolder& parent, const SharedNode& node,
                                        const std::string& stored, const std::string& path) {
  const auto open = [&] {
    return volume::Folder::open(*volume_, parent.folder.descriptor(), stored.c_str(), path);
  };
  Result<volume::Folder> opened = open();
  if (opened.failed_with(EMFILE, ENFILE)) {
    close_folders();
    opened = open();
  }
  if (!opened) {
    return opened.failed_with(ENOENT, ENOTDIR, ELOOP) ? Errno(ESTALE) : opened.error();
  }
  const Result<struct stat> status = volume_->backing().status(opened->descriptor());
  if (!status || key_of(*status) != node->key) {
    return status ? Errno(ESTALE) : status.error();
  }
  return keep(node, std::make_shared<const OpenFolder>(std::move(*opened)));
}

SharedFolder NodeTable::kept_folder(Node& node) noexcept {
  const std::lock_guard lock(node.mutex_);
  if (node.folder_ != nullptr) {
    node.is_folder_used_.store(true, std::memory_order_relaxed);
  }
  return node.folder_;
}

SharedFolder NodeTable::keep(const SharedNode& node, SharedFolder folder) {
  {
    const std::lock_guard lock(node->mutex_);
    if (node->folder_ != nullptr) {
      return node->folder_;  // another thread was faster
    }
    node->folder_ = folder;
    node->is_folder_used_.store(true, std::memory_order_relaxed);
  }
  make_room_for(node);
  return folder;
}

// Second chance: the hand passes over folders that were used since it came by last.
void NodeTable::make_room_for(const SharedNode& node) {
  SharedFolder closed;  // closed, and its node destroyed, outside of the lock
  SharedNode with_closed;
  const std::lock_guard lock(kept_mutex_);
  if (kept_.size() < max_folders_) {
    kept_.push_back(node);
    return;
  }
  for (;; hand_ = (hand_ + 1) % kept_.size()) {
    const SharedNode oldest = kept_[hand_].lock();
    if (oldest == nullptr || !oldest->is_folder_used_.exchange(false, std::memory_order_relaxed)) {
      if (oldest != nullptr) {
        const std::lock_guard of_node(oldest->mutex_);
        closed = std::move(oldest->folder_);
      }
      kept_[hand_] = node;
      hand_ = (hand_ + 1) % kept_.size();
      with_closed = oldest;
      return;
    }
  }
}

void NodeTable::close_folders() noexcept {
  std::vector<std::weak_ptr<Node>> all;
  {
    const std::lock_guard lock(kept_mutex_);
    all.swap(kept_);
    hand_ = 0;
  }
  for (const std::weak_ptr<Node>& one : all) {
    if (const SharedNode node = one.lock()) {
      SharedFolder closed;
      const std::lock_guard lock(node->mutex_);
      closed.swap(node->folder_);
    }
  }
}

std::string NodeTable::path_of(const Node& node) const {
  std::vector<std::shared_ptr<const NodePlace>> places;
  for (std::shared_ptr<const NodePlace> place = node.place(); place->parent != nullptr;
       place = place->parent->place()) {
    places.push_back(place);
  }
  std::string path;
  for (auto place = places.rbegin(); place != places.rend(); ++place) {
    path = path_below(path, **place);
  }
  return path;
}

std::string NodeTable::path_below(const std::string& folder, const NodePlace& place) const {
  return volume::path_of(folder, path_names_ == PathNames::plain ? place.name : place.stored);
}

std::size_t NodeTable::nodes() const {
  std::size_t count = 0;
  for (const Shard& shard : shards_) {
    const std::lock_guard lock(shard.mutex);
    count += shard.nodes.size() + shard.replaced.size();
  }
  return count;
}

std::size_t NodeTable::kept_folders() const {
  const std::lock_guard lock(kept_mutex_);
  return static_cast<std::size_t>(std::count_if(
      kept_.begin(), kept_.end(), [](const std::weak_ptr<Node>& node) { return !node.expired(); }));
}

}  // namespace paes::mount
