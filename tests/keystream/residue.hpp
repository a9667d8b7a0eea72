// Whether some bytes lie anywhere in this process's memory. The wanted bytes are held inverted, so
// that the search does not find itself.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "core/secret.hpp"
#include "sanitized.hpp"

namespace paes::test {

// Sanitizers keep copies and terabytes of shadow; there is nothing to learn from either.
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

// In all memory that can be written.
inline std::size_t count_in_memory(const std::vector<std::uint8_t>& inverted_bytes) {
  const int memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
  if (memory < 0) {
    return 0;
  }
  std::vector<std::uint8_t> copy;
  std::size_t found = 0;
  std::ifstream maps("/proc/self/maps");
  std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges;
  for (std::string line; std::getline(maps, line);) {
    std::uint64_t first = 0;
    std::uint64_t end = 0;
    char rights[5] = {};
    if (std::sscanf(line.c_str(), "%lx-%lx %4s", &first, &end, rights) == 3 && rights[0] == 'r' &&
        rights[1] == 'w') {
      ranges.emplace_back(first, end);
    }
  }
  constexpr std::size_t most = std::size_t{1} << 20;
  for (const auto& [first, end] : ranges) {
    for (std::uint64_t at = first; at < end; at += most) {
      copy.resize(std::min<std::uint64_t>(most, end - at));
      const ssize_t got = pread(memory, copy.data(), copy.size(), static_cast<off_t>(at));
      if (got > 0) {
        const auto own = reinterpret_cast<std::uintptr_t>(copy.data());
        if (own + copy.size() <= at || own >= at + static_cast<std::uint64_t>(got)) {
          found += count_in(copy.data(), static_cast<std::size_t>(got), inverted_bytes);
        }
      }
      wipe(copy.data(), copy.size());
    }
  }
  (void)close(memory);
  return found;
}

}  // namespace paes::test
