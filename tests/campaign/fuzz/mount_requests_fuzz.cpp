// SPDX-License-Identifier: Apache-2.0
// Requests of FUSE to a mount, by a driver without a kernel (mount_driver.hpp). The first byte
// chooses the mount. Then each request is decided by the input and the answer is compared with a
// model in memory, or it is a row of bytes as they come. Whatever they say, each request gets the
// one answer that it may have, nothing stays open, and the vault is whole afterwards.
//
// Left out: FUSE_INTERRUPT and FUSE_NOTIFY_REPLY, which libfuse answers by itself; numbers of
// devices, because the harness may run as root; requests on several threads, and through io_uring.
#include <filesystem>
#include <iterator>
#include <optional>

#include "fuzz/mount_comparison.hpp"

namespace paes::fuzz {

namespace {

constexpr unsigned most_requests = 64;

std::size_t open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

struct Choice {
  explicit Choice(std::uint8_t byte)
      : is_raw((byte & 1) != 0), has_plain_names((byte & 2) != 0), can_write((byte & 12) != 12) {
    options.access = !can_write         ? mount::Access::read
                     : (byte & 12) == 4 ? mount::Access::write
                                        : mount::Access::write_back;
    options.lifetimes = (byte & 12) == 4 ? mount::Lifetimes::shared() : mount::Lifetimes{};
    options.has_acls = (byte & 16) != 0;
    options.has_suid = (byte & 32) != 0;
    options.max_folders = (byte & 64) != 0 ? 1 : 64;
  }
  bool is_raw;
  bool has_plain_names;
  bool can_write;
  mount::MountOptions options;
};

// ---- requests as they come

// A request, of which the fields that only the system can fill are made such as it fills them.
class RawRequest {
 public:
  RawRequest(Driver& driver, Decisions& decisions) : driver_(driver) {
    // The header's own fields: an operation, who asks, and which node it is about.
    const std::uint8_t kind = decisions.byte();
    opcode_ = kind % 64;
    asking_.is_interrupted = (kind & 64) != 0;
    node_ = driver.node_at(decisions.byte());
    const std::uint8_t who = decisions.byte();
    asking_.user = who % 4 == 0 ? geteuid() : who % 4 * 1000U;
    asking_.group = who % 4 == 0 ? getegid() : who / 4 % 4 * 1000U;
    asking_.process = who / 16U;
    const std::size_t bytes = decisions.byte();
    for (std::size_t i = 0; i < bytes && !decisions.is_over(); ++i) {
      body_.push_back(decisions.byte());
    }
    asking_.body_bytes = body_.size();
    body_.resize(std::max(body_.size(), room));
  }

  // Nothing is asked if the request needs a handle and the system has none.
  void ask() {
    if (fill()) {
      const std::uint64_t lookups = word<std::uint64_t>(0);
      if (opcode_ == FUSE_FORGET) {
        driver_.note_forgotten(node_, lookups);
      }
      answer = driver_.ask(opcode_, node_, Body(body_), asking_);
    }
  }
  [[nodiscard]] std::uint32_t opcode() const { return opcode_; }

  std::optional<Answer> answer;

 private:
  // More than the fields of any request take.
  static constexpr std::size_t room = 256;

  template <typename Word>
  [[nodiscard]] Word word(std::size_t at) const {
    Word value{};
    std::memcpy(&value, body_.data() + at, sizeof value);
    return value;
  }
  template <typename Word>
  void put(std::size_t at, Word value) {
    std::memcpy(body_.data() + at, &value, sizeof value);
  }
  void limit(std::size_t at, std::size_t most) {
    put(at, static_cast<std::uint32_t>(std::min<std::size_t>(word<std::uint32_t>(at), most)));
  }
  [[nodiscard]] std::uint64_t node_of(std::size_t at) const {
    return driver_.node_at(word<std::uint8_t>(at));
  }
  [[nodiscard]] bool put_handle(std::size_t at, const std::vector<std::uint64_t>& handles) {
    if (handles.empty()) {
      return false;
    }
    put(at, handles[word<std::uint8_t>(at) % handles.size()]);
    return true;
  }
  // The bit says that there is a handle.
  void put_handle_if(std::uint32_t bit, std::size_t at) {
    if ((word<std::uint32_t>(0) & bit) != 0 && !put_handle(at, driver_.files)) {
      put(0, word<std::uint32_t>(0) & ~bit);
    }
  }
  [[nodiscard]] std::size_t bytes_from(std::size_t at) const {
    return at < *asking_.body_bytes ? *asking_.body_bytes - at : 0;
  }

