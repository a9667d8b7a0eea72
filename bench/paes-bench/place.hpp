// SPDX-License-Identifier: Apache-2.0
// Where `paes-bench file` works: in a folder of its own, which is removed with its contents, and on
// a file system of which a few facts are known.
#pragma once

#include <cstdint>
#include <string>

namespace paes::cli {

struct MeasuredPlace {
  std::string folder;
  std::string filesystem;  // "tmpfs", "ext", ... or its number
  std::uint64_t room_bytes;
};

// The named folder, or the best available: memory before disk. Throws Error.
[[nodiscard]] MeasuredPlace find_place(const std::string& folder);

// A new folder under `parent`, removed with its contents at the end.
class ScratchFolder {
 public:
  explicit ScratchFolder(const std::string& parent);
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  [[nodiscard]] std::string path(const std::string& name) const { return folder_ + "/" + name; }
  [[nodiscard]] const std::string& folder() const noexcept { return folder_; }

 private:
  std::string folder_;
};

void write_random_file(const std::string& path, std::uint64_t bytes);
void write_text_file(const std::string& path, const std::string& text);  // mode 0600
[[nodiscard]] std::string first_line_of(const std::string& path);
// Throws Error(failure) that blames `who` if the files differ.
void require_equal_files(const std::string& path, const std::string& expected,
                         const std::string& who);

}  // namespace paes::cli
