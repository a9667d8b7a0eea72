// SPDX-License-Identifier: Apache-2.0
// Group commit: many small outputs become durable together, as databases do it with transactions.
// A sync for each file and one for its folder would cost several times as much as writing the file.
// The order stays that of a single output: the data of all files is synced, then each file gets its
// name, then each folder is synced once, and only then is a file reported to be done.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "paes/error.hpp"
#include "stream/file/new_file.hpp"

namespace paes::stream {

class GroupCommit {
 public:
  // Told what became of an output: its name and warning, and the error if it failed. Runs on the
  // thread that commits the group. It must not throw.
  using Done = std::function<void(const Output& output, const std::optional<Error>& error)>;

  // How much a group may hold. Each file keeps a descriptor or two open until the group is
  // committed.
  struct Limits {
    std::size_t files = 256;
    std::uint64_t bytes = std::uint64_t{64} << 20;
  };
  // As many files as the process may have open, with room for a group that is being filled while
  // another is committed.
  [[nodiscard]] static Limits usual_limits() noexcept;

  explicit GroupCommit(const Limits& limits = usual_limits()) : limits_(limits) {}
  // Discards the outputs that have not been committed.
  ~GroupCommit() = default;
  GroupCommit(const GroupCommit&) = delete;
  GroupCommit& operator=(const GroupCommit&) = delete;

  // Takes an output of `bytes` that is unnamed(), and commits the group when it is full. Any thread
  // may call it. While one thread commits a group, others fill the next, and wait when that is full
  // as well.
  void add(std::unique_ptr<Output> output, std::uint64_t bytes, Done done);
  // Commits what is left.
  void commit_all();

 private:
  struct Member {
    std::unique_ptr<Output> output;
    NewFile* file;  // the same
    Done done;
    std::optional<Error> error = std::nullopt;
  };
  using Group = std::vector<Member>;

  void commit(Group group);

  Limits limits_;
  std::mutex mutex_;  // guards the next two
  Group group_;
  std::uint64_t group_bytes_ = 0;
  std::mutex commit_mutex_;  // held while a group is committed
};

}  // namespace paes::stream
