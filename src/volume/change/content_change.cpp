// SPDX-License-Identifier: Apache-2.0
#include "volume/change/content_change.hpp"

#include <fcntl.h>
#include <linux/falloc.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string>

#include "core/secret.hpp"

namespace paes::volume {

namespace {

using vault::block_bytes;
using vault::BlockLayout;
using vault::header_bytes;

// A block's text while it is changed. Wiped, as all text that was opened only for our use.
class BlockText {
 public:
  [[nodiscard]] MutableBytes first(std::size_t bytes) noexcept {
    return MutableBytes(bytes_).first(bytes);
  }
  ~BlockText() { wipe(bytes_); }

 private:
  std::array<std::uint8_t, block_bytes> bytes_{};
};

constexpr std::array<std::uint8_t, block_bytes> zeros{};

}  // namespace

vault::FileId random_id() {
  vault::FileId id{};
  random_ivs(id, id.size());  // which are not all zero either
  return id;
}

Result<void> StoredBlocks::read(std::uint64_t first, std::size_t count) {
  const vault::BlockLayout layout = volume_.content().layout();
  const MutableBytes room = slot_.old_room(count * layout.stride());
  if (room.empty()) {
    return Errno(ENOMEM);
  }
  const Result<std::size_t> read = volume_.backing().read(file_, layout.offset_of(first), room);
  if (!read) {
    return read.error();
  }
  runs_.insert_or_assign(first, room.first(*read));
  return {};
}

Bytes StoredBlocks::block(std::uint64_t number) const {
  const std::size_t stride = volume_.content().layout().stride();
  // The run that begins last before it, or with it, has it if any has.
  auto after = runs_.upper_bound(number);
  if (after == runs_.begin()) {
    return {};
  }
  const auto& [first, bytes] = *--after;
  const std::uint64_t place = number - first;
  if (place >= (bytes.size() + stride - 1) / stride) {
    return {};
  }
  const auto begin = static_cast<std::size_t>(place) * stride;
  return bytes.subspan(begin, std::min(stride, bytes.size() - begin));
}

void StoredBlocks::put_back(std::uint64_t number, std::optional<std::uint64_t> length) const {
  StoredChange back;
  back.file = file_;
  back.offset = volume_.content().layout().offset_of(number);
  back.bytes = block(number);
  back.length_after = length;
  slot_.restore(volume_.backing(), back);
}

StoredChange StoredBlocks::change(std::uint64_t first, Bytes bytes, std::uint64_t stored_bytes,
                                  std::size_t header) const {
  const vault::BlockLayout layout = volume_.content().layout();
  StoredChange change;
  change.file = file_;
  change.first_block = layout.offset_of(first);
  change.offset = change.first_block - header;
  change.bytes = bytes;
  change.stride = layout.stride();
  change.old_length = stored_bytes;
  // The run that has the last of the blocks, if any has. The others are not read, or alone.
  const std::uint64_t end = first + (bytes.size() - header + change.stride - 1) / change.stride;
  if (auto after = runs_.lower_bound(end); after != runs_.begin()) {
    const auto& [old_first, old] = *--after;
    change.old_offset = layout.offset_of(old_first);
    change.old = old;
  }
  return change;
}

Result<void> ContentChange::begin() {
  const Result<struct stat> status = backing().status(file_);
  if (!status) {
    return status.error();
  }
  stored_bytes_ = static_cast<std::uint64_t>(status->st_size);
  length_ = key().layout().text_length(stored_bytes_);
  if (length_ == 0) {
    shared_.set_id(std::nullopt);
    id_ = random_id();
    return {};
  }
  if (const std::optional<vault::FileId> known = shared_.id(); known) {
    id_ = *known;
    return {};
  }
  std::array<std::uint8_t, header_bytes> header;
  const Result<std::size_t> read = backing().read(file_, 0, header);
  if (!read) {
    return read.error();
  }
  if (*read != header.size() || !vault::parse_header(header, id_)) {
    volume_.volume().report({std::string(path_), "the header is damaged"});
    return Errno(EIO);
  }
  shared_.set_id(id_);
  return {};
}

std::size_t ContentChange::text_bytes(std::uint64_t block) const noexcept {
  const std::uint64_t begin = block * block_bytes;
  return begin >= length_
             ? 0
             : static_cast<std::size_t>(std::min<std::uint64_t>(block_bytes, length_ - begin));
}

Result<void> ContentChange::open_block(std::uint64_t block, MutableBytes text) {
  if (stored_.block(block).empty()) {
    if (const Result<void> done = stored_.read(block, 1); !done) {
      return done;
    }
  }
  const Bytes sealed = stored_.block(block);
  if (sealed.size() != text.size() + key().layout().overhead() ||
      !vault::open_block(key(), {block, &id_}, sealed, text)) {
    volume_.volume().report(
        {std::string(path_), "block " + std::to_string(block) + " is not authentic"});
    return Errno(EIO);
  }
  return {};
}

Result<void> ContentChange::seal_parts(SealedRun& run) {
  const RequestText& text = run.text();
  for (std::size_t place = 0; place < text.blocks(); ++place) {
    if (run.is_whole(place)) {
      continue;
    }
    const std::uint64_t block = text.first_block() + place;
    const std::size_t old_bytes = text_bytes(block);
    std::size_t begin = 0;
    const Bytes part = run.part(place, begin);
    BlockText merged;
    if (old_bytes > 0 && (begin > 0 || part.size() < old_bytes)) {
      if (const Result<void> done = open_block(block, merged.first(old_bytes)); !done) {
        return done;
      }
    }
    const std::size_t bytes = std::max(old_bytes, begin + part.size());
    std::memcpy(merged.first(bytes).data() + begin, part.data(), part.size());
    run.seal(place, id_, merged.first(bytes));
  }
  return {};
}

Result<void> ContentChange::pad_last_block() {
  if (length_ % block_bytes == 0) {
    return {};
  }
  const std::uint64_t block = length_ / block_bytes;
  BlockText text;
  if (const Result<void> done = open_block(block, text.first(text_bytes(block))); !done) {
    return done;
  }
  std::array<std::uint8_t, vault::max_sealed_block_bytes> sealed;
  std::array<std::uint8_t, vault::max_iv_bytes> iv{};
  const MutableBytes own_iv = MutableBytes(iv).first(key().layout().iv_bytes);
  random_ivs(own_iv, own_iv.size());
  const MutableBytes padded = MutableBytes(sealed).first(key().layout().stride());
  key().seal({block, &id_}, own_iv, text.first(block_bytes), padded);
  has_padded_ = true;
  const WriteOutcome written = slot_.write(backing(), stored_.change(block, padded, stored_bytes_));
  return written.result ? written.result : undo(written.result.error());
}

Result<void> ContentChange::begin_text() {
  std::array<std::uint8_t, header_bytes + vault::max_sealed_block_bytes> sealed;
  std::array<std::uint8_t, vault::max_iv_bytes> iv{};
  const BlockLayout layout = key().layout();
  const MutableBytes own_iv = MutableBytes(iv).first(layout.iv_bytes);
  random_ivs(own_iv, own_iv.size());
  vault::write_header(id_, MutableBytes(sealed).first(header_bytes));
  key().seal({0, &id_}, own_iv, zeros, MutableBytes(sealed).subspan(header_bytes, layout.stride()));
  const Bytes all = Bytes(sealed).first(header_bytes + layout.stride());
  const WriteOutcome written = slot_.write(backing(), stored_.change(0, all, 0, header_bytes));
  return written.result ? written.result : undo(written.result.error());
}

Errno ContentChange::undo(Errno error, std::optional<std::uint64_t> torn) {
  const Result<struct stat> status = backing().status(file_);
  std::optional<std::uint64_t> before = length_ == 0 ? 0 : stored_bytes_;
  if (status && static_cast<std::uint64_t>(status->st_size) == *before) {
    before = std::nullopt;
  }
  if (has_padded_) {
    stored_.put_back(length_ / block_bytes, before);  // the torn block is behind it
  } else if (torn) {
    stored_.put_back(*torn, before);
  } else if (before) {
    (void)backing().set_length(file_, *before);
  }
  // What the header says by now is known to whoever reads it next.
  shared_.set_id(std::nullopt);
  return error;
}

Result<std::size_t> ContentChange::write(SealedRun& run,
                                         const std::optional<SealedForId>& sealed_for) {
  const RequestText& text = run.text();
  const bool is_first_text = length_ == 0;
  if (is_first_text && sealed_for && sealed_for->is_new) {
    id_ = sealed_for->id;
  } else if (!sealed_for || sealed_for->id != id_) {
    run.seal_whole(id_);
  }
  if (length_ > text.first_block() * block_bytes) {
    // The last block may be shorter than others, and is then written over to grow.
    const std::uint64_t last = std::min(text.last_block(), (length_ - 1) / block_bytes);
    const std::uint64_t first = saves_blocks() ? text.first_block() : last;
    if (saves_blocks() || text.end() > length_) {
      if (const Result<void> done = stored_.read(first, static_cast<std::size_t>(last - first) + 1);
          !done) {
        return done.error();
      }
    }
  }
  if (const Result<void> done = seal_parts(run); !done) {
    return done.error();
  }
  std::uint64_t stored_bytes = is_first_text ? 0 : stored_bytes_;
  if (text.first_block() > length_ / block_bytes) {
    shared_.note_holes();
    if (const Result<void> done = pad_last_block(); !done) {
      return done.error();
    }
    stored_bytes = has_padded_ ? key().layout().offset_of(length_ / block_bytes + 1) : stored_bytes;
  }
  const bool has_header_in_front = is_first_text && text.first_block() == 0;
  if (is_first_text && !has_header_in_front) {
    if (const Result<void> done = begin_text(); !done) {
      return done.error();
    }
    stored_bytes = key().layout().offset_of(1);
  }
  WriteOutcome written = slot_.write(
      backing(), has_header_in_front
                     ? stored_.change(0, run.sealed_with_header(id_), stored_bytes, header_bytes)
                     : stored_.change(text.first_block(), run.sealed(), stored_bytes));
  if (!written.result) {
    written.bytes -= has_header_in_front ? std::min(written.bytes, header_bytes) : 0;
    return after_failure(run, written);
  }
  shared_.set_id(id_);
  return text.bytes.size();
}

Result<std::size_t> ContentChange::after_failure(const SealedRun& run,
                                                 const WriteOutcome& written) {
  const RequestText& text = run.text();
  const std::size_t stride = key().layout().stride();
  const std::size_t whole = written.bytes / stride;
  const std::uint64_t torn = text.first_block() + whole;
  const bool is_torn = written.bytes % stride != 0;
  if (whole == 0) {
    return undo(written.result.error(), is_torn ? std::optional(torn) : std::nullopt);
  }
  // Everything before the torn block is written, and the rest is as it was.
  const std::uint64_t end = std::max(stored_bytes_, key().layout().offset_of(torn));
  if (is_torn) {
    stored_.put_back(torn, end);
  } else {
    (void)backing().set_length(file_, end);
  }
  shared_.set_id(std::nullopt);
  return whole * block_bytes - static_cast<std::size_t>(text.offset % block_bytes);
}

Result<void> ContentChange::empty() {
  shared_.set_id(std::nullopt);
  return backing().set_length(file_, 0);
}

Result<void> ContentChange::set_length(std::uint64_t length) {
  if (length == length_) {
    return backing().set_length(file_, stored_bytes_);  // changes the time of modification
  }
  return length < length_ ? shrink(length) : grow(length);
}

Result<void> ContentChange::shrink(std::uint64_t length) {
  const auto kept_bytes = static_cast<std::size_t>(length % block_bytes);
  const std::uint64_t block = length / block_bytes;
  if (kept_bytes != 0) {
    BlockText text;
    if (const Result<void> done = open_block(block, text.first(text_bytes(block))); !done) {
      return done;
    }
    SealedRun run(key(), volume_.ahead(), slot_.run_room(),
                  {block * block_bytes, text.first(kept_bytes)});
    run.seal(0, id_, text.first(kept_bytes));
    // The block is written before the rest of it is cut off. So a failure of either leaves
    // something that can be put back, where the other order would need room for it.
    StoredChange cut = stored_.change(block, run.sealed(), stored_bytes_);
    cut.length_after = key().layout().stored_length(length);
    slot_.note(cut);
    const WriteOutcome written = write_all(backing(), file_, cut.offset, cut.bytes);
    if (!written.result) {
      if (written.bytes > 0) {
        stored_.put_back(block);
      }
      return written.result;
    }
  }
  const Result<void> cut_off = backing().set_length(file_, key().layout().stored_length(length));
  if (!cut_off && kept_bytes != 0) {
    stored_.put_back(block);
  }
  slot_.done();
  return cut_off;
}

Result<void> ContentChange::grow(std::uint64_t length) {
  const auto last_bytes = static_cast<std::size_t>(length % block_bytes);
  if (last_bytes != 0) {
    // A block that is not whole cannot be a hole.
    const std::uint64_t begin = std::max(length_, length - last_bytes);
    const auto bytes = static_cast<std::size_t>(length - begin);
    SealedRun run(key(), volume_.ahead(), slot_.run_room(), {begin, Bytes(zeros).first(bytes)});
    return Result<void>(write(run, std::nullopt));
  }
  shared_.note_holes();
  if (const Result<void> done = length_ == 0 ? begin_text() : pad_last_block(); !done) {
    return done;
  }
  if (const Result<void> grown = backing().set_length(file_, key().layout().stored_length(length));
      !grown) {
    return undo(grown.error());
  }
  shared_.set_id(id_);
  return {};
}

Result<void> ContentChange::zero(std::uint64_t offset, std::uint64_t end, int mode) {
  end = std::min(end, length_);
  if (offset >= end) {
    return {};
  }
  const std::uint64_t first_whole = (offset + block_bytes - 1) / block_bytes;
  const std::uint64_t end_whole = end / block_bytes;
  if (first_whole > end_whole) {
    return zero_part(offset, end);
  }
  // The blocks at the edges come first, because they may be damaged, and can be put back.
  std::vector<std::uint64_t> edges;
  Result<void> zeroed;
  const auto zero_edge = [&](std::uint64_t from, std::uint64_t to) {
    if (zeroed && from < to) {
      zeroed = zero_part(from, to);
      if (zeroed) {
        edges.push_back(from / block_bytes);
      }
    }
  };
  zero_edge(offset, first_whole * block_bytes);
  zero_edge(end_whole * block_bytes, end);
  if (zeroed && first_whole < end_whole) {
    zeroed = make_hole({first_whole, end_whole}, mode);
  }
  if (!zeroed) {
    for (const std::uint64_t edge : edges) {
      stored_.put_back(edge);
    }
  }
  return zeroed;
}

Result<void> ContentChange::zero_part(std::uint64_t from, std::uint64_t to) {
  if (const Result<void> done = stored_.read(from / block_bytes, 1); !done) {
    return done;
  }
  SealedRun run(key(), volume_.ahead(), slot_.run_room(),
                {from, Bytes(zeros).first(static_cast<std::size_t>(to - from))});
  return Result<void>(write(run, std::nullopt));
}

Result<void> ContentChange::make_hole(const Range& blocks, int mode) {
  const std::uint64_t begin = key().layout().offset_of(blocks.first);
  const std::uint64_t bytes = key().layout().offset_of(blocks.end) - begin;
  shared_.note_holes();
  const auto allocate = [&](int with) {
    StoredChange hole;
    hole.file = file_;
    hole.offset = begin;
    hole.allocate_mode = with;
    hole.allocated_bytes = bytes;
    slot_.note(hole);
    const Result<void> made = backing().allocate(file_, with, begin, bytes);
    slot_.done();
    return made;
  };
  const Result<void> made = allocate(mode);
  if (!made.failed_with(EOPNOTSUPP) || (mode & FALLOC_FL_ZERO_RANGE) == 0) {
    return made;
  }
  return allocate(FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE);
}

}  // namespace paes::volume
