// SPDX-License-Identifier: Apache-2.0
// Long runs of random work against models in memory: files of bytes, and a tree of names. The seed
// is printed; PAES_SEED repeats it. PAES_EXHAUSTIVE=1 does 10^7 operations on files and 10^6 on
// names.
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <memory>
#include <set>

#include "comparable_results.hpp"
#include "sanitized.hpp"
#include "scripts.hpp"

namespace paes::volume::test {
namespace {

using paes::test::is_sanitized;

bool is_exhaustive() { return std::getenv("PAES_EXHAUSTIVE") != nullptr; }

class Random {
 public:
  Random() {
    const char* const given = std::getenv("PAES_SEED");
    const std::uint64_t seed =
        given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device()();
    std::cout << "PAES_SEED=" << seed << '\n';
    generator_.seed(seed);
  }
  // Below `end`.
  [[nodiscard]] std::size_t below(std::size_t end) { return generator_() % end; }
  // Lengths and offsets up to about `end`: half of them at the end of a block or next to it.
  [[nodiscard]] std::size_t place(std::size_t end) {
    const std::size_t any = below(end);
    if (below(2) == 0) {
      return any;
    }
    const std::size_t block = any / vault::block_bytes * vault::block_bytes;
    return block + below(3) - (block > 0 ? 1 : 0);
  }
  [[nodiscard]] Text text(std::size_t bytes) { return random_text(bytes, generator_()); }

 private:
  std::mt19937_64 generator_;
};

// A file whose name changes, with two handles, and what its text should be.
struct Modelled {
  std::string name;
  Text text;
  std::vector<WritableFile> handles;
};

class FileExerciser {
 public:
  explicit FileExerciser(const vault::Features& features)
      : volume_(scratch_.path(), features), root_(volume_.root()) {
    for (const char* const name : {"one", "two", "three"}) {
      files_.push_back({name, {}, {}});
      EXPECT_TRUE(volume_.create(root_, name));
      reopen(files_.back());
    }
  }

  void run(std::size_t operations) {
    for (std::size_t i = 0; i < operations; ++i) {
      Modelled& file = files_[random_.below(files_.size())];
      const std::string what = operate(file);
      if (!what.empty() || (i % 64 == 0 && text_of(handle(file)) != file.text)) {
        FAIL() << "operation " << i << ": " << (what.empty() ? "other text" : what);
      }
    }
    for (Modelled& file : files_) {
      reopen(file);
      EXPECT_EQ(text_of(handle(file)) == file.text, true);
    }
    EXPECT_EQ(fsck_findings(volume_.volume()), std::vector<std::string>{});
  }

 private:
  static constexpr std::size_t max_bytes = 150000;

  [[nodiscard]] WritableFile& handle(Modelled& file) {
    return file.handles[random_.below(file.handles.size())];
  }
  void reopen(Modelled& file) {
    file.handles.clear();
    for (int i = 0; i < 2; ++i) {
      Result<WritableFile> opened = volume_.open(root_, file.name);
      if (!opened) {
        throw std::runtime_error("cannot open");
      }
      file.handles.push_back(std::move(*opened));
    }
  }

  // What went wrong, or nothing.
  std::string operate(Modelled& file) {
    const std::size_t offset = random_.place(max_bytes);
    const std::size_t bytes = 1 + random_.place(random_.below(4) == 0 ? 60000 : 9000);
    switch (random_.below(16)) {
      case 0:
      case 1:
      case 2:
      case 3:
        return write(file, std::min(offset, file.text.size() + 10000), random_.text(bytes));
      case 4:
        return write(file, file.text.size(), random_.text(std::min<std::size_t>(bytes, 5000)));
      case 5:
      case 6:
      case 7:
      case 8:
        return read(file, offset, bytes);
      case 9:
        return set_length(file, random_.below(20) == 0 ? 0 : offset);
      case 10:
        return zero(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset, bytes);
      case 11:
        return zero(file,
                    random_.below(2) == 0 ? FALLOC_FL_ZERO_RANGE
                                          : FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE,
                    offset, bytes);
      case 12:
        return allocate(file, offset, bytes);
      case 13:
        return copy(file, offset, bytes);
      case 14:
        return rename_file(file);
      default:
        reopen(file);
        return {};
    }
  }

