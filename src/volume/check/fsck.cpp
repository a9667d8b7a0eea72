// SPDX-License-Identifier: Apache-2.0
#include "volume/check/fsck.hpp"

#include <dirent.h>
#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <utility>

#include "volume/check/file_check.hpp"
#include "volume/check/fsck_report.hpp"
#include "volume/check/work_stack.hpp"
#include "volume/read/attributes.hpp"
#include "volume/read/hidden_names.hpp"
#include "volume/read/link.hpp"
#include "volume/read/listing.hpp"
#include "volume/read/volume_folder.hpp"

namespace paes::volume {

namespace {

// Entries that are read from a folder at once, and those that one thread then takes.
constexpr std::size_t entries_bytes = std::size_t{32} << 10;
constexpr std::size_t group_entries = 32;
// So many files with several hard links are remembered, to check each once.
constexpr std::size_t max_remembered = std::size_t{1} << 20;

constexpr int file_flags = O_RDONLY | O_NONBLOCK | O_NOCTTY;

// Where a folder lies: its names, and where the folder that it is in lies. Whole paths would take
// memory by the square of the depth, so one is built only when somebody has to read it.
struct Trail;
using SharedTrail = std::shared_ptr<const Trail>;  // none: the root
struct Trail {
  SharedTrail parent;
  std::string name;
  std::string stored;
  // The next that end_trails() has to end.
  Trail* next = nullptr;
};

// Ends a trail. The last of a deep one ends all the others, which must not take a stack as deep.
void end_trails(Trail* trail) noexcept {
  thread_local Trail* waiting = nullptr;
  thread_local bool is_ending = false;
  trail->next = waiting;
  waiting = trail;
  if (is_ending) {
    return;
  }
  is_ending = true;
  while (waiting != nullptr) {
    const std::unique_ptr<Trail> last(waiting);
    waiting = waiting->next;
  }
  is_ending = false;
}

SharedTrail make_trail(SharedTrail parent, std::string name, std::string stored) {
  auto trail = std::make_unique<Trail>();
  trail->parent = std::move(parent);
  trail->name = std::move(name);
  trail->stored = std::move(stored);
  return {trail.release(), end_trails};
}

// The folders from the root down to that one.
std::vector<const Trail*> parts_of(const Trail* trail) {
  std::vector<const Trail*> parts;
  for (; trail != nullptr; trail = trail->parent.get()) {
    parts.push_back(trail);
  }
  std::reverse(parts.begin(), parts.end());
  return parts;
}

std::string path_in(const SharedTrail& folder, std::string_view name) {
  std::string path;
  for (const Trail* const part : parts_of(folder.get())) {
    path += part->name;
    path += '/';
  }
  path += name;
  if (name.empty() && !path.empty()) {
    path.pop_back();
  }
  return path;
}

// Counts something for as long as it lives.
class Counted {
 public:
  explicit Counted(std::atomic<std::size_t>& count) : count_(&count) { count_->fetch_add(1); }
  Counted(Counted&& other) noexcept : count_(std::exchange(other.count_, nullptr)) {}
  Counted& operator=(Counted&&) = delete;
  ~Counted() {
    if (count_ != nullptr) {
      count_->fetch_sub(1);
    }
  }

 private:
  std::atomic<std::size_t>* count_;
};

// A folder that is being checked. All that is read of what is in it keeps it open.
struct Place {
  SharedTrail trail;
  std::unique_ptr<const Volume> volume;  // paths of what it reports count from this folder
  Folder folder;
  Counted is_open;

  [[nodiscard]] std::string path(std::string_view name) const { return path_in(trail, name); }
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
           SharedTrail its_folder, std::string its_name)
      : check(volume, std::move(descriptor), status),
        folder(std::move(its_folder)),
        name(std::move(its_name)) {}

  FileCheck check;
  SharedTrail folder;
  std::string name;
  bool is_second = false;  // the file has changed during its first check
  std::atomic<std::uint64_t> runs_done{0};
};

class Check {
 public:
  Check(const Volume& volume, const Executor& executor, const FsckWatch& watch,
        std::size_t most_folders)
      : report_(watch),
        volume_(volume, {}),
        executor_(executor),
        watch_(watch),
        most_folders_(most_folders) {}

  void add(const std::string& path);
  void run();
  [[nodiscard]] FsckCounts counts() const { return report_.counts(); }

