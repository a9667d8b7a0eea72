// SPDX-License-Identifier: Apache-2.0
// What is being written to the stored content of files, noted so that another process can complete
// it. A killed process stops within a write, at the edge of a page, where no block ends. The block
// would be lost, and what it held before, too.
//
// What is written, and what says where, lies in memory that is shared with processes that are
// forked later. One of them that also shares the descriptors (clone(2), CLONE_FILES) can complete
// all that is noted once the writing process is gone: it does it once more, from the beginning.
// Nobody else has changed these bytes since, because whoever writes holds the locks of the blocks
// for as long as the write is noted. Nothing but ciphertext is ever in this memory.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "vault/vault_blocks.hpp"
#include "volume/read/backing.hpp"

namespace paes::volume {

// How much a series of writes has written, and whether that is everything.
struct WriteOutcome {
  std::size_t bytes = 0;
  Result<void> result;
};

// Writes all of it, in as many calls as the system wants.
[[nodiscard]] WriteOutcome write_all(const Backing& backing, FileRef file, std::uint64_t offset,
                                     Bytes from);

// A change of a file's stored content. Before it and after it the file has whole blocks.
struct StoredChange {
  FileRef file;
  std::uint64_t offset = 0;
  Bytes bytes;  // written at `offset`
  // The file's length is set to this afterwards.
  std::optional<std::uint64_t> length_after = std::nullopt;

  // With these a write can be taken back if there is no room for all of it.
  std::uint64_t first_block = 0;  // where the first block that is written lies
  std::size_t stride = 0;         // from a block to the next; 0: nothing can be taken back
  Bytes old = {};                 // what the file had at `old_offset`
  std::uint64_t old_offset = 0;
  std::uint64_t old_length = 0;  // the file's, before the change

  // With a mode, fallocate(2) is called for so many bytes instead of all of this.
  std::optional<int> allocate_mode = std::nullopt;
  std::uint64_t allocated_bytes = 0;
};

// Safe to use from any number of threads.
class PendingWrites {
  struct Memory;

 public:
  // What one thread uses to write: it takes a slot before it locks any block, and has one at a
  // time. Until done() is called or the slot is gone, the last change that was noted stays so.
  class Slot {
   public:
    ~Slot();
    Slot(const Slot&) = delete;
    Slot& operator=(const Slot&) = delete;

    // Room for a run of blocks that is sealed: its header, its blocks and their IVs.
    [[nodiscard]] MutableBytes run_room() noexcept;
    // Room for blocks as the file has them, until the slot is gone. Empty once there is none left.
    [[nodiscard]] MutableBytes old_room(std::size_t bytes) noexcept;

    // Notes the change in place of the one before. Bytes from elsewhere than the rooms are copied
    // and are at most a header and a block.
    void note(const StoredChange& change) noexcept;
    void done() noexcept;
    // Notes a change without length_after and writes its bytes. If that fails, it stays noted.
    [[nodiscard]] WriteOutcome write(const Backing& backing, const StoredChange& change);
    // Notes and makes a change that leads back to what was.
    void restore(const Backing& backing, const StoredChange& change);

   private:
    friend class PendingWrites;
    Slot(PendingWrites& owner, Memory& memory) noexcept : owner_(owner), memory_(memory) {}

    PendingWrites& owner_;
    Memory& memory_;
    std::size_t old_bytes_ = 0;
  };

  // Nothing is noted any more once it is gone, whatever has failed. It is declared after the lock
  // of the blocks, so that it goes first.
  class DoneAtEnd {
   public:
    explicit DoneAtEnd(Slot& slot) noexcept : slot_(slot) {}
    ~DoneAtEnd() { slot_.done(); }
    DoneAtEnd(const DoneAtEnd&) = delete;
    DoneAtEnd& operator=(const DoneAtEnd&) = delete;

   private:
    Slot& slot_;
  };

  // Throws std::bad_alloc. The system gives memory for a slot when it is used.
  explicit PendingWrites(std::size_t slots);
  ~PendingWrites();
  PendingWrites(const PendingWrites&) = delete;
  PendingWrites& operator=(const PendingWrites&) = delete;

  // Waits for a slot.
  [[nodiscard]] Slot take();

  // Completes all that is noted: what cannot be, for lack of room, is taken back. The process that
  // has noted it is gone. Allocates nothing. The answer is how many changes were noted.
  std::size_t complete(const Backing& backing) const noexcept;

 private:
  void give_back(Memory& memory);

  Memory* memory_;
  const std::size_t slots_;
  std::mutex mutex_;
  std::condition_variable given_back_;
  std::vector<Memory*> free_;  // the one used last at the end: the caches may have it still
};

}  // namespace paes::volume
