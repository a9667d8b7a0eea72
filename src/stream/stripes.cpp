// The work on stripes of a run that can be continued: what is complete is looked at again and kept,
// what is not is done, and a stripe whose last piece was written goes to the journal.
#include <fcntl.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>

#include "paes/error.hpp"
#include "stream/grain.hpp"
#include "stream/resume.hpp"

namespace paes::stream {

using cobblestone::chunk_bytes;
using cobblestone::chunk_text_bytes;
using cobblestone::tag_bytes;

namespace {

// A piece is what a thread takes at a time; none crosses the end of its stripe.
struct Piece {
  std::uint64_t stripe = 0;
  ChunkRange chunks;
};

// Which pieces there are, and which stripes are done with the piece that is done now.
class StripeTable {
 public:
  StripeTable(const Extent& extent, std::uint64_t first, std::uint64_t end,
              std::size_t piece_chunks)
      : extent_(extent), first_(first), end_(end), piece_chunks_(piece_chunks) {}

  // Of every stripe as many as of a whole one: in the last some are empty.
  [[nodiscard]] std::uint64_t pieces() const { return (end_ - first_) * pieces_of(stripe_chunks); }

  [[nodiscard]] Piece piece(std::uint64_t index) const {
    const std::uint64_t stripe = first_ + index / pieces_of(stripe_chunks);
    const ChunkRange whole = extent_.of_stripes(stripe, stripe + 1);
    const std::uint64_t from =
        std::min(whole.end, whole.first + index % pieces_of(stripe_chunks) * piece_chunks_);
    return {stripe, {from, std::min(whole.end, from + piece_chunks_)}};
  }

  // True for the piece of a stripe that is written last. Holds no more than the stripes at work.
  [[nodiscard]] bool is_last_of_stripe(const Piece& piece) {
    const ChunkRange whole = extent_.of_stripes(piece.stripe, piece.stripe + 1);
    const std::lock_guard lock(mutex_);
    const auto [at, is_new] =
        pieces_left_.try_emplace(piece.stripe, pieces_of(whole.end - whole.first));
    if (--at->second != 0) {
      return false;
    }
    pieces_left_.erase(at);
    return true;
  }

 private:
  [[nodiscard]] std::uint64_t pieces_of(std::uint64_t chunks) const {
    return (chunks + piece_chunks_ - 1) / piece_chunks_;
  }