  std::string write(Modelled& file, std::size_t offset, const Text& text) {
    if (offset + text.size() > 2 * max_bytes) {
      return {};
    }
    const Result<std::size_t> written = handle(file).write(offset, text, file.name);
    if (!written || *written != text.size()) {
      return "a write";
    }
    file.text.resize(std::max(file.text.size(), offset + text.size()));
    std::copy(text.begin(), text.end(), file.text.begin() + static_cast<std::ptrdiff_t>(offset));
    return {};
  }
  std::string read(Modelled& file, std::size_t offset, std::size_t bytes) {
    Text text(bytes);
    const Result<std::size_t> done = handle(file).read(offset, text, file.name);
    const std::size_t there = offset < file.text.size() ? file.text.size() - offset : 0;
    if (!done || *done != std::min(bytes, there) ||
        !std::equal(
            text.begin(), text.begin() + static_cast<std::ptrdiff_t>(*done),
            file.text.begin() + static_cast<std::ptrdiff_t>(std::min(offset, file.text.size())))) {
      return "a read";
    }
    return {};
  }
  std::string set_length(Modelled& file, std::size_t bytes) {
    file.text.resize(bytes);
    return handle(file).set_length(bytes, file.name) == 0 ? "" : "a new length";
  }
  std::string zero(Modelled& file, int mode, std::size_t offset, std::size_t bytes) {
    if (handle(file).allocate(mode, offset, bytes, file.name) != 0) {
      return "a range of zeros";
    }
    if ((mode & FALLOC_FL_KEEP_SIZE) == 0) {
      file.text.resize(std::max(file.text.size(), offset + bytes));
    }
    for (std::size_t i = offset; i < std::min(offset + bytes, file.text.size()); ++i) {
      file.text[i] = 0;
    }
    return {};
  }
  std::string allocate(Modelled& file, std::size_t offset, std::size_t bytes) {
    const int mode = random_.below(2) == 0 ? 0 : FALLOC_FL_KEEP_SIZE;
    if (handle(file).allocate(mode, offset, bytes, file.name) != 0) {
      return "an allocation";
    }
    if (mode == 0) {
      file.text.resize(std::max(file.text.size(), offset + bytes));
    }
    return {};
  }
  std::string copy(Modelled& file, std::size_t offset, std::size_t bytes) {
    Modelled& to = files_[random_.below(files_.size())];
    const std::size_t to_offset = random_.place(max_bytes);
    const Result<std::size_t> copied =
        copy_range(handle(file), offset, file.name, handle(to), to_offset, to.name, bytes);
    if (&to == &file && offset < to_offset + bytes && to_offset < offset + bytes) {
      return copied.failed_with(EINVAL) ? "" : "a copy within itself";
    }
    const std::size_t there = offset < file.text.size() ? file.text.size() - offset : 0;
    const std::size_t expected = std::min(bytes, there);
    if (!copied || *copied != expected) {
      return "a copy";
    }
    if (expected > 0) {
      const auto begin = file.text.begin() + static_cast<std::ptrdiff_t>(offset);
      const Text part(begin, begin + static_cast<std::ptrdiff_t>(expected));
      to.text.resize(std::max(to.text.size(), to_offset + expected));
      std::copy(part.begin(), part.end(), to.text.begin() + static_cast<std::ptrdiff_t>(to_offset));
    }
    return {};
  }
  std::string rename_file(Modelled& file) {
    const std::size_t lengths[] = {1, 100, 250};
    const auto letter = static_cast<char>('a' + (&file - files_.data()));
    const std::string name(lengths[random_.below(3)], letter);
    const Result<void> renamed = rename(volume_.writable(), root_, file.name, root_, name, 0);
    file.name = name;
    return renamed ? "" : "a renaming";
  }

  ScratchFolder scratch_;
  WrittenVolume volume_;
  Folder root_;
  Random random_;
  std::vector<Modelled> files_;
};

TEST(Exercised, FilesAreAsTheirModels) {
  const std::size_t operations = is_exhaustive() ? 10'000'000 : is_sanitized ? 1000 : 6000;
  FileExerciser({}).run(operations);
}

TEST(Exercised, FilesOfOtherCiphersAreAsTheirModels) {
  const std::size_t operations = is_exhaustive() ? 1'000'000 : is_sanitized ? 300 : 2000;
  FileExerciser({.content = vault::ContentCipher::xchacha20_poly1305}).run(operations);
  FileExerciser({.content = vault::ContentCipher::aes_siv}).run(operations);
}

// A folder of the model. A file is a number; names with the same number are names of one file.
struct ModelledFolder {
  std::map<std::string, int> files;
  std::map<std::string, std::unique_ptr<ModelledFolder>> folders;

