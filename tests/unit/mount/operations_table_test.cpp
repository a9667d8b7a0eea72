// SPDX-License-Identifier: Apache-2.0
// Which operations of libfuse a mount answers, and which of them a mount that is only read refuses.
#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "paes-mount/operations.hpp"

namespace paes::mount {
namespace {

// All entries of a table, of whatever type.
using Entries = std::array<void*, sizeof(fuse_lowlevel_ops) / sizeof(void*)>;

Entries entries_of(const fuse_lowlevel_ops& operations) {
  Entries entries{};
  static_assert(sizeof entries == sizeof operations);
  std::memcpy(entries.data(), &operations, sizeof entries);
  return entries;
}

TEST(Operations, OnlySyncsAreLeftOutOfAMountThatIsOnlyRead) {
  const fuse_lowlevel_ops reading = operations_for(false);
  fuse_lowlevel_ops writing = operations_for(true);
  EXPECT_NE(writing.fsync, nullptr);
  EXPECT_NE(writing.fsyncdir, nullptr);
  writing.fsync = nullptr;
  writing.fsyncdir = nullptr;
  const Entries when_read = entries_of(reading);
  const Entries when_written = entries_of(writing);
  for (std::size_t i = 0; i < when_read.size(); ++i) {
    EXPECT_EQ(when_read[i] == nullptr, when_written[i] == nullptr) << "entry " << i;
  }
}

TEST(Operations, WhatChangesSomethingIsAnotherFunctionWhereNothingMayChange) {
  const fuse_lowlevel_ops reading = operations_for(false);
  const fuse_lowlevel_ops writing = operations_for(true);
  fuse_lowlevel_ops changes{};
  changes.setattr = writing.setattr;
  changes.mknod = writing.mknod;
  changes.mkdir = writing.mkdir;
  changes.unlink = writing.unlink;
  changes.rmdir = writing.rmdir;
  changes.symlink = writing.symlink;
  changes.rename = writing.rename;
  changes.link = writing.link;
  changes.create = writing.create;
  changes.write = writing.write;
  changes.fallocate = writing.fallocate;
  changes.copy_file_range = writing.copy_file_range;
  changes.setxattr = writing.setxattr;
  changes.removexattr = writing.removexattr;
  changes.fsync = writing.fsync;
  changes.fsyncdir = writing.fsyncdir;
  const Entries when_read = entries_of(reading);
  const Entries when_written = entries_of(writing);
  const Entries changing = entries_of(changes);
  for (std::size_t i = 0; i < when_read.size(); ++i) {
    EXPECT_EQ(when_read[i] != when_written[i], changing[i] != nullptr) << "entry " << i;
  }
}

}  // namespace
}  // namespace paes::mount
