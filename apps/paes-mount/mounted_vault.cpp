// SPDX-License-Identifier: Apache-2.0
#include "paes-mount/mounted_vault.hpp"

#include <fcntl.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include "core/secret.hpp"
#include "paes-mount/change_operations.hpp"
#include "paes-mount/handles.hpp"
#include "volume/change/holes.hpp"
#include "volume/read/attributes.hpp"
#include "volume/read/link.hpp"

namespace paes::mount {

using volume::Failure;
using volume::Result;

namespace {

using std::chrono::steady_clock;

// Where a thread puts the text that it answers with. libfuse gives it to the system from here, so
// there is no other copy.
class ReplyBuffer {
 public:
  ReplyBuffer() = default;
  ~ReplyBuffer() { wipe(bytes_.get(), size_); }
  ReplyBuffer(const ReplyBuffer&) = delete;
  ReplyBuffer& operator=(const ReplyBuffer&) = delete;

  [[nodiscard]] MutableBytes of(std::size_t bytes) {
    if (bytes > size_) {
      auto larger = std::make_unique_for_overwrite<std::uint8_t[]>(bytes);
      wipe(bytes_.get(), size_);
      bytes_ = std::move(larger);
      size_ = bytes;
    }
    return {bytes_.get(), bytes};
  }

