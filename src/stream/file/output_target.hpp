// SPDX-License-Identifier: Apache-2.0
// What the name of an output leads to. Folder and entry are examined through descriptors that stay
// open, so that nobody can change the decision by exchanging the name meanwhile.
#pragma once

#include <sys/stat.h>

#include <string>

#include "core/descriptor.hpp"
#include "stream/file/file_place.hpp"
#include "stream/transfer/cancel.hpp"

namespace paes::stream {

struct Target {
  OpenFolder folder;      // in which the last name of the path lies
  std::string in_folder;  // the path of that folder, empty or with a slash at its end
  std::string file;       // the last name of the path
  Descriptor found;       // O_PATH descriptor of what has that name; not open if nothing has it
  struct stat status = {};
  bool has_links = false;  // symbolic links led here
  // Only this user or root can have put it there: they own what was found and each link at the end
  // of the path, and the folders of these, in which nobody else can write. The process's own
  // descriptors (/dev/fd/N) count as private, wherever they lead.
  bool is_private = true;

  // Whether a new file there would lie among devices or descriptors.
  [[nodiscard]] bool is_among_devices() const;
};

enum class Links { followed, kept };

// Throws Error(failure) "PATH: why". A name that nothing has is no error. Anywhere in the path, a
// link in a folder that others can write to is followed only if it belongs to this user, root or
// the folder's owner. A place that has a folder already is looked up there, and a link is refused
// unless links are kept.
[[nodiscard]] Target find_target(const FilePlace& place, Links links);

// Opens for writing exactly what was found. Waits until a FIFO has a reader, or until `cancel`,
// which may be null, is requested. `path` is for errors.
[[nodiscard]] Descriptor open_found(const Target& target, const std::string& path,
                                    const Cancel* cancel);

}  // namespace paes::stream
