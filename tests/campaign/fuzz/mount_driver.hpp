// SPDX-License-Identifier: Apache-2.0
// The system's side of a mount, without a system: requests go to libfuse as if /dev/fuse had given
// them, and each answer is checked when it is sent. The vault lies in a folder in memory.
//
// The number of a node and a handle are addresses in the mount, and only the system writes
// requests. So they are always such as were given and not yet taken back.
#pragma once

#include <fcntl.h>
#include <linux/fuse.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/file_ref.hpp"
#include "exec/executor.hpp"
#include "fuzz/decisions.hpp"
#include "fuzz/property.hpp"
#include "kernel/registry.hpp"
#include "paes-mount/mount_context.hpp"
#include "paes-mount/operations.hpp"
#include "paes-mount/privileges.hpp"
#include "volume/check/fsck.hpp"

namespace paes::fuzz {

// Whether a fault is to be made, which the harness has to find: PAES_FUZZ_PLANTED names it.
inline bool is_planted(std::string_view fault) {
  static const char* const named = std::getenv("PAES_FUZZ_PLANTED");
  return named != nullptr && named == fault;
}

// No file grows beyond a few megabytes, whatever a request says: memory is all there is.
class SmallBacking : public volume::Backing {
 public:
  [[nodiscard]] Result<std::size_t> write(FileRef file, std::uint64_t offset,
                                          Bytes from) const override {
    if (!fits(offset, from.size())) {
      return Errno(EFBIG);
    }
    const std::size_t lost = is_planted("byte") && from.size() > 1 ? 1 : 0;
    const Result<std::size_t> written =
        Backing::write(file, offset, from.first(from.size() - lost));
    return written ? Result<std::size_t>(*written + lost) : written;
  }
  [[nodiscard]] Result<void> set_length(FileRef file, std::uint64_t bytes) const override {
    return fits(bytes, 0) ? Backing::set_length(file, bytes) : Errno(EFBIG);
  }
  [[nodiscard]] Result<void> allocate(FileRef file, int mode, std::uint64_t offset,
                                      std::uint64_t bytes) const override {
    return fits(offset, bytes) ? Backing::allocate(file, mode, offset, bytes) : Errno(EFBIG);
  }

 private:
  static bool fits(std::uint64_t offset, std::uint64_t bytes) {
    constexpr std::uint64_t most = std::uint64_t{4} << 20;
    return offset <= most && bytes <= most - offset;
  }
};

// An empty vault under a fixed key.
class MemoryVault {
 public:
  explicit MemoryVault(bool has_plain_names) {
    // A harness that aborts leaves it there.
    const char* const wanted = std::getenv("PAES_FUZZ_FOLDER");
    std::string pattern = wanted != nullptr               ? wanted
                          : access("/dev/shm", W_OK) == 0 ? "/dev/shm"
                                                          : "/tmp";
    pattern += "/paes-fuzz-XXXXXX";
    if (mkdtemp(pattern.data()) == nullptr) {
      throw std::runtime_error("mkdtemp");
    }
    path_ = pattern;
    if (has_plain_names) {
      features_ = {.has_plaintext_names = true,
                   .has_directory_ivs = false,
                   .has_long_names = false,
                   .has_raw_base64 = false};
      return;
    }
    const std::string iv_path = path_ + "/" + std::string(vault::folder_iv_name);
    const Descriptor iv(open(iv_path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0444));
    require(::write(iv.number(), "0123456789abcdef", 16) == 16, "there is room");
  }
  ~MemoryVault() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  MemoryVault(const MemoryVault&) = delete;
  MemoryVault& operator=(const MemoryVault&) = delete;

  [[nodiscard]] volume::Volume volume(volume::DamageReport report) const {
    static const Buffer key(vault::master_key_bytes, 0x4b);
    return {Descriptor(open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)),
            features_,
            vault::MasterKey(key),
            best_kernel(Cipher::aes),
            std::make_unique<SmallBacking>(),
            std::move(report)};
  }
  // The content is what somebody with the key has written, and nothing is left over.
  void check() const {
    const volume::Volume checked = volume({});
    volume::FsckWatch watch;
    watch.damaged = watch.unread = watch.leftover = [](const volume::Finding& finding) {
      std::fprintf(stderr, "%s: %s\n", finding.path.c_str(), finding.what.c_str());
    };
    const volume::FsckCounts counts = fsck(checked, {}, serial_executor(), watch);
    require(counts.damaged == 0 && counts.unread == 0, "the vault is whole");
    require(counts.leftovers == 0, "nothing is left over");
  }

 private:
  std::string path_;
  vault::Features features_;
};

// What follows a request's header.
class Body {
 public:
  Body() = default;
  explicit Body(Buffer bytes) : bytes_(std::move(bytes)) {}

