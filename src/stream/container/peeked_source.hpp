// SPDX-License-Identifier: Apache-2.0
// A source whose first bytes can be looked at before it is read, to find out what it contains. They
// are kept and returned again.
#pragma once

#include <string>
#include <vector>

#include "stream/transfer/ends.hpp"

namespace paes::stream {

class PeekedSource : public Source {
 public:
  // `source` must outlive this. If it is a pipe, nothing of it may have been read.
  explicit PeekedSource(Source& source) noexcept : source_(source) {}

  // Returns the first bytes, fewer only if the source ends earlier. Valid until the next call. If
  // the source is a pipe, do not call it after read_at. From a seekable one it reads more than was
  // asked for, so that one read takes the head, and all of a small file.
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
  bool has_ended_ = false;         // there is no more than was peeked at
  mutable std::size_t given_ = 0;  // how many bytes a pipe's reader has got back
};

}  // namespace paes::stream
