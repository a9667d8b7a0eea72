// SPDX-License-Identifier: Apache-2.0
#include "volume/read/volume_file.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <limits>
#include <vector>

namespace paes::volume {

namespace {

using vault::block_bytes;
using vault::BlockLayout;
using vault::FileId;
using vault::header_bytes;

// What one call of the system reads at once, as text.
constexpr std::size_t max_run_bytes = std::size_t{1} << 20;

// Where sealed blocks lie between the system and their opening. Each thread keeps its own, because
// to map a mebibyte anew for each read costs more than to fill it.
MutableBytes sealed_buffer(std::size_t bytes) {
  thread_local std::vector<std::uint8_t> buffer;
  if (buffer.size() < bytes) {
    buffer.resize(bytes);
  }
  return {buffer.data(), bytes};
}

// Consecutive blocks of one file, and what of their text is wanted.
struct Run {
  const vault::ContentKey& key;
  const FileId& id;
  std::uint64_t first_block;
  std::size_t skip;  // bytes of the first block's text that nobody wants
};

// How a run was opened: how much text there is, or which block is damaged.
struct OpenedRun {
  std::size_t text_bytes = 0;
  std::optional<std::uint64_t> damaged_block;
};

// Whole blocks are opened where their text is wanted. A block of which only a part is wanted is
// opened aside.
class RunOpener {
 public:
  RunOpener(const Run& run, Bytes sealed, MutableBytes into)
      : run_(run), layout_(run.key.layout()), sealed_(sealed), into_(into) {}

  [[nodiscard]] OpenedRun open() {
    if ((run_.skip == 0 || open_part(run_.skip)) && open_whole()) {
      (void)(into_.empty() || sealed_.empty() || open_part(0));
    }
    return {text_bytes_, damaged_block_};
  }

 private:
  [[nodiscard]] std::uint64_t next_block() const noexcept { return run_.first_block + blocks_; }

  void advance(std::size_t blocks, std::size_t sealed_bytes, std::size_t text_bytes) noexcept {
    blocks_ += blocks;
    sealed_ = sealed_.subspan(sealed_bytes);
    into_ = into_.subspan(text_bytes);
    text_bytes_ += text_bytes;
  }

  // One block, whose text from `skip` on is wanted as far as there is room. False if it is damaged.
  [[nodiscard]] bool open_part(std::size_t skip) {
    const std::size_t sealed_bytes = std::min(sealed_.size(), layout_.stride());
    if (sealed_bytes == 0) {
      return true;
    }
    std::array<std::uint8_t, block_bytes> text;
    if (sealed_bytes <= layout_.overhead()) {
      damaged_block_ = next_block();
      return false;
    }
    const std::size_t bytes = sealed_bytes - layout_.overhead();
    if (!vault::open_block(run_.key, {next_block(), &run_.id}, sealed_.first(sealed_bytes),
                           MutableBytes(text).first(bytes))) {
      damaged_block_ = next_block();
      return false;
    }
    const std::size_t wanted = std::min(bytes - std::min(bytes, skip), into_.size());
    std::memcpy(into_.data(), text.data() + std::min(bytes, skip), wanted);
    advance(1, sealed_bytes, wanted);
    return true;
  }

  // All blocks whose whole text has room. False if one of them is damaged.
  [[nodiscard]] bool open_whole() {
    const std::size_t stride = std::max(layout_.stride(), block_bytes);  // never 0
    std::size_t count = std::min(sealed_.size() / stride, into_.size() / block_bytes);
    std::size_t sealed_bytes = count * layout_.stride();
    std::size_t text_bytes = count * block_bytes;
    const std::size_t rest = sealed_.size() - sealed_bytes;
    if (rest > layout_.overhead() && rest < layout_.stride() &&
        rest - layout_.overhead() <= into_.size() - text_bytes) {
      ++count;
      sealed_bytes += rest;
      text_bytes += rest - layout_.overhead();
    }
    if (count == 0) {
      return true;
    }
    const std::size_t opened = vault::open_blocks(
        run_.key, run_.id, next_block(), sealed_.first(sealed_bytes), into_.first(text_bytes));
    if (opened != count) {
      damaged_block_ = next_block() + opened;
      return false;
    }
    advance(count, sealed_bytes, text_bytes);
    return true;
  }