  template <typename Part>
  Body& add(const Part& part) {
    return add(&part, sizeof part);
  }
  Body& name(std::string_view text) { return add(text.data(), text.size()).add('\0'); }
  Body& add(const void* from, std::size_t bytes) {
    const auto* const begin = static_cast<const std::uint8_t*>(from);
    bytes_.insert(bytes_.end(), begin, begin + bytes);
    return *this;
  }
  [[nodiscard]] const Buffer& bytes() const { return bytes_; }

 private:
  Buffer bytes_;
};

struct Asking {
  std::uint32_t user = geteuid();
  std::uint32_t group = getegid();
  std::uint32_t process = 1;
  bool is_interrupted = false;  // nobody waits for the answer any more
  // How many bytes of the body the header tells of; by default all. libfuse reads the fields of a
  // request without looking at that.
  std::optional<std::size_t> body_bytes = std::nullopt;
};

struct Answer {
  int error = 0;
  Buffer body;

  template <typename Part>
  [[nodiscard]] Part as() const {
    Part part{};
    require(body.size() >= sizeof part, "an answer has all of its fields");
    std::memcpy(&part, body.data(), sizeof part);
    return part;
  }
};

struct KnownNode {
  std::uint64_t number;
  std::uint64_t lookups;
};

struct ListedEntry {
  std::string name;
  std::uint64_t node;  // 0: none was given
};

// A mount and what the system knows of it.
class Driver {
 public:
  Driver(const volume::Volume& volume, const mount::MountOptions& options)
      : mount_(volume, options) {
    waiting_ = this;
    fuse_set_log_func([](enum fuse_log_level, const char*, va_list) {});
    std::string program = "paes-mount";
    char* words[] = {program.data()};
    fuse_args arguments = FUSE_ARGS_INIT(1, words);
    const fuse_lowlevel_ops operations = mount::operations_for(mount_.is_writable());
    session_ = fuse_session_new(&arguments, &operations, sizeof operations, &mount_);
    fuse_opt_free_args(&arguments);
    fuse_custom_io calls{};
    calls.writev = take;
    calls.read = [](int, void*, std::size_t, void*) -> ssize_t { return -1; };
    require(
        session_ != nullptr &&
            fuse_session_custom_io(session_, &calls, open("/dev/null", O_RDWR | O_CLOEXEC)) == 0,
        "there is a session");
    bool is_ready = false;
    mount_.attach(session_, [&] { is_ready = true; });
    fuse_init_in offer{};
    offer.major = FUSE_KERNEL_VERSION;
    offer.minor = 36;
    offer.max_readahead = 1 << 17;
    offer.flags = (1U << 29) - 1;  // the last is FUSE_HANDLE_KILLPRIV_V2
    const auto agreed = ask(FUSE_INIT, 0, Body().add(offer)).as<fuse_init_out>();
    require(is_ready && agreed.major == FUSE_KERNEL_VERSION, "the mount agrees to the protocol");
    require(agreed.max_write >= 4096 && agreed.max_write <= (1 << 20), "writes have a limit");
    most_bytes_ = agreed.max_write;
  }
  ~Driver() {
    mount_.stop_notices();
    fuse_session_destroy(session_);
  }
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  // Takes everything back, as the system does when it unmounts. Whether everything is synced.
  [[nodiscard]] bool finish() {
    while (!files.empty()) {
      release(FUSE_RELEASE, files.back());
    }
    while (!folders.empty()) {
      release(FUSE_RELEASEDIR, folders.back());
    }
    while (!nodes.empty()) {
      forget(nodes.back().number, nodes.back().lookups);
    }
    require(mount_.open_handles() == 0, "no handle is left");
    require(mount_.nodes().nodes() == 0, "the mount knows no node that the system has forgotten");
    ask(FUSE_DESTROY, 0, {});
    return !mount_.is_writable() || mount_.sync();
  }

  Answer ask(std::uint32_t opcode, std::uint64_t node, const Body& body,
             const Asking& asking = {}) {
    fuse_in_header header{};
    header.len =
        static_cast<std::uint32_t>(sizeof header + asking.body_bytes.value_or(body.bytes().size()));
    header.opcode = opcode;
    header.unique = ++last_unique_;
    header.nodeid = node;
    header.uid = asking.user;
    header.gid = asking.group;
    header.pid = asking.process;
    Buffer request(sizeof header + body.bytes().size() + room_behind);
    std::memcpy(request.data(), &header, sizeof header);
    std::copy(body.bytes().begin(), body.bytes().end(),
              request.begin() + static_cast<std::ptrdiff_t>(sizeof header));
    answers_ = 0;
    answer_ = {};
    is_interrupted_ = asking.is_interrupted;
    mount::note_request(request.data(), header.len);
    fuse_buf buffer{};
    buffer.mem = request.data();
    buffer.size = header.len;
    fuse_session_process_buf(session_, &buffer);
    const bool is_for_answer = opcode != FUSE_FORGET && opcode != FUSE_BATCH_FORGET;
    require(answers_ == (is_for_answer ? 1U : 0U), "a request has one answer, if it has any");
    check_body(opcode, body);
    note_given(opcode);
    return std::move(answer_);
  }

