// SPDX-License-Identifier: Apache-2.0
// What the system holds open in a mount, and how a request is answered: what the files share that
// have operations of MountedVault.
#pragma once

#include <sys/stat.h>

#include <bit>
#include <cerrno>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include "paes-mount/mounted_vault.hpp"
#include "volume/change/writable_file.hpp"

namespace paes::mount {

inline void refuse(fuse_req_t request, int error) noexcept { (void)fuse_reply_err(request, error); }

// What an open file or folder was given as its handle.
template <typename Handle>
Handle* handle_of(const fuse_file_info& file) noexcept {
  return std::bit_cast<Handle*>(file.fh);
}

// What is no longer where it was found. The system looks it up anew then.
inline int stale_instead_of_absent(int error) noexcept {
  return error == ENOENT || error == ENOTDIR || error == ELOOP ? ESTALE : error;
}

inline bool is_of(const Node& node, const struct stat& status) noexcept {
  return key_of(status) == node.key && (status.st_mode & S_IFMT) == node.type;
}

template <typename Use>
auto MountedVault::at_name(const SharedNode& node, const Use& use) {
  using Answer = decltype(use(std::declval<const Backed&>()));
  const auto at = [&](const std::shared_ptr<const NodePlace>& place) -> Answer {
    if (place->parent == nullptr) {
      return volume::Failure{EINVAL};  // the root has no name
    }
    volume::Result<SharedFolder> folder = nodes_.folder(place->parent);
    return folder ? use(Backed{std::move(*folder), place})
                  : Answer(volume::Failure{folder.error()});
  };
  Answer answer = at(node->place());
  if (answer.error() != ESTALE) {
    return answer;
  }
  for (const std::shared_ptr<const NodePlace>& place : node->other_places()) {
    Answer other = at(place);
    if (other.error() != ESTALE) {
      return other;
    }
  }
  return answer;
}

template <typename Open>
auto MountedVault::with_descriptors(const Open& open) {
  auto opened = open();
  if (opened.error() != EMFILE && opened.error() != ENFILE) {
    return opened;
  }
  nodes_.close_folders();
  return open();
}

// A change of a file through this mount, as long as it goes on (Node::begin_change).
class MountedVault::OwnChange {
 public:
  // `descriptor` outlives this.
  OwnChange(const MountedVault& mounted, SharedNode node, int descriptor)
      : mounted_(&mounted),
        volume_(mounted.volume_),
        node_(std::move(node)),
        descriptor_(descriptor) {
    const std::uint64_t changes = node_->changes();
    const volume::Result<struct stat> before = volume_->backing().status(descriptor_, "");
    node_->begin_change(before ? &*before : nullptr, changes);
  }
  ~OwnChange() {
    node_->end_change([&](const std::optional<timespec>& believed) {
      mounted_->settle_time(believed, descriptor_);
      return volume_->backing().status(descriptor_, "");
    });
  }
  OwnChange(const OwnChange&) = delete;
  OwnChange& operator=(const OwnChange&) = delete;

 private:
  const MountedVault* mounted_;
  const volume::Volume* volume_;
  SharedNode node_;
  int descriptor_;
};

// A lookup of a node, which is taken back unless the system gets to know of it.
class MountedVault::Lookup {
 public:
  Lookup(NodeTable& nodes, SharedNode node) noexcept : nodes_(&nodes), node_(std::move(node)) {}
  Lookup(Lookup&& other) noexcept : nodes_(other.nodes_), node_(std::move(other.node_)) {}
  Lookup& operator=(Lookup&&) = delete;
  ~Lookup() {
    if (node_ != nullptr) {
      nodes_->forget(*node_, 1);
    }
  }

  [[nodiscard]] const SharedNode& node() const noexcept { return node_; }
  Node* operator->() const noexcept { return node_.get(); }
  Node& operator*() const noexcept { return *node_; }

  // The system has it. The node may be forgotten, and gone, from now on.
  void given() noexcept { node_.reset(); }

 private:
  NodeTable* nodes_;
  SharedNode node_;
};

// While somebody takes names away or gives them to others.
class MountedVault::NameChange {
 public:
  explicit NameChange(MountedVault& vault) noexcept : vault_(vault) { ++vault_.changing_names_; }
  ~NameChange() {
    ++vault_.changes_of_names_;
    --vault_.changing_names_;
  }
  NameChange(const NameChange&) = delete;
  NameChange& operator=(const NameChange&) = delete;

 private:
  MountedVault& vault_;
};

// Calls `use` with a descriptor through which a node's attributes are found, perhaps a mere place
// (O_PATH): a folder that is kept, a file that is open, whose name may be gone, or what is opened
// for this call. Its answer is 0 or an errno.
template <typename Use>
int MountedVault::with_place(const SharedNode& node, int flags, const Use& use) {
  if (node->type == S_IFDIR) {
    const volume::Result<SharedFolder> folder = nodes_.folder(node);
    return folder ? use((*folder)->folder.descriptor()) : folder.error();
  }
  if (const std::shared_ptr<volume::WritableFile> file = node->open_file()) {
    return use(file->descriptor());
  }
  const volume::Result<Descriptor> opened =
      flags == O_PATH ? open_backing(node, O_PATH) : open_for_attributes(node);
  return opened ? use(opened->number()) : opened.error();
}

struct MountedVault::OpenFile {
  SharedNode node;
  std::shared_ptr<volume::WritableFile> file;
  std::string path;  // for messages
  std::unique_ptr<OwnChange>
      change;  // of one that is open to be written; goes before the file does
};

// A folder that somebody reads. The entries are those of one moment, and stay until the reader
// begins anew, so that a position always means the same entry.
struct MountedVault::Listing {
  SharedNode node;
  SharedFolder folder;
  std::mutex mutex;  // guards the rest
  bool is_listed = false;
  std::vector<volume::FolderEntry> entries;
};

struct MountedVault::Answers {
  static MountedVault& of(void* user_data) noexcept {
    return *static_cast<MountedVault*>(user_data);
  }

  // Work answers the request as the last thing that it does, so that nothing is answered twice.
  template <typename Work>
  static void answer(fuse_req_t request, const Work& work) noexcept {
    MountedVault& mounted = of(fuse_req_userdata(request));
    mounted.last_request_.store(std::chrono::steady_clock::now(), std::memory_order_relaxed);
    answer_unused(request, work);
  }

  // The same for a request that does not count as use of the mount.
  template <typename Work>
  static void answer_unused(fuse_req_t request, const Work& work) noexcept {
    try {
      work(of(fuse_req_userdata(request)));
    } catch (const std::bad_alloc&) {
      refuse(request, ENOMEM);
    } catch (...) {
      refuse(request, EIO);
    }
  }

  template <typename Handle>
  static void close_handle(MountedVault& mounted, Handle* handle) noexcept {
    const std::unique_ptr<Handle> closed(handle);
    --mounted.handles_;
  }

  // Gives the handle to the system, or closes it if nobody waits for it any more. `reply` is the
  // answer itself, 0 if it arrived.
  template <typename Handle, typename Reply>
  static bool give_handle(MountedVault& mounted, std::unique_ptr<Handle> handle,
                          fuse_file_info* file, const Reply& reply) {
    Handle* const given = handle.release();
    file->fh = reinterpret_cast<std::uint64_t>(given);
    ++mounted.handles_;
    if (reply() == 0) {
      return true;
    }
    close_handle(mounted, given);
    return false;
  }
};

}  // namespace paes::mount
