// SPDX-License-Identifier: Apache-2.0
// Finds out whether some bytes lie anywhere in this process's memory. The wanted bytes are kept
// inverted, so that the search does not find itself.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "core/secret.hpp"
#include "sanitized.hpp"

namespace paes::test {

// Sanitizers keep copies and terabytes of shadow memory, so the search tells nothing with them.
inline bool can_search_memory() { return !is_sanitized; }

inline std::vector<std::uint8_t> inverted(std::vector<std::uint8_t> bytes) {
  for (std::uint8_t& byte : bytes) {
    byte = static_cast<std::uint8_t>(~byte);
  }
  return bytes;
}

inline std::size_t count_in(const std::uint8_t* memory, std::size_t bytes,
                            const std::vector<std::uint8_t>& inverted_bytes) {
  std::size_t found = 0;
  const std::size_t length = inverted_bytes.size();
  for (std::size_t at = 0; at + length <= bytes; ++at) {
    std::size_t same = 0;
    while (same < length && memory[at + same] == static_cast<std::uint8_t>(~inverted_bytes[same])) {
      ++same;
    }
    found += same == length ? 1U : 0U;
  }
  return found;
}

// Where memory is copied to be searched: a separate mapping between pages that nobody may touch. So
// the system does not join it with its neighbours, and it can be excluded from the search exactly.
class SearchedCopy {
 public:
  static constexpr std::size_t bytes = std::size_t{1} << 20;

  SearchedCopy()
      : all_(static_cast<std::uint8_t*>(mmap(nullptr, bytes + 2 * guard, PROT_NONE,
                                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0))) {
    usable_ = all_ != MAP_FAILED && mprotect(data(), bytes, PROT_READ | PROT_WRITE) == 0;
  }
  ~SearchedCopy() {
    if (usable_) {
      wipe(data(), bytes);
    }
    if (all_ != MAP_FAILED) {
      (void)munmap(all_, bytes + 2 * guard);
    }
  }
  SearchedCopy(const SearchedCopy&) = delete;
  SearchedCopy& operator=(const SearchedCopy&) = delete;

  [[nodiscard]] bool is_usable() const { return usable_; }
  [[nodiscard]] std::uint8_t* data() const { return all_ + guard; }
  [[nodiscard]] bool is_at(std::uint64_t address) const {
    return address == reinterpret_cast<std::uintptr_t>(data());
  }

 private:
  static constexpr std::size_t guard = std::size_t{1} << 16;

  std::uint8_t* all_;
  bool usable_ = false;
};

inline constexpr std::uint64_t smallest_page = 4096;

// Counts occurrences in all writable memory. Does not see one that crosses the border of two
// searched parts.
inline std::size_t count_in_memory(const std::vector<std::uint8_t>& inverted_bytes) {
  const SearchedCopy copy;
  const int memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
  if (memory < 0 || !copy.is_usable()) {
    ADD_FAILURE() << "this process's memory cannot be read";
    return 0;
  }
  std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::uint64_t first = 0;
    std::uint64_t end = 0;
    char rights[5] = {};
    if (std::sscanf(line.c_str(), "%lx-%lx %4s", &first, &end, rights) == 3 && rights[0] == 'r' &&
        rights[1] == 'w' && !copy.is_at(first)) {
      ranges.emplace_back(first, end);
    }
  }
  std::size_t found = 0;
  for (const auto& [first, end] : ranges) {
    for (std::uint64_t at = first; at < end;) {
      const ssize_t got =
          pread(memory, copy.data(), std::min<std::uint64_t>(SearchedCopy::bytes, end - at),
                static_cast<off_t>(at));
      if (got > 0) {
        found += count_in(copy.data(), static_cast<std::size_t>(got), inverted_bytes);
      }
      // Another thread may have unmapped a page meanwhile; the pages after it must still be
      // searched.
      at += got > 0 ? static_cast<std::uint64_t>(got) : smallest_page;
    }
  }
  (void)close(memory);
  return found;
}

}  // namespace paes::test