  void release(std::uint32_t opcode, std::uint64_t handle) {
    std::vector<std::uint64_t>& handles = opcode == FUSE_RELEASE ? files : folders;
    std::erase(handles, handle);
    if (is_planted("handle")) {
      return;
    }
    fuse_release_in in{};
    in.fh = handle;
    require(ask(opcode, FUSE_ROOT_ID, Body().add(in)).error == 0, "a handle can be given back");
  }
  void forget(std::uint64_t number, std::uint64_t lookups) {
    note_forgotten(number, lookups);
    ask(FUSE_FORGET, number, Body().add(fuse_forget_in{lookups}));
  }
  void note_forgotten(std::uint64_t number, std::uint64_t lookups) {
    const auto known = std::find_if(nodes.begin(), nodes.end(),
                                    [&](const KnownNode& one) { return one.number == number; });
    if (known != nodes.end() && (known->lookups -= std::min(lookups, known->lookups)) == 0) {
      nodes.erase(known);
    }
  }

  // One that the system knows; 0 is the root.
  [[nodiscard]] std::uint64_t node_at(std::size_t which) const {
    const std::size_t at = which % (nodes.size() + 1);
    return at == 0 ? FUSE_ROOT_ID : nodes[at - 1].number;
  }
  [[nodiscard]] std::uint32_t most_bytes() const { return most_bytes_; }

  // The entries of an answer to FUSE_READDIR, or to FUSE_READDIRPLUS.
  static std::vector<ListedEntry> entries_of(const Buffer& body, bool has_attributes) {
    std::vector<ListedEntry> entries;
    for (std::size_t at = 0; at < body.size();) {
      fuse_entry_out node{};
      fuse_dirent entry{};
      const std::size_t before = has_attributes ? sizeof node : 0;
      require(body.size() - at >= before + FUSE_NAME_OFFSET, "an entry has all of its fields");
      std::memcpy(&node, body.data() + at, before);
      std::memcpy(&entry, body.data() + at + before, FUSE_NAME_OFFSET);
      const std::size_t bytes = FUSE_REC_ALIGN(before + FUSE_NAME_OFFSET + entry.namelen);
      require(entry.namelen > 0 && bytes <= body.size() - at, "an entry has its name");
      const auto* const begin = body.data() + at + before + FUSE_NAME_OFFSET;
      entries.push_back({std::string(begin, begin + entry.namelen), node.nodeid});
      require(entries.back().name.find_first_of(std::string_view("/\0", 2)) == std::string::npos,
              "an entry's name is one");
      at += bytes;
    }
    return entries;
  }

  std::vector<KnownNode> nodes;        // but the root
  std::vector<std::uint64_t> files;    // handles that are open
  std::vector<std::uint64_t> folders;  // the same

 private:
  // Zeros behind a request, so that each name in it ends.
  static constexpr std::size_t room_behind = 256;

  // Called for each answer, and by another thread for a notice.
  static ssize_t take(int, iovec* parts, int count, void* mount) {
    if (static_cast<const mount::Mount*>(mount)->is_writable()) {
      mount::offer_to_take_privileges(parts, static_cast<std::size_t>(count));
    }
    fuse_out_header header{};
    Buffer message;
    for (int i = 0; i < count; ++i) {
      const auto* const begin = static_cast<const std::uint8_t*>(parts[i].iov_base);
      message.insert(message.end(), begin, begin + parts[i].iov_len);
    }
    require(message.size() >= sizeof header, "an answer has a header");
    std::memcpy(&header, message.data(), sizeof header);
    require(header.len == message.size(), "an answer has the length that it says");
    if (header.unique == 0) {
      require(header.error >= FUSE_NOTIFY_POLL && header.error <= FUSE_NOTIFY_DELETE,
              "a notice is one that the system knows");
      return static_cast<ssize_t>(message.size());
    }
    return waiting_->take_answer(header, message);
  }
  ssize_t take_answer(const fuse_out_header& header, const Buffer& message) {
    constexpr int last_error = 133;  // EHWPOISON
    require(header.unique == last_unique_, "an answer is to the request");
    require(header.error <= 0 && header.error >= -last_error, "an error has a number of errno.h");
    require(header.error == 0 || message.size() == sizeof header, "an error is all of an answer");
    answers_ += is_planted("answer") && last_unique_ % 8 == 0 ? 0 : 1;
    answer_.error = -header.error;
    answer_.body.assign(message.begin() + sizeof header, message.end());
    if (is_interrupted_) {
      errno = ENOENT;
      return -1;
    }
    return static_cast<ssize_t>(message.size());
  }

