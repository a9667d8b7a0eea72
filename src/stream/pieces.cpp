#include "stream/pieces.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace paes::stream {

void Pieces::read_at_offsets(Flow& flow, std::uint64_t bytes, std::size_t before_bytes,
                             ReadAt read_at) const {
  flow.shape = shape();
  flow.ordered_read = false;
  flow.count = std::max<std::uint64_t>((bytes + piece_bytes_ - 1) / piece_bytes_, 1);
  flow.read = [=, this, count = flow.count, read_at = std::move(read_at)](std::uint64_t index,
                                                                          Batch& batch) {
    const std::uint64_t offset = index * piece_bytes_;
    batch.first_chunk = index;
    batch.bytes = static_cast<std::size_t>(std::min<std::uint64_t>(bytes - offset, piece_bytes_));
    batch.is_last = index + 1 == count;
    const std::size_t before = index == 0 ? 0 : before_bytes;
    if (batch.bytes != 0) {
      read_at(offset - before, {data_of(batch) - before, before + batch.bytes});
    }
    return true;
  };
}

namespace {

// What the reader of a pipe carries from one piece to the next.
struct Carried {
  bool ended = false;
  std::uint8_t ahead = 0;  // the byte read ahead
  bool has_ahead = false;
  std::array<std::uint8_t, 16> before = {};
  std::uint64_t bytes = 0;  // so far
};

}  // namespace

void Pieces::read_in_order(
    Flow& flow, Input& input, std::size_t before_bytes,
    std::function<void(std::uint64_t bytes, bool is_all)> check_length) const {
  flow.shape = shape();
  flow.ordered_read = true;
  flow.read = [this, &input, before_bytes, check_length = std::move(check_length),
               carried = Carried{}](std::uint64_t index, Batch& batch) mutable {
    if (carried.ended) {
      return false;
    }
    std::uint8_t* const data = data_of(batch);
    std::memcpy(data - before_bytes, carried.before.data(), before_bytes);
    std::size_t filled = 0;
    if (carried.has_ahead) {
      data[filled++] = carried.ahead;
    }
    filled += input.read(MutableBytes(data + filled, piece_bytes_ - filled));
    carried.has_ahead = filled == piece_bytes_ && input.read(MutableBytes(&carried.ahead, 1)) == 1;
    carried.ended = !carried.has_ahead;
    carried.bytes += filled;
    check_length(carried.bytes, carried.ended);
    if (!carried.ended) {
      std::memcpy(carried.before.data(), data + filled - before_bytes, before_bytes);
    }
    batch.first_chunk = index;
    batch.bytes = filled;
    batch.is_last = carried.ended;
    return true;
  };
}

void Pieces::write_to(Flow& flow, Output& output, std::size_t head_bytes) const {
  flow.ordered_write = !output.is_seekable();
  flow.write = [this, &output, head_bytes](Batch& batch) {
    if (output.is_seekable()) {
      output.write_at(head_bytes + offset_of(batch), Bytes(bytes_of(batch)));
    } else {
      output.write(Bytes(bytes_of(batch)));
    }
  };
}

}  // namespace paes::stream
