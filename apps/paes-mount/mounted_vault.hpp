// The operations of a mounted vault, as libfuse's low-level interface wants them. Each request is
// answered by the thread that received it. A mount is read-only: whatever would change something is
// answered with EROFS.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <functional>
#include <mutex>
#include <vector>

#include "paes-mount/fuse.hpp"
#include "paes-mount/node_table.hpp"
#include "volume/volume.hpp"

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

struct MountedVaultOptions {
  Lifetimes lifetimes;
  std::size_t max_folders = 1024;  // kept open
  PathNames path_names = PathNames::plain;
  bool has_acls = false;  // the system enforces POSIX ACLs
  bool has_suid = false;  // set-user-ID programs and file capabilities count
};

class MountedVault {
 public:
  // `volume` must outlive it. Throws as NodeTable does.
  MountedVault(const volume::Volume& volume, const MountedVaultOptions& options);
  MountedVault(const MountedVault&) = delete;
  MountedVault& operator=(const MountedVault&) = delete;

  // What libfuse calls, with this object as its user data.
  [[nodiscard]] static const fuse_lowlevel_ops& operations() noexcept;

  // What a session sets before the first request: itself, and what is called once the system and
  // the program have agreed on the protocol.
  fuse_session* session = nullptr;
  std::function<void()> on_ready;

  // Files and folders that are open.
  [[nodiscard]] std::uint64_t open_handles() const noexcept { return handles_.load(); }
  // Since the last request that somebody may have waited for.
  [[nodiscard]] std::chrono::steady_clock::duration idle_time() const noexcept;
  [[nodiscard]] const NodeTable& nodes() const noexcept { return nodes_; }

 private:
  struct Calls;  // mounted_vault.cpp: what libfuse calls

  struct OpenFile;
  struct Listing;

  // Where a node's backing entry is found: by a name in a folder that is held open meanwhile.
  struct Backed {
    SharedFolder folder;
    std::shared_ptr<const NodePlace> place;  // of the root: without a parent
    [[nodiscard]] int descriptor() const noexcept { return folder->folder.descriptor(); }
    [[nodiscard]] const char* name() const noexcept { return place->stored.c_str(); }
  };

  [[nodiscard]] Node& node_at(fuse_ino_t number) noexcept;
  [[nodiscard]] SharedNode node_of(fuse_ino_t number);
  [[nodiscard]] fuse_ino_t number_of(const Node& node) const noexcept;
  [[nodiscard]] volume::Result<Backed> find(const SharedNode& node);
  [[nodiscard]] volume::Result<struct stat> status_of(const SharedNode& node);
  [[nodiscard]] volume::Result<Descriptor> open_backing(const SharedNode& node, int flags);
  [[nodiscard]] volume::Result<Descriptor> open_for_attributes(const SharedNode& node);
  // Calls `open` again after folders were closed, if the process had no descriptor left.
  template <typename Open>
  [[nodiscard]] auto with_descriptors(const Open& open);

  [[nodiscard]] struct stat shown(const struct stat& backing);
  [[nodiscard]] std::uint64_t shown_inode(dev_t device, ino_t inode);
  [[nodiscard]] fuse_entry_param entry_of(const Node& node, const struct stat& backing);

  void initialise(fuse_conn_info& connection);
  void lookup(fuse_req_t request, fuse_ino_t parent, const char* name);
  void get_attributes(fuse_req_t request, fuse_ino_t number, const fuse_file_info* file);
  void read_link(fuse_req_t request, fuse_ino_t number);
  void open(fuse_req_t request, fuse_ino_t number, fuse_file_info* file);
  void read(fuse_req_t request, std::size_t bytes, off_t offset, const fuse_file_info* file);
  void open_folder(fuse_req_t request, fuse_ino_t number, fuse_file_info* file);
  void read_folder(fuse_req_t request, std::size_t bytes, off_t offset, const fuse_file_info* file,
                   bool with_attributes);
  void get_statistics(fuse_req_t request);
  void get_attribute(fuse_req_t request, fuse_ino_t number, const char* name, std::size_t bytes);
  void list_attributes(fuse_req_t request, fuse_ino_t number, std::size_t bytes);

  const volume::Volume* volume_;
  MountedVaultOptions options_;
  NodeTable nodes_;
  std::atomic<std::uint64_t> handles_{0};
  std::atomic<std::chrono::steady_clock::time_point> last_request_;
  std::mutex devices_mutex_;
  std::vector<dev_t> devices_;  // of the backing tree, the root's first
};

}  // namespace paes::mount
