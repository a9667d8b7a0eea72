// The public header's Writer: each write is a transfer of whole chunks from the caller's memory
// into the new file.
#include <algorithm>
#include <cstring>
#include <mutex>
#include <optional>
#include <utility>

#include "core/forks.hpp"
#include "core/secret.hpp"
#include "stream/file_work.hpp"
#include "stream/memory_ends.hpp"
#include "stream/output.hpp"
#include "stream/written_chunks.hpp"

namespace paes {

static_assert(file_chunk_bytes == cobblestone::chunk_text_bytes);

namespace {

[[noreturn]] void refuse(const std::string& what_why, const char* hint = "") {
  throw Error(ErrorCode::usage, what_why, hint);
}

stream::Output create(const std::string& path, const FileOptions& options) {
  stream::OutputOptions wanted;
  wanted.overwrite = options.overwrite;
  wanted.permissions = stream::new_file_mode();
  wanted.cancel = options.cancel;
  wanted.warn = options.warn;
  return stream::Output::create(path, wanted);
}

}  // namespace

struct PAES_HIDDEN Writer::State {
  enum class Order { unknown, in_order, anywhere };

  State(std::optional<stream::Output> file, Write write, const SealFor& seal_for,
        const FileOptions& options)
      : output(std::move(file)),
        callback(std::move(write), "the caller's file"),
        warn(options.warn),
        work(options),
        payload(stream::new_payload(seal_for, work.for_items(1, 1))),
        layout(stream::sealing_layout(payload.offset, std::nullopt, work.for_items(1, 1))),
        transform(stream::sealing(payload.cipher)),
        buffers(layout, transform.device),
        kept(file_chunk_bytes) {
    if (!output && !callback.is_there()) {
      refuse("writer: there is no function to write the file with");
    }
    sink().write_at(0, Bytes(payload.head));
  }

  [[nodiscard]] stream::Sink& sink() {
    return output ? static_cast<stream::Sink&>(*output) : callback;
  }

  // After a failure the file has a gap that nobody may fill. A child and its parent would seal
  // different texts under the same nonces.
  void check_usable() const {
    if (forks() != forks_before) {
      throw Error(ErrorCode::failure, "writer: a forked child cannot use its parent's");
    }
    if (is_over) {
      refuse("writer: is committed, or an earlier call failed");
    }
  }

  // `part_bytes`: how much of the last of them there is, if the text ends within it.
  void claim(Range chunks, std::optional<std::size_t> part_bytes) {
    const bool with_last = part_bytes.has_value();
    stream::check_chunk_limit(sink().name(), chunks.end + (with_last ? 0 : 1));
    const std::lock_guard lock(mutex);
    check_usable();
    if (!written.claim(chunks, with_last)) {
      refuse("writer: a chunk is written already, or lies after the end of the text",
             "each chunk is written once");
    }
    if (with_last) {
      last_bytes = *part_bytes;
    }
    ++calls;
  }

  // Seals the text into these chunks, which nobody has claimed yet. `part_bytes` as in claim.
  void seal(Range chunks, Bytes text, std::optional<std::size_t> part_bytes) {
    claim(chunks, part_bytes);
    const std::uint64_t offset = chunks.first * file_chunk_bytes;
    stream::Layout here = layout;
    here.total_bytes = offset + text.size();
    bool is_sealed = false;
    try {
      stream::Options options = work.for_items(chunks.count(), here.items_a_buffer);
      options.buffers = &buffers;
      stream::MemorySource source(text, offset, sink().name());
      (void)stream::transfer(source, &sink(), here, transform, chunks, options);
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
    is_over = is_over || !is_sealed;
  }

  // Every call but commit belongs to one of two ways to write.
  void take_order(Order wanted) {
    const std::lock_guard lock(mutex);
    check_usable();
    if (order != Order::unknown && order != wanted) {
      refuse("writer: write and write_at do not go together");
    }
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
    seal({next_chunk, end}, text, std::nullopt);
    next_chunk = end;
  }

  void write_at(std::uint64_t offset, Bytes text) {
    if (!sink().is_seekable()) {
      refuse("writer: " + sink().name() + " is written in order");
    }
    if (offset % file_chunk_bytes != 0) {
      refuse("writer: offset " + std::to_string(offset) + " is not where a chunk begins");
    }
    take_order(Order::anywhere);
    const std::uint64_t first = offset / file_chunk_bytes;
    const std::uint64_t end = first + (text.size() + file_chunk_bytes - 1) / file_chunk_bytes;
    const std::size_t part_bytes = text.size() % file_chunk_bytes;
    if (first != end) {
      seal({first, end}, text, part_bytes != 0 ? std::optional(part_bytes) : std::nullopt);
    }
  }

  std::uint64_t commit() {
    const std::uint64_t text_bytes = seal_last();
    {
      const std::lock_guard lock(mutex);
      is_over = true;
    }
    if (output) {
      output->commit(stream::Extent{payload.offset, text_bytes}.file_bytes());
      if (warn != nullptr && !output->warning().empty()) {
        warn(output->warning());
      }
    }
    return text_bytes;
  }

  // Gives back the length of the text.
  std::uint64_t seal_last() {
    std::optional<std::uint64_t> chunks;
    {
      const std::lock_guard lock(mutex);
      check_usable();
      if (calls != 0) {
        refuse("writer: commit while another call is writing");
      }
      chunks = written.count();
      if (!chunks) {
        refuse("writer: a chunk is missing before the end of the text");
      }
      if (written.has_last()) {
        is_over = true;
        return (*chunks - 1) * file_chunk_bytes + last_bytes;
      }
    }
    const Bytes last = Bytes(kept).first(kept_bytes);
    seal({*chunks, *chunks + 1}, last, last.size());
    return *chunks * file_chunk_bytes + last.size();
  }

  std::optional<stream::Output> output;  // or the callback
  stream::CallbackSink callback;
  std::function<void(const std::string&)> warn;
  stream::FileWork work;
  stream::NewPayload payload;
  stream::Layout layout;
  stream::Transform transform;
  stream::BufferPool buffers;

  const std::uint32_t forks_before = count_forks();
  std::mutex mutex;  // guards the next five
  Order order = Order::unknown;
  stream::WrittenChunks written;
  std::size_t last_bytes = 0;  // how many the last chunk has, once it is claimed
  unsigned calls = 0;          // that are sealing
  bool is_over = false;

  // of write
  std::uint64_t next_chunk = 0;
  SecretBytes kept;  // the beginning of that chunk
  std::size_t kept_bytes = 0;
};

Writer::Writer(const std::string& path, const SealFor& seal_for, const FileOptions& options)
    : state_(std::make_unique<State>(create(path, options), nullptr, seal_for, options)) {}
Writer::Writer(Write write, const SealFor& seal_for, const FileOptions& options)
    : state_(std::make_unique<State>(std::nullopt, std::move(write), seal_for, options)) {}
Writer::~Writer() = default;
Writer::Writer(Writer&&) noexcept = default;
Writer& Writer::operator=(Writer&&) noexcept = default;

void Writer::write(Bytes text) { state_->write(text); }
void Writer::write_at(std::uint64_t offset, Bytes text) { state_->write_at(offset, text); }
std::uint64_t Writer::commit() { return state_->commit(); }

}  // namespace paes
