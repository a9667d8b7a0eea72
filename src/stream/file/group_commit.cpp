// SPDX-License-Identifier: Apache-2.0
#include "stream/file/group_commit.hpp"

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <set>
#include <utility>

#include "core/current_error.hpp"
#include "core/folder.hpp"
#include "core/syncfs.hpp"
#include "stream/file/file_system.hpp"
#include "stream/file/input.hpp"

namespace paes::stream {

namespace {

// Below this, a sync of the whole file system is not worth what it may write for other programs.
constexpr std::size_t least_for_whole_sync = 4;

// Syncs whole file systems, each once.
class WholeSyncs {
 public:
  // Whether the file has been synced with its file system. Where that may keep quiet about errors,
  // it has only made the sync of each file fast. One that a server or a program keeps may do
  // nothing when it is asked to sync everything, and is not asked.
  [[nodiscard]] bool covers(const NewFile& file) {
    // The file was made in its folder, and so is on the same file system.
    const auto [known, is_new_folder] = by_folder_.try_emplace(file.open_folder().get(), false);
    if (is_new_folder) {
      known->second = covers_device_of(file.descriptor());
    }
    return known->second;
  }

 private:
  [[nodiscard]] bool covers_device_of(int file) {
    struct stat status = {};
    if (fstat(file, &status) != 0) {
      return false;
    }
    const auto [found, is_new] = synced_.try_emplace(status.st_dev, false);
    if (is_new) {
      found->second =
          file_system_of(file).is_local && syncfs(file) == 0 && syncfs_reports_errors(file);
    }
    return found->second;
  }

  std::map<const Descriptor*, bool> by_folder_;
  std::map<dev_t, bool> synced_;
};

using FolderNumber = std::pair<dev_t, ino_t>;

FolderNumber number_of_folder(const NewFile& file) {
  struct stat status = {};
  if (fstat(file.folder_descriptor(), &status) != 0) {
    return {};
  }
  return {status.st_dev, status.st_ino};
}

}  // namespace

GroupCommit::Limits GroupCommit::usual_limits() noexcept {
  constexpr rlim_t groups = 2;
  constexpr rlim_t descriptors_of_a_file = 2;
  Limits limits;
  struct rlimit open_files = {};
  if (getrlimit(RLIMIT_NOFILE, &open_files) == 0) {
    // Half of what is allowed is left to everything else.
    const rlim_t most = open_files.rlim_cur / 2 / groups / descriptors_of_a_file;
    limits.files =
        static_cast<std::size_t>(std::clamp<rlim_t>(most, 1, static_cast<rlim_t>(limits.files)));
  }
  return limits;
}

void GroupCommit::add(std::unique_ptr<Output> output, std::uint64_t bytes, Done done) {
  Group full;
  std::unique_lock committing(commit_mutex_, std::defer_lock);
  {
    std::unique_lock lock(mutex_);
    NewFile* const file = output->unnamed();
    group_.push_back({std::move(output), file, std::move(done)});
    group_bytes_ += bytes;
    if (group_.size() < limits_.files && group_bytes_ < limits_.bytes) {
      return;
    }
    lock.unlock();
    // Waits here, with a full group, while another thread commits one. Whoever waits longest finds
    // that the group has gone already.
    committing.lock();
    lock.lock();
    if (group_.size() < limits_.files && group_bytes_ < limits_.bytes) {
      return;
    }
    full = std::exchange(group_, {});
    group_bytes_ = 0;
  }
  commit(std::move(full));
}

void GroupCommit::commit_all() {
  const std::lock_guard committing(commit_mutex_);
  Group rest;
  {
    const std::lock_guard lock(mutex_);
    rest = std::exchange(group_, {});
    group_bytes_ = 0;
  }
  commit(std::move(rest));
}

// Each step is done for all files before the next, and skips those that have failed.
void GroupCommit::commit(Group group) {
  const auto for_each = [&](const auto& step) {
    for (Member& member : group) {
      if (!member.error) {
        try {
          step(*member.file);
        } catch (...) {
          member.error = current_error();
        }
      }
    }
  };
  WholeSyncs whole_syncs;
  const bool is_worth_it = group.size() >= least_for_whole_sync;
  for_each([&](NewFile& file) {
    if (is_worth_it && whole_syncs.covers(file)) {
      file.check_synced();
    } else {
      file.sync();
    }
  });
  for_each([](NewFile& file) { file.give_name(); });
  std::map<const Descriptor*, FolderNumber> numbers;
  std::map<FolderNumber, int> folders;
  for_each([&](NewFile& file) {
    const auto [number, is_other] = numbers.try_emplace(file.open_folder().get());
    if (is_other) {
      number->second = number_of_folder(file);
    }
    const auto [folder, is_new] = folders.try_emplace(number->second, 0);
    if (is_new) {
      folder->second = sync_folder(file.folder_descriptor(), file.descriptor());
    }
    file.end_commit(folder->second);
  });
  for (Member& member : group) {
    if (member.error) {
      member.output->discard();
    }
    member.done(*member.output, member.error);
  }
}

}  // namespace paes::stream
