// A rank's share of a raw message, cut into pieces for its threads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>

#include "mpi/communicator.hpp"
#include "mpi/placement.hpp"
#include "mpi/shared_file.hpp"
#include "mpi/together.hpp"
#include "stream/flow.hpp"
#include "stream/pieces.hpp"
#include "stream/pipeline.hpp"

namespace paes::mpi {

class OwnPieces {
 public:
  // Pieces of `piece_bytes`, of a message of `message_bytes`, of which only whole runs of
  // `run_bytes`, themselves whole pieces, change hands. An empty message is one empty piece of rank
  // 0's.
  OwnPieces(const Communicator& communicator, std::uint64_t message_bytes, std::size_t piece_bytes,
            std::uint64_t run_bytes)
      : pieces_(piece_bytes),
        message_bytes_(message_bytes),
        range_(
            share_of_groups(message_bytes, run_bytes, communicator.ranks(), communicator.rank())),
        is_lone_(message_bytes == 0 && communicator.is_first()) {}

  [[nodiscard]] std::size_t piece_bytes() const noexcept { return pieces_.piece_bytes(); }
  [[nodiscard]] const Range& range() const noexcept { return range_; }
  // Of a batch: its place in the message, and its number among this rank's.
  [[nodiscard]] std::uint64_t offset_of(const stream::Batch& batch) const noexcept {
    return range_.first + pieces_.offset_of(batch);
  }
  [[nodiscard]] std::uint64_t count() const noexcept {
    return is_lone_ ? 1 : (range_.count() + piece_bytes() - 1) / piece_bytes();
  }

  // Reads pieces that begin `text_at` bytes into the input; of what precedes one `before_bytes`
  // come with it.
  [[nodiscard]] stream::Flow reading(const SharedInput& input, std::uint64_t text_at,
                                     std::size_t before_bytes) const {
    stream::Flow flow;
    flow.shape = pieces_.shape();
    flow.count = count();
    flow.read = [this, &input, text_at, before_bytes](std::uint64_t index, stream::Batch& batch) {
      batch.first_chunk = index;
      const std::uint64_t offset = offset_of(batch);
      batch.bytes =
          static_cast<std::size_t>(std::min<std::uint64_t>(range_.end - offset, piece_bytes()));
      batch.is_last = offset + batch.bytes == message_bytes_;
      const std::size_t before = offset == 0 ? 0 : before_bytes;
      if (batch.bytes != 0) {
        input.read_at(text_at + offset - before,
                      {stream::Pieces::data_of(batch) - before, before + batch.bytes});
      }
      return true;
    };
    return flow;
  }

  // Writes each piece at its place.
  void write_to(stream::Flow& flow, const SharedOutput& output) const {
    flow.write = [this, &output](stream::Batch& batch) {
      output.write_at(offset_of(batch), Bytes(stream::Pieces::bytes_of(batch)));
    };
  }

 private:
  stream::Pieces pieces_;
  std::uint64_t message_bytes_;
  Range range_;
  bool is_lone_;
};

}  // namespace paes::mpi
