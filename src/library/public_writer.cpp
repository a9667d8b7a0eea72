// SPDX-License-Identifier: Apache-2.0
// The public header's Writer: each write is a transfer of whole chunks from the caller's memory
// into the new file.
#include <algorithm>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "core/forks.hpp"
#include "core/refuse.hpp"
#include "core/secret.hpp"
#include "library/file_work.hpp"
#include "stream/container/written_chunks.hpp"
#include "stream/transfer/memory_ends.hpp"

namespace paes {

static_assert(file_chunk_bytes == cobblestone::chunk_text_bytes);

struct PAES_HIDDEN Writer::State {
  enum class Order { unknown, in_order, anywhere };

  State(std::unique_ptr<stream::Output> file, Write write, const SealFor& seal_for,
        const FileOptions& options)
      : output(std::move(file)),
        callback(std::move(write), "the caller's file"),
        warn(options.warn),
        work(options),
        payload(stream::payload_for(seal_for, work.for_items(1, 1))),
        layout(stream::sealing_layout(payload.offset, std::nullopt, work.for_items(1, 1))),
        transform(stream::sealing(*payload.cipher)),
        buffers(layout, transform.device),
        kept(file_chunk_bytes) {
    refuse(!output && !callback.is_there(), "writer: there is no function to write the file with");
    // A callback may fork: the child returns from it, and must not seal the rest.
    transform.run = [this, run = std::move(transform.run)](stream::Buffer& buffer) {
      check_process();
      run(buffer);
    };
    sink().write_at(0, Bytes(payload.head));
  }

  [[nodiscard]] stream::Sink& sink() {
    return output ? static_cast<stream::Sink&>(*output) : callback;
  }

  // A child and its parent would seal different texts under the same nonces. Before the mutex,
  // which a thread of the parent's may hold.
  void check_process() const {
    if (!mark.is_intact()) {
      throw Error(ErrorCode::failure, "writer: a forked child cannot use its parent's");
    }
  }

  // With the mutex. After a failure the file has a gap that nobody may fill.
  void check_usable() const {
    if (has_failed) {
      throw Error(ErrorCode::failure, "writer: an earlier call failed");
    }
    refuse(is_committed, "writer: is committed");
  }

  // With the mutex. `part_bytes`: how much of the last of them there is, if the text ends within
  // it.
  void claim(Range chunks, std::optional<std::size_t> part_bytes) {
    const bool with_last = part_bytes.has_value();
    stream::check_chunk_limit(sink().name(), chunks.end + (with_last ? 0 : 1));
    check_usable();
    const bool is_new = written.claim(chunks, with_last);
    refuse(!is_new, "writer: a chunk is written already, or lies after the end of the text",
           "each chunk is written once");
    if (with_last) {
      last_bytes = *part_bytes;
    }
    ++calls;
  }

  // The same for chunks that nobody has claimed yet. `part_bytes` as in claim.
  void claim_and_seal(Range chunks, Bytes text, std::optional<std::size_t> part_bytes) {
    check_process();
    {
      const std::lock_guard lock(mutex);
      claim(chunks, part_bytes);
    }
    seal(chunks, text);
  }

  // Seals the text into these chunks, which the caller has claimed.
  void seal(Range chunks, Bytes text) {
    const std::uint64_t offset = chunks.first * file_chunk_bytes;
    stream::Layout here = layout;
    here.total_bytes = offset + text.size();
    bool is_sealed = false;
    try {
      stream::Work how = work.for_items(chunks.count(), here.items_a_buffer);
      how.buffers = &buffers;
      stream::MemorySource source(text, offset, sink().name());
      (void)stream::transfer(source, &sink(), here, transform, chunks, how);
      is_sealed = true;
    } catch (...) {
      end_call(is_sealed);
      throw;
    }
    end_call(is_sealed);
  }

  void end_call(bool is_sealed) {
    const std::lock_guard lock(mutex);
    --calls;
    has_failed = has_failed || !is_sealed;
  }

  // Every call but commit belongs to one of two ways to write.
  void take_order(Order wanted) {
    check_process();
    const std::lock_guard lock(mutex);
    check_usable();
    refuse(order != Order::unknown && order != wanted,
           "writer: write and write_at do not go together");
    order = wanted;
  }