  const Extent& extent_;
  std::uint64_t first_;
  std::uint64_t end_;
  std::uint64_t piece_chunks_;
  std::mutex mutex_;
  std::map<std::uint64_t, std::uint64_t> pieces_left_;
};

std::size_t piece_chunks_of(const Options& options) {
  return std::min<std::size_t>(chunks_of_grain(options), stripe_chunks);
}

std::uint64_t text_bytes_of(const Extent& extent, ChunkRange chunks) {
  return std::min(chunks.end * chunk_text_bytes, extent.text_bytes) -
         chunks.first * chunk_text_bytes;
}

// `do_piece(piece, was_complete, batch)` for every piece that is not empty; what it has not kept
// counts towards its stripe.
template <typename DoPiece>
void for_each_piece(const StripeWork& work, std::uint64_t first, std::uint64_t end,
                    const Options& options, DoPiece&& do_piece) {
  const std::size_t piece_chunks = piece_chunks_of(options);
  StripeTable table(work.extent, first, end, piece_chunks);
  BatchPool pool(piece_chunks, {}, options.engine_use.engine);
  options.executor.for_each(static_cast<std::size_t>(table.pieces()), [&](std::size_t index) {
    check(options.cancel);
    const Piece piece = table.piece(index);
    if (piece.chunks.first == piece.chunks.end) {
      return;
    }
    const bool was_complete = work.read_written && work.journal.is_complete(piece.stripe);
    BatchPool::Loan batch(pool);
    do_piece(piece, was_complete, *batch);
    const std::uint64_t text_bytes = text_bytes_of(work.extent, piece.chunks);
    add_progress(options, text_bytes);
    if (!was_complete && table.is_last_of_stripe(piece)) {
      work.journal.complete(piece.stripe);
    }
  });
}

bool is_zero(const std::uint8_t* from, std::size_t bytes) {
  return bytes == 0 || (from[0] == 0 && std::memcmp(from, from + 1, bytes - 1) == 0);
}

// Whether one chunk of a batch of ciphertext is authentic.
bool is_authentic(const ChunkCipher& cipher, Batch& batch, std::size_t index, std::size_t bytes) {
  Batch one(1);
  std::memcpy(one.chunk(0), batch.chunk(index), bytes);
  one.first_chunk = batch.first_chunk + index;
  one.chunks = 1;
  one.bytes = bytes;
  return cipher.verify(one).empty();
}

// Of an unfinished stripe every byte that is there must be what is written now: then no nonce has
// another text, whatever the time stamps say. A stripe that was complete may have been damaged
// since; there it is enough that no chunk is authentic with another text.
bool may_follow(const ChunkCipher& cipher, Batch& sealed, Batch& written, bool was_complete) {
  std::size_t rest = sealed.bytes;
  for (std::size_t i = 0; i < sealed.chunks; ++i) {
    const std::size_t bytes = std::min(rest, chunk_bytes);
    const std::uint8_t* const now = sealed.chunk(i);
    const std::uint8_t* const before = written.chunk(i);
    rest -= bytes;
    if (std::memcmp(now, before, bytes) == 0 || is_zero(before, bytes)) {
      continue;
    }
    if (was_complete ? is_authentic(cipher, written, i, bytes)
                     : !std::equal(before, before + bytes, now, [](std::uint8_t a, std::uint8_t b) {
                         return a == 0 || a == b;
                       })) {
      return false;
    }
  }
  return true;
}

// The tags of these chunks as the container has them, compared with those of `sealed`.
bool has_tags_of(const ReadAt& read_container, const Extent& extent, Batch& sealed) {
  std::vector<std::uint8_t> tags(sealed.chunks * tag_bytes);
  std::size_t rest = sealed.bytes;
  for (std::size_t i = 0; i < sealed.chunks; ++i) {
    const std::size_t bytes = std::min(rest, chunk_bytes);
    const iovec one = {tags.data() + i * tag_bytes, tag_bytes};
    read_container(extent.chunk_offset(sealed.first_chunk + i) + bytes - tag_bytes,
                   std::span(&one, 1));
    if (!equal_constant_time(Bytes(tags).subspan(i * tag_bytes, tag_bytes),
                             Bytes(sealed.chunk(i) + bytes - tag_bytes, tag_bytes))) {
      return false;
    }
    rest -= bytes;
  }
  return true;
}

}  // namespace

void seal_stripes(const std::string& name, const StripeWork& work, std::uint64_t first,
                  std::uint64_t end, const std::function<void()>& check_source,
                  const Options& options) {
  BatchPool written_pool(piece_chunks_of(options));
  for_each_piece(
      work, first, end, options, [&](const Piece& piece, bool was_complete, Batch& batch) {
        if (was_complete) {
          read_chunks(batch, work.extent, piece.chunks, work.read_written);
          if (work.cipher.verify(batch).empty()) {
            work.kept_text_bytes.fetch_add(batch.bytes, std::memory_order_relaxed);
            return;
          }
        }
        read_text(batch, work.extent, piece.chunks, work.read_source);
        check_source();
        work.cipher.seal(batch);
        if (work.read_written) {
          BatchPool::Loan written(written_pool);
          read_chunks(*written, work.extent, piece.chunks, work.read_written);
          if (!may_follow(work.cipher, batch, *written, was_complete)) {
            throw OtherTextWritten(name);
          }
        }
        work.write(work.extent.chunk_offset(piece.chunks.first), batch.cipher(batch.bytes));
      });
}

MakeHole hole_maker(int descriptor) {
  return [descriptor](std::uint64_t offset, std::uint64_t bytes) {
    return bytes != 0 && fallocate(descriptor, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                                   static_cast<off_t>(offset), static_cast<off_t>(bytes)) == 0;
  };
}

// Text that is kept was sealed again, in memory, and has the container's tags: that costs reading
// the text and the tags, where opening the container again would cost reading both in full.
void open_stripes(const std::string& name, const StripeWork& work, std::uint64_t first,
                  std::uint64_t end, const MakeHole& make_hole, const Options& options) {
  TextWriter around_holes(work.write, 0, work.extent.text_bytes);
  for_each_piece(work, first, end, options,
                 [&](const Piece& piece, bool was_complete, Batch& batch) {
                   const std::uint64_t offset = piece.chunks.first * chunk_text_bytes;
                   const std::uint64_t text_bytes = text_bytes_of(work.extent, piece.chunks);
                   if (was_complete) {
                     read_text(batch, work.extent, piece.chunks, work.read_written);
                     work.cipher.seal(batch);
                     if (has_tags_of(work.read_source, work.extent, batch)) {
                       work.kept_text_bytes.fetch_add(text_bytes, std::memory_order_relaxed);
                       return;
                     }
                   }
                   read_chunks(batch, work.extent, piece.chunks, work.read_source);
                   check_authentic(name, work.extent.payload_offset, work.cipher.open(batch));
                   if (!work.read_written || (make_hole && make_hole(offset, text_bytes))) {
                     around_holes.write(batch);
                   } else {
                     work.write(offset, batch.text(batch.bytes));
                   }
                 });
}

}  // namespace paes::stream
