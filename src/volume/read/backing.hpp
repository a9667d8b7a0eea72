// SPDX-License-Identifier: Apache-2.0
// The backing tree, as the system has it. All calls that a volume makes on it go through this class
// and no other, so that a test can fail, count or damage each of them.
#pragma once

#include <dirent.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <string>

#include "core/bytes.hpp"
#include "core/descriptor.hpp"
#include "core/file_ref.hpp"
#include "core/result.hpp"

namespace paes::volume {

// What a call is about: what has a name in a folder, or something that is open itself.
class EntryRef {
 public:
  EntryRef(FolderRef folder, const char* name) noexcept : base_(folder), name_(name) {}
  EntryRef(FileRef open) noexcept : base_(open), name_("") {}             // NOLINT
  EntryRef(const Descriptor& open) noexcept : EntryRef(FileRef(open)) {}  // NOLINT

  // The system's calls take both: the folder and the name, or what is open and no name.
  [[nodiscard]] int base() const noexcept { return base_.number(); }
  [[nodiscard]] const char* name() const noexcept { return name_; }
  [[nodiscard]] bool is_open() const noexcept { return *name_ == '\0'; }

 private:
  FileRef base_;
  const char* name_;
};

// Symbolic links are never followed: names count from a folder's descriptor, and O_NOFOLLOW is
// added everywhere.
class Backing {
 public:
  virtual ~Backing() = default;

  [[nodiscard]] virtual Result<Descriptor> open(FolderRef folder, const char* name,
                                                int flags) const;
  // What is open already, and may have no name any more.
  [[nodiscard]] virtual Result<Descriptor> open_again(FileRef file, int flags) const;
  [[nodiscard]] virtual Result<struct stat> status(EntryRef entry) const;
  // Until `into` is full or the file ends. The answer is the number of bytes.
  [[nodiscard]] virtual Result<std::size_t> read(FileRef file, std::uint64_t offset,
                                                 MutableBytes into) const;
  // Where the next bytes that are no hole begin, at `offset` or after it. ENXIO: nowhere.
  [[nodiscard]] virtual Result<std::uint64_t> next_data(FileRef file, std::uint64_t offset) const;
  // Where the next hole begins; the file's end counts as one. A file system that does not know its
  // holes says that there are none.
  [[nodiscard]] virtual Result<std::uint64_t> next_hole(FileRef file, std::uint64_t offset) const;
  [[nodiscard]] virtual Result<std::string> link_target(EntryRef entry) const;
  // The next entries as getdents64(2) gives them; 0 bytes at the end. rewind() begins anew.
  [[nodiscard]] virtual Result<std::size_t> entries(FolderRef folder, MutableBytes into) const;
  [[nodiscard]] virtual Result<void> rewind(FolderRef folder) const;
  [[nodiscard]] virtual Result<std::string> attribute(FileRef file, const char* name) const;
  [[nodiscard]] virtual Result<std::string> attribute_names(FileRef file) const;  // as listxattr(2)
  [[nodiscard]] virtual Result<struct statvfs> file_system(FileRef file) const;
  // Whether bytes that the file has can be written anew without taking room: true only where that
  // is known of its file system.
  [[nodiscard]] virtual bool overwrites_in_place(FileRef file) const;
  // Whether sync_file_system is known to report everything that could not be written to files of
  // this file system.
  [[nodiscard]] virtual bool reports_sync_errors(FileRef file) const;
  // Whether a file that is open can lose its last name without getting another one in the same
  // folder until it is closed: true only where that is known of the file system.
  [[nodiscard]] virtual bool removes_open_files(FileRef file) const;

  // What changes the tree (bodies: change/backing_changes.cpp). The process's umask applies to new
  // files and folders.

  // A new file; EEXIST if something has the name.
  [[nodiscard]] virtual Result<Descriptor> create(FolderRef folder, const char* name, int flags,
                                                  mode_t mode) const;
  // One call of the system: it may write less than it was given. The answer is how much.
  [[nodiscard]] virtual Result<std::size_t> write(FileRef file, std::uint64_t offset,
                                                  Bytes from) const;
  [[nodiscard]] virtual Result<void> set_length(FileRef file, std::uint64_t bytes) const;
  [[nodiscard]] virtual Result<void> allocate(FileRef file, int mode, std::uint64_t offset,
                                              std::uint64_t bytes) const;  // as fallocate(2)
  [[nodiscard]] virtual Result<void> sync(FileRef file, bool data_only) const;
  [[nodiscard]] virtual Result<void> sync_file_system(FileRef file) const;

  [[nodiscard]] virtual Result<void> make_folder(FolderRef folder, const char* name,
                                                 mode_t mode) const;
  [[nodiscard]] virtual Result<void> make_node(FolderRef folder, const char* name, mode_t mode,
                                               dev_t device) const;
  [[nodiscard]] virtual Result<void> make_link(FolderRef folder, const char* name,
                                               const char* target) const;
  [[nodiscard]] virtual Result<void> add_name(EntryRef entry, FolderRef to_folder,
                                              const char* to_name) const;
  [[nodiscard]] virtual Result<void> rename(FolderRef folder, const char* name, FolderRef to_folder,
                                            const char* to_name,
                                            unsigned flags) const;  // as renameat2(2)
  [[nodiscard]] virtual Result<void> remove(FolderRef folder, const char* name,
                                            bool is_folder) const;

  [[nodiscard]] virtual Result<void> set_mode(EntryRef entry, mode_t mode) const;
  [[nodiscard]] virtual Result<void> set_owner(EntryRef entry, uid_t user, gid_t group) const;
  [[nodiscard]] virtual Result<void> set_times(
      EntryRef entry, const struct timespec (&times)[2]) const;  // as utimensat(2)
  // As attribute(); flags as setxattr(2).
  [[nodiscard]] virtual Result<void> set_attribute(FileRef file, const char* name, Bytes value,
                                                   int flags) const;
  [[nodiscard]] virtual Result<void> remove_attribute(FileRef file, const char* name) const;
};

}  // namespace paes::volume
