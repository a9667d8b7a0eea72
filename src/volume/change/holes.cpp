// SPDX-License-Identifier: Apache-2.0
#include "volume/change/holes.hpp"

#include <algorithm>
#include <array>
#include <cerrno>

#include "core/secret.hpp"

namespace paes::volume {

namespace {

using vault::block_bytes;
using vault::header_bytes;

// So many of a backing file's runs of data and holes are gone through in one search for a hole.
constexpr int most_looks = 64;

// One in so many blocks is told as data if anything of it is stored. So the search for data has an
// end where the backing file has something everywhere, and all of it is zeros. It is always
// the same block, because what the search for data gives must not be a hole for the search that
// follows. It is none beside which data are likely to begin or end.
constexpr std::uint64_t blocks_in_window = 256;
constexpr std::uint64_t told_as_data = 171;

// The blocks of a file at one moment.
class Blocks {
 public:
  Blocks(const Volume& volume, const WritableFile& file, std::string_view path,
         std::uint64_t stored)
      : volume_(volume), file_(file), path_(path), stored_(stored) {}

  [[nodiscard]] std::uint64_t text_length() const { return layout().text_length(stored_); }

  // A file system knows its holes by pages, and blocks do not begin there: the header lies in one
  // with the first block, and the end of a block in one with the next. And where a file has grown,
  // its first block may be stored. So the backing file has to have a hole in one of the pages of a
  // block or just behind them, and the block's text has to be zeros. A last block that is not whole
  // is never a hole.
  [[nodiscard]] bool is_hole(std::uint64_t block) const {
    if (block % blocks_in_window == told_as_data && stored_from(block) == block) {
      return false;
    }
    constexpr std::uint64_t page_bytes = 4096;
    const Result<std::uint64_t> hole = backing().next_hole(file(), layout().offset_of(block));
    if (!hole || *hole >= std::min(layout().offset_of(block + 1) + page_bytes, stored_)) {
      return false;
    }
    std::array<std::uint8_t, block_bytes> text{};
    const WipeOnExit wiped(text);
    const Result<std::size_t> bytes = file_.read(block * block_bytes, text, path_);
    return bytes && *bytes == text.size() &&
           std::all_of(text.begin(), text.end(), [](std::uint8_t byte) { return byte == 0; });
  }

  // The first block from `block` on of which the backing file has something, or else a last one
  // that is not whole.
  [[nodiscard]] std::uint64_t stored_from(std::uint64_t block) const {
    const Result<std::uint64_t> data = backing().next_data(file(), layout().offset_of(block));
    if (!data && !data.failed_with(ENXIO)) {
      return block;  // this file system does not know
    }
    const std::uint64_t at = std::min(data ? *data : stored_, stored_);
    return std::max(block, at < header_bytes ? 0 : (at - header_bytes) / layout().stride());
  }

  // The first block from `block` on that begins in a hole of the backing file, or where that ends.
  [[nodiscard]] std::uint64_t missing_from(std::uint64_t block) const {
    const Result<std::uint64_t> hole = backing().next_hole(file(), layout().offset_of(block));
    const std::uint64_t at = hole ? std::min(*hole, stored_) : stored_;
    const std::uint64_t stride = layout().stride();
    return std::max(block, at < header_bytes ? 0 : (at - header_bytes + stride - 1) / stride);
  }

 private:
  [[nodiscard]] vault::BlockLayout layout() const { return volume_.content().layout(); }

  [[nodiscard]] const Backing& backing() const { return volume_.backing(); }
  [[nodiscard]] FileRef file() const { return file_.descriptor(); }

  const Volume& volume_;
  const WritableFile& file_;
  std::string_view path_;
  std::uint64_t stored_;
};

Result<Blocks> blocks_of(const Volume& volume, const WritableFile& file, std::string_view path) {
  const Result<struct stat> status = volume.backing().status(file.descriptor());
  if (!status) {
    return status.error();
  }
  return Blocks(volume, file, path, static_cast<std::uint64_t>(status->st_size));
}

}  // namespace

Result<std::uint64_t> next_data(const Volume& volume, const WritableFile& file,
                                std::string_view path, std::uint64_t offset) {
  const Result<Blocks> blocks = blocks_of(volume, file, path);
  if (!blocks) {
    return blocks.error();
  }
  const std::uint64_t length = blocks->text_length();
  std::uint64_t block = offset / block_bytes;
  for (; block * block_bytes < length && offset < length; ++block) {
    block = blocks->stored_from(block);
    if (block * block_bytes < length && !blocks->is_hole(block)) {
      return std::max(offset, block * block_bytes);
    }
  }
  return Errno(ENXIO);
}

Result<std::uint64_t> next_hole(const Volume& volume, const WritableFile& file,
                                std::string_view path, std::uint64_t offset) {
  const Result<Blocks> blocks = blocks_of(volume, file, path);
  if (!blocks) {
    return blocks.error();
  }
  const std::uint64_t length = blocks->text_length();
  if (offset >= length) {
    return Errno(ENXIO);
  }
  std::uint64_t block = offset / block_bytes;
  for (int looks = 0; looks < most_looks && block * block_bytes < length; ++looks) {
    if (blocks->is_hole(block)) {
      return std::max(offset, block * block_bytes);
    }
    // The block before it may share no more than a page with data.
    const std::uint64_t missing = blocks->missing_from(block + 1);
    block = missing > block + 1 ? missing - 1 : missing;
  }
  return length;  // where a hole begins in any case
}

}  // namespace paes::volume
