// SPDX-License-Identifier: Apache-2.0
// A small file is read once: what was peeked at is returned again, to any list of places.
#include "stream/container/peeked_source.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "varied_bytes.hpp"

namespace paes::stream {
namespace {

// A file in memory that counts how often it is read.
class CountedSource : public Source {
 public:
  explicit CountedSource(std::size_t bytes) : text_(test::varied_bytes(bytes, 1)) {}

  [[nodiscard]] const std::string& name() const noexcept override { return name_; }
  [[nodiscard]] bool is_seekable() const noexcept override { return true; }
  [[nodiscard]] std::uint64_t bytes() const noexcept override { return text_.size(); }
  using Source::read_at;
  std::size_t read_at(std::uint64_t offset, std::span<const iovec> to) const override {
    ++reads;
    std::size_t got = 0;
    for (const iovec& one : to) {
      const std::size_t bytes = std::min(one.iov_len, text_.size() - offset - got);
      std::memcpy(one.iov_base, text_.data() + offset + got, bytes);
      got += bytes;
    }
    return got;
  }
  [[nodiscard]] const std::vector<std::uint8_t>& text() const noexcept { return text_; }

  mutable int reads = 0;

 private:
  std::string name_ = "memory";
  std::vector<std::uint8_t> text_;
};

// Reads in three pieces, and compares.
void expect_read(const PeekedSource& peeked, const CountedSource& source, std::size_t offset,
                 std::size_t bytes) {
  std::vector<std::uint8_t> read(bytes);
  const std::size_t a = bytes / 3;
  const std::array<iovec, 3> places = {
      {{read.data(), a}, {read.data() + a, 0}, {read.data() + a, bytes - a}}};
  EXPECT_EQ(peeked.read_at(offset, places), bytes);
  EXPECT_TRUE(
      std::equal(read.begin(), read.end(), source.text().begin() + static_cast<long>(offset)))
      << offset << ", " << bytes;
}

TEST(PeekedSource, ReadsASmallFileOnce) {
  CountedSource source(8200);
  PeekedSource peeked(source);
  EXPECT_EQ(peeked.peek(16).size(), 16U);
  for (const std::size_t offset : {0U, 1U, 4096U, 8199U}) {
    expect_read(peeked, source, offset, 8200 - offset);
    expect_read(peeked, source, offset, (8200 - offset) / 2);
  }
  EXPECT_EQ(peeked.peek(8200).size(), 8200U);
  EXPECT_EQ(source.reads, 1);
}

TEST(PeekedSource, ReadsTheRestOfALargeFileWhereItIs) {
  CountedSource source(100'000);
  PeekedSource peeked(source);
  (void)peeked.peek(16);
  expect_read(peeked, source, 0, 4096);  // no more of it was read
  EXPECT_EQ(source.reads, 1);
  expect_read(peeked, source, 10'000, 10'000);  // beyond what was kept
  expect_read(peeked, source, 50'000, 50'000);
  EXPECT_EQ(source.reads, 3);
  EXPECT_EQ(peeked.peek(60'000).size(), 60'000U);
  expect_read(peeked, source, 50'000, 10'000);
  EXPECT_EQ(source.reads, 4);
}

}  // namespace
}  // namespace paes::stream
