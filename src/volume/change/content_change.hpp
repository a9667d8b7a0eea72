// SPDX-License-Identifier: Apache-2.0
// One change of a file's stored content while nobody else uses the file. It notes what it writes,
// so that another process can complete that, and what it writes over, and puts that back if it
// cannot complete.
#pragma once

#include <map>
#include <optional>
#include <string_view>

#include "core/range.hpp"
#include "volume/change/pending_writes.hpp"
#include "volume/change/sealed_run.hpp"
#include "volume/change/writable_volume.hpp"

namespace paes::volume {

// A new file's.
[[nodiscard]] vault::FileId random_id();

// Blocks of a file as they are stored.
class StoredBlocks {
 public:
  StoredBlocks(const Volume& volume, FileRef file, PendingWrites::Slot& slot) noexcept
      : volume_(volume), file_(file), slot_(slot) {}

  // Reads `count` blocks from `first` on.
  [[nodiscard]] Result<void> read(std::uint64_t first, std::size_t count);
  // Empty if the block was not read, or the file has none there.
  [[nodiscard]] Bytes block(std::uint64_t number) const;
  // Writes a block back as it was, if it was read, and then sets the file's length.
  void put_back(std::uint64_t number, std::optional<std::uint64_t> length = std::nullopt) const;

  // A write to be noted, of blocks from `first` on in a file of `stored_bytes`. `header` bytes
  // before the blocks are written, too.
  [[nodiscard]] StoredChange change(std::uint64_t first, Bytes bytes, std::uint64_t stored_bytes,
                                    std::size_t header = 0) const;

 private:
  const Volume& volume_;
  FileRef file_;
  PendingWrites::Slot& slot_;
  std::map<std::uint64_t, Bytes> runs_;  // by their first block
};

// The file id for which the whole blocks of a run are sealed already.
struct SealedForId {
  vault::FileId id;
  bool is_new;  // random: it may become that of a file without text
};

// For as long as it exists, the caller holds whole_file of the file's locks.
class ContentChange {
 public:
  ContentChange(const WritableVolume& volume, PendingWrites::Slot& slot, FileRef file,
                OpenFile& shared, std::string_view path)
      : volume_(volume),
        slot_(slot),
        file_(file),
        shared_(shared),
        path_(path),
        stored_(volume.volume(), file, slot) {}

  // Leaves no text and no header.
  [[nodiscard]] Result<void> empty();

  // Comes before everything below.
  [[nodiscard]] Result<void> begin();
  [[nodiscard]] std::uint64_t length() const noexcept { return length_; }

  // Seals what is not yet sealed. The answer is how much was written.
  [[nodiscard]] Result<std::size_t> write(SealedRun& run,
                                          const std::optional<SealedForId>& sealed_for);
  [[nodiscard]] Result<void> set_length(std::uint64_t length);  // above 0
  // The text of the range becomes zeros, as far as the file reaches. Whole blocks are given to
  // fallocate(2) with `mode`, which makes them holes; where the file system cannot zero a range, as
  // a hole.
  [[nodiscard]] Result<void> zero(std::uint64_t offset, std::uint64_t end, int mode);

 private:
  [[nodiscard]] const vault::ContentKey& key() const noexcept { return volume_.volume().content(); }
  [[nodiscard]] const Backing& backing() const noexcept { return volume_.backing(); }
  [[nodiscard]] bool saves_blocks() const noexcept {
    return volume_.saves_all_blocks() || shared_.may_have_holes();
  }
  // How much text a block has.
  [[nodiscard]] std::size_t text_bytes(std::uint64_t block) const noexcept;
  // Reads and opens a block that has text.
  [[nodiscard]] Result<void> open_block(std::uint64_t block, MutableBytes text);
  // Seals the blocks of which the file has a part of the text.
  [[nodiscard]] Result<void> seal_parts(SealedRun& run);
  // Fills up the last block with zeros.
  [[nodiscard]] Result<void> pad_last_block();
  // The header of a file that had no text, and by the same call the first block, of zeros. The
  // format stores an empty file as nothing at all, so a crash should not leave a mere header
  // either.
  [[nodiscard]] Result<void> begin_text();
  [[nodiscard]] Result<std::size_t> after_failure(const SealedRun& run,
                                                  const WriteOutcome& written);
  [[nodiscard]] Result<void> shrink(std::uint64_t length);
  [[nodiscard]] Result<void> grow(std::uint64_t length);
  // A part of one block. What that had before can be put back.
  [[nodiscard]] Result<void> zero_part(std::uint64_t from, std::uint64_t to);
  [[nodiscard]] Result<void> make_hole(const Range& blocks, int mode);
  // The file is as it was, with the block that is torn. Gives back `error`.
  Errno undo(Errno error, std::optional<std::uint64_t> torn = std::nullopt);

  const WritableVolume& volume_;
  PendingWrites::Slot& slot_;
  FileRef file_;
  OpenFile& shared_;
  std::string_view path_;
  StoredBlocks stored_;
  std::uint64_t stored_bytes_ = 0;  // before the change
  std::uint64_t length_ = 0;        // of the text, before the change
  vault::FileId id_{};              // new if there was no text
  bool has_padded_ = false;
};

}  // namespace paes::volume
