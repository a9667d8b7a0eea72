// SPDX-License-Identifier: Apache-2.0
// A source whose first bytes can be looked at before it is read, to find out what it holds. On a
// pipe they are kept and given back; a seekable source is read again.
#pragma once

#include <string>
#include <vector>

#include "stream/transfer/ends.hpp"

namespace paes::stream {

class PeekedSource : public Source {
 public:
  // `source` must outlive it and, if it is a pipe, not have been read.
  explicit PeekedSource(Source& source) noexcept : source_(source) {}

  // The first bytes, fewer only where the source ends. Valid until the next call. Not after
  // read_at, if the source is a pipe.
  [[nodiscard]] Bytes peek(std::size_t bytes);

  [[nodiscard]] const std::string& name() const noexcept override { return source_.name(); }
  [[nodiscard]] bool is_seekable() const noexcept override { return source_.is_seekable(); }
  [[nodiscard]] std::uint64_t bytes() const noexcept override { return source_.bytes(); }
  using Source::read_at;
  std::size_t read_at(std::uint64_t offset, std::span<const iovec> to) const override;
  void expect_sequential() const noexcept override { source_.expect_sequential(); }
  void check_same_size() const override { source_.check_same_size(); }
  void check_unchanged() const override { source_.check_unchanged(); }
  void stop_waiting() noexcept override { source_.stop_waiting(); }

 private:
  Source& source_;
  std::vector<std::uint8_t> first_;
  bool has_ended_ = false;         // there is no more than what has been peeked at
  mutable std::size_t given_ = 0;  // how much of it a pipe's reader has got back
};

}  // namespace paes::stream
