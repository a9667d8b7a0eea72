// SPDX-License-Identifier: Apache-2.0
#include "paes-bench/place.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <vector>

#include "cli/report.hpp"
#include "core/descriptor.hpp"
#include "core/secret.hpp"
#include "paes-bench/interrupt.hpp"
#include "paes/error.hpp"

namespace paes::cli {

namespace {

constexpr std::size_t buffer_bytes = std::size_t{1} << 20;

// How much memory programs can get without swapping, from /proc/meminfo.
std::uint64_t available_memory() {
  std::ifstream file("/proc/meminfo");
  std::string name;
  std::uint64_t kibibytes = 0;
  for (std::string unit; file >> name >> kibibytes && std::getline(file, unit);) {
    if (name == "MemAvailable:") {
      return kibibytes * 1024;
    }
  }
  return 0;
}

std::string filesystem_name(const struct statfs& status) {
  switch (static_cast<unsigned long>(status.f_type)) {
    case TMPFS_MAGIC:
      return "tmpfs";
    case EXT4_SUPER_MAGIC:
      return "ext4";
    case XFS_SUPER_MAGIC:
      return "xfs";
    case BTRFS_SUPER_MAGIC:
      return "btrfs";
    case OVERLAYFS_SUPER_MAGIC:
      return "overlayfs";
    default:
      return fmt::format("0x{:x}", status.f_type);
  }
}

MeasuredPlace look_at(const std::string& folder) {
  struct statfs status = {};
  if (statfs(folder.c_str(), &status) != 0) {
    throw_errno(folder);
  }
  MeasuredPlace place{
      folder, filesystem_name(status),
      static_cast<std::uint64_t>(status.f_bavail) * static_cast<std::uint64_t>(status.f_bsize)};
  if (place.filesystem == "tmpfs") {
    place.room_bytes = std::min(place.room_bytes, available_memory());
  }
  return place;
}

}  // namespace

MeasuredPlace find_place(const std::string& folder) {
  if (!folder.empty()) {
    return look_at(folder);
  }
  constexpr std::uint64_t worthwhile_bytes = std::uint64_t{512} << 20;
  const char* const memory = "/dev/shm";
  if (access(memory, W_OK) == 0) {
    MeasuredPlace place = look_at(memory);
    if (place.filesystem == "tmpfs" && place.room_bytes >= worthwhile_bytes) {
      return place;
    }
  }
  return look_at(std::filesystem::temp_directory_path());
}

ScratchFolder::ScratchFolder(const std::string& parent) : folder_(parent + "/paes-bench-XXXXXX") {
  if (mkdtemp(folder_.data()) == nullptr) {
    throw_errno(parent);
  }
}

ScratchFolder::~ScratchFolder() {
  std::error_code failed;
  (void)std::filesystem::remove_all(folder_, failed);
  if (failed) {
    print_warning(folder_ + ": could not be removed: " + failed.message());
  }
}

void write_random_file(const std::string& path, std::uint64_t bytes) {
  std::ofstream file(path, std::ios::binary);
  std::vector<std::uint8_t> buffer(buffer_bytes);
  while (bytes != 0 && file) {
    stop_if_interrupted();
    const std::size_t part = static_cast<std::size_t>(std::min<std::uint64_t>(bytes, buffer_bytes));
    random_bytes(MutableBytes(buffer).first(part));
    file.write(reinterpret_cast<const char*>(buffer.data()), static_cast<std::streamsize>(part));
    bytes -= part;
  }
  file.close();
  if (!file) {
    throw Error(ErrorCode::failure, path + ": cannot be written");
  }
}

void write_text_file(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  (void)chmod(path.c_str(), 0600);  // otherwise gpg and others would warn
  file << text;
  file.close();
  if (!file) {
    throw Error(ErrorCode::failure, path + ": cannot be written");
  }
}

std::string first_line_of(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

void require_equal_files(const std::string& path, const std::string& expected,
                         const std::string& who) {
  std::ifstream files[2] = {std::ifstream(path, std::ios::binary),
                            std::ifstream(expected, std::ios::binary)};
  std::vector<char> buffers[2] = {std::vector<char>(buffer_bytes), std::vector<char>(buffer_bytes)};
  std::streamsize bytes[2] = {};
  do {
    stop_if_interrupted();
    for (unsigned i = 0; i < 2; ++i) {
      files[i].read(buffers[i].data(), static_cast<std::streamsize>(buffer_bytes));
      bytes[i] = files[i].gcount();
    }
    if (files[0].bad() || files[1].bad() || bytes[0] != bytes[1] ||
        !std::equal(buffers[0].begin(), buffers[0].begin() + bytes[0], buffers[1].begin())) {
      throw Error(ErrorCode::failure, who + ": wrong output: differs from what went in");
    }
  } while (bytes[0] != 0);
}

}  // namespace paes::cli
