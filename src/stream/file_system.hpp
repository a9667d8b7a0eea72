// What is known of the file system on which an open file or folder lies.
#pragma once

#include <cstdint>
#include <optional>

namespace paes::stream {

struct FileSystem {
  // For this user's files; nothing where the file system does not say.
  std::optional<std::uint64_t> free_bytes;
  // The system counts its blocks, and not a program that may claim anything (FUSE).
  bool counts_blocks = false;
  // What is written takes as much room as it is long: there is no compression.
  bool keeps_lengths = false;
  // No other host has it mounted.
  bool is_local = false;
  // Its locks are this host's own, which no server has to answer for.
  bool has_own_locks = false;
};

// Knows nothing where the system refuses to say.
[[nodiscard]] FileSystem file_system_of(int descriptor) noexcept;

}  // namespace paes::stream