  [[nodiscard]] bool has(const std::string& name) const {
    return files.contains(name) || folders.contains(name);
  }
  [[nodiscard]] bool has_full_folder(const std::string& name) const {
    const auto found = folders.find(name);
    return found != folders.end() && !found->second->is_empty();
  }
  [[nodiscard]] bool is_empty() const { return files.empty() && folders.empty(); }
  // Whether the other one is in the folder of that name, or is that folder.
  [[nodiscard]] bool is_above(const std::string& name, const ModelledFolder& other) const {
    const auto found = folders.find(name);
    return found != folders.end() &&
           (found->second.get() == &other ||
            std::any_of(
                found->second->folders.begin(), found->second->folders.end(),
                [&](const auto& below) { return found->second->is_above(below.first, other); }));
  }
  // How many levels of folders are below this one.
  [[nodiscard]] std::size_t levels() const {
    std::size_t most = 0;
    for (const auto& [name, folder] : folders) {
      most = std::max(most, 1 + folder->levels());
    }
    return most;
  }
};

// Two levels of folders, few names of three lengths, files with several names, and the errors that
// the model predicts.
class TreeExerciser {
 public:
  void run(std::size_t operations) {
    for (std::size_t i = 0; i < operations; ++i) {
      const std::string what = operate();
      if (!what.empty()) {
        FAIL() << "operation " << i << ": " << what;
      }
      if (i % 500 == 0) {
        compare();
      }
    }
    compare();
    EXPECT_EQ(fsck_findings(volume_.volume()), std::vector<std::string>{});
    expect_all_outcomes(operations / 3000);
  }

 private:
  // No folder is deeper. Folders that move into each other would otherwise make a tree that grows
  // for as long as the test runs.
  static constexpr std::size_t max_level = 2;

  struct Place {
    Folder folder;
    ModelledFolder* model;
    std::size_t level;  // of the folder; the root's is 0
    std::string name;

    [[nodiscard]] bool is_taken() const { return model->has(name); }
    [[nodiscard]] bool has_file() const { return model->files.contains(name); }
    [[nodiscard]] bool has_folder() const { return model->folders.contains(name); }
    [[nodiscard]] bool is_same(const Place& other) const {
      return model == other.model && name == other.name;
    }
    // Whether this name is that of a folder in which the other name is.
    [[nodiscard]] bool is_above(const Place& other) const {
      return model->is_above(name, *other.model);
    }
    // Whether what has this name would be too deep there.
    [[nodiscard]] bool is_too_deep_in(const Place& other) const {
      const auto found = model->folders.find(name);
      return found != model->folders.end() && other.level + 1 + found->second->levels() > max_level;
    }
  };
  // The errors that fit; the system may report any of them. Without one the operation succeeds.
  using Errors = std::set<int>;

  [[nodiscard]] std::string any_name(std::size_t level) {
    const std::size_t number = random_.below(level == 0 ? 6 : 3);
    const std::size_t lengths[] = {1, 100, 230};
    return std::string(lengths[number % 3], static_cast<char>('a' + number));
  }
  // A name in the root or in a folder below it.
  [[nodiscard]] Place any_place() {
    Place place{volume_.root(), &model_, 0, any_name(0)};
    while (!place.model->folders.empty() && random_.below(3) != 0) {
      auto at = place.model->folders.begin();
      std::advance(at, static_cast<std::ptrdiff_t>(random_.below(place.model->folders.size())));
      Result<Folder> below = volume_.folder(place.folder, at->first);
      if (!below) {
        throw std::runtime_error("a folder cannot be opened");
      }
      place = {std::move(*below), at->second.get(), place.level + 1, any_name(place.level + 1)};
    }
    return place;
  }

