// SPDX-License-Identifier: Apache-2.0
// The operations of a mounted vault, as libfuse's low-level interface wants them. Each request is
// answered by the thread that received it. In a mount that is only read, whatever would change
// something is answered with EROFS.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "paes-mount/fuse.hpp"
#include "paes-mount/left_files.hpp"
#include "paes-mount/listers.hpp"
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

struct MountedVaultOptions {
  Lifetimes lifetimes;
  Access access = Access::read;
  std::size_t max_folders = 1024;  // kept open
  PathNames path_names = PathNames::plain;
  bool has_acls = false;  // the system enforces POSIX ACLs
  bool has_suid = false;  // set-user-ID programs and file capabilities count
  // Both outlive the mounted vault. Null: none.
  const volume::SealingAhead* ahead = nullptr;
  volume::PendingWrites* pending = nullptr;
};

class MountedVault {
 public:
  // `volume` must outlive it. Throws as NodeTable does.
  MountedVault(const volume::Volume& volume, const MountedVaultOptions& options);
  MountedVault(const MountedVault&) = delete;
  MountedVault& operator=(const MountedVault&) = delete;

  // What libfuse calls, with this object as its user data.
  [[nodiscard]] const fuse_lowlevel_ops& operations() const noexcept;

  // What a session sets before the first request: itself, and what is called once the system and
  // the program have agreed on the protocol.
  fuse_session* session = nullptr;
  std::function<void()> on_ready;

  [[nodiscard]] bool is_writable() const noexcept { return options_.access != Access::read; }

  // Whether the system enforces ACLs, once it and the program have agreed on the protocol.
  [[nodiscard]] bool enforces_acls() const noexcept { return system_checks_acls_.load(); }

  // What the system writes from now on is the last that it holds.
  void begin_last_writes() noexcept { lost_.store(0); }
  // Has the system write what it still holds of all files that are open. The caller is no thread
  // that answers requests.
  void write_back();
  // Syncs the backing tree. 0 or an errno, also of last writes that have failed: nobody else gets
  // to know of those.
  [[nodiscard]] int sync();

  // The session ends, so the system is told nothing on our own account any more.
  void stop_notices() noexcept { notices_.stop(); }

  // Files and folders that are open.
  [[nodiscard]] std::uint64_t open_handles() const noexcept { return handles_.load(); }
  // Since the last request that somebody may have waited for.
  [[nodiscard]] std::chrono::steady_clock::duration idle_time() const noexcept;
  [[nodiscard]] const NodeTable& nodes() const noexcept { return nodes_; }

 private:
  struct Calls;    // mounted_vault.cpp: what libfuse calls
  struct Changes;  // change_operations.cpp: the same for what changes something

  // handles.hpp
  class OwnChange;
  class Lookup;
  struct OpenFile;
  struct Listing;
  class EntriesReply;
  struct Answers;

  // Where a node's backing entry is found: by a name in a folder that is held open meanwhile.
  struct Backed {
    SharedFolder folder;
    std::shared_ptr<const NodePlace> place;  // of the root: without a parent
    [[nodiscard]] int descriptor() const noexcept { return folder->folder.descriptor(); }
    [[nodiscard]] const char* name() const noexcept { return place->stored.c_str(); }
  };
  // What stat(2) says of something in the backing tree, and what the system is told of it.
  struct Status {
    struct stat backing;
    struct stat shown;
  };

