// SPDX-License-Identifier: Apache-2.0
// All of a volume as a reader sees it, to be compared before and after something was done to it.
#pragma once

#include <dirent.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "made_volume.hpp"
#include "volume/read/attributes.hpp"
#include "volume/read/link.hpp"
#include "volume/read/volume_file.hpp"
#include "volume/read/volume_folder.hpp"

namespace paes::volume {

// By path: what kind of thing it is and what it holds. Of an attribute, the path is that of its
// file, a colon and its name.
using Seen = std::map<std::string, std::string>;

class Reader {
 public:
  explicit Reader(const Volume& volume) : volume_(volume) {}

  // What can be read, and in `errors` the errors met on the way.
  Seen read() {
    enter(volume_.root(), "", "");
    return std::move(seen_);
  }
  std::vector<Errno> errors;

 private:
  void enter(FolderRef parent, const std::string& stored, const std::string& path) {
    const Result<Folder> folder = Folder::open(volume_, parent, stored.c_str(), path);
    if (!folder) {
      errors.push_back(folder.error());
      return;
    }
    seen_[path] = "folder";
    read_attributes(folder->descriptor(), path);
    const Result<void> listed = folder->list(path, [&](const FolderEntry& entry) {
      const std::string inner = path_of(path, entry.name);
      if (entry.type == DT_DIR) {
        enter(folder->descriptor(), entry.stored, inner);
      } else if (entry.type == DT_REG) {
        read_file(folder->descriptor(), entry.stored, inner);
      } else if (entry.type == DT_LNK) {
        const Result<std::string> target =
            read_link(volume_, {folder->descriptor(), entry.stored.c_str()}, inner);
        keep(inner, target, [](const std::string& text) { return "link " + text; });
      } else {
        seen_[inner] = "other";
      }
    });
    if (!listed) {
      errors.push_back(listed.error());
    }
  }

  void read_file(FolderRef parent, const std::string& stored, const std::string& path) {
    Result<Descriptor> descriptor = volume_.backing().open(parent, stored.c_str(), O_RDONLY);
    if (!descriptor) {
      errors.push_back(volume_.failed(path, "the file", descriptor.error()));
      return;
    }
    const Result<struct stat> status = volume_.backing().status(*descriptor);
    if (!status) {
      errors.push_back(volume_.failed(path, "the file", status.error()));
      return;
    }
    read_attributes(*descriptor, path);
    const File file(volume_, std::move(*descriptor));
    Text text(static_cast<std::size_t>(length_of(volume_, *status, file.descriptor())) + 1);
    const Result<std::size_t> bytes = file.read(0, text, path);
    if (bytes) {
      text.resize(*bytes);
    }
    keep(path, bytes, [&](std::size_t) { return "file " + to_string(text); });
  }

  void read_attributes(FileRef file, const std::string& path) {
    const Result<std::vector<std::string>> names = list_attributes(volume_, file, path);
    if (!names) {
      errors.push_back(names.error());
      return;
    }
    for (const std::string& name : *names) {
      keep(path + ":" + name, read_attribute(volume_, file, name, path),
           [](const Text& value) { return "attribute " + to_string(value); });
    }
  }

  template <typename T, typename Show>
  void keep(const std::string& path, const Result<T>& result, const Show& show) {
    if (result) {
      seen_[path] = show(*result);
    } else {
      errors.push_back(result.error());
    }
  }

  const Volume& volume_;
  Seen seen_;
};

}  // namespace paes::volume
