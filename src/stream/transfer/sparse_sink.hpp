// SPDX-License-Identifier: Apache-2.0
// A sink in front of another one that does not pass on pages of zeros, so that they become holes
// there. What is written to it must be authentic, because the holes show where the text is zero.
#pragma once

#include <cstddef>
#include <optional>

#include "stream/transfer/ends.hpp"

namespace paes::stream {

// Time depends on the bytes. `bytes` may be 0.
[[nodiscard]] bool is_zero(const std::uint8_t* from, std::size_t bytes) noexcept;

class SparseSink : public Sink {
 public:
  // `sink` must outlive this. A pipe has no holes and gets everything. If an earlier run may have
  // written to the sink, `dirty_file` is its descriptor: each place is cleared before it is
  // written, or else written completely.
  explicit SparseSink(Sink& sink, std::optional<int> dirty_file = std::nullopt)
      : sink_(sink), dirty_file_(dirty_file) {}

  [[nodiscard]] const std::string& name() const noexcept override { return sink_.name(); }
  [[nodiscard]] bool is_seekable() const noexcept override { return sink_.is_seekable(); }
  using Sink::write_at;
  void write_at(std::uint64_t offset, std::span<const iovec> from) override;
  void stop_waiting() noexcept override { sink_.stop_waiting(); }

 private:
  Sink& sink_;
  std::optional<int> dirty_file_;
};

}  // namespace paes::stream
