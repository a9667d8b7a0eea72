// SPDX-License-Identifier: Apache-2.0
// What all who have a file open share. The same file may be open under several names, and more than
// once.
#pragma once

#include <sys/stat.h>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "vault/vault_blocks.hpp"
#include "volume/read/block_locks.hpp"

namespace paes::volume {

// A file of the backing tree, as long as somebody has it open.
class OpenFile {
 public:
  explicit OpenFile(bool keeps_id) noexcept : keeps_id_(keeps_id) {}

  [[nodiscard]] BlockLocks& locks() noexcept { return locks_; }

  // The id in the header, once somebody has read or written that. Known only of a file with text,
  // and only if nobody else can have changed it meanwhile.
  [[nodiscard]] std::optional<vault::FileId> id() const;
  void set_id(const std::optional<vault::FileId>& id);

  // Whether writing into the file's blocks may take room. Once true it stays so.
  [[nodiscard]] bool may_have_holes() const noexcept {
    return may_have_holes_.load(std::memory_order_relaxed);
  }
  void note_holes() noexcept { may_have_holes_.store(true, std::memory_order_relaxed); }

 private:
  const bool keeps_id_;
  BlockLocks locks_;
  mutable std::mutex mutex_;
  std::optional<vault::FileId> id_;
  std::atomic<bool> may_have_holes_{false};
};

// Safe to use from any number of threads.
class OpenFiles {
 public:
  explicit OpenFiles(bool keeps_ids) noexcept : keeps_ids_(keeps_ids) {}

  // Keep the answer no longer than the descriptor: after that the system may give the inode to
  // another file.
  [[nodiscard]] std::shared_ptr<OpenFile> of(const struct stat& status);

 private:
  using Key = std::pair<dev_t, ino_t>;
  // Outlives OpenFiles while somebody still has a file open.
  struct Table {
    std::mutex mutex;
    std::map<Key, std::weak_ptr<OpenFile>> files;
  };

  const bool keeps_ids_;
  std::shared_ptr<Table> table_ = std::make_shared<Table>();
};

}  // namespace paes::volume
