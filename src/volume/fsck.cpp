#include "volume/fsck.hpp"

#include <dirent.h>
#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <mutex>
#include <set>
#include <system_error>
#include <utility>

#include "volume/attributes.hpp"
#include "volume/file_check.hpp"
#include "volume/folder.hpp"
#include "volume/fsck_report.hpp"
#include "volume/link.hpp"
#include "volume/listing.hpp"
#include "volume/work_stack.hpp"

namespace paes::volume {

namespace {

// Entries that are read from a folder at once, and those that one thread then takes.
constexpr std::size_t entries_bytes = std::size_t{32} << 10;
constexpr std::size_t group_entries = 32;
// So many files with several hard links are remembered, to check each once.
constexpr std::size_t max_remembered = std::size_t{1} << 20;

constexpr int file_flags = O_RDONLY | O_NONBLOCK | O_NOCTTY;

// A folder that is being checked, with its path. Everything below it keeps it open.
struct Place {
  Folder folder;
  std::string path;
};
using SharedPlace = std::shared_ptr<const Place>;

// An entry as it is stored.
struct Item {
  std::string stored;
  unsigned char type = DT_UNKNOWN;
};

unsigned char type_of(const struct stat& status) noexcept {
  return static_cast<unsigned char>(IFTODT(status.st_mode));
}

// A regular file that is being checked. All threads that have nothing else to do share a long one.
struct OpenFile {
  OpenFile(const Volume& volume, Descriptor descriptor, const struct stat& status,
           std::string file_path)
      : check(volume, std::move(descriptor), status), path(std::move(file_path)) {}

  FileCheck check;
  std::string path;
  bool is_second = false;  // the file has changed during its first check
  std::atomic<std::uint64_t> runs_done{0};
};

class Check {
 public:
  Check(const Volume& volume, const Executor& executor, const FsckWatch& watch)
      : report_(watch),
        volume_(volume, [this](const Finding& finding) { report_.damaged(finding); }),
        executor_(executor),
        watch_(watch) {}

  void add(const std::string& path);
  void run();
  [[nodiscard]] FsckCounts counts() const { return report_.counts(); }

 private:
  void enter(int parent, const std::string& stored, std::string path);
  void push_scan(SharedPlace place);
  void scan(const SharedPlace& place);
  void check_item(const SharedPlace& place, const Item& item);
  void check_long_name_file(const SharedPlace& place, const std::string& stored);
  void check_entry(int parent, const std::string& stored, unsigned char type, std::string path);
  void check_file(int parent, const std::string& stored, const std::string& path);
  [[nodiscard]] Result<Descriptor> open_file(int parent, const std::string& stored) const;
  [[nodiscard]] bool has_seen(const struct stat& status);
  void check_attributes(int file, const std::string& path);

  void begin(const std::shared_ptr<OpenFile>& file);
  void work_on(const std::shared_ptr<OpenFile>& file);
  void conclude(OpenFile& file);