  // What went wrong, or nothing.
  std::string operate() {
    const Place place = any_place();
    switch (random_.below(16)) {
      case 0:
      case 1:
        return create(place);
      case 2:
      case 3:
        return make_folder_at(place);
      case 4:
      case 5:
      case 6:
        return unlink(place);
      case 7:
      case 8:
        return remove_folder_at(place);
      case 9:
        return link(place, any_place());
      default:
        return rename_to(place, any_place());
    }
  }

  std::string outcome(const std::string& operation, Result<void> done, const Errors& expected) {
    const int error = errno_of(done);
    ++outcomes_[{operation, error}];
    const bool is_right = expected.empty() ? error == 0 : expected.contains(error);
    return is_right ? "" : operation + " says " + std::to_string(error);
  }

  std::string create(const Place& place) {
    const Errors expected = place.is_taken() ? Errors{EEXIST} : Errors{};
    Result<WritableFile> made = volume_.create(place.folder, place.name);
    if (made && !place.is_taken()) {
      const int number = ++last_number_;
      place.model->files[place.name] = number;
      if (!made->write(0, text_of_number(number), "f")) {
        return "a write";
      }
    }
    return outcome("create", Result<void>(made), expected);
  }
  std::string make_folder_at(const Place& place) {
    if (place.level == max_level && !place.is_taken()) {
      return {};
    }
    const Errors expected = place.is_taken() ? Errors{EEXIST} : Errors{};
    const Result<void> done =
        make_folder(volume_.writable(), place.folder, place.name, {.mode = 0755, .owner = {}});
    if (expected.empty()) {
      place.model->folders[place.name] = std::make_unique<ModelledFolder>();
    }
    return outcome("mkdir", done, expected);
  }
  std::string unlink(const Place& place) {
    const Errors expected = place.has_file()     ? Errors{}
                            : place.has_folder() ? Errors{EISDIR}
                                                 : Errors{ENOENT};
    const Result<void> done = remove_file(volume_.writable(), place.folder, place.name);
    place.model->files.erase(place.name);
    return outcome("unlink", done, expected);
  }
  std::string remove_folder_at(const Place& place) {
    const Errors expected = place.has_file()                           ? Errors{ENOTDIR}
                            : !place.has_folder()                      ? Errors{ENOENT}
                            : place.model->has_full_folder(place.name) ? Errors{ENOTEMPTY}
                                                                       : Errors{};
    const Result<void> done = remove_folder(volume_.writable(), place.folder, place.name);
    if (expected.empty()) {
      place.model->folders.erase(place.name);
    }
    return outcome("rmdir", done, expected);
  }

  std::string link(const Place& from, const Place& to) {
    Errors expected;
    if (!from.is_taken()) {
      expected.insert(ENOENT);
    }
    if (from.has_folder()) {
      expected.insert(EPERM);
    }
    if (to.is_taken()) {
      expected.insert(EEXIST);
    }
    const Result<StoredName> stored = from.folder.stored_name(from.name);
    const Result<void> done = add_name(
        volume_.writable(), {from.folder.descriptor(), stored->name.c_str()}, to.folder, to.name);
    if (expected.empty()) {
      to.model->files[to.name] = from.model->files.at(from.name);
    }
    return outcome("link", done, expected);
  }