  [[nodiscard]] Node& node_at(fuse_ino_t number) noexcept;
  [[nodiscard]] SharedNode node_of(fuse_ino_t number);
  [[nodiscard]] fuse_ino_t number_of(const Node& node) const noexcept;
  // Calls `use`, whose answer is a Result, with each place where the node may be found, until it is
  // not ESTALE: so it says of a name that something else has by now.
  template <typename Use>
  [[nodiscard]] auto at_name(const SharedNode& node, const Use& use);
  // Why something could not be done under a name of the node.
  [[nodiscard]] int error_at(const Node& node, const Backed& backed, int error) const;
  // What is still open of a node that has no name: a file, or its place.
  [[nodiscard]] std::shared_ptr<const Descriptor> place_left(const SharedNode& node) const;
  // What the system is told of something. It has that name in a folder of the backing tree, or is
  // the descriptor itself if the name is empty.
  [[nodiscard]] volume::Result<Status> status_at(int folder, const char* stored);
  [[nodiscard]] volume::Result<Status> status_of(const SharedNode& node);
  [[nodiscard]] volume::Result<Descriptor> open_backing(const SharedNode& node, int flags);
  [[nodiscard]] volume::Result<Descriptor> open_for_attributes(const SharedNode& node);
  template <typename Use>
  [[nodiscard]] int with_place(const SharedNode& node, int flags, const Use& use);
  // Calls `open` again after folders were closed, if the process had no descriptor left.
  template <typename Open>
  [[nodiscard]] auto with_descriptors(const Open& open);

  // Both as status_at, for what the backing tree has said already.
  [[nodiscard]] struct stat shown(const struct stat& backing, int folder, const char* stored);
  [[nodiscard]] fuse_entry_param entry_of(const Node& node, const struct stat& backing, int folder,
                                          const char* stored);
  [[nodiscard]] std::uint64_t shown_inode(dev_t device, ino_t inode);

  void initialise(fuse_conn_info& connection);
  void lookup(fuse_req_t request, fuse_ino_t parent, const char* name);
  void get_attributes(fuse_req_t request, fuse_ino_t number, const fuse_file_info* file);
  void read_link(fuse_req_t request, fuse_ino_t number);
  void open(fuse_req_t request, fuse_ino_t number, fuse_file_info* file);
  void read(fuse_req_t request, std::size_t bytes, off_t offset, const fuse_file_info* file);
  void seek(fuse_req_t request, off_t offset, int whence, const fuse_file_info* file);
  void open_folder(fuse_req_t request, fuse_ino_t number, fuse_file_info* file);
  void read_folder(fuse_req_t request, std::size_t bytes, off_t offset, const fuse_file_info* file,
                   bool has_room_for_attributes);
  // Adds the listing's entries from a position on, as many as the reply has room for. With
  // attributes their nodes are in `entered`. 0 or an errno.
  [[nodiscard]] int fill(Listing& listing, off_t offset, bool with_attributes, EntriesReply& reply,
                         std::vector<Lookup>& entered);
  // What the system may keep of a file that it opens.
  void set_cache(Node& node, const struct stat& status, fuse_file_info& file);
  void get_statistics(fuse_req_t request);
  void get_attribute(fuse_req_t request, fuse_ino_t number, const char* name, std::size_t bytes);
  void list_attributes(fuse_req_t request, fuse_ino_t number, std::size_t bytes);

  // Enters what was found, as NodeTable does; a file that others have changed as another node.
  [[nodiscard]] Lookup enter(const SharedNode& parent, const volume::Folder& folder,
                             std::string_view name, const char* stored, struct stat& status);