  const Run& run_;
  BlockLayout layout_;
  Bytes sealed_;       // what is not yet opened
  MutableBytes into_;  // where the text of that goes
  std::size_t blocks_ = 0;
  std::size_t text_bytes_ = 0;
  std::optional<std::uint64_t> damaged_block_;
};

}  // namespace

Result<std::size_t> File::read(std::uint64_t offset, MutableBytes into,
                               std::string_view path) const {
  const std::uint64_t end = max_text_length(volume_->content().layout());
  if (offset >= end) {
    return std::size_t{0};
  }
  into = into.first(static_cast<std::size_t>(std::min<std::uint64_t>(into.size(), end - offset)));
  std::size_t done = 0;
  while (done < into.size()) {
    const std::size_t run_bytes = max_run_bytes - (offset + done) % block_bytes;
    const MutableBytes run = into.subspan(done, std::min(into.size() - done, run_bytes));
    const Result<std::size_t> bytes = read_run(offset + done, run, path);
    if (!bytes) {
      return bytes;
    }
    done += *bytes;
    if (*bytes < run.size()) {
      break;
    }
  }
  return done;
}

Result<std::size_t> File::read_run(std::uint64_t offset, MutableBytes into,
                                   std::string_view path) const {
  const Backing& backing = volume_->backing();
  const BlockLayout layout = volume_->content().layout();
  const std::uint64_t first_block = offset / block_bytes;
  const std::uint64_t end_block = (offset + into.size() + block_bytes - 1) / block_bytes;
  const auto damaged = [&](std::string what) {
    volume_->report({std::string(path), std::move(what)});
    return Errno(EIO);
  };
  for (;;) {
    const std::optional<FileId> kept = kept_id();
    // The header and the first blocks take one call.
    const bool reads_header = !kept && first_block == 0;
    const std::uint64_t begin = reads_header ? 0 : layout.offset_of(first_block);
    FileId id = kept.value_or(FileId{});
    std::array<std::uint8_t, header_bytes> header;
    std::size_t header_read = header_bytes;
    if (!kept && !reads_header) {
      const Result<std::size_t> bytes = backing.read(descriptor(), 0, header);
      if (!bytes) {
        return volume_->failed(path, "the header", bytes.error());
      }
      header_read = *bytes;
    }
    const MutableBytes buffer =
        sealed_buffer(static_cast<std::size_t>(layout.offset_of(end_block) - begin));
    const Result<std::size_t> bytes = backing.read(descriptor(), begin, buffer);
    if (!bytes) {
      return volume_->failed(path, "block " + std::to_string(first_block), bytes.error());
    }
    Bytes sealed = buffer.first(*bytes);
    if (reads_header) {
      header_read = std::min(sealed.size(), header_bytes);
      std::copy_n(sealed.begin(), header_read, header.begin());
      sealed = sealed.subspan(header_read);
    }
    if (!kept && header_read > 0 && header_read < header_bytes) {
      return damaged("the header is cut short");
    }
    // A file that has only its header holds no text, and who writes next makes a new header.
    if (sealed.empty()) {
      return std::size_t{0};
    }
    if (!kept && !vault::parse_header(header, id)) {
      return damaged("the header is damaged");
    }
    const Run run{volume_->content(), id, first_block,
                  static_cast<std::size_t>(offset % block_bytes)};
    const OpenedRun opened = RunOpener(run, sealed, into).open();
    if (!opened.damaged_block) {
      if (!kept) {
        keep(id);
      }
      return opened.text_bytes;
    }
    if (kept && stale_id(id)) {
      continue;
    }
    return damaged("block " + std::to_string(*opened.damaged_block) + " is not authentic");
  }
}

std::optional<FileId> File::kept_id() const {
  const std::lock_guard lock(kept_->mutex);
  return kept_->id;
}

void File::keep(const FileId& id) const {
  const std::lock_guard lock(kept_->mutex);
  kept_->id = id;
}

bool File::stale_id(const FileId& id) const {
  std::array<std::uint8_t, header_bytes> header;
  FileId now{};
  const Result<std::size_t> bytes = volume_->backing().read(descriptor(), 0, header);
  if (!bytes || *bytes != header_bytes || !vault::parse_header(header, now) || now == id) {
    return false;
  }
  const std::lock_guard lock(kept_->mutex);
  kept_->id.reset();
  return true;
}

}  // namespace paes::volume