 private:
  std::unique_ptr<std::uint8_t[]> bytes_;
  std::size_t size_ = 0;
};

MutableBytes reply_buffer(std::size_t bytes) {
  thread_local ReplyBuffer buffer;
  return buffer.of(bytes);
}

void reply_bytes(fuse_req_t request, Bytes bytes) noexcept {
  (void)fuse_reply_buf(request, reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

// As getxattr(2): the length alone if nobody has room for the bytes.
void reply_sized(fuse_req_t request, Bytes bytes, std::size_t room) noexcept {
  if (room == 0) {
    (void)fuse_reply_xattr(request, bytes.size());
  } else if (bytes.size() > room) {
    refuse(request, ERANGE);
  } else {
    reply_bytes(request, bytes);
  }
}

// An operation of a file system that can be written to.
template <typename... Arguments>
auto read_only(void (*)(fuse_req_t, Arguments...)) noexcept {
  return +[](fuse_req_t request, Arguments...) { refuse(request, EROFS); };
}

std::time_t now_s() noexcept { return std::time(nullptr); }

}  // namespace

// ---- what libfuse calls

struct MountedVault::Calls : Answers {
  static void init(void* user_data, fuse_conn_info* connection) {
    of(user_data).initialise(*connection);
  }

  static void lookup(fuse_req_t request, fuse_ino_t parent, const char* name) {
    answer(request, [&](MountedVault& mounted) { mounted.lookup(request, parent, name); });
  }

  static void forget(fuse_req_t request, fuse_ino_t number, std::uint64_t lookups) {
    MountedVault& mounted = of(fuse_req_userdata(request));
    mounted.nodes_.forget(mounted.node_at(number), lookups);
    fuse_reply_none(request);
  }

  static void forget_multi(fuse_req_t request, std::size_t count, fuse_forget_data* forgotten) {
    MountedVault& mounted = of(fuse_req_userdata(request));
    for (std::size_t i = 0; i < count; ++i) {
      mounted.nodes_.forget(mounted.node_at(forgotten[i].ino), forgotten[i].nlookup);
    }
    fuse_reply_none(request);
  }

  static void getattr(fuse_req_t request, fuse_ino_t number, fuse_file_info* file) {
    const auto get = [&](MountedVault& mounted) { mounted.get_attributes(request, number, file); };
    // Whoever watches the machine's mounts, df for one, asks for those of the root over and over.
    number == FUSE_ROOT_ID ? answer_unused(request, get) : answer(request, get);
  }

  static void readlink(fuse_req_t request, fuse_ino_t number) {
    answer(request, [&](MountedVault& mounted) { mounted.read_link(request, number); });
  }

  static void open(fuse_req_t request, fuse_ino_t number, fuse_file_info* file) {
    answer(request, [&](MountedVault& mounted) { mounted.open(request, number, file); });
  }

  static void read(fuse_req_t request, fuse_ino_t, std::size_t bytes, off_t offset,
                   fuse_file_info* file) {
    answer(request, [&](MountedVault& mounted) { mounted.read(request, bytes, offset, file); });
  }

  static void lseek(fuse_req_t request, fuse_ino_t, off_t offset, int whence,
                    fuse_file_info* file) {
    answer(request, [&](MountedVault& mounted) { mounted.seek(request, offset, whence, file); });
  }

  static void release(fuse_req_t request, fuse_ino_t, fuse_file_info* file) {
    answer(request, [&](MountedVault& mounted) {
      close_handle(mounted, handle_of<OpenFile>(*file));
      refuse(request, 0);
    });
  }

  static void opendir(fuse_req_t request, fuse_ino_t number, fuse_file_info* file) {
    answer(request, [&](MountedVault& mounted) { mounted.open_folder(request, number, file); });
  }

  static void readdir(fuse_req_t request, fuse_ino_t, std::size_t bytes, off_t offset,
                      fuse_file_info* file) {
    answer(request, [&](MountedVault& mounted) {
      mounted.read_folder(request, bytes, offset, file, false);
    });
  }

  static void readdirplus(fuse_req_t request, fuse_ino_t, std::size_t bytes, off_t offset,
                          fuse_file_info* file) {
    answer(request,
           [&](MountedVault& mounted) { mounted.read_folder(request, bytes, offset, file, true); });
  }

  static void releasedir(fuse_req_t request, fuse_ino_t, fuse_file_info* file) {
    answer(request, [&](MountedVault& mounted) {
      close_handle(mounted, handle_of<Listing>(*file));
      refuse(request, 0);
    });
  }

  static void statfs(fuse_req_t request, fuse_ino_t) {
    // Desktops ask for it for ever.
    answer_unused(request, [&](MountedVault& mounted) { mounted.get_statistics(request); });
  }

  static void getxattr(fuse_req_t request, fuse_ino_t number, const char* name, std::size_t bytes) {
    answer(request,
           [&](MountedVault& mounted) { mounted.get_attribute(request, number, name, bytes); });
  }

  static void listxattr(fuse_req_t request, fuse_ino_t number, std::size_t bytes) {
    answer(request,
           [&](MountedVault& mounted) { mounted.list_attributes(request, number, bytes); });
  }

  template <typename Handle>
  static void reply_open(MountedVault& mounted, fuse_req_t request, std::unique_ptr<Handle> handle,
                         fuse_file_info* file) {
    (void)give_handle(mounted, std::move(handle), file,
                      [&] { return fuse_reply_open(request, file); });
  }

  static fuse_lowlevel_ops all() noexcept {
    fuse_lowlevel_ops calls{};
    calls.init = init;
    calls.lookup = lookup;
    calls.forget = forget;
    calls.forget_multi = forget_multi;
    calls.getattr = getattr;
    calls.readlink = readlink;
    calls.open = open;
    calls.read = read;
    calls.lseek = lseek;
    calls.release = release;
    calls.opendir = opendir;
    calls.readdir = readdir;
    calls.readdirplus = readdirplus;
    calls.releasedir = releasedir;
    calls.statfs = statfs;
    calls.getxattr = getxattr;
    calls.listxattr = listxattr;
    // The system itself refuses these, as long as nobody mounts anew to be written to.
    calls.setattr = read_only(calls.setattr);
    calls.mknod = read_only(calls.mknod);
    calls.mkdir = read_only(calls.mkdir);
    calls.unlink = read_only(calls.unlink);
    calls.rmdir = read_only(calls.rmdir);
    calls.symlink = read_only(calls.symlink);
    calls.rename = read_only(calls.rename);
    calls.link = read_only(calls.link);
    calls.create = read_only(calls.create);
    calls.write = read_only(calls.write);
    calls.fallocate = read_only(calls.fallocate);
    calls.copy_file_range = read_only(calls.copy_file_range);
    calls.setxattr = read_only(calls.setxattr);
    calls.removexattr = read_only(calls.removexattr);
    return calls;
  }
};

const fuse_lowlevel_ops& MountedVault::operations() const noexcept {
  static const fuse_lowlevel_ops reading = Calls::all();
  static const fuse_lowlevel_ops writing = [] {
    fuse_lowlevel_ops calls = Calls::all();
    Changes::add_to(calls);
    return calls;
  }();
  return is_writable() ? writing : reading;
}

// ---- nodes and their backing entries

MountedVault::MountedVault(const volume::Volume& volume, const MountedVaultOptions& options)
    : volume_(&volume),
      options_(options),
      writable_(
          volume, volume::SavedBlocks::where_room_may_end,
          options.lifetimes.keeps_names ? volume::OtherWriters::none : volume::OtherWriters::some,
          options.ahead, options.pending),
      nodes_(volume, options.max_folders, options.path_names),
      left_files_(std::max<std::size_t>(options.max_folders, 1)),
      last_request_(steady_clock::now()),
      devices_{nodes_.root()->key.device},
      notices_([this](const Node& folder, const std::string& name) {
        (void)fuse_lowlevel_notify_inval_entry(session, number_of(folder), name.data(),
                                               name.size());
      }) {}

steady_clock::duration MountedVault::idle_time() const noexcept {
  return steady_clock::now() - last_request_.load(std::memory_order_relaxed);
}

// A node's number is its address: the system uses no number after it has forgotten the node.
Node& MountedVault::node_at(fuse_ino_t number) noexcept {
  return number == FUSE_ROOT_ID ? *nodes_.root() : *std::bit_cast<Node*>(number);
}

SharedNode MountedVault::node_of(fuse_ino_t number) { return node_at(number).shared_from_this(); }

fuse_ino_t MountedVault::number_of(const Node& node) const noexcept {
  return &node == nodes_.root().get() ? FUSE_ROOT_ID : reinterpret_cast<fuse_ino_t>(&node);
}

int MountedVault::error_at(const Node& node, const Backed& backed, int error) const {
  const Result<struct stat> status = volume_->backing().status(backed.descriptor(), backed.name());
  return status && is_of(node, *status) ? error
         : status                       ? ESTALE
                                        : stale_instead_of_absent(status.error());
}

std::shared_ptr<const Descriptor> MountedVault::place_left(const SharedNode& node) const {
  struct OpenPlace {
    std::shared_ptr<volume::WritableFile> file;  // stays open
    Descriptor descriptor;
  };
  if (std::shared_ptr<volume::WritableFile> file = node->open_file()) {
    Descriptor descriptor(file->descriptor(), false);
    auto place = std::make_shared<OpenPlace>(OpenPlace{std::move(file), std::move(descriptor)});
    return {place, &place->descriptor};
  }
  return node->left();
}

Result<MountedVault::Status> MountedVault::status_at(int folder, const char* stored) {
  const Result<struct stat> backing = volume_->backing().status(folder, stored);
  if (!backing) {
    return Failure{backing.error()};
  }
  return Status{*backing, shown(*backing, folder, stored)};
}

Result<MountedVault::Status> MountedVault::status_of(const SharedNode& node) {
  if (const SharedFolder folder = nodes_.kept_folder(*node)) {
    return status_at(folder->folder.descriptor(), "");
  }
  if (const std::shared_ptr<volume::WritableFile> file = node->open_file()) {
    return status_at(file->descriptor(), "");
  }
  Result<Status> status = at_name(node, [&](const Backed& backed) -> Result<Status> {
    Result<Status> named = status_at(backed.descriptor(), backed.name());
    if (!named) {
      return Failure{stale_instead_of_absent(named.error())};
    }
    return is_of(*node, named->backing) ? named : Failure{ESTALE};
  });
  if (status.error() == ESTALE) {
    if (const std::shared_ptr<const Descriptor> left = place_left(node)) {
      return status_at(left->number(), "");
    }
  }
  return status;
}

Result<Descriptor> MountedVault::open_backing(const SharedNode& node, int flags) {
  const volume::Backing& backing = volume_->backing();
  Result<Descriptor> opened = at_name(node, [&](const Backed& backed) -> Result<Descriptor> {
    Result<Descriptor> named =
        with_descriptors([&] { return backing.open(backed.descriptor(), backed.name(), flags); });
    if (!named) {
      return Failure{error_at(*node, backed, named.error())};
    }
    const Result<struct stat> status = backing.status(named->number(), "");
    if (!status || !is_of(*node, *status)) {
      return Failure{status ? ESTALE : status.error()};
    }
    return named;
  });
  if (opened.error() == ESTALE) {
    if (const std::shared_ptr<const Descriptor> left = place_left(node)) {
      opened = with_descriptors([&] { return backing.open_again(left->number(), flags); });
      // The path in /proc may be what is absent.
      return opened ? std::move(opened) : Failure{stale_instead_of_absent(opened.error())};
    }
  }
  return opened;
}

// Attributes of a file that may not be read are found through its place, which takes longer. So are
// those of pipes and devices, because to open such a thing is to use it.
Result<Descriptor> MountedVault::open_for_attributes(const SharedNode& node) {
  if (node->type == S_IFREG) {
    Result<Descriptor> opened = open_backing(node, O_RDONLY | O_NONBLOCK);
    if (opened.error() != EACCES) {
      return opened;
    }
  }
  return open_backing(node, O_PATH);
}

MountedVault::Lookup MountedVault::enter(const SharedNode& parent, const volume::Folder& folder,
                                         std::string_view name, const char* stored,
                                         struct stat& status) {
  if (options_.access == Access::write_back && S_ISREG(status.st_mode)) {
    if (const SharedNode known = nodes_.known(key_of(status)); known != nullptr) {
      const std::uint64_t changes = known->changes();
      if (known->has_changed_outside(status, changes)) {
        // Or a change of our own has ended since the caller looked.
        const Result<struct stat> now = volume_->backing().status(folder.descriptor(), stored);
        if (now && key_of(*now) == known->key) {
          status = *now;
          if (known->has_changed_outside(status, changes)) {
            nodes_.retire(known);
          }
        }
      }
    }
  }
  Lookup found(nodes_, nodes_.enter(parent, name, stored, status));
  found->note_first(status);
  return found;
}

// ---- what the system is told of a node

// A mount is one file system, whatever number of them is below it: the inodes of all but the
// first are told apart by bits that inodes hardly ever use.
std::uint64_t MountedVault::shown_inode(dev_t device, ino_t inode) {
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

struct stat MountedVault::shown(const struct stat& backing, int folder, const char* stored) {
  struct stat told = backing;
  told.st_ino = shown_inode(backing.st_dev, backing.st_ino);
  told.st_size = static_cast<off_t>(volume::length_of(*volume_, backing, folder, stored));
  return told;
}

fuse_entry_param MountedVault::entry_of(const Node& node, const struct stat& backing, int folder,
                                        const char* stored) {
  fuse_entry_param entry{};
  entry.ino = number_of(node);
  entry.generation = node.generation;
  entry.attr = shown(backing, folder, stored);
  if (options_.access == Access::write_back) {
    entry.attr.st_mtim = node.believed().value_or(entry.attr.st_mtim);
  }
  entry.attr_timeout = options_.lifetimes.attributes;
  entry.entry_timeout = options_.lifetimes.entries;
  return entry;
}

// ---- operations

void MountedVault::initialise(fuse_conn_info& connection) {
  const auto want = [&](unsigned capability) {
    connection.want |= connection.capable & capability;
  };
  want(FUSE_CAP_ASYNC_READ | FUSE_CAP_ASYNC_DIO | FUSE_CAP_PARALLEL_DIROPS);
  want(FUSE_CAP_READDIRPLUS | FUSE_CAP_READDIRPLUS_AUTO);
  want(FUSE_CAP_AUTO_INVAL_DATA | FUSE_CAP_CACHE_SYMLINKS);
  if (options_.has_acls) {
    want(FUSE_CAP_POSIX_ACL);
  }
  system_checks_acls_ = (connection.want & FUSE_CAP_POSIX_ACL) != 0;
  if (is_writable()) {
    want(FUSE_CAP_DONT_MASK);
  }
  if (options_.access == Access::write_back) {
    want(FUSE_CAP_WRITEBACK_CACHE);
  }
  // A file is emptied, and loses its privileges, by calls of their own.
  connection.want &= ~static_cast<unsigned>(FUSE_CAP_ATOMIC_O_TRUNC | FUSE_CAP_HANDLE_KILLPRIV);
  connection.want &= ~static_cast<unsigned>(FUSE_CAP_SPLICE_READ | FUSE_CAP_SPLICE_WRITE |
                                            FUSE_CAP_SPLICE_MOVE | FUSE_CAP_IOCTL_DIR);
  // So many requests that nobody waits for, readahead above all, may be under way.
  connection.max_background = 64;
  connection.congestion_threshold = 48;
  if (on_ready) {
    on_ready();
  }
}

void MountedVault::lookup(fuse_req_t request, fuse_ino_t parent_number, const char* name) {
  const SharedNode parent = node_of(parent_number);
  const Result<SharedFolder> folder = nodes_.folder(parent);
  if (!folder) {
    return refuse(request, folder.error());
  }
  const Result<volume::StoredName> stored = (*folder)->folder.stored_name(name);
  const auto look = [&] {
    return stored ? volume_->backing().status((*folder)->folder.descriptor(), stored->name.c_str())
                  : Result<struct stat>(Failure{stored.error()});
  };
  std::uint64_t changes = changes_of_names_.load();
  Result<struct stat> status = look();
  std::optional<Lookup> entered;
  while (status) {
    entered.emplace(enter(parent, (*folder)->folder, name, stored->name.c_str(), *status));
    if (changing_names_.load() == 0 && changes_of_names_.load() == changes) {
      break;
    }
    // Whoever takes a name away may not have seen the node that was entered.
    changes = changes_of_names_.load();
    status = look();
    if (status && is_of(**entered, *status)) {
      break;
    }
    entered.reset();
  }
  if (!status && status.error() == ENOENT && options_.lifetimes.absences > 0) {
    fuse_entry_param nothing{};
    nothing.entry_timeout = options_.lifetimes.absences;
    (void)fuse_reply_entry(request, &nothing);
    return;
  }
  if (!status) {
    return refuse(request, status.error());
  }
  if (!S_ISDIR(status->st_mode)) {
    listers_.has_asked(fuse_req_ctx(request)->pid);
  }
  Lookup& found = *entered;
  found->told(*status);
  const fuse_entry_param entry =
      entry_of(*found, *status, (*folder)->folder.descriptor(), stored->name.c_str());
  if (fuse_reply_entry(request, &entry) == 0) {
    found.given();
  }
}

void MountedVault::get_attributes(fuse_req_t request, fuse_ino_t number,
                                  const fuse_file_info* file) {
  const SharedNode node = node_of(number);
  const bool has_file = file != nullptr && node->type == S_IFREG;
  // The system keeps its own size of such a node. It looks for another after ESTALE, which somebody
  // who has the file open would get themselves.
  const bool is_disowned = node->is_disowned();
  if (is_disowned && node->open_file() == nullptr) {
    return refuse(request, ESTALE);
  }
  const Result<Status> status =
      has_file ? status_at(handle_of<OpenFile>(*file)->file->descriptor(), "") : status_of(node);
  if (!status) {
    return refuse(request, status.error());
  }
  node->told(status->backing);
  (void)fuse_reply_attr(request, &status->shown, is_disowned ? 0 : options_.lifetimes.attributes);
}

void MountedVault::read_link(fuse_req_t request, fuse_ino_t number) {
  const SharedNode node = node_of(number);
  const Result<Descriptor> link = open_backing(node, O_PATH);
  if (!link) {
    return refuse(request, link.error());
  }
  const Result<std::string> target =
      volume::read_link(*volume_, link->number(), "", nodes_.path_of(*node));
  if (!target) {
    return refuse(request, target.error());
  }
  (void)fuse_reply_readlink(request, target->c_str());
}

void MountedVault::open(fuse_req_t request, fuse_ino_t number, fuse_file_info* file) {
  const bool can_write = (file->flags & O_ACCMODE) != O_RDONLY;
  if (can_write && !is_writable()) {
    return refuse(request, EROFS);
  }
  const SharedNode node = node_of(number);
  Result<std::unique_ptr<OpenFile>> opened = open_file(node, can_write);
  if (!opened) {
    return refuse(request, opened.error());
  }
  const Result<struct stat> status = volume_->backing().status((*opened)->file->descriptor(), "");
  if (!status) {
    return refuse(request, status.error());
  }
  set_cache(*node, *status, *file);
  if (options_.access != Access::write_back && !node->are_as_told(*status)) {
    // The system would read no further than the length that it knows. There are no locks in the
    // way: this call is about attributes alone.
    (void)fuse_lowlevel_notify_inval_inode(session, number, -1, 0);
  }
  Calls::reply_open(*this, request, std::move(*opened), file);
}

void MountedVault::set_cache(Node& node, const struct stat& status, fuse_file_info& file) {
  // With the former open_file refuses a file that others have changed.
  const bool may_keep =
      options_.access == Access::write_back || node.may_keep_cache(status, now_s());
  file.keep_cache = may_keep ? 1 : 0;
}

void MountedVault::read(fuse_req_t request, std::size_t bytes, off_t offset,
                        const fuse_file_info* file) {
  const OpenFile& opened = *handle_of<OpenFile>(*file);
  const MutableBytes text = reply_buffer(bytes);
  const Result<std::size_t> filled =
      opened.file->read(static_cast<std::uint64_t>(offset), text, opened.path);
  if (!filled) {
    return refuse(request, filled.error());
  }
  reply_bytes(request, text.first(*filled));
}

// For SEEK_DATA and SEEK_HOLE alone. What is written to a file may lie in the system's cache, which
// neither asks here what it holds nor says so. Whoever took that for a hole would copy zeros. So
// nothing is said of holes while somebody has the file open to be written. With write-back, the
// system may also know of a greater length, and then nothing right can be said: EINVAL is what
// programs get that have no such call, and they read everything.
void MountedVault::seek(fuse_req_t request, off_t offset, int whence, const fuse_file_info* file) {
  const OpenFile& opened = *handle_of<OpenFile>(*file);
  if (whence != SEEK_DATA && whence != SEEK_HOLE) {
    return refuse(request, EINVAL);
  }
  const bool is_data = whence == SEEK_DATA;
  const auto from = static_cast<std::uint64_t>(offset);
  Result<std::uint64_t> found = Failure{EINVAL};
  if (opened.node->open_file(true) == nullptr) {
    found = is_data ? volume::next_data(*volume_, *opened.file, opened.path, from)
                    : volume::next_hole(*volume_, *opened.file, opened.path, from);
  } else if (options_.access != Access::write_back) {
    found = opened.file->length();
    if (found) {
      found = from >= *found ? Result<std::uint64_t>(Failure{ENXIO}) : is_data ? from : *found;
    }
  }
  found ? (void)fuse_reply_lseek(request, static_cast<off_t>(*found))
        : refuse(request, found.error());
}

void MountedVault::open_folder(fuse_req_t request, fuse_ino_t number, fuse_file_info* file) {
  const SharedNode node = node_of(number);
  Result<SharedFolder> folder = nodes_.folder(node);
  if (!folder) {
    return refuse(request, folder.error());
  }
  const Result<struct stat> status = volume_->backing().status((*folder)->folder.descriptor(), "");
  if (!status) {
    return refuse(request, status.error());
  }
  if (options_.lifetimes.keeps_names) {
    file->cache_readdir = 1;
    file->keep_cache =
        node->may_keep_names(*status, now_s(), static_cast<std::time_t>(options_.lifetimes.entries))
            ? 1
            : 0;
  }
  auto listing = std::make_unique<Listing>();
  listing->node = node;
  listing->folder = std::move(*folder);
  Calls::reply_open(*this, request, std::move(listing), file);
}

// What a thread answers about the entries of a folder.
class MountedVault::EntriesReply {
 public:
  // `has_attributes`: each entry has room for them, whether they are there or not.
  EntriesReply(fuse_req_t request, std::size_t bytes, bool has_attributes)
      : request_(request), has_attributes_(has_attributes), room_(reply_buffer(bytes)) {}

  [[nodiscard]] bool has_room_for(const std::string& name) const noexcept {
    return (has_attributes_ ? fuse_add_direntry_plus(request_, nullptr, 0, name.c_str(), nullptr, 0)
                            : fuse_add_direntry(request_, nullptr, 0, name.c_str(), nullptr, 0)) <=
           room_.size() - used_;
  }
  // There is room. `next` is the position after the entry.
  void add(const std::string& name, const fuse_entry_param& entry, off_t next) noexcept {
    char* const to = reinterpret_cast<char*>(room_.data()) + used_;
    const std::size_t left = room_.size() - used_;
    used_ += has_attributes_
                 ? fuse_add_direntry_plus(request_, to, left, name.c_str(), &entry, next)
                 : fuse_add_direntry(request_, to, left, name.c_str(), &entry.attr, next);
  }
  [[nodiscard]] bool send() noexcept {
    return fuse_reply_buf(request_, reinterpret_cast<const char*>(room_.data()), used_) == 0;
  }

 private:
  fuse_req_t request_;
  bool has_attributes_;
  MutableBytes room_;
  std::size_t used_ = 0;
};

// As soon as the reply is there, another thread may be asked to close the listing. So nothing is
// answered before its lock is free.
void MountedVault::read_folder(fuse_req_t request, std::size_t bytes, off_t offset,
                               const fuse_file_info* file, bool has_room_for_attributes) {
  // The system knows who wants attributes from the second part of a folder on.
  const bool with_attributes =
      has_room_for_attributes &&
      (offset != 0 || listers_.wants_attributes(fuse_req_ctx(request)->pid));
  EntriesReply reply(request, bytes, has_room_for_attributes);
  std::vector<Lookup> entered;
  if (const int error = fill(*handle_of<Listing>(*file), offset, with_attributes, reply, entered);
      error != 0) {
    return refuse(request, error);
  }
  if (reply.send()) {
    for (Lookup& found : entered) {
      found.given();
    }
  }
}

int MountedVault::fill(Listing& listing, off_t offset, bool with_attributes, EntriesReply& reply,
                       std::vector<Lookup>& entered) {
  const volume::Folder& folder = listing.folder->folder;
  const volume::Backing& backing = volume_->backing();
  const std::lock_guard lock(listing.mutex);
  if (!listing.is_listed || offset == 0) {
    std::vector<volume::FolderEntry> entries;
    const std::lock_guard one_at_a_time(listing.folder->listing);
    const int error = folder.list(nodes_.path_of(*listing.node), [&](volume::FolderEntry entry) {
      entries.push_back(std::move(entry));
    });
    if (error != 0) {
      return error;
    }
    listing.entries = std::move(entries);
    listing.is_listed = true;
  }

  // Position 0 is ".", 1 is "..", then the entries follow.
  constexpr std::size_t first_entry = 2;
  const NodeKey own = listing.node->key;
  const SharedNode above = listing.node->place()->parent;
  const NodeKey parent = above == nullptr ? own : above->key;
  for (auto position = static_cast<std::size_t>(offset);
       position < listing.entries.size() + first_entry; ++position) {
    fuse_entry_param entry{};  // without a node: the system takes only name, number and type of it
    const auto next = static_cast<off_t>(position + 1);
    if (position < first_entry) {
      const std::string name(position + 1, '.');
      const NodeKey& key = position == 0 ? own : parent;
      if (!reply.has_room_for(name)) {
        break;
      }
      entry.attr.st_ino = shown_inode(key.device, key.inode);
      entry.attr.st_mode = S_IFDIR;
      reply.add(name, entry, next);
      continue;
    }
    const volume::FolderEntry& listed = listing.entries[position - first_entry];
    if (!reply.has_room_for(listed.name)) {
      break;
    }
    entry.attr.st_ino = shown_inode(own.device, listed.inode);
    entry.attr.st_mode = static_cast<mode_t>(listed.type) << 12;  // DT_* (readdir(3))
    if (with_attributes) {
      Result<struct stat> status = backing.status(folder.descriptor(), listed.stored.c_str());
      if (status.error() == ENOENT) {
        continue;
      }
      if (status) {
        Lookup found = enter(listing.node, folder, listed.name, listed.stored.c_str(), *status);
        found->told(*status);
        entry = entry_of(*found, *status, folder.descriptor(), listed.stored.c_str());
        entered.push_back(std::move(found));
      }
    }
    reply.add(listed.name, entry, next);
  }
  return 0;
}

void MountedVault::get_statistics(fuse_req_t request) {
  Result<struct statvfs> status = volume_->backing().file_system(volume_->root());
  if (!status) {
    return refuse(request, status.error());
  }
  if (volume_->features().hashes_long_names()) {
    status->f_namemax = vault::max_name_bytes;
  }
  (void)fuse_reply_statfs(request, &*status);
}

void MountedVault::get_attribute(fuse_req_t request, fuse_ino_t number, const char* name,
                                 std::size_t bytes) {
  // The system asks for capabilities at each execution. Without suid they have no effect. Labels
  // of SELinux belong to a machine, and not to a vault; ls would ask for that of each file.
  if ((!options_.has_suid && std::strcmp(name, "security.capability") == 0) ||
      std::strcmp(name, "security.selinux") == 0) {
    return refuse(request, EOPNOTSUPP);
  }
  const SharedNode node = node_of(number);
  std::vector<std::uint8_t> value;
  const int error = with_place(node, O_RDONLY, [&](int place) {
    Result<std::vector<std::uint8_t>> read =
        volume::read_attribute(*volume_, place, name, nodes_.path_of(*node));
    if (read) {
      value = std::move(*read);
    }
    return read.error();
  });
  if (error != 0) {
    return refuse(request, error);
  }
  reply_sized(request, value, bytes);
}

void MountedVault::list_attributes(fuse_req_t request, fuse_ino_t number, std::size_t bytes) {
  const SharedNode node = node_of(number);
  std::string all;
  const int error = with_place(node, O_RDONLY, [&](int place) {
    const Result<std::vector<std::string>> names =
        volume::list_attributes(*volume_, place, nodes_.path_of(*node));
    for (std::size_t i = 0; names && i < names->size(); ++i) {
      all += (*names)[i];
      all += '\0';
    }
    return names.error();
  });
  if (error != 0) {
    return refuse(request, error);
  }
  reply_sized(request, {reinterpret_cast<const std::uint8_t*>(all.data()), all.size()}, bytes);
}

}  // namespace paes::mount