 private:
  // EIO after it has been reported, and other errors as they are.
  [[nodiscard]] Result<SharedPlace> open_place(FolderRef parent, const std::string& stored,
                                               SharedTrail trail);
  void enter(FolderRef parent, const std::string& stored, const SharedTrail& trail);
  void enter_later(SharedTrail trail);
  void push_scan(SharedPlace place);
  void scan(const SharedPlace& place);
  void check_item(const SharedPlace& place, const Item& item);
  void check_hidden(const Place& place, const std::string& stored);
  void check_long_name_file(const SharedPlace& place, const std::string& stored);
  void check_entry(const SharedPlace& place, const std::string& stored, unsigned char type,
                   const std::string& name);
  void check_file(const SharedPlace& place, const std::string& stored, const std::string& name);
  // The errno is one of a call for that name; nothing is said of one that has been removed.
  void refused(const Place& place, std::string_view name, const char* what, Errno error);
  [[nodiscard]] Result<Descriptor> open_file(FolderRef parent, const std::string& stored) const;
  [[nodiscard]] bool has_seen(const struct stat& status);
  void check_attributes(const Place& place, FileRef file, const std::string& name);
  [[nodiscard]] Result<Descriptor> open_again(const Trail* folder) const;
  // The errno is one of a call for what was opened again, or is in it.
  void refused_again(const std::string& path, const char* what, Errno error);
  void look_again(const SharedTrail& folder, const std::vector<std::string>& stored);

  void begin(const std::shared_ptr<OpenFile>& file);
  void work_on(const std::shared_ptr<OpenFile>& file);
  void conclude(OpenFile& file);