  // name_changes.cpp
  class NameChange;
  template <typename Make>
  void make(fuse_req_t request, fuse_ino_t parent, const char* name, bool is_new, const Make& make);
  [[nodiscard]] volume::NewEntry new_entry(fuse_req_t request, const volume::Folder& folder,
                                           mode_t mode) const;
  void create(fuse_req_t request, fuse_ino_t parent, const char* name, mode_t mode,
              fuse_file_info* file);
  void make_folder(fuse_req_t request, fuse_ino_t parent, const char* name, mode_t mode);
  void make_node(fuse_req_t request, fuse_ino_t parent, const char* name, mode_t mode,
                 dev_t device);
  void make_link(fuse_req_t request, const char* target, fuse_ino_t parent, const char* name);
  void add_name(fuse_req_t request, fuse_ino_t number, fuse_ino_t parent, const char* name);
  void remove(fuse_req_t request, fuse_ino_t parent, const char* name, bool is_folder);
  // Opens what somebody else has made under the name meanwhile, if the system would let the one who
  // asks do that. EEXIST if that is uncertain.
  [[nodiscard]] volume::Result<std::unique_ptr<OpenFile>> open_made(
      fuse_req_t request, const SharedNode& parent, const volume::Folder& folder,
      const volume::StoredName& stored, const char* name, int flags, std::optional<Lookup>& found);
  void reply_new(fuse_req_t request, const SharedNode& parent, const volume::Folder& folder,
                 const volume::StoredName& stored, const char* name, const volume::NewEntry& entry,
                 volume::WritableFile made, fuse_file_info* file);
  void reply_created(fuse_req_t request, Lookup& found, const struct stat& status,
                     std::unique_ptr<OpenFile> handle, fuse_file_info* file);
  void reply_made(fuse_req_t request, Lookup& found, std::unique_ptr<OpenFile> handle,
                  fuse_file_info* file);
  void unmake(const volume::Folder& folder, const char* name);
  void retire(const struct stat& status);
  [[nodiscard]] std::shared_ptr<const Descriptor> place_of_doomed(const volume::Folder& folder,
                                                                  const std::string& stored,
                                                                  const struct stat& status);
  void lost_name(const struct stat& before, const SharedNode& parent, const std::string& stored,
                 std::shared_ptr<const Descriptor> place);
  void rename(fuse_req_t request, fuse_ino_t parent, const char* name, fuse_ino_t to_parent,
              const char* to_name, unsigned flags);

  // file_changes.cpp
  [[nodiscard]] volume::Result<std::unique_ptr<OpenFile>> open_file(const SharedNode& node,
                                                                    bool can_write);
  [[nodiscard]] std::unique_ptr<OpenFile> new_handle(const SharedNode& node,
                                                     volume::WritableFile file, bool can_write);
  void write(fuse_req_t request, Bytes text, off_t offset, const fuse_file_info* file);
  [[nodiscard]] int take_privileges(const OpenFile& opened);
  void forget_size(const SharedNode& node);
  // What the system has held back changes the time of modification only when it is written. The
  // file gets the time in which the system believes.
  void settle_time(const std::optional<timespec>& believed, int descriptor) const;
  void sync_file(fuse_req_t request, bool data_only, const fuse_file_info* file);
  void sync_folder(fuse_req_t request, const fuse_file_info* file);
  void allocate(fuse_req_t request, int mode, off_t offset, off_t bytes,
                const fuse_file_info* file);
  void copy_range(fuse_req_t request, off_t from_offset, const fuse_file_info* from,
                  off_t to_offset, const fuse_file_info* to, std::size_t bytes);
  [[nodiscard]] int set_length(const SharedNode& node, OpenFile* opened, off_t bytes);
  [[nodiscard]] bool has_lost_all_names(const Node& node) const;
  void set_attributes(fuse_req_t request, fuse_ino_t number, const struct stat& wanted, int which,
                      const fuse_file_info* file);
  void set_attribute(fuse_req_t request, fuse_ino_t number, const char* name, Bytes value,
                     int flags);
  void remove_attribute(fuse_req_t request, fuse_ino_t number, const char* name);
  [[nodiscard]] int check_may_change(fuse_req_t request, int place, const char* attribute) const;

  const volume::Volume* volume_;
  MountedVaultOptions options_;
  volume::WritableVolume writable_;
  NodeTable nodes_;
  LeftFiles left_files_;
  std::atomic<unsigned> changing_names_{0};         // those who are at it
  std::atomic<std::uint64_t> changes_of_names_{0};  // that are over
  Listers listers_;
  std::atomic<std::uint64_t> handles_{0};
  std::atomic<bool> system_checks_acls_{false};
  std::atomic<int> lost_{0};  // the errno of what the system held back and could not be stored
  std::atomic<std::chrono::steady_clock::time_point> last_request_;
  std::mutex devices_mutex_;
  std::vector<dev_t> devices_;  // of the backing tree, the root's first
  NameNotices notices_;
};

}  // namespace paes::mount