  FsckReport report_;
  const Volume volume_;  // reports to report_
  const Executor& executor_;
  const FsckWatch& watch_;
  WorkStack stack_;
  std::mutex remembering_;
  std::set<std::pair<dev_t, ino_t>> seen_;
  std::vector<std::pair<SharedPlace, std::string>> orphans_;  // long names' files, so it seems
};

void Check::run() {
  stack_.run(executor_, watch_.stops);
  // Whoever makes something with a long name makes this file first. By now that must be done.
  for (const auto& [place, stored] : orphans_) {
    const int folder = place->folder.descriptor();
    const std::string path = path_of(place->path, stored);
    const std::string named = stored.substr(0, stored.size() - vault::long_name_suffix.size());
    const Result<struct stat> content = volume_.backing().status(folder, named.c_str());
    const Result<struct stat> file = volume_.backing().status(folder, stored.c_str());
    if (content || file.error() == ENOENT) {
      continue;
    }
    if (content.error() == ENOENT && file) {
      report_.damaged({path, "what has this long name is missing"});
      continue;
    }
    const int error = content.error() == ENOENT ? file.error() : content.error();
    report_.refused(path, "cannot be read", volume_.failed(path, "the file", error).error);
  }
  orphans_.clear();
}

void Check::enter(int parent, const std::string& stored, std::string path) {
  Result<Folder> folder = Folder::open(volume_, parent, stored.c_str(), path);
  if (!folder) {
    report_.refused(path, "cannot be opened", folder.error());
    return;
  }
  report_.counters().folders.fetch_add(1);
  check_attributes(folder->descriptor(), path);
  push_scan(std::make_shared<const Place>(Place{std::move(*folder), std::move(path)}));
}

void Check::push_scan(SharedPlace place) {
  stack_.push([this, place = std::move(place)] { scan(place); });
}

// The next entries of a folder. What is left of it is pushed first, so that these entries are
// checked before more of them are read.
void Check::scan(const SharedPlace& place) {
  const auto buffer = std::make_unique_for_overwrite<std::uint8_t[]>(entries_bytes);
  const Result<std::size_t> filled =
      volume_.backing().entries(place->folder.descriptor(), {buffer.get(), entries_bytes});
  if (!filled) {
    // The folder is open as a mere place, because it may not be listed.
    const int error = filled.error() == EBADF ? EACCES : filled.error();
    report_.refused(place->path, "cannot be listed",
                    volume_.failed(place->path, "the folder", error).error);
    return;
  }
  if (*filled == 0) {
    return;
  }
  push_scan(place);
  std::vector<Item> group;
  const auto push_group = [&] {
    stack_.push([this, place, items = std::move(group)] {
      for (const Item& item : items) {
        if (watch_.stops && watch_.stops()) {
          return;
        }
        check_item(place, item);
      }
    });
    group = {};
  };
  const int error = for_each_entry({buffer.get(), *filled}, [&](const Stored& stored) {
    group.push_back({std::string(stored.name), stored.type});
    if (group.size() == group_entries) {
      push_group();
    }
    return 0;
  });
  if (error != 0) {
    (void)volume_.failed(place->path, "the folder", error);
  }
  if (!group.empty()) {
    push_group();
  }
}

void Check::check_item(const SharedPlace& place, const Item& item) {
  const Folder& folder = place->folder;
  if (folder.kind_of(item.stored) == vault::StoredKind::long_name_file) {
    check_long_name_file(place, item.stored);
    return;
  }
  const Result<std::string> name = folder.name_of(item.stored, place->path);
  if (!name) {
    report_.refused(path_of(place->path, item.stored), "its long name cannot be read",
                    name.error());
    return;
  }
  check_entry(folder.descriptor(), item.stored, item.type, path_of(place->path, *name));
}

void Check::check_long_name_file(const SharedPlace& place, const std::string& stored) {
  const std::string named = stored.substr(0, stored.size() - vault::long_name_suffix.size());
  const Result<struct stat> status =
      volume_.backing().status(place->folder.descriptor(), named.c_str());
  if (status.error() == ENOENT) {
    const std::lock_guard lock(remembering_);
    orphans_.emplace_back(place, stored);
  } else if (!status) {
    const std::string path = path_of(place->path, named);
    report_.refused(path, "cannot be read",
                    volume_.failed(path, "what has this name", status.error()).error);
  }
}

void Check::check_entry(int parent, const std::string& stored, unsigned char type,
                        std::string path) {
  if (type == DT_UNKNOWN) {
    const Result<struct stat> status = volume_.backing().status(parent, stored.c_str());
    if (!status) {
      report_.refused(path, "cannot be read", volume_.failed(path, "it", status.error()).error);
      return;
    }
    type = type_of(*status);
  }
  switch (type) {
    case DT_DIR:
      enter(parent, stored, std::move(path));
      break;
    case DT_REG:
      check_file(parent, stored, path);
      break;
    case DT_LNK: {
      report_.counters().links.fetch_add(1);
      const Result<std::string> target = read_link(volume_, parent, stored.c_str(), path);
      if (!target) {
        report_.refused(path, "the link cannot be read", target.error());
      }
      break;
    }
    default:
      report_.counters().others.fetch_add(1);
  }
}

Result<Descriptor> Check::open_file(int parent, const std::string& stored) const {
  // A check is no use of a file. Only the owner may say so.
  Result<Descriptor> file = volume_.backing().open(parent, stored.c_str(), file_flags | O_NOATIME);
  if (file.error() == EPERM) {
    file = volume_.backing().open(parent, stored.c_str(), file_flags);
  }
  return file;
}

void Check::check_file(int parent, const std::string& stored, const std::string& path) {
  report_.counters().files.fetch_add(1);
  Result<Descriptor> file = open_file(parent, stored);
  if (!file) {
    report_.refused(path, "cannot be opened", volume_.failed(path, "the file", file.error()).error);
    return;
  }
  const Result<struct stat> status = volume_.backing().status(file->number(), "");
  if (!status) {
    report_.refused(path, "cannot be read", volume_.failed(path, "the file", status.error()).error);
    return;
  }
  if (!S_ISREG(status->st_mode) || (status->st_nlink > 1 && has_seen(*status))) {
    return;
  }
  check_attributes(file->number(), path);
  begin(std::make_shared<OpenFile>(volume_, std::move(*file), *status, path));
}

bool Check::has_seen(const struct stat& status) {
  const std::pair<dev_t, ino_t> number{status.st_dev, status.st_ino};
  const std::lock_guard lock(remembering_);
  return seen_.size() < max_remembered ? !seen_.insert(number).second : seen_.contains(number);
}

void Check::check_attributes(int file, const std::string& path) {
  const Result<std::vector<std::string>> names = list_attributes(volume_, file, path);
  if (!names) {
    if (names.error() != EOPNOTSUPP) {
      report_.refused(path, "the list of attributes cannot be read", names.error());
    }
    return;
  }
  for (const std::string& name : *names) {
    const auto value = read_attribute(volume_, file, name, path);
    if (!value && value.error() != ENODATA) {
      report_.refused(path, "an attribute cannot be read", value.error());
    }
  }
}

void Check::begin(const std::shared_ptr<OpenFile>& file) {
  report_.progress(file->check.begin());
  const std::uint64_t runs = file->check.runs();
  if (runs == 0) {
    conclude(*file);
    return;
  }
  for (std::uint64_t others = std::min<std::uint64_t>(executor_.threads(), runs); others > 1;
       --others) {
    stack_.push([this, file] { work_on(file); });
  }
  work_on(file);
}

void Check::work_on(const std::shared_ptr<OpenFile>& file) {
  while (!(watch_.stops && watch_.stops())) {
    const FileCheck::Step step = file->check.check_next();
    if (step.runs == 0) {
      return;
    }
    report_.progress(step.text_bytes);
    if (file->runs_done.fetch_add(step.runs) + step.runs == file->check.runs()) {
      conclude(*file);
      return;
    }
  }
}

void Check::conclude(OpenFile& file) {
  if (!file.is_second) {
    if (const std::optional<struct stat> status = file.check.status_if_changed()) {
      const auto again =
          std::make_shared<OpenFile>(volume_, file.check.release(), *status, file.path);
      again->is_second = true;
      begin(again);
      return;
    }
  }
  report_.counters().text_bytes.fetch_add(file.check.text_bytes());
  for (const Wrong& wrong : file.check.wrongs()) {
    const Finding finding{file.path, wrong.what};
    if (is_refusal(wrong.error)) {
      report_.unread(finding);
    } else {
      report_.damaged(finding);
    }
  }
}

std::vector<std::string> parts_of(const std::string& path) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at < path.size();) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    std::string part = path.substr(at, end - at);
    at = end + 1;
    if (part == "..") {
      throw Error(ErrorCode::usage, path + ": has .. in it");
    }
    if (!part.empty() && part != ".") {
      parts.push_back(std::move(part));
    }
  }
  return parts;
}

