// SPDX-License-Identifier: Apache-2.0
// A regular file of a volume, open to be read.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>

#include "volume/read/volume.hpp"

namespace paes::volume {

// The longest text whose stored form has a length that the system can name.
[[nodiscard]] constexpr std::uint64_t max_text_length(const vault::BlockLayout& layout) noexcept {
  constexpr auto max_stored = std::uint64_t{std::numeric_limits<std::int64_t>::max()};
  return (max_stored - vault::header_bytes) / layout.stride() * vault::block_bytes;
}

// Safe to use from any number of threads. Whoever writes to the same file meanwhile must keep the
// blocks that a read touches as they are; see stale_id for what others may do.
class File {
 public:
  // `descriptor` is open for reading, of a regular file of the backing tree.
  File(const Volume& volume, Descriptor descriptor)
      : volume_(&volume),
        descriptor_(std::move(descriptor)),
        kept_(std::make_unique<KnownFileId>()) {}

  [[nodiscard]] FileRef descriptor() const noexcept { return FileRef(descriptor_); }

  // The text from `offset` on, until `into` is full or the text ends. EIO if a block that it needs
  // is damaged, after `path` has been reported; no byte of such a block is in `into`.
  [[nodiscard]] Result<std::size_t> read(std::uint64_t offset, MutableBytes into,
                                         std::string_view path) const;

 private:
  // The file's id, once it has been read.
  struct KnownFileId {
    std::mutex mutex;
    std::optional<vault::FileId> id;
  };

  // At most so much text that its blocks fit into the thread's buffer.
  [[nodiscard]] Result<std::size_t> read_run(std::uint64_t offset, MutableBytes into,
                                             std::string_view path) const;
  [[nodiscard]] std::optional<vault::FileId> kept_id() const;
  void keep(const vault::FileId& id) const;
  // Whether the header says another id by now. Another program may have emptied and rewritten the
  // file since it was opened.
  [[nodiscard]] bool stale_id(const vault::FileId& id) const;

  const Volume* volume_;
  Descriptor descriptor_;
  std::unique_ptr<KnownFileId> kept_;
};

}  // namespace paes::volume