  // Whoever is not root needs a right to look at all of it afterwards, and to remove it.
  void keep_rights(std::size_t mode, std::size_t mask) {
    if (geteuid() != 0) {
      put(mode, word<std::uint32_t>(mode) | S_IRWXU);
      put(mask, word<std::uint32_t>(mask) & ~std::uint32_t{S_IRWXU});
    }
  }

  bool fill() {
    switch (opcode_) {
      case FUSE_INTERRUPT:
      case FUSE_NOTIFY_REPLY:
        return false;
      case FUSE_READ:
        limit(offsetof(fuse_read_in, size), driver_.most_bytes());
        return put_handle(0, driver_.files);
      case FUSE_READDIR:
      case FUSE_READDIRPLUS:
        limit(offsetof(fuse_read_in, size), driver_.most_bytes());
        return put_handle(0, driver_.folders);
      case FUSE_WRITE:
        limit(offsetof(fuse_write_in, size), bytes_from(sizeof(fuse_write_in)));
        return put_handle(0, driver_.files);
      case FUSE_FSYNC:
      case FUSE_FALLOCATE:
      case FUSE_LSEEK:
        return put_handle(0, driver_.files);
      case FUSE_FSYNCDIR:
        return put_handle(0, driver_.folders);
      case FUSE_RELEASE:
      case FUSE_RELEASEDIR: {
        auto& handles = opcode_ == FUSE_RELEASE ? driver_.files : driver_.folders;
        const bool has_handle = put_handle(0, handles);
        std::erase(handles, word<std::uint64_t>(0));
        return has_handle;
      }
      case FUSE_COPY_FILE_RANGE:
        put(offsetof(fuse_copy_file_range_in, nodeid_out), std::uint64_t{FUSE_ROOT_ID});
        return put_handle(0, driver_.files) &&
               put_handle(offsetof(fuse_copy_file_range_in, fh_out), driver_.files);
      case FUSE_GETATTR:
        put_handle_if(FUSE_GETATTR_FH, offsetof(fuse_getattr_in, fh));
        return true;
      case FUSE_SETATTR:
        put_handle_if(FATTR_FH, offsetof(fuse_setattr_in, fh));
        keep_rights(offsetof(fuse_setattr_in, mode), room - 4);
        return true;
      case FUSE_LINK:
      case FUSE_RENAME:
      case FUSE_RENAME2:
        put(0, node_of(0));
        return true;
      case FUSE_MKNOD:
        put(offsetof(fuse_mknod_in, rdev), std::uint32_t{0});
        keep_rights(offsetof(fuse_mknod_in, mode), offsetof(fuse_mknod_in, umask));
        return true;
      case FUSE_MKDIR:
        keep_rights(offsetof(fuse_mkdir_in, mode), offsetof(fuse_mkdir_in, umask));
        return true;
      case FUSE_CREATE:
        keep_rights(offsetof(fuse_create_in, mode), offsetof(fuse_create_in, umask));
        return true;
      case FUSE_SETXATTR: {
        const auto* const begin = reinterpret_cast<const char*>(body_.data()) + 8;
        limit(0, bytes_from(8 + strnlen(begin, body_.size() - 8) + 1));
        return true;
      }
      case FUSE_FORGET: {
        const auto known = std::find_if(driver_.nodes.begin(), driver_.nodes.end(),
                                        [&](const KnownNode& one) { return one.number == node_; });
        put(0, known == driver_.nodes.end() ? std::uint64_t{1}
                                            : std::min(word<std::uint64_t>(0), known->lookups));
        return true;
      }
      case FUSE_BATCH_FORGET:
        fill_forgotten();
        return true;
      default:
        return true;
    }
  }
  void fill_forgotten() {
    limit(0, bytes_from(sizeof(fuse_batch_forget_in)) / sizeof(fuse_forget_one));
    for (std::size_t i = 0; i < word<std::uint32_t>(0); ++i) {
      const std::size_t at = sizeof(fuse_batch_forget_in) + i * sizeof(fuse_forget_one);
      const std::uint64_t number = node_of(at);
      const std::uint64_t lookups = word<std::uint8_t>(at + sizeof number) % 2;
      put(at, number);
      put(at + sizeof number, lookups);
      driver_.note_forgotten(number, lookups);
    }
  }