  // No answer holds more than was asked for, or has another form than its request wants.
  void check_body(std::uint32_t opcode, const Body& body) const {
    const std::size_t bytes = answer_.body.size();
    if (answer_.error != 0) {
      return;
    }
    const auto asked = [&](std::size_t at) {
      std::uint32_t wanted = 0;
      const Buffer& from = body.bytes();
      std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(std::min(at, from.size())),
                  at > from.size() ? 0 : std::min(sizeof wanted, from.size() - at),
                  reinterpret_cast<std::uint8_t*>(&wanted));
      return wanted;
    };
    switch (opcode) {
      case FUSE_LOOKUP:
      case FUSE_SYMLINK:
      case FUSE_MKNOD:
      case FUSE_MKDIR:
      case FUSE_LINK:
        return require(bytes == sizeof(fuse_entry_out), "the answer is an entry");
      case FUSE_CREATE:
        return require(bytes == sizeof(fuse_entry_out) + sizeof(fuse_open_out),
                       "the answer is an entry and a handle");
      case FUSE_OPEN:
      case FUSE_OPENDIR:
        return require(bytes == sizeof(fuse_open_out), "the answer is a handle");
      case FUSE_GETATTR:
      case FUSE_SETATTR:
        return require(bytes == sizeof(fuse_attr_out), "the answer is attributes");
      case FUSE_WRITE:
      case FUSE_COPY_FILE_RANGE:
        require(bytes == sizeof(fuse_write_out), "the answer is a number of bytes");
        return require(opcode != FUSE_WRITE || answer_.as<fuse_write_out>().size <= asked(16),
                       "no more is written than there was");
      case FUSE_READ:
      case FUSE_READDIR:
      case FUSE_READDIRPLUS:
        return require(bytes <= asked(offsetof(fuse_read_in, size)), "no more than was asked for");
      case FUSE_GETXATTR:
      case FUSE_LISTXATTR:
        return require(asked(0) == 0 ? bytes == sizeof(fuse_getxattr_out) : bytes <= asked(0),
                       "no more than there is room for, or a length");
      case FUSE_READLINK:
        return require(bytes > 0 && bytes < 4096, "a link has a target");
      case FUSE_STATFS:
        return require(bytes == sizeof(fuse_statfs_out), "the answer is of a file system");
      case FUSE_LSEEK:
        return require(bytes == sizeof(fuse_lseek_out), "the answer is a position");
      case FUSE_INIT:
        return require(bytes == sizeof(fuse_init_out), "the answer is an agreement");
      default:
        return require(bytes == 0, "the answer is that it was done");
    }
  }

  void note_given(std::uint32_t opcode) {
    if (answer_.error != 0 || is_interrupted_) {
      return;
    }
    switch (opcode) {
      case FUSE_CREATE:
        files.push_back(handle_at(sizeof(fuse_entry_out)));
        [[fallthrough]];
      case FUSE_LOOKUP:
      case FUSE_SYMLINK:
      case FUSE_MKNOD:
      case FUSE_MKDIR:
      case FUSE_LINK:
        return note_node(answer_.as<fuse_entry_out>().nodeid);
      case FUSE_OPEN:
        return files.push_back(handle_at(0));
      case FUSE_OPENDIR:
        return folders.push_back(handle_at(0));
      case FUSE_READDIRPLUS:
        for (const ListedEntry& entry : entries_of(answer_.body, true)) {
          note_node(entry.node);
        }
        return;
      case FUSE_READDIR:
        (void)entries_of(answer_.body, false);
        return;
      default:
        return;
    }
  }
  [[nodiscard]] std::uint64_t handle_at(std::size_t at) const {
    fuse_open_out opened{};
    std::memcpy(&opened, answer_.body.data() + at, sizeof opened);
    return opened.fh;
  }
  void note_node(std::uint64_t number) {
    if (number == 0 || number == FUSE_ROOT_ID) {
      return;
    }
    const auto known = std::find_if(nodes.begin(), nodes.end(),
                                    [&](const KnownNode& one) { return one.number == number; });
    if (known != nodes.end()) {
      ++known->lookups;
    } else {
      nodes.push_back({number, 1});
    }
  }

  static inline Driver* waiting_ = nullptr;

  mount::Mount mount_;
  fuse_session* session_ = nullptr;
  std::uint32_t most_bytes_ = 0;
  std::uint64_t last_unique_ = 0;
  unsigned answers_ = 0;
  Answer answer_;
  bool is_interrupted_ = false;
};

}  // namespace paes::fuzz
