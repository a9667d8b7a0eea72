// SPDX-License-Identifier: Apache-2.0
#include "volume/change/writable_file.hpp"

#include <fcntl.h>
#include <linux/falloc.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <limits>
#include <vector>

#include "core/secret.hpp"
#include "volume/change/content_change.hpp"

namespace paes::volume {

namespace {

using vault::block_bytes;
using vault::BlockLayout;
using vault::FileId;

constexpr std::size_t max_request_bytes = max_run_blocks * block_bytes;

// Which blocks a text of `bytes` bytes touches.
Range blocks_of(std::uint64_t offset, std::uint64_t bytes) noexcept {
  return {offset / block_bytes, (offset + bytes + block_bytes - 1) / block_bytes};
}

// Writes a run over blocks of a file with a text of `length`. The caller has locked these.
Result<std::size_t> write_in_place(const WritableVolume& volume, PendingWrites::Slot& slot,
                                   FileRef file, std::uint64_t length, bool saves_blocks,
                                   const SealedRun& run) {
  const BlockLayout layout = volume.volume().content().layout();
  const std::uint64_t first = run.text().first_block();
  StoredBlocks before(volume.volume(), file, slot);
  if (saves_blocks) {
    if (const Result<void> done = before.read(first, run.text().blocks()); !done) {
      return done.error();
    }
  }
  const WriteOutcome written = slot.write(
      volume.backing(), before.change(first, run.sealed(), layout.stored_length(length)));
  if (written.result) {
    return run.text().bytes.size();
  }
  const std::size_t whole = written.bytes / layout.stride();
  if (written.bytes % layout.stride() != 0) {
    before.put_back(first + whole);
  }
  if (whole == 0) {
    return written.result.error();
  }
  return whole * block_bytes;
}

// Whether writing into the file's blocks may take room. The number of allocated blocks can only say
// that there are holes: it counts room beyond the end, too, and what the file system has for
// itself. A file system that does not know its holes is one that takes this number for all there is
// to say.
bool has_holes(const Backing& backing, FileRef file, const struct stat& status) {
  constexpr std::uint64_t unit_bytes = 512;  // of st_blocks, on every file system
  const auto bytes = static_cast<std::uint64_t>(status.st_size);
  if (bytes == 0) {
    return false;
  }
  if (static_cast<std::uint64_t>(status.st_blocks) * unit_bytes < bytes) {
    return true;
  }
  const Result<std::uint64_t> hole = backing.next_hole(file, 0);
  return !hole || *hole < bytes;
}

}  // namespace

Result<WritableFile> WritableFile::open(WritableVolume& volume, Descriptor descriptor) {
  const Result<struct stat> status = volume.backing().status(descriptor);
  if (!status) {
    return status.error();
  }
  if (!S_ISREG(status->st_mode)) {
    return Errno(EINVAL);
  }
  std::shared_ptr<OpenFile> shared = volume.open_files().of(*status);
  // Whoever opens the file looks by themselves: whoever shares it may not have looked yet.
  if (!volume.saves_all_blocks() && !shared->may_have_holes() &&
      has_holes(volume.backing(), descriptor, *status)) {
    shared->note_holes();
  }
  std::unique_ptr<WrittenFiles::File> written;
  if (!volume.whole_sync().covers(*status)) {
    written = std::make_unique<WrittenFiles::File>(volume.written_files(), descriptor, *status);
  }
  return WritableFile(volume, std::move(descriptor), std::move(shared), std::move(written));
}

Result<std::uint64_t> WritableFile::length() const {
  // Who writes beyond the end fills up the last block first.
  const BlockLocks::Lock lock = shared_->locks().to_read(no_block);
  return locked_length();
}

Result<std::uint64_t> WritableFile::locked_length() const {
  const Result<struct stat> status = volume_->backing().status(descriptor());
  if (!status) {
    return status.error();
  }
  return volume_->volume().content().layout().text_length(
      static_cast<std::uint64_t>(status->st_size));
}

Result<std::size_t> WritableFile::read(std::uint64_t offset, MutableBytes into,
                                       std::string_view path) const {
  if (into.empty() || offset >= max_text_length(volume_->volume().content().layout())) {
    return std::size_t{0};
  }
  const BlockLocks::Lock lock = shared_->locks().to_read(blocks_of(offset, into.size()));
  return file_.read(offset, into, path);
}

std::optional<FileId> WritableFile::known_id() const {
  if (std::optional<FileId> known = shared_->id(); known) {
    return known;
  }
  const BlockLocks::Lock lock = shared_->locks().to_read(no_block);
  // One byte more than a header: a file that has only that has no text, and gets a new id.
  std::array<std::uint8_t, vault::header_bytes + 1> read;
  const Result<std::size_t> bytes = volume_->backing().read(descriptor(), 0, read);
  FileId id{};
  if (!bytes || *bytes < read.size() ||
      !vault::parse_header(Bytes(read).first(vault::header_bytes), id)) {
    return std::nullopt;
  }
  shared_->set_id(id);
  return id;
}

Result<std::size_t> WritableFile::write(std::uint64_t offset, Bytes text, std::string_view path) {
  const std::uint64_t max = max_text_length(volume_->volume().content().layout());
  if (!text.empty() && offset >= max) {
    return Errno(EFBIG);
  }
  text = text.first(static_cast<std::size_t>(std::min<std::uint64_t>(text.size(), max - offset)));
  std::size_t done = 0;
  while (done < text.size()) {
    const auto skip = static_cast<std::size_t>((offset + done) % block_bytes);
    const Bytes run = text.subspan(done, std::min(text.size() - done, max_request_bytes - skip));
    const Result<std::size_t> written = write_run(offset + done, run, path);
    note_write();
    if (!written) {
      return done > 0 ? Result<std::size_t>(done) : written;
    }
    done += *written;
    if (*written < run.size()) {
      break;
    }
  }
  return done;
}

Result<std::size_t> WritableFile::write_run(std::uint64_t offset, Bytes text,
                                            std::string_view path) {
  PendingWrites::Slot slot = volume_->pending().take();
  SealedRun run(volume_->volume().content(), volume_->ahead(), slot.run_room(), {offset, text});
  const std::optional<FileId> known = known_id();
  const SealedForId sealed_for{known ? *known : random_id(), !known};
  run.seal_whole(sealed_for.id);
  if (known && offset % block_bytes == 0) {
    const BlockLocks::Lock lock = shared_->locks().to_change(blocks_of(offset, text.size()));
    const PendingWrites::DoneAtEnd done_at_end(slot);
    const Result<std::uint64_t> now = locked_length();
    if (!now) {
      return now.error();
    }
    const std::uint64_t end = run.text().end();
    const bool is_whole = end % block_bytes == 0;
    if (shared_->id() == known && end <= *now && (is_whole || end == *now)) {
      if (!is_whole) {
        std::size_t begin = 0;
        const std::size_t last = run.text().blocks() - 1;
        run.seal(last, *known, run.part(last, begin));
      }
      return write_in_place(*volume_, slot, descriptor(), *now,
                            volume_->saves_all_blocks() || shared_->may_have_holes(), run);
    }
  }
  const BlockLocks::Lock lock = shared_->locks().to_change(whole_file);
  const PendingWrites::DoneAtEnd done_at_end(slot);
  ContentChange change(*volume_, slot, descriptor(), *shared_, path);
  return change.begin().and_then([&] { return change.write(run, sealed_for); });
}

Result<void> WritableFile::set_length(std::uint64_t bytes, std::string_view path) {
  if (bytes > max_text_length(volume_->volume().content().layout())) {
    return Errno(EFBIG);
  }
  PendingWrites::Slot slot = volume_->pending().take();
  const BlockLocks::Lock lock = shared_->locks().to_change(whole_file);
  const PendingWrites::DoneAtEnd done_at_end(slot);
  ContentChange change(*volume_, slot, descriptor(), *shared_, path);
  const Result<void> set = bytes == 0
                               ? change.empty()  // also of text that is damaged
                               : change.begin().and_then([&] { return change.set_length(bytes); });
  note_write();
  return set;
}

Result<void> WritableFile::allocate(int mode, std::uint64_t offset, std::uint64_t bytes,
                                    std::string_view path) {
  const BlockLayout layout = volume_->volume().content().layout();
  const std::uint64_t max = max_text_length(layout);
  if (bytes == 0) {
    return Errno(EINVAL);
  }
  if (offset > max || bytes > max - offset) {
    return Errno(EFBIG);
  }
  const std::uint64_t end = offset + bytes;
  const bool keeps_size = (mode & FALLOC_FL_KEEP_SIZE) != 0;
  const int what = mode & ~FALLOC_FL_KEEP_SIZE;
  if ((what != 0 && what != FALLOC_FL_ZERO_RANGE && what != FALLOC_FL_PUNCH_HOLE) ||
      (what == FALLOC_FL_PUNCH_HOLE && !keeps_size)) {
    return Errno(EOPNOTSUPP);
  }
  PendingWrites::Slot slot = volume_->pending().take();
  const BlockLocks::Lock lock = shared_->locks().to_change(whole_file);
  const PendingWrites::DoneAtEnd done_at_end(slot);
  ContentChange change(*volume_, slot, descriptor(), *shared_, path);
  if (const Result<void> done = change.begin(); !done) {
    return done;
  }
  Result<void> made;
  if (what == 0) {
    const std::uint64_t first = offset / block_bytes;
    const std::uint64_t begin = first == 0 ? 0 : layout.offset_of(first);
    made = volume_->backing().allocate(descriptor(), FALLOC_FL_KEEP_SIZE, begin,
                                       layout.stored_length(end) - begin);
  } else {
    made = change.zero(offset, end, what | FALLOC_FL_KEEP_SIZE);
  }
  note_write();
  if (!made || keeps_size || end <= change.length()) {
    return made;
  }
  ContentChange growth(*volume_, slot, descriptor(), *shared_, path);
  const Result<void> grown = growth.begin().and_then([&] { return growth.set_length(end); });
  note_write();
  return grown;
}

Result<void> WritableFile::sync(bool data_only) {
  return volume_->unsynced().sync().and_then([&] {
    return written_ != nullptr ? written_->sync(data_only)
                               : volume_->backing().sync(descriptor(), data_only);
  });
}

Result<std::size_t> copy_range(const WritableFile& from, std::uint64_t from_offset,
                               std::string_view from_path, WritableFile& to,
                               std::uint64_t to_offset, std::string_view to_path,
                               std::size_t bytes) {
  constexpr auto end = std::uint64_t{std::numeric_limits<std::int64_t>::max()};
  if (from_offset > end || to_offset > end || bytes > end - std::max(from_offset, to_offset)) {
    return Errno(EFBIG);
  }
  if (from.shares_file_with(to) && from_offset < to_offset + bytes &&
      to_offset < from_offset + bytes) {
    return Errno(EINVAL);
  }
  thread_local std::vector<std::uint8_t> buffer(max_request_bytes);
  const WipeOnExit wiped(MutableBytes(buffer).first(std::min(bytes, buffer.size())));
  std::size_t done = 0;
  while (done < bytes) {
    const auto skip = static_cast<std::size_t>((to_offset + done) % block_bytes);
    const MutableBytes part(buffer.data(), std::min(bytes - done, max_request_bytes - skip));
    const Result<std::size_t> read = from.read(from_offset + done, part, from_path);
    if (!read || *read == 0) {
      return done > 0 || read ? Result<std::size_t>(done) : read;
    }
    const Result<std::size_t> written = to.write(to_offset + done, part.first(*read), to_path);
    if (!written) {
      return done > 0 ? Result<std::size_t>(done) : written;
    }
    done += *written;
    if (*written < part.size()) {
      break;
    }
  }
  return done;
}

}  // namespace paes::volume
