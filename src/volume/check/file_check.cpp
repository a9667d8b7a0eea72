// SPDX-License-Identifier: Apache-2.0
#include "volume/check/file_check.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>
#include <memory>

namespace paes::volume {

namespace {

using vault::BlockLayout;
using vault::header_bytes;

// What a thread reads at once. Both buffers stay in the second cache of a processor.
constexpr std::uint64_t run_blocks = 64;
constexpr std::size_t opened_at_once = 16;
// So many runs of damaged blocks of one file are named; more are counted.
constexpr std::size_t max_named = 100;

struct Buffers {
  std::array<std::uint8_t, header_bytes + run_blocks * vault::max_sealed_block_bytes> sealed;
  std::array<std::uint8_t, opened_at_once * vault::block_bytes> text;
};

Buffers& buffers() {
  thread_local const auto own = std::make_unique_for_overwrite<Buffers>();
  return *own;
}

std::string blocks_text(const Range& blocks) {
  return blocks.count() == 1 ? "block " + std::to_string(blocks.first) + " is not authentic"
                             : "blocks " + std::to_string(blocks.first) + " to " +
                                   std::to_string(blocks.end - 1) + " are not authentic";
}

bool equal(const struct timespec& a, const struct timespec& b) noexcept {
  return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

}  // namespace

std::uint64_t FileCheck::text_bytes() const noexcept {
  return volume_->content().layout().text_length(static_cast<std::uint64_t>(status_.st_size));
}

std::uint64_t FileCheck::text_bytes(Range blocks) const noexcept {
  return std::min(text_bytes(), blocks.end * vault::block_bytes) -
         blocks.first * vault::block_bytes;
}

std::size_t FileCheck::sealed_bytes(Range blocks) const noexcept {
  const BlockLayout layout = volume_->content().layout();
  const std::uint64_t end =
      std::min(static_cast<std::uint64_t>(status_.st_size), layout.offset_of(blocks.end));
  return static_cast<std::size_t>(end - layout.offset_of(blocks.first));
}

std::uint64_t FileCheck::begin() {
  const BlockLayout layout = volume_->content().layout();
  const auto stored = static_cast<std::uint64_t>(status_.st_size);
  if (stored == 0) {
    return 0;
  }
  const std::uint64_t content = stored - std::min<std::uint64_t>(stored, header_bytes);
  const std::uint64_t rest = content % layout.stride();
  const bool is_cut = rest > 0 && rest <= layout.overhead();
  blocks_ = content / layout.stride() + (rest > layout.overhead() ? 1 : 0);
  const Range first{0, std::min(blocks_, run_blocks)};
  const MutableBytes buffer = buffers().sealed;
  const Backing& backing = volume_->backing();
  Result<std::size_t> bytes = backing.read(
      descriptor(), 0, buffer.first(header_bytes + (first.is_empty() ? 0 : sealed_bytes(first))));
  const bool has_read_blocks = static_cast<bool>(bytes);
  if (bytes.failed_with(EIO)) {
    bytes = backing.read(descriptor(), 0, buffer.first(header_bytes));
  }
  if (!bytes) {
    note(0, "the header cannot be read", bytes.error());
    return 0;
  }
  if (*bytes < header_bytes) {
    note(0, "the header is cut short");
    return 0;
  }
  // A header alone has no text: whoever writes next makes a new one.
  if (content == 0) {
    return 0;
  }
  if (!vault::parse_header(buffer.first(header_bytes), id_)) {
    note(0, "the header is damaged");
    return 0;
  }
  if (is_cut) {
    note(blocks_ + 1, "block " + std::to_string(blocks_) + " is cut short");
  }
  runs_ = blocks_ == 0 ? 0 : (blocks_ - 1) / run_blocks;
  if (has_read_blocks) {
    check(first, buffer.subspan(header_bytes, *bytes - header_bytes));
  } else {
    read_and_check(first);
  }
  return text_bytes(first);
}

Range FileCheck::blocks_of_runs(Range runs) const noexcept {
  return {std::min(blocks_, runs.first * run_blocks), std::min(blocks_, runs.end * run_blocks)};
}

FileCheck::Step FileCheck::check_next() {
  const std::uint64_t run = next_run_.fetch_add(1);
  if (run > runs_) {
    return {};
  }
  const Range blocks = blocks_of_runs({run, run + 1});
  const std::uint64_t first = after_hole(blocks.first);
  Step step{1, text_bytes(blocks)};
  if (first < blocks.end) {
    read_and_check({first, blocks.end});
    return step;
  }
  // A hole may have any length, so nobody looks at each of its runs.
  const Range skipped = skip_to(first == blocks_ ? runs_ + 1 : first / run_blocks);
  if (!skipped.is_empty()) {
    step.runs += skipped.count();
    step.text_bytes += text_bytes(blocks_of_runs(skipped));
  }
  return step;
}

Range FileCheck::skip_to(std::uint64_t run) noexcept {
  std::uint64_t next = next_run_.load();
  while (next < run) {
    if (next_run_.compare_exchange_weak(next, run)) {
      return {next, run};
    }
  }
  return {run, run};
}

std::uint64_t FileCheck::after_hole(std::uint64_t block) const {
  constexpr std::uint64_t status_block_bytes = 512;  // stat(2)
  const auto stored = static_cast<std::uint64_t>(status_.st_size);
  if (static_cast<std::uint64_t>(status_.st_blocks) * status_block_bytes >= stored) {
    return block;
  }
  const BlockLayout layout = volume_->content().layout();
  const Result<std::uint64_t> data =
      volume_->backing().next_data(descriptor(), layout.offset_of(block));
  if (!data && !data.failed_with(ENXIO)) {
    return block;
  }
  // A short last block of zeros is no hole.
  const std::uint64_t end = std::min(data ? *data : stored, stored);
  const std::uint64_t whole = end < header_bytes ? 0 : (end - header_bytes) / layout.stride();
  return std::clamp(whole, block, blocks_);
}

void FileCheck::read_and_check(Range blocks) {
  if (blocks.is_empty()) {
    return;
  }
  const MutableBytes sealed = MutableBytes(buffers().sealed).first(sealed_bytes(blocks));
  const std::uint64_t offset = volume_->content().layout().offset_of(blocks.first);
  const Result<std::size_t> bytes = volume_->backing().read(descriptor(), offset, sealed);
  if (bytes) {
    check(blocks, sealed.first(*bytes));
    return;
  }
  // Which of them cannot be read?
  if (bytes.failed_with(EIO) && blocks.count() > 1) {
    for (std::uint64_t block = blocks.first; block < blocks.end; ++block) {
      read_and_check({block, block + 1});
    }
    return;
  }
  note(blocks.first + 1, "block " + std::to_string(blocks.first) + " cannot be read",
       bytes.error());
}

void FileCheck::check(Range blocks, Bytes sealed) {
  const BlockLayout layout = volume_->content().layout();
  const MutableBytes text = buffers().text;
  // If there is less than was asked for, the file has just been cut.
  for (std::uint64_t block = blocks.first; block < blocks.end && !sealed.empty();) {
    const std::size_t bytes = std::min(sealed.size(), opened_at_once * layout.stride());
    const std::size_t rest = bytes % layout.stride();
    if (bytes < layout.stride() && rest <= layout.overhead()) {
      note_damaged(block);
      return;
    }
    const bool has_short = rest > layout.overhead();
    const std::size_t whole = bytes / layout.stride();
    const std::size_t count = whole + (has_short ? 1 : 0);
    const std::size_t text_bytes =
        whole * vault::block_bytes + (has_short ? rest - layout.overhead() : 0);
    const std::size_t used = has_short ? bytes : whole * layout.stride();
    std::size_t opened = vault::open_blocks(volume_->content(), id_, block, sealed.first(used),
                                            text.first(text_bytes));
    if (opened < count) {
      note_damaged(block + opened);
      ++opened;
    }
    block += opened;
    sealed = sealed.subspan(std::min(sealed.size(), opened * layout.stride()));
  }
}

void FileCheck::note_damaged(std::uint64_t block) {
  const std::lock_guard lock(mutex_);
  if (!damaged_.empty() && damaged_.back().end == block) {
    ++damaged_.back().end;
  } else if (damaged_.size() < max_named) {
    damaged_.push_back({block, block + 1});
  } else {
    ++more_damaged_;
  }
}

void FileCheck::note(std::uint64_t order, std::string what, std::optional<Errno> error) {
  if (error) {
    what += ": " + error->message();
  }
  const std::lock_guard lock(mutex_);
  if (noted_.size() < max_named) {
    noted_.push_back({order, {std::move(what), error}});
  }
}

std::vector<FileFault> FileCheck::faults() {
  std::vector<NotedFault> all = std::move(noted_);
  noted_.clear();
  std::sort(damaged_.begin(), damaged_.end(),
            [](const Range& a, const Range& b) { return a.first < b.first; });
  for (std::size_t i = 0; i < damaged_.size();) {
    Range blocks = damaged_[i];
    for (++i; i < damaged_.size() && damaged_[i].first == blocks.end; ++i) {
      blocks.end = damaged_[i].end;
    }
    all.push_back({blocks.first + 1, {blocks_text(blocks)}});
  }
  if (more_damaged_ != 0) {
    all.push_back(
        {blocks_ + 2, {std::to_string(more_damaged_) + " more blocks are not authentic"}});
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const NotedFault& a, const NotedFault& b) { return a.order < b.order; });
  std::vector<FileFault> faults;
  faults.reserve(all.size());
  for (NotedFault& noted : all) {
    faults.push_back(std::move(noted.fault));
  }
  return faults;
}

std::optional<struct stat> FileCheck::status_if_changed() const {
  if (damaged_.empty() && noted_.empty()) {
    return std::nullopt;
  }
  const Result<struct stat> now = volume_->backing().status(descriptor());
  if (!now) {
    return std::nullopt;
  }
  // Some file systems count time in steps, so that a second change in one step does not show.
  constexpr time_t step_s = 2;
  const bool has_changed =
      now->st_size != status_.st_size || !equal(now->st_mtim, status_.st_mtim) ||
      !equal(now->st_ctim, status_.st_ctim) || std::time(nullptr) - now->st_mtim.tv_sec < step_s;
  return has_changed ? std::optional(*now) : std::nullopt;
}

}  // namespace paes::volume
