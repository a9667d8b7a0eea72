// SPDX-License-Identifier: Apache-2.0
#include "cli/mount_holders.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace paes::cli {

namespace {

namespace fs = std::filesystem;

// Where a link of /proc leads, by name; empty if this user may not know.
std::string target_of(const fs::path& link) {
  std::array<char, 4096> target{};
  const ssize_t bytes = readlink(link.c_str(), target.data(), target.size());
  return bytes > 0 ? std::string(target.data(), static_cast<std::size_t>(bytes)) : std::string();
}

bool has_line(const fs::path& path, const std::string& line) {
  std::ifstream file(path);
  for (std::string read; std::getline(file, read);) {
    if (read == line) {
      return true;
    }
  }
  return false;
}

// Its files say by number in which mount they are, also where another file system covers it.
bool has_open(const fs::path& process, const MountedPlace& place) {
  const std::string line = fmt::format("mnt_id:\t{}", place.id);
  std::error_code error;
  for (fs::directory_iterator entry(process / "fdinfo", error), end; !error && entry != end;
       entry.increment(error)) {
    if (has_line(entry->path(), line)) {
      return true;
    }
  }
  return false;
}

// The device as the table of a process's memory has it, such as "00:39".
std::string device_in_maps(const std::string& device) {
  const std::size_t colon = device.find(':');
  unsigned major = 0;
  unsigned minor = 0;
  (void)std::from_chars(device.data(), device.data() + std::min(colon, device.size()), major);
  if (colon != std::string::npos) {
    (void)std::from_chars(device.data() + colon + 1, device.data() + device.size(), minor);
  }
  return fmt::format("{:02x}:{:02x}", major, minor);
}

bool has_mapped(const fs::path& process, const std::string& device) {
  std::ifstream file(process / "maps");
  const std::string field = " " + device + " ";
  for (std::string line; std::getline(file, line);) {
    // Range, permissions and offset come before it, and names of files only after it.
    const std::size_t at = line.find(field);
    if (at != std::string::npos &&
        std::count(line.begin(), line.begin() + static_cast<long>(at), ' ') == 2) {
      return true;
    }
  }
  return false;
}

bool holds(const fs::path& process, const MountedPlace& place, const std::string& device) {
  for (const char* link : {"cwd", "root"}) {
    const std::string target = target_of(process / link);
    if (!target.empty() && lies_within(target, place.path)) {
      return true;
    }
  }
  return has_open(process, place) || has_mapped(process, device);
}

}  // namespace

std::vector<std::string> holders_of(const MountedPlace& place) {
  std::vector<long> numbers;
  std::error_code error;
  for (fs::directory_iterator entry("/proc", error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename();
    long number = 0;
    const auto [after, wrong] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (wrong == std::errc() && after == name.data() + name.size() && number != getpid()) {
      numbers.push_back(number);
    }
  }
  std::sort(numbers.begin(), numbers.end());
  const std::string device = device_in_maps(place.device);
  std::vector<std::string> found;
  for (const long number : numbers) {
    const fs::path process = fs::path("/proc") / std::to_string(number);
    if (holds(process, place, device)) {
      std::string name = "process";
      std::ifstream file(process / "comm");
      std::getline(file, name);
      found.push_back(fmt::format("{} ({})", name, number));
    }
  }
  return found;
}

}  // namespace paes::cli