  std::string rename_to(const Place& from, const Place& to) {
    const unsigned all[] = {0, RENAME_NOREPLACE, RENAME_EXCHANGE};
    const unsigned flags = all[random_.below(3)];
    const Errors expected = errors_of_rename(from, to, flags);
    if (expected.empty() &&
        (from.is_too_deep_in(to) || (flags == RENAME_EXCHANGE && to.is_too_deep_in(from)))) {
      return {};
    }
    const std::string operation = flags == RENAME_EXCHANGE    ? "exchange"
                                  : flags == RENAME_NOREPLACE ? "rename to a free name"
                                  : to.has_file()             ? "rename to a file's name"
                                  : to.has_folder()           ? "rename to a folder's name"
                                                              : "rename";
    const Result<void> done =
        rename(volume_.writable(), from.folder, from.name, to.folder, to.name, flags);
    if (expected.empty()) {
      rename_in_model(from, to, flags);
    }
    return outcome(operation, done, expected);
  }
  [[nodiscard]] static Errors errors_of_rename(const Place& from, const Place& to, unsigned flags) {
    if (!from.is_taken() || (flags == RENAME_EXCHANGE && !to.is_taken())) {
      return {ENOENT};
    }
    Errors errors;
    // A folder cannot go into itself, nor into what it has in it.
    if (from.is_above(to)) {
      errors.insert(EINVAL);
    }
    if (flags == RENAME_EXCHANGE) {
      if (to.is_above(from)) {
        errors.insert(EINVAL);
      }
      return errors;
    }
    if (flags == RENAME_NOREPLACE && to.is_taken()) {
      errors.insert(EEXIST);
    }
    if (from.is_same(to)) {
      return errors;
    }
    if (to.model->has_full_folder(to.name)) {
      errors.insert(ENOTEMPTY);
    }
    if (from.has_file() && to.has_folder()) {
      errors.insert(EISDIR);
    }
    if (from.has_folder() && to.has_file()) {
      errors.insert(ENOTDIR);
    }
    return errors;
  }
  static void rename_in_model(const Place& from, const Place& to, unsigned flags) {
    const bool is_one_file = from.has_file() && to.has_file() &&
                             from.model->files.at(from.name) == to.model->files.at(to.name);
    if (from.is_same(to) || is_one_file) {
      return;
    }
    ModelledFolder aside;
    take(*to.model, to.name, aside, "x");
    take(*from.model, from.name, *to.model, to.name);
    if (flags == RENAME_EXCHANGE) {
      take(aside, "x", *from.model, from.name);
    }
  }
  static void take(ModelledFolder& from, const std::string& name, ModelledFolder& to,
                   const std::string& to_name) {
    if (auto file = from.files.extract(name)) {
      to.files[to_name] = file.mapped();
    } else if (auto folder = from.folders.extract(name)) {
      to.folders[to_name] = std::move(folder.mapped());
    }
  }

  // Each has to happen again and again, or the random choices no longer test what they are for.
  void expect_all_outcomes(std::size_t times) {
    const std::pair<const char*, Errors> all[] = {
        {"create", {0, EEXIST}},
        {"mkdir", {0, EEXIST}},
        {"unlink", {0, ENOENT, EISDIR}},
        {"rmdir", {0, ENOENT, ENOTDIR, ENOTEMPTY}},
        {"link", {0, ENOENT, EEXIST, EPERM}},
        {"rename", {0, ENOENT, EINVAL}},
        {"rename to a file's name", {0, ENOENT, ENOTDIR}},
        {"rename to a folder's name", {0, ENOENT, EISDIR, ENOTEMPTY}},
        {"rename to a free name", {0, ENOENT, EEXIST}},
        {"exchange", {0, ENOENT, EINVAL}},
    };
    for (const auto& [operation, errors] : all) {
      for (const int error : errors) {
        EXPECT_GE((outcomes_[{operation, error}]), times) << operation << " with error " << error;
      }
    }
  }

  [[nodiscard]] static Text text_of_number(int number) {
    Text text(sizeof number);
    std::memcpy(text.data(), &number, sizeof number);
    return text;
  }
  void flatten(const ModelledFolder& folder, const std::string& path,
               std::map<std::string, Text>& all) const {
    for (const auto& [name, number] : folder.files) {
      all[path_of(path, name)] = text_of_number(number);
    }
    for (const auto& [name, below] : folder.folders) {
      all[path_of(path, name)] = {};
      flatten(*below, path_of(path, name), all);
    }
  }
  void compare() const {
    std::map<std::string, Text> expected;
    flatten(model_, "", expected);
    std::map<std::string, Text> found;
    for (const auto& [path, item] : read_tree(scratch_.path()).items) {
      found[path] = item.type == 'd' ? Text{} : item.blocks.at(0).value();
    }
    EXPECT_EQ(found, expected);
  }

  ScratchFolder scratch_;
  WrittenVolume volume_{scratch_.path()};
  Random random_;
  ModelledFolder model_;
  int last_number_ = 0;
  std::map<std::pair<std::string, int>, std::size_t> outcomes_;  // how often, by error
};

TEST(Exercised, NamesAreAsTheirModel) {
  TreeExerciser().run(is_exhaustive() ? 1'000'000 : is_sanitized ? 1000 : 6000);
}

}  // namespace
}  // namespace paes::volume::test
