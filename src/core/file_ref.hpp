// SPDX-License-Identifier: Apache-2.0
// Descriptors of files and folders that somebody else owns, and keeps open meanwhile. No int
// becomes one by itself, and none becomes an int. So nobody takes a descriptor for an errno or a
// count, or a file for a folder.
#pragma once

#include "core/descriptor.hpp"

namespace paes {

// A file of any type, perhaps open as a mere place (O_PATH).
class FileRef {
 public:
  constexpr FileRef() noexcept = default;  // none
  explicit constexpr FileRef(int number) noexcept : number_(number) {}
  FileRef(const Descriptor& open) noexcept : number_(open.number()) {}  // NOLINT
  FileRef(Descriptor&&) = delete;

  [[nodiscard]] constexpr int number() const noexcept { return number_; }
  bool operator==(const FileRef&) const = default;

 private:
  int number_ = -1;
};

// A folder that is open, for names that count from it.
class FolderRef : public FileRef {
 public:
  constexpr FolderRef() noexcept = default;
  explicit constexpr FolderRef(int number) noexcept : FileRef(number) {}
  explicit FolderRef(const Descriptor& open) noexcept : FileRef(open) {}
  FolderRef(Descriptor&&) = delete;
};

}  // namespace paes
