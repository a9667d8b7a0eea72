// SPDX-License-Identifier: Apache-2.0
#include "stream/file/run_outputs.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <clocale>
#include <cwchar>
#include <cwctype>
#include <memory>
#include <string_view>

#include "core/descriptor.hpp"
#include "core/folder.hpp"

namespace paes::stream {

namespace {

// The letters of all alphabets where the system has them in a locale, else those of ASCII. A name
// that is not UTF-8 keeps its other bytes.
std::wstring without_case(const std::string& name) {
  static const locale_t unicode = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
  const locale_t before = unicode != nullptr ? uselocale(unicode) : nullptr;
  std::wstring folded;
  std::mbstate_t state = {};
  for (std::string_view rest = name; !rest.empty();) {
    wchar_t letter = 0;
    std::size_t bytes = std::mbrtowc(&letter, rest.data(), rest.size(), &state);
    if (bytes == 0 || bytes > rest.size()) {  // an error
      letter = static_cast<unsigned char>(rest.front());
      bytes = 1;
      state = {};
    }
    folded += static_cast<wchar_t>(std::towlower(std::towupper(static_cast<wint_t>(letter))));
    rest.remove_prefix(bytes);
  }
  if (before != nullptr) {
    (void)uselocale(before);
  }
  return folded;
}

// A folder that cannot be listed lists nothing.
bool lists(int folder, const std::string& file) {
  const int opened = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const FolderReader entries(opened >= 0 ? fdopendir(opened) : nullptr);
  if (entries == nullptr) {
    if (opened >= 0) {
      (void)close(opened);
    }
    return false;
  }
  const dirent* entry = readdir(entries.get());
  while (entry != nullptr && file != entry->d_name) {
    entry = readdir(entries.get());
  }
  return entry != nullptr;
}

// Whether both names lead to one file. While it is open, its number stays. Where each name gives
// the file another number, the folder lists only one of them.
bool is_one_file(int folder, const std::string& one, const std::string& other) {
  const Descriptor held(openat(folder, one.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  struct stat of_one = {};
  struct stat of_other = {};
  if (!held.is_open() || fstat(held.number(), &of_one) != 0 ||
      fstatat(folder, other.c_str(), &of_other, AT_SYMLINK_NOFOLLOW) != 0) {
    return false;
  }
  return (of_one.st_dev == of_other.st_dev && of_one.st_ino == of_other.st_ino) ||
         !lists(folder, other);
}

}  // namespace

// The folder is known by its path and by its number, which may change as a file's.
std::vector<RunOutputs::Key> RunOutputs::keys_of(const OutputName& name) {
  const std::wstring folded = without_case(name.file);
  std::vector<Key> keys = {{name.path_of_folder, folded}};
  struct stat folder = {};
  if (fstat(name.folder, &folder) == 0) {
    keys.emplace_back(
        "//" + std::to_string(folder.st_dev) + ":" + std::to_string(folder.st_ino) + "//", folded);
  }
  return keys;
}

bool RunOutputs::has(const OutputName& name) const {
  struct stat named = {};
  if (fstatat(name.folder, name.file.c_str(), &named, AT_SYMLINK_NOFOLLOW) != 0) {
    return false;
  }
  if (files_.contains({named.st_dev, named.st_ino})) {
    return true;
  }
  const std::vector<Key> keys = keys_of(name);
  return std::any_of(keys.begin(), keys.end(), [&](const Key& key) {
    const auto known = spellings_.find(key);
    return known != spellings_.end() &&
           std::any_of(known->second.begin(), known->second.end(), [&](const std::string& file) {
             return file == name.file || is_one_file(name.folder, file, name.file);
           });
  });
}

void RunOutputs::add(const OutputName& name, const struct stat& file) {
  files_.insert({file.st_dev, file.st_ino});
  for (const Key& key : keys_of(name)) {
    spellings_[key].push_back(name.file);
  }
}

}  // namespace paes::stream