  FsckReport report_;
  const Volume volume_;  // reports nothing: what each place reports needs its path
  const Executor& executor_;
  const FsckWatch& watch_;
  const std::size_t most_folders_;
  std::atomic<std::size_t> open_folders_{0};  // outlives the tasks, which keep them open
  WorkStack stack_;
  std::mutex remembering_;
  std::set<std::pair<dev_t, ino_t>> seen_;
  // Long names' files to which nothing belongs, so it seems. Their folders are closed meanwhile.
  std::map<SharedTrail, std::vector<std::string>> orphans_;
};

void Check::run() {
  stack_.run(executor_, watch_.stops);
  // Whoever makes something with a long name makes this file first. By now that must be done.
  for (const auto& [folder, stored] : orphans_) {
    if (watch_.stops && watch_.stops()) {
      break;
    }
    look_again(folder, stored);
  }
  orphans_.clear();
}

Result<Descriptor> Check::open_again(const Trail* folder) const {
  constexpr int flags = O_PATH | O_DIRECTORY;
  Result<Descriptor> at = volume_.backing().open(volume_.root(), ".", flags);
  for (const Trail* const part : parts_of(folder)) {
    if (!at) {
      break;
    }
    at = volume_.backing().open(FolderRef(*at), part->stored.c_str(), flags);
  }
  return at;
}

void Check::refused_again(const std::string& path, const char* what, Errno error) {
  // Nobody has reported an input or output error yet.
  if (error.is(EIO)) {
    report_.damaged({path, FsckReport::with_reason(what, error)});
  } else if (!error.is(ENOTDIR, ELOOP)) {  // these: the folder has been replaced
    report_.refused(path, what, error);
  }
}

void Check::look_again(const SharedTrail& folder, const std::vector<std::string>& stored) {
  const Result<Descriptor> opened = open_again(folder.get());
  for (const std::string& name : stored) {
    const std::string named = name.substr(0, name.size() - vault::long_name_suffix.size());
    Result<void> looked(opened);
    if (opened) {
      const FolderRef at(*opened);
      const Result<struct stat> content = volume_.backing().status({at, named.c_str()});
      const Result<struct stat> file = volume_.backing().status({at, name.c_str()});
      if (content || file.failed_with(ENOENT)) {
        continue;
      }
      if (content.failed_with(ENOENT) && file) {
        report_.leftover({path_in(folder, name), "what has this long name is missing"});
        continue;
      }
      looked = content.failed_with(ENOENT) ? file.error() : content.error();
    }
    refused_again(path_in(folder, name), "cannot be read", looked.error());
  }
}

Result<SharedPlace> Check::open_place(FolderRef parent, const std::string& stored,
                                      SharedTrail trail) {
  auto volume = std::make_unique<const Volume>(volume_, [this, trail](const Finding& finding) {
    report_.damaged({path_in(trail, finding.path), finding.what});
  });
  Result<Folder> folder = Folder::open(*volume, parent, stored.c_str(), "");
  if (!folder) {
    return folder.error();
  }
  return std::make_shared<const Place>(
      Place{std::move(trail), std::move(volume), std::move(*folder), Counted(open_folders_)});
}

void Check::enter(FolderRef parent, const std::string& stored, const SharedTrail& trail) {
  const Result<SharedPlace> place = open_place(parent, stored, trail);
  if (!place) {
    report_.refused(path_in(trail, ""), "cannot be opened", place.error());
    return;
  }
  report_.counters().folders.fetch_add(1);
  check_attributes(**place, (*place)->folder.descriptor(), "");
  push_scan(*place);
}

// The folders above a folder stay open until it is checked. Where these are too many already, it
// is opened from the root once they are closed, and what then lies there counts.
void Check::enter_later(SharedTrail trail) {
  stack_.push_for_later([this, trail = std::move(trail)] {
    const Result<Descriptor> parent = open_again(trail->parent.get());
    if (parent) {
      enter(FolderRef(*parent), trail->stored, trail);
    } else {
      refused_again(path_in(trail, ""), "cannot be opened", parent.error());
    }
  });
}

void Check::refused(const Place& place, std::string_view name, const char* what, Errno error) {
  if (!error.is(ENOENT)) {
    report_.refused(place.path(name), what, error);
  }
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
    const Errno error = filled.failed_with(EBADF) ? Errno(EACCES) : filled.error();
    refused(*place, "", "cannot be listed", place->volume->failed("", "the folder", error));
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
  const auto add_item = [&](const StoredEntry& stored) -> Result<void> {
    group.push_back({std::string(stored.name), stored.type});
    if (group.size() == group_entries) {
      push_group();
    }
    return {};
  };
  if (const Result<void> seen = for_each_entry({buffer.get(), *filled}, add_item); !seen) {
    (void)place->volume->failed("", "the folder", seen.error());
  }
  if (!group.empty()) {
    push_group();
  }
}

void Check::check_item(const SharedPlace& place, const Item& item) {
  const Folder& folder = place->folder;
  if (is_hidden(volume_, item.stored)) {
    check_hidden(*place, item.stored);
    return;
  }
  if (folder.kind_of(item.stored) == vault::StoredKind::long_name_file) {
    check_long_name_file(place, item.stored);
    return;
  }
  const Result<std::string> name = folder.name_of(item.stored, "");
  if (!name) {
    refused(*place, item.stored, "its long name cannot be read", name.error());
    return;
  }
  check_entry(place, item.stored, item.type, *name);
}

void Check::check_hidden(const Place& place, const std::string& stored) {
  const Result<Descriptor> folder =
      volume_.backing().open(place.folder.descriptor(), stored.c_str(), O_PATH | O_DIRECTORY);
  const Result<void> empty = folder ? check_empty(volume_, FolderRef(*folder)) : folder.error();
  if (empty || folder.failed_with(ENOTDIR)) {
    report_.leftover({place.path(stored), "nothing needs it"});
  } else if (empty.failed_with(ENOTEMPTY)) {
    report_.damaged({place.path(stored), "a folder without a name has entries"});
  } else {
    refused(place, stored, "cannot be read", place.volume->failed(stored, "it", empty.error()));
  }
}

void Check::check_long_name_file(const SharedPlace& place, const std::string& stored) {
  const std::string named = stored.substr(0, stored.size() - vault::long_name_suffix.size());
  const Result<struct stat> status =
      volume_.backing().status({place->folder.descriptor(), named.c_str()});
  if (status.failed_with(ENOENT)) {
    const std::lock_guard lock(remembering_);
    orphans_[place->trail].push_back(stored);
  } else if (!status) {
    refused(*place, named, "cannot be read",
            place->volume->failed(named, "what has this name", status.error()));
  }
}

void Check::check_entry(const SharedPlace& place, const std::string& stored, unsigned char type,
                        const std::string& name) {
  const FolderRef parent = place->folder.descriptor();
  if (type == DT_UNKNOWN) {
    const Result<struct stat> status = volume_.backing().status({parent, stored.c_str()});
    if (!status) {
      refused(*place, name, "cannot be read", place->volume->failed(name, "it", status.error()));
      return;
    }
    type = type_of(*status);
  }
  switch (type) {
    case DT_DIR: {
      SharedTrail trail = make_trail(place->trail, name, stored);
      if (open_folders_ < most_folders_) {
        enter(parent, stored, trail);
      } else {
        enter_later(std::move(trail));
      }
      break;
    }
    case DT_REG:
      check_file(place, stored, name);
      break;
    case DT_LNK: {
      report_.counters().links.fetch_add(1);
      const Result<std::string> target = read_link(*place->volume, {parent, stored.c_str()}, name);
      if (!target) {
        refused(*place, name, "the link cannot be read", target.error());
      }
      break;
    }
    default:
      report_.counters().others.fetch_add(1);
  }
}

Result<Descriptor> Check::open_file(FolderRef parent, const std::string& stored) const {
  // A check is no use of a file. Only the owner may say so.
  Result<Descriptor> file = volume_.backing().open(parent, stored.c_str(), file_flags | O_NOATIME);
  if (file.failed_with(EPERM)) {
    file = volume_.backing().open(parent, stored.c_str(), file_flags);
  }
  return file;
}

void Check::check_file(const SharedPlace& place, const std::string& stored,
                       const std::string& name) {
  report_.counters().files.fetch_add(1);
  const auto failed = [&](const char* what, Errno error) {
    refused(*place, name, what, place->volume->failed(name, "the file", error));
  };
  Result<Descriptor> file = open_file(place->folder.descriptor(), stored);
  if (!file) {
    failed("cannot be opened", file.error());
    return;
  }
  const Result<struct stat> status = volume_.backing().status(*file);
  if (!status) {
    failed("cannot be read", status.error());
    return;
  }
  if (!S_ISREG(status->st_mode) || (status->st_nlink > 1 && has_seen(*status))) {
    return;
  }
  check_attributes(*place, *file, name);
  begin(std::make_shared<OpenFile>(volume_, std::move(*file), *status, place->trail, name));
}

bool Check::has_seen(const struct stat& status) {
  const std::pair<dev_t, ino_t> number{status.st_dev, status.st_ino};
  const std::lock_guard lock(remembering_);
  return seen_.size() < max_remembered ? !seen_.insert(number).second : seen_.contains(number);
}

void Check::check_attributes(const Place& place, FileRef file, const std::string& name) {
  const Result<std::vector<std::string>> attributes = list_attributes(*place.volume, file, name);
  if (!attributes) {
    if (!attributes.failed_with(EOPNOTSUPP)) {
      refused(place, name, "the list of attributes cannot be read", attributes.error());
    }
    return;
  }
  for (const std::string& attribute : *attributes) {
    const auto value = read_attribute(*place.volume, file, attribute, name);
    if (!value && !value.failed_with(ENODATA)) {
      refused(place, name, "an attribute cannot be read", value.error());
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
      const auto again = std::make_shared<OpenFile>(volume_, file.check.release(), *status,
                                                    file.folder, file.name);
      again->is_second = true;
      begin(again);
      return;
    }
  }
  report_.counters().text_bytes.fetch_add(file.check.text_bytes());
  for (const FileFault& fault : file.check.faults()) {
    const Finding finding{path_in(file.folder, file.name), fault.what};
    if (fault.error && is_refusal(*fault.error)) {
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
  const auto throw_bad_path = [&](Errno error) {
    throw Error(ErrorCode::usage, FsckReport::with_reason(path, error),
                "paths count from the root of the vault");
  };
  std::vector<std::string> parts = parts_of(path);
  if (parts.empty()) {
    stack_.push([this] { enter(volume_.root(), "", nullptr); });
    return;
  }
  SharedTrail trail;
  Result<SharedPlace> place = open_place(volume_.root(), "", trail);
  std::string stored;
  for (std::size_t i = 0; place; ++i) {
    const Folder& folder = (*place)->folder;
    const Result<StoredName> name = folder.stored_name(parts[i]);
    if (!name) {
      throw_bad_path(name.error());
    }
    stored = name->name;
    if (i + 1 == parts.size()) {
      break;
    }
    trail = make_trail(trail, parts[i], stored);
    place = open_place(folder.descriptor(), stored, trail);
    if (place.failed_with(ENOENT, ENOTDIR)) {
      throw_bad_path(place.error());
    }
  }
  if (!place) {
    report_.refused(path_in(trail, ""), "cannot be opened", place.error());
    return;
  }
  const Result<struct stat> status =
      volume_.backing().status({(*place)->folder.descriptor(), stored.c_str()});
  if (status.failed_with(ENOENT)) {
    throw_bad_path(Errno(ENOENT));
  }
  stack_.push([this, place = *place, stored] { check_item(place, {stored, DT_UNKNOWN}); });
}

}  // namespace

FsckCounts fsck(const Volume& volume, const std::vector<std::string>& paths,
                const Executor& executor, const FsckWatch& watch, std::size_t most_folders) {
  Check check(volume, executor, watch, most_folders);
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
