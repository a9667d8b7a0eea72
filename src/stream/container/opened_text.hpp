// SPDX-License-Identifier: Apache-2.0
// The text of an encrypted file as a source, so that it can be encrypted for others without ever
// being a file. A damaged chunk is an error of the read that touches it.
#pragma once

#include <string>

#include "stream/container/payload.hpp"

namespace paes::stream {

class OpenedText : public Source {
 public:
  // All three must outlive it, and `sealed` is seekable. Throws Error(corrupt) if the file was cut
  // or extended.
  OpenedText(const Source& sealed, const OpenedPayload& payload, const Work& work);

  [[nodiscard]] const std::string& name() const noexcept override { return sealed_.name(); }
  [[nodiscard]] bool is_seekable() const noexcept override { return true; }
  [[nodiscard]] std::uint64_t bytes() const noexcept override { return payload_.extent.text_bytes; }
  using Source::read_at;
  std::size_t read_at(std::uint64_t offset, std::span<const iovec> to) const override;
  void expect_sequential() const noexcept override { sealed_.expect_sequential(); }
  void check_same_size() const override { sealed_.check_same_size(); }
  void check_unchanged() const override { sealed_.check_unchanged(); }

 private:
  const Source& sealed_;
  const OpenedPayload& payload_;
  Layout layout_;
  mutable BufferPool buffers_;
};

}  // namespace paes::stream
