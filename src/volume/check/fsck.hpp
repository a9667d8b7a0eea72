// The check of a volume, or of a part of it: every name, IV, header, block, link target, extended
// attribute and long name, on many threads. Nothing is changed.
//
// It finds all that gocryptfs -fsck finds, and counts a header that is cut short as damage, of
// which gocryptfs speaks without counting it. No folder can show one name twice: a stored name
// counts only if it is the one that its name is stored under. Permissions are no damage, and links
// may lead anywhere.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "exec/executor.hpp"
#include "volume/read/volume.hpp"

namespace paes::volume {

// What was checked. Hard links to one file are one file, but several names.
struct FsckCounts {
  std::uint64_t folders = 0;  // the one where the check began included
  std::uint64_t files = 0;    // names of regular files
  std::uint64_t links = 0;    // symbolic
  std::uint64_t others = 0;   // devices, pipes and sockets, which have no content here
  std::uint64_t text_bytes = 0;
  std::uint64_t damaged = 0;  // findings, several of one file perhaps
  std::uint64_t leftovers = 0;
  std::uint64_t unread = 0;  // what the system would not let this process read
};

struct FsckWatch {
  // All three are called by one thread at a time, in no order.
  std::function<void(const Finding&)> damaged;
  // What a crash of a program that wrote to the volume has left, or what such a program is making
  // just now. Nothing depends on it, and it goes with its folder. A long name's file that nothing
  // belongs to is among it: every writer makes this file before what has the name, and removes it
  // after that. It may also be what somebody has left who removed the rest, which nobody can tell.
  std::function<void(const Finding&)> leftover;
  std::function<void(const Finding&)> unread;  // "cannot be opened: Permission denied"
  // Looked at often, from any thread; true ends the check early.
  std::function<bool()> stops;
  // Gets the bytes of text that have been checked, as they are. May be null.
  std::atomic<std::uint64_t>* done_bytes = nullptr;
};

// Throws Error(usage) for a path that the volume does not have, before anything else is checked.
// Paths count from the volume's root; none: everything. A path below a folder that is damaged
// itself is reported as that.
[[nodiscard]] FsckCounts fsck(const Volume& volume, const std::vector<std::string>& paths,
                              const Executor& executor, const FsckWatch& watch);

}  // namespace paes::volume
