// Long runs of random work against models in memory: files of bytes, and a tree of names. The seed
// is printed; PAES_SEED repeats it. PAES_EXHAUSTIVE=1 does 10^7 operations on files and 10^6 on
// names.
#include <cerrno>
#include <cstdlib>
#include <iostream>

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
      return copied.error() == EINVAL ? "" : "a copy within itself";
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
    const int error = rename(volume_.writable(), root_, file.name, root_, name, 0);
    file.name = name;
    return error == 0 ? "" : "a renaming";
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

// A folder of the model; a file is a number.
struct ModelledFolder {
  std::map<std::string, int> files;
  std::map<std::string, std::unique_ptr<ModelledFolder>> folders;

  [[nodiscard]] bool has(const std::string& name) const {
    return files.contains(name) || folders.contains(name);
  }
  [[nodiscard]] bool is_empty() const { return files.empty() && folders.empty(); }
};

// Folders of two levels, names of three lengths, and the errors that the model predicts.
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
  }

 private:
  struct Place {
    Folder folder;
    ModelledFolder* model;
    std::string name;
  };

  [[nodiscard]] std::string any_name() {
    const std::size_t number = random_.below(6);
    const std::size_t lengths[] = {1, 100, 230};
    return std::string(lengths[number % 3], static_cast<char>('a' + number));
  }
  // A name in the root or in one of its folders.
  [[nodiscard]] Place any_place() {
    Place place{volume_.root(), &model_, any_name()};
    if (!model_.folders.empty() && random_.below(3) != 0) {
      auto at = model_.folders.begin();
      std::advance(at, static_cast<std::ptrdiff_t>(random_.below(model_.folders.size())));
      Result<Folder> below = volume_.folder(place.folder, at->first);
      if (!below) {
        throw std::runtime_error("a folder cannot be opened");
      }
      return {std::move(*below), at->second.get(), any_name()};
    }
    return place;
  }

  std::string operate() {
    Place place = any_place();
    switch (random_.below(6)) {
      case 0: {
        Result<WritableFile> made = volume_.create(place.folder, place.name);
        const int expected = place.model->has(place.name) ? EEXIST : 0;
        if (made) {
          const int number = ++last_number_;
          place.model->files[place.name] = number;
          if (made->write(0, Text(4, static_cast<std::uint8_t>(number)), "f").error() != 0) {
            return "a write";
          }
        }
        return made.error() == expected ? "" : "create";
      }
      case 1: {
        const int error =
            make_folder(volume_.writable(), place.folder, place.name, {.mode = 0755, .owner = {}});
        const int expected = place.model->has(place.name) ? EEXIST : 0;
        if (error == 0) {
          place.model->folders[place.name] = std::make_unique<ModelledFolder>();
        }
        return error == expected ? "" : "mkdir";
      }
      case 2: {
        const int error = remove_file(volume_.writable(), place.folder, place.name);
        const int expected = place.model->files.contains(place.name)     ? 0
                             : place.model->folders.contains(place.name) ? EISDIR
                                                                         : ENOENT;
        place.model->files.erase(place.name);
        return error == expected ? "" : "unlink";
      }
      case 3: {
        const int error = remove_folder(volume_.writable(), place.folder, place.name);
        const auto found = place.model->folders.find(place.name);
        const int expected = found != place.model->folders.end()
                                 ? (found->second->is_empty() ? 0 : ENOTEMPTY)
                             : place.model->files.contains(place.name) ? ENOTDIR
                                                                       : ENOENT;
        if (error == 0 && found != place.model->folders.end()) {
          place.model->folders.erase(found);
        }
        return error == expected ? "" : "rmdir";
      }
      default:
        return rename_any(place);
    }
  }

  std::string rename_any(Place& from) {
    const Place to = any_place();
    const unsigned all[] = {0, RENAME_NOREPLACE, RENAME_EXCHANGE};
    const unsigned flags = all[random_.below(3)];
    const int error = rename(volume_.writable(), from.folder, from.name, to.folder, to.name, flags);
    const bool has_from = from.model->has(from.name);
    const bool has_to = to.model->has(to.name);
    const bool is_same = from.model == to.model && from.name == to.name;
    if (error != 0) {
      return is_error_right(from, to, flags, error)
                 ? ""
                 : "rename of " + from.name + " to " + to.name + " says " + std::to_string(error) +
                       " flags " + std::to_string(flags);
    }
    if (!has_from || (flags == RENAME_NOREPLACE && has_to) ||
        (flags == RENAME_EXCHANGE && !has_to)) {
      return "a rename that cannot be";
    }
    for (const int wrong : {EINVAL, ENOTEMPTY, EISDIR, ENOTDIR}) {
      // Names may change places whatever they have, and one that stays as it is replaces nothing.
      if (!is_same && (wrong == EINVAL || flags != RENAME_EXCHANGE) &&
          is_error_right(from, to, flags, wrong)) {
        return "a rename that should say " + std::to_string(wrong);
      }
    }
    if (is_same) {
      return {};
    }
    if (flags == RENAME_EXCHANGE) {
      ModelledFolder aside;
      take(*from.model, from.name, aside, "x");
      take(*to.model, to.name, *from.model, from.name);
      take(aside, "x", *to.model, to.name);
      return {};
    }
    to.model->files.erase(to.name);
    to.model->folders.erase(to.name);
    take(*from.model, from.name, *to.model, to.name);
    return {};
  }
  static void take(ModelledFolder& from, const std::string& name, ModelledFolder& to,
                   const std::string& to_name) {
    if (auto file = from.files.extract(name)) {
      to.files[to_name] = file.mapped();
    } else if (auto folder = from.folders.extract(name)) {
      to.folders[to_name] = std::move(folder.mapped());
    }
  }
  [[nodiscard]] static bool is_error_right(const Place& from, const Place& to, unsigned flags,
                                           int error) {
    const bool from_folder = from.model->folders.contains(from.name);
    const auto to_folder = to.model->folders.find(to.name);
    const bool has_to = to.model->has(to.name);
    // A folder cannot go into itself, nor into what it has in it.
    const bool is_inside = from_folder && from.model->folders.at(from.name).get() == to.model;
    const bool is_around =
        to_folder != to.model->folders.end() && to_folder->second.get() == from.model;
    switch (error) {
      case ENOENT:
        return !from.model->has(from.name) || (flags == RENAME_EXCHANGE && !has_to);
      case EEXIST:
        return flags == RENAME_NOREPLACE && has_to;
      case EINVAL:
        return is_inside || (flags == RENAME_EXCHANGE && is_around);
      case ENOTEMPTY:
        return is_around ||
               (to_folder != to.model->folders.end() && !to_folder->second->is_empty());
      case EISDIR:
        return !from_folder && to_folder != to.model->folders.end();
      case ENOTDIR:
        return from_folder && to.model->files.contains(to.name);
      default:
        return false;
    }
  }

  void flatten(const ModelledFolder& folder, const std::string& path,
               std::map<std::string, int>& all) const {
    for (const auto& [name, number] : folder.files) {
      all[path_of(path, name)] = static_cast<std::uint8_t>(number);
    }
    for (const auto& [name, below] : folder.folders) {
      all[path_of(path, name)] = -1;
      flatten(*below, path_of(path, name), all);
    }
  }
  void compare() const {
    std::map<std::string, int> expected;
    flatten(model_, "", expected);
    std::map<std::string, int> found;
    for (const auto& [path, item] : read_tree(scratch_.path()).items) {
      found[path] = item.type == 'd' ? -1 : (**item.blocks.begin())[0];
    }
    EXPECT_EQ(found, expected);
  }

  ScratchFolder scratch_;
  WrittenVolume volume_{scratch_.path()};
  Random random_;
  ModelledFolder model_;
  int last_number_ = 0;
};

TEST(Exercised, NamesAreAsTheirModel) {
  TreeExerciser().run(is_exhaustive() ? 1'000'000 : is_sanitized ? 1000 : 6000);
}

}  // namespace
}  // namespace paes::volume::test
