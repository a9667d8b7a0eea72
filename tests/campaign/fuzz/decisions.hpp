// SPDX-License-Identifier: Apache-2.0
// The input of a fuzz harness as a row of decisions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace paes::fuzz {

using Buffer = std::vector<std::uint8_t>;

// Decides zero once it is at its end.
class Decisions {
 public:
  Decisions(const std::uint8_t* data, std::size_t bytes) : at_(data), end_(data + bytes) {}

  [[nodiscard]] bool is_over() const { return at_ == end_; }
  std::uint8_t byte() { return is_over() ? std::uint8_t{0} : *at_++; }
  // Below `limit`.
  std::size_t number(std::size_t limit) {
    std::size_t value = byte();
    if (limit > 256) {
      value |= static_cast<std::size_t>(byte()) << 8 | static_cast<std::size_t>(byte()) << 16;
    }
    return value % limit;
  }
  [[nodiscard]] std::size_t left() const { return static_cast<std::size_t>(end_ - at_); }
  // The next bytes, as a row of their own. There are so many.
  Decisions take(std::size_t bytes) {
    at_ += bytes;
    return {at_ - bytes, bytes};
  }
  bool one_in(std::size_t count) { return number(count) == count - 1; }
  Buffer rest() {
    Buffer all(at_, end_);
    at_ = end_;
    return all;
  }

 private:
  const std::uint8_t* at_;
  const std::uint8_t* end_;
};

}  // namespace paes::fuzz