  void write(Bytes text) {
    take_order(Order::in_order);
    const std::size_t more =
        std::min(text.size(), kept_bytes == 0 ? 0 : file_chunk_bytes - kept_bytes);
    keep(text.first(more));
    text = text.subspan(more);
    if (kept_bytes == file_chunk_bytes) {
      seal_next(kept);
      kept_bytes = 0;
    }
    const std::size_t whole = text.size() / file_chunk_bytes * file_chunk_bytes;
    if (whole != 0) {
      seal_next(text.first(whole));
    }
    keep(text.subspan(whole));
  }

  void keep(Bytes text) noexcept {
    if (!text.empty()) {
      std::memcpy(kept.data() + kept_bytes, text.data(), text.size());
      kept_bytes += text.size();
    }
  }

  // Whole chunks.
  void seal_next(Bytes text) {
    const std::uint64_t end = next_chunk + text.size() / file_chunk_bytes;
    claim_and_seal({next_chunk, end}, text, std::nullopt);
    next_chunk = end;
  }

  void write_at(std::uint64_t offset, Bytes text) {
    if (!sink().is_seekable()) {
      throw Error(ErrorCode::usage, "writer: " + sink().name() + " is written in order");
    }
    if (offset % file_chunk_bytes != 0) {
      throw Error(ErrorCode::usage,
                  "writer: offset " + std::to_string(offset) + " is not where a chunk begins");
    }
    take_order(Order::anywhere);
    const std::uint64_t first = offset / file_chunk_bytes;
    const std::uint64_t end = first + (text.size() + file_chunk_bytes - 1) / file_chunk_bytes;
    const std::size_t part_bytes = text.size() % file_chunk_bytes;
    if (first != end) {
      claim_and_seal({first, end}, text,
                     part_bytes != 0 ? std::optional(part_bytes) : std::nullopt);
    }
  }

  std::uint64_t commit() {
    const std::uint64_t text_bytes = seal_last();
    if (output) {
      output->commit(stream::Extent{payload.offset, text_bytes}.file_bytes());
      stream::warn_of(*output, warn);
    }
    return text_bytes;
  }

  // Ends the writing, unless it is refused. Gives back the length of the text.
  std::uint64_t seal_last() {
    check_process();
    const Bytes last = Bytes(kept).first(kept_bytes);
    Range chunks;
    {
      const std::lock_guard lock(mutex);
      check_usable();
      refuse(calls != 0, "writer: commit while another call is writing");
      const std::optional<std::uint64_t> count = written.count();
      refuse(!count, "writer: a chunk is missing before the end of the text");
      if (written.has_last()) {
        is_committed = true;
        return (*count - 1) * file_chunk_bytes + last_bytes;
      }
      chunks = {*count, *count + 1};
      claim(chunks, last.size());
      is_committed = true;
    }
    seal(chunks, last);
    return chunks.first * file_chunk_bytes + last.size();
  }

  std::unique_ptr<stream::Output> output;  // or the callback
  stream::CallbackSink callback;
  std::function<void(const std::string&)> warn;
  stream::WorkMaker work;
  stream::NewPayload payload;
  stream::Layout layout;
  stream::Transform transform;
  stream::BufferPool buffers;

  const ForkMark mark;
  std::mutex mutex;  // guards the next six
  Order order = Order::unknown;
  stream::WrittenChunks written;
  std::size_t last_bytes = 0;  // how many the last chunk has, once it is claimed
  unsigned calls = 0;          // that are sealing
  bool has_failed = false;
  bool is_committed = false;  // or is being committed

  // of write
  std::uint64_t next_chunk = 0;
  SecretBytes kept;  // the beginning of that chunk
  std::size_t kept_bytes = 0;
};

Writer::Writer(const std::string& path, const SealFor& seal_for, const FileOptions& options)
    : state_(
          std::make_unique<State>(stream::output_for(path, nullptr, true, options, options.cancel),
                                  nullptr, seal_for, options)) {}
Writer::Writer(Write write, const SealFor& seal_for, const FileOptions& options)
    : state_(std::make_unique<State>(nullptr, std::move(write), seal_for, options)) {}
Writer::~Writer() = default;
Writer::Writer(Writer&&) noexcept = default;
Writer& Writer::operator=(Writer&&) noexcept = default;

void Writer::write(Bytes text) { state_->write(text); }
void Writer::write_at(std::uint64_t offset, Bytes text) { state_->write_at(offset, text); }
std::uint64_t Writer::commit() { return state_->commit(); }

}  // namespace paes
