// SPDX-License-Identifier: Apache-2.0
#include "volume/change/pending_writes.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstring>
#include <new>

#include "volume/change/sealed_run.hpp"

namespace paes::volume {

namespace {

using vault::header_bytes;
using vault::max_sealed_block_bytes;

// A change reads at most a run, both edges of a range twice, and the last block.
constexpr std::size_t most_old_blocks = max_run_blocks + 8;

// What a slot notes: one of two changes, so that one can take the place of the other in one step.
constexpr std::uint32_t nothing = 2;

bool lies_in(MutableBytes room, Bytes bytes) noexcept {
  return bytes.data() >= room.data() && bytes.data() + bytes.size() <= room.data() + room.size();
}

// Gives the file whole blocks again. The write has stopped in a block: those before it are new, it
// and those after it become what they were.
void take_back(const Backing& backing, const StoredChange& change, std::size_t written) {
  const std::uint64_t end = change.offset + written;
  const std::uint64_t torn =
      end <= change.first_block
          ? change.offset
          : change.first_block + (end - change.first_block) / change.stride * change.stride;
  if (torn >= change.old_offset && torn < change.old_offset + change.old.size()) {
    const Bytes rest = change.old.subspan(static_cast<std::size_t>(torn - change.old_offset));
    (void)write_all(backing, change.file, torn, rest.first(std::min(rest.size(), change.stride)));
  }
  const Result<struct stat> status = backing.status(change.file);
  const std::uint64_t length = std::max(change.old_length, torn);
  if (status && static_cast<std::uint64_t>(status->st_size) > length) {
    (void)backing.set_length(change.file, length);
  }
}

void make(const Backing& backing, const StoredChange& change) {
  if (change.allocate_mode) {
    (void)backing.allocate(change.file, *change.allocate_mode, change.offset,
                           change.allocated_bytes);
    return;
  }
  const WriteOutcome written = write_all(backing, change.file, change.offset, change.bytes);
  if (!written.result && change.stride != 0) {
    take_back(backing, change, written.bytes);
  } else if (change.length_after && !backing.set_length(change.file, *change.length_after) &&
             change.stride != 0) {
    take_back(backing, change, 0);
  }
}

}  // namespace

struct PendingWrites::Memory {
  std::atomic<std::uint32_t> noted{nothing};
  std::array<StoredChange, 2> changes;
  std::array<std::array<std::uint8_t, header_bytes + max_sealed_block_bytes>, 2> copies;
  std::array<std::uint8_t,
             header_bytes + max_run_blocks*(max_sealed_block_bytes + vault::max_iv_bytes)>
      run;
  std::array<std::uint8_t, most_old_blocks * max_sealed_block_bytes> old;
};

WriteOutcome write_all(const Backing& backing, FileRef file, std::uint64_t offset, Bytes from) {
  WriteOutcome written;
  while (written.bytes < from.size()) {
    const Result<std::size_t> bytes =
        backing.write(file, offset + written.bytes, from.subspan(written.bytes));
    if (!bytes || *bytes == 0) {
      written.result = bytes ? Errno(EIO) : bytes.error();
      break;
    }
    written.bytes += *bytes;
  }
  return written;
}

PendingWrites::Slot::~Slot() {
  done();
  owner_.give_back(memory_);
}

MutableBytes PendingWrites::Slot::run_room() noexcept { return memory_.run; }

MutableBytes PendingWrites::Slot::old_room(std::size_t bytes) noexcept {
  if (bytes > memory_.old.size() - old_bytes_) {
    return {};
  }
  const std::size_t begin = old_bytes_;
  old_bytes_ += bytes;
  return MutableBytes(memory_.old).subspan(begin, bytes);
}

void PendingWrites::Slot::note(const StoredChange& change) noexcept {
  const std::uint32_t place = memory_.noted.load(std::memory_order_relaxed) == 0 ? 1 : 0;
  StoredChange& noted = memory_.changes[place];
  noted = change;
  if (!lies_in(memory_.run, change.bytes) && !lies_in(memory_.old, change.bytes)) {
    auto& copy = memory_.copies[place];
    assert(change.bytes.size() <= copy.size());
    std::copy(change.bytes.begin(), change.bytes.end(), copy.begin());
    noted.bytes = Bytes(copy).first(change.bytes.size());
  }
  // Whatever instruction the process dies at, the note is there before the write begins.
  memory_.noted.store(place, std::memory_order_release);
}

void PendingWrites::Slot::done() noexcept {
  memory_.noted.store(nothing, std::memory_order_release);
}

WriteOutcome PendingWrites::Slot::write(const Backing& backing, const StoredChange& change) {
  note(change);
  const WriteOutcome written = write_all(backing, change.file, change.offset, change.bytes);
  if (written.result) {
    done();
  }
  return written;
}

void PendingWrites::Slot::restore(const Backing& backing, const StoredChange& change) {
  note(change);
  make(backing, change);
  done();
}

PendingWrites::PendingWrites(std::size_t slots) : slots_(slots) {
  void* const memory = mmap(nullptr, slots * sizeof(Memory), PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    throw std::bad_alloc();
  }
  memory_ = static_cast<Memory*>(memory);
  try {
    free_.reserve(slots);
  } catch (...) {
    (void)munmap(memory_, slots_ * sizeof(Memory));
    throw;
  }
  for (std::size_t slot = 0; slot < slots; ++slot) {
    free_.push_back(new (memory_ + slot) Memory);
  }
}

PendingWrites::~PendingWrites() { (void)munmap(memory_, slots_ * sizeof(Memory)); }

PendingWrites::Slot PendingWrites::take() {
  std::unique_lock lock(mutex_);
  given_back_.wait(lock, [&] { return !free_.empty(); });
  Memory& memory = *free_.back();
  free_.pop_back();
  return {*this, memory};
}

void PendingWrites::give_back(Memory& memory) {
  {
    const std::lock_guard lock(mutex_);
    free_.push_back(&memory);
  }
  given_back_.notify_one();
}

std::size_t PendingWrites::complete(const Backing& backing) const noexcept {
  std::size_t noted = 0;
  for (std::size_t slot = 0; slot < slots_; ++slot) {
    const Memory& memory = memory_[slot];
    const std::uint32_t place = memory.noted.load(std::memory_order_acquire);
    if (place < memory.changes.size()) {
      make(backing, memory.changes[place]);
      ++noted;
    }
  }
  return noted;
}

}  // namespace paes::volume
