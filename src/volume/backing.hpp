// The backing tree, as the system has it. All calls that a volume makes on it go through this class
// and no other, so that a test can fail, count or damage each of them.
#pragma once

#include <dirent.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <string>

#include "core/bytes.hpp"
#include "core/descriptor.hpp"
#include "volume/result.hpp"

namespace paes::volume {

// Symbolic links are never followed: names count from a folder's descriptor, and O_NOFOLLOW is
// added everywhere.
class Backing {
 public:
  virtual ~Backing() = default;

  [[nodiscard]] virtual Result<Descriptor> open(int folder, const char* name, int flags) const;
  // Of the name, or with an empty name of the descriptor itself.
  [[nodiscard]] virtual Result<struct stat> status(int folder, const char* name) const;
  // Until `into` is full or the file ends. The answer is the number of bytes.
  [[nodiscard]] virtual Result<std::size_t> read(int file, std::uint64_t offset,
                                                 MutableBytes into) const;
  // Where the next bytes that are no hole begin, at `offset` or after it. ENXIO: nowhere.
  [[nodiscard]] virtual Result<std::uint64_t> next_data(int file, std::uint64_t offset) const;
  [[nodiscard]] virtual Result<std::string> link_target(int folder, const char* name) const;
  // The next entries as getdents64(2) gives them; 0 bytes at the end. rewind() begins anew; its
  // answer is 0 or an errno.
  [[nodiscard]] virtual Result<std::size_t> entries(int folder, MutableBytes into) const;
  [[nodiscard]] virtual int rewind(int folder) const;
  // Of an open file, also of one that is open as a mere place (O_PATH).
  [[nodiscard]] virtual Result<std::string> attribute(int file, const char* name) const;
  [[nodiscard]] virtual Result<std::string> attribute_names(int file) const;  // as listxattr(2)
  [[nodiscard]] virtual Result<struct statvfs> file_system(int file) const;
};

}  // namespace paes::volume
