// How raw messages are cut: a batch is one piece, whose bytes lie side by side, with room before
// them for the ciphertext block that CBC and CFB decryption need, and behind them for padding.
#pragma once

#include <cstdint>
#include <functional>

#include "stream/batch.hpp"
#include "stream/files.hpp"
#include "stream/flow.hpp"

namespace paes::stream {

// Of these members of a batch pieces use `bytes` and `is_last`, and first_chunk as their number.
class Pieces {
 public:
  explicit Pieces(std::size_t piece_bytes) : piece_bytes_(piece_bytes) {}

  [[nodiscard]] std::size_t piece_bytes() const noexcept { return piece_bytes_; }
  [[nodiscard]] std::uint64_t offset_of(const Batch& batch) const noexcept {
    return batch.first_chunk * piece_bytes_;
  }
  [[nodiscard]] ChunkShape shape() const noexcept {
    const std::size_t bytes = room_bytes + piece_bytes_ + room_bytes;
    return {bytes, bytes};
  }
  [[nodiscard]] static std::uint8_t* data_of(Batch& batch) noexcept {
    return batch.chunk(0) + room_bytes;
  }
  [[nodiscard]] static MutableBytes bytes_of(Batch& batch) noexcept {
    return {data_of(batch), batch.bytes};
  }

  using ReadAt = std::function<void(std::uint64_t offset, MutableBytes to)>;
  // Makes `flow` read `bytes` bytes, at least one piece, in any order; of what precedes a piece
  // `before_bytes` come with it.
  void read_at_offsets(Flow& flow, std::uint64_t bytes, std::size_t before_bytes,
                       ReadAt read_at) const;

  // Makes `flow` read a pipe to its end. `check_length` sees how much there is so far, and whether
  // that is all, before a piece is used. The last piece is known as such: one byte is read ahead.
  void read_in_order(Flow& flow, Input& input, std::size_t before_bytes,
                     std::function<void(std::uint64_t bytes, bool is_all)> check_length) const;

  // Makes `flow` write each piece at its place behind `head_bytes`, or in order.
  void write_to(Flow& flow, Output& output, std::size_t head_bytes) const;

 private:
  static constexpr std::size_t room_bytes = 64;

  std::size_t piece_bytes_;
};

}  // namespace paes::stream
