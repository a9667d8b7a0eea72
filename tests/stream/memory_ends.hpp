// A source and a sink in memory.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "stream/ends.hpp"
#include "stream/sample.hpp"

namespace paes::stream {

class MemorySource : public Source {
 public:
  explicit MemorySource(const Contents& from) : from_(from) {}
  [[nodiscard]] const std::string& name() const noexcept override { return name_; }
  [[nodiscard]] bool is_seekable() const noexcept override { return true; }
  [[nodiscard]] std::uint64_t bytes() const noexcept override { return from_.size(); }
  std::size_t read_at(std::uint64_t offset, std::span<const iovec> to) const override {
    std::size_t sum = 0;
    for (const iovec& one : to) {
      EXPECT_LE(offset + sum + one.iov_len, from_.size());
      std::memcpy(one.iov_base, from_.data() + offset + sum, one.iov_len);
      sum += one.iov_len;
    }
    return sum;
  }

 private:
  const Contents& from_;
  std::string name_ = "made";
};

class MemorySink : public Sink {
 public:
  explicit MemorySink(Contents& to) : to_(to) {}
  [[nodiscard]] const std::string& name() const noexcept override { return name_; }
  [[nodiscard]] bool is_seekable() const noexcept override { return true; }
  void write_at(std::uint64_t offset, std::span<const iovec> from) override {
    for (const iovec& one : from) {
      ASSERT_LE(offset + one.iov_len, to_.size());
      std::memcpy(to_.data() + offset, one.iov_base, one.iov_len);
      offset += one.iov_len;
    }
  }

 private:
  Contents& to_;
  std::string name_ = "made";
};

}  // namespace paes::stream
