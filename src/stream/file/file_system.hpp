// SPDX-License-Identifier: Apache-2.0
// What is known of the file system on which an open file or folder lies.
#pragma once

#include <cstdint>
#include <optional>

namespace paes::stream {

// Whether a file system keeps the time of the last status change (ctime) as POSIX has it.
enum class ChangeTime : unsigned {
  unknown,
  kept,  // and every change of content moves it
  lost,  // a trial would mislead: some keep it in memory, but not on the disk
};

struct FileSystem {
  // The numbers of statfs(2): the kind of file system, and which one of that kind.
  std::uint32_t kind = 0;
  std::uint64_t number = 0;
  // Free for this user. `most_free_bytes` includes what is reserved for some users. Nothing if the
  // file system does not say.
  std::optional<std::uint64_t> free_bytes;
  std::uint64_t most_free_bytes = 0;
  // The system counts its blocks, not a program that may claim anything (FUSE).
  bool counts_blocks = false;
  // What is written takes as much room as it is long: there is no compression.
  bool keeps_lengths = false;
  // No other host has it mounted.
  bool is_local = false;
  // Its locks are this host's own, which no server has to answer for.
  bool has_own_locks = false;
  ChangeTime change_time = ChangeTime::unknown;
};

// All fields keep their defaults if the system refuses to say.
[[nodiscard]] FileSystem file_system_of(int descriptor) noexcept;

}  // namespace paes::stream
