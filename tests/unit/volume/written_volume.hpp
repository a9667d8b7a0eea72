// SPDX-License-Identifier: Apache-2.0
// What the tests of the writing side share: a volume in a folder of its own, a fixed key, and calls
// that fail the test where they must not fail.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "exec/executor.hpp"
#include "kernel/registry.hpp"
#include "volume/change/own_files.hpp"
#include "volume/change/tree_changes.hpp"
#include "volume/change/writable_file.hpp"
#include "volume/check/fsck.hpp"

namespace paes::volume::test {

using Text = std::vector<std::uint8_t>;

inline Text random_text(std::size_t bytes, std::uint64_t seed = 1) {
  std::mt19937_64 generator(seed);
  Text text(bytes);
  for (auto& byte : text) {
    byte = static_cast<std::uint8_t>(generator());
  }
  return text;
}

// In memory where there is a tmpfs, because the tests write a lot.
class ScratchFolder {
 public:
  explicit ScratchFolder(const char* parent = nullptr) {
    const char* const memory = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    std::string pattern = std::string(parent != nullptr ? parent : memory) + "/paes-test-XXXXXX";
    if (mkdtemp(pattern.data()) == nullptr) {
      throw std::runtime_error("mkdtemp");
    }
    path_ = pattern;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] Descriptor open() const {
    return Descriptor(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  }

 private:
  std::string path_;
};

inline const vault::MasterKey& fixed_key() {
  static const vault::MasterKey key = [] {
    const Text bytes = random_text(vault::master_key_bytes, 2026);
    return vault::MasterKey(bytes);
  }();
  return key;
}

inline const Kernel& a_kernel() { return best_kernel(Cipher::aes); }

// The volume in `root`, whose IV is made if there is none.
class WrittenVolume {
 public:
  explicit WrittenVolume(const std::string& root, const vault::Features& features = {},
                         std::unique_ptr<Backing> backing = std::make_unique<Backing>(),
                         SavedBlocks saved = SavedBlocks::where_room_may_end,
                         OtherWriters others = OtherWriters::none,
                         const SealingAhead* ahead = nullptr, PendingWrites* pending = nullptr)
      : volume_(Descriptor(::open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)), features,
                fixed_key(), a_kernel(), std::move(backing),
                [this](const Finding& finding) {
                  const std::lock_guard lock(mutex_);
                  findings_.push_back(finding.path + ": " + finding.what);
                }),
        writable_(volume_, saved, others, ahead, pending) {
    const std::string iv_path = root + "/" + std::string(vault::folder_iv_name);
    if (has_folder_ivs(volume_) && access(iv_path.c_str(), F_OK) != 0) {
      const Text iv = random_text(16, 5);
      const Descriptor file(::open(iv_path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0444));
      EXPECT_EQ(::write(file.number(), iv.data(), iv.size()), 16);
    }
  }

  [[nodiscard]] const Volume& volume() const noexcept { return volume_; }
  [[nodiscard]] WritableVolume& writable() noexcept { return writable_; }
  [[nodiscard]] std::vector<std::string> findings() const {
    const std::lock_guard lock(mutex_);
    return findings_;
  }
  [[nodiscard]] Folder root() const {
    Result<Folder> folder = Folder::open(volume_, volume_.root(), "", "");
    if (!folder) {
      throw std::runtime_error("the root cannot be opened");
    }
    return std::move(*folder);
  }
  [[nodiscard]] Result<Folder> folder(const Folder& parent, std::string_view name) const {
    const Result<StoredName> stored = parent.stored_name(name);
    return stored ? Folder::open(volume_, parent.descriptor(), stored->name.c_str(), name)
                  : stored.error();
  }
  [[nodiscard]] Result<WritableFile> create(const Folder& folder, std::string_view name) {
    return create_file(writable_, folder, name, {.mode = 0644, .owner = {}});
  }
  [[nodiscard]] Result<WritableFile> open(const Folder& folder, std::string_view name) {
    const Result<StoredName> stored = folder.stored_name(name);
    if (!stored) {
      return stored.error();
    }
    Result<Descriptor> opened =
        volume_.backing().open(folder.descriptor(), stored->name.c_str(), O_RDWR);
    return opened ? WritableFile::open(writable_, std::move(*opened)) : opened.error();
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> findings_;
  Volume volume_;
  WritableVolume writable_;
};

// How many of so many bytes from `offset` on a full file system takes: those before the first page
// that the file does not have yet.
inline std::size_t bytes_without_room(FileRef file, std::uint64_t offset, std::size_t bytes) {
  constexpr std::uint64_t page = 4096;
  const std::uint64_t end = offset + bytes;
  for (std::uint64_t at = offset / page * page; at < end; at += page) {
    if (lseek(file.number(), static_cast<off_t>(at), SEEK_DATA) != static_cast<off_t>(at)) {
      return static_cast<std::size_t>(std::max(at, offset) - offset);
    }
  }
  return bytes;
}

// The whole text. Throws where the file cannot be read.
inline Text text_of(const WritableFile& file) {
  const Result<std::uint64_t> length = file.length();
  if (!length) {
    throw std::runtime_error("no length");
  }
  Text text(static_cast<std::size_t>(*length));
  const Result<std::size_t> bytes = file.read(0, text, "file");
  if (!bytes || *bytes != text.size()) {
    throw std::runtime_error("the file cannot be read: " +
                             (bytes ? "too few bytes" : bytes.error().message()));
  }
  return text;
}

// What the check of the whole volume finds.
inline std::vector<std::string> fsck_findings(const Volume& volume, bool with_leftovers = true) {
  std::vector<std::string> found;
  const std::function<void(const Finding&)> note = [&](const Finding& finding) {
    found.push_back(finding.path + ": " + finding.what);
  };
  FsckWatch watch;
  watch.damaged = watch.unread = note;
  watch.leftover = with_leftovers ? note : nullptr;
  (void)fsck(volume, {}, serial_executor(), watch);
  return found;
}

}  // namespace paes::volume::test