  Driver& driver_;
  std::uint32_t opcode_ = 0;
  std::uint64_t node_ = 0;
  Asking asking_;
  Buffer body_;
};

bool changes_something(std::uint32_t opcode) {
  switch (opcode) {
    case FUSE_SETATTR:
    case FUSE_SYMLINK:
    case FUSE_MKNOD:
    case FUSE_MKDIR:
    case FUSE_UNLINK:
    case FUSE_RMDIR:
    case FUSE_RENAME:
    case FUSE_LINK:
    case FUSE_WRITE:
    case FUSE_SETXATTR:
    case FUSE_REMOVEXATTR:
    case FUSE_CREATE:
    case FUSE_FALLOCATE:
    case FUSE_RENAME2:
    case FUSE_COPY_FILE_RANGE:
      return true;
    default:
      return false;
  }
}

void ask_raw(Driver& driver, Decisions& decisions, bool can_write) {
  for (unsigned i = 0; i < most_requests && !decisions.is_over(); ++i) {
    RawRequest request(driver, decisions);
    request.ask();
    require(can_write || !changes_something(request.opcode()) || !request.answer ||
                request.answer->error == EROFS,
            "what is only read does not change");
  }
  (void)driver.finish();  // a write that the system held back may have been too large
}

// ---- the two kinds

void compare(const volume::Volume& volume, const mount::MountOptions& options, Model& model,
             Decisions& decisions) {
  Driver driver(volume, options);
  Comparison comparison(driver, model, decisions);
  for (unsigned i = 0; i < most_requests && !decisions.is_over(); ++i) {
    comparison.step();
  }
  require(driver.finish(), "everything is synced");
}

void check_anew(const volume::Volume& volume, Model& model) {
  Decisions none(nullptr, 0);
  Driver driver(volume, {});
  Comparison(driver, model, none).check_all();
  require(driver.finish(), "there is nothing to sync");
}

void run(const Choice& choice, Decisions& decisions) {
  const MemoryVault vault(choice.has_plain_names);
  bool is_damaged = false;
  const volume::Volume volume = vault.volume([&](const volume::Finding&) { is_damaged = true; });
  Model model;
  if (!choice.is_raw || !choice.can_write) {
    // What is only read is written before: half of the input does that.
    const std::size_t bytes = decisions.left() / (choice.can_write ? 1 : 2);
    Decisions first = decisions.take(bytes);
    mount::MountOptions options = choice.options;
    options.access = choice.can_write ? options.access : mount::Access::write;
    compare(volume, options, model, first);
    require(!is_damaged, "no damage is reported");
    check_anew(volume, model);
  }
  if (choice.is_raw) {
    Driver driver(volume, choice.options);
    ask_raw(driver, decisions, choice.can_write);
  }
  if (!choice.can_write) {
    check_anew(volume, model);
  }
  vault.check();
}

}  // namespace

}  // namespace paes::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  using namespace paes::fuzz;
  Decisions decisions(data, bytes);
  const std::size_t descriptors = open_descriptors();
  const mode_t mask = umask(0);  // as the mount's program has it
  run(Choice(decisions.byte()), decisions);
  (void)umask(mask);
  require(open_descriptors() == descriptors, "no descriptor stays open");
  return 0;
}