void Check::add(const std::string& path) {
  const auto refuse = [&](int error) {
    throw Error(ErrorCode::usage, FsckReport::with_reason(path, error),
                "paths count from the root of the vault");
  };
  std::vector<std::string> parts = parts_of(path);
  if (parts.empty()) {
    stack_.push([this] { enter(volume_.root(), "", ""); });
    return;
  }
  Result<Folder> folder = Folder::open(volume_, volume_.root(), "", "");
  std::string so_far;
  std::string stored;
  for (std::size_t i = 0; folder; ++i) {
    const Result<StoredName> name = folder->stored_name(parts[i]);
    if (!name) {
      refuse(name.error());
    }
    stored = name->name;
    if (i + 1 == parts.size()) {
      break;
    }
    so_far = path_of(so_far, parts[i]);
    folder = Folder::open(volume_, folder->descriptor(), stored.c_str(), so_far);
    if (folder.error() == ENOENT || folder.error() == ENOTDIR) {
      refuse(folder.error());
    }
  }
  if (!folder) {
    report_.refused(so_far, "cannot be opened", folder.error());
    return;
  }
  const Result<struct stat> status = volume_.backing().status(folder->descriptor(), stored.c_str());
  if (status.error() == ENOENT) {
    refuse(ENOENT);
  }
  const auto place = std::make_shared<const Place>(Place{std::move(*folder), so_far});
  stack_.push([this, place, stored] { check_item(place, {stored, DT_UNKNOWN}); });
}

}  // namespace

FsckCounts fsck(const Volume& volume, const std::vector<std::string>& paths,
                const Executor& executor, const FsckWatch& watch) {
  Check check(volume, executor, watch);
  if (paths.empty()) {
    check.add("");
  }
  for (const std::string& path : paths) {
    check.add(path);
  }
  check.run();
  return check.counts();
}

}  // namespace paes::volume
