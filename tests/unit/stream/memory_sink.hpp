// SPDX-License-Identifier: Apache-2.0
// Memory that a transfer writes to, for tests.
#pragma once

#include <algorithm>
#include <stdexcept>
#include <string>

#include "stream/transfer/ends.hpp"
#include "stream/transfer/wait.hpp"

namespace paes::stream {

class MemorySink : public Sink {
 public:
  MemorySink(MutableBytes to, const std::string& name) noexcept : to_(to), name_(name) {}

  [[nodiscard]] const std::string& name() const noexcept override { return name_; }
  [[nodiscard]] bool is_seekable() const noexcept override { return true; }
  using Sink::write_at;
  void write_at(std::uint64_t offset, std::span<const iovec> from) override {
    if (offset > to_.size() || bytes_of(from) > to_.size() - offset) {
      throw std::logic_error("memory: written beyond its end");
    }
    std::uint8_t* to = to_.data() + offset;
    for (const iovec& one : from) {
      to = std::copy_n(static_cast<const std::uint8_t*>(one.iov_base), one.iov_len, to);
    }
  }

 private:
  MutableBytes to_;
  const std::string& name_;
};

}  // namespace paes::stream
