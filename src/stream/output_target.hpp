// What the name of an output leads to. The folder and what lies in it are looked at through
// descriptors that stay open, so that whoever exchanges the name meanwhile changes nothing in what
// was decided.
#pragma once

#include <sys/stat.h>

#include <string>

#include "core/descriptor.hpp"
#include "stream/cancel.hpp"

namespace paes::stream {

struct Target {
  Descriptor folder;      // in which the last name of the path lies
  std::string in_folder;  // the path of that folder, empty or with a slash at its end
  std::string file;       // the last name of the path
  Descriptor found;       // what has that name, without access to it; not open: nothing has
  struct stat status = {};
  bool has_links = false;  // symbolic links led here
  // Nobody but this user and root can have put it there: what is found, and each link that has the
  // last name of the path, is theirs and lies in a folder of theirs in which nobody else can write.
  // The process's own descriptors (/dev/fd/N) are its own, wherever they lead.
  bool is_private = true;

  // Whether a new file there would lie among devices or descriptors.
  [[nodiscard]] bool is_among_devices() const;
};

enum class Links { followed, kept };

// Throws Error(failure) "PATH: why"; that nothing has the name is none. Another user's link in a
// folder that others can write to is not followed, be it the last name of the path or one before.
[[nodiscard]] Target find_target(const std::string& path, Links links);

// Opens what was found for writing, exactly that, and waits for the reader of a FIFO. `path` is for
// errors.
[[nodiscard]] Descriptor open_found(const Target& target, const std::string& path,
                                    const Cancel* cancel);

}  // namespace paes::stream
