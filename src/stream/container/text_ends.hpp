// SPDX-License-Identifier: Apache-2.0
// Ends for files that are written as text: a source that decodes its text while it is read, and a
// sink that writes its bytes as ASCII armor (age/armor.hpp). Both work in order, like pipes:
// because of whitespace and line ends, no place in the text can be computed.
#pragma once

#include <string>
#include <vector>

#include "age/armor.hpp"
#include "encoding/base64_reader.hpp"
#include "stream/transfer/ends.hpp"

namespace paes::stream {

template <typename Reader>
class DecodedSource : public Source {
 public:
  // Starts at the beginning of `text`, which must outlive it.
  explicit DecodedSource(Source& text) noexcept : text_(text) {}

  [[nodiscard]] const std::string& name() const noexcept override { return text_.name(); }
  [[nodiscard]] bool is_seekable() const noexcept override { return false; }
  [[nodiscard]] std::uint64_t bytes() const noexcept override { return 0; }
  using Source::read_at;
  // Throws Error(corrupt) "NAME: WHY" with the reader's reason.
  std::size_t read_at(std::uint64_t offset, std::span<const iovec> to) const override;
  void expect_sequential() const noexcept override { text_.expect_sequential(); }
  void check_same_size() const override { text_.check_same_size(); }
  void check_unchanged() const override { text_.check_unchanged(); }
  void stop_waiting() noexcept override { text_.stop_waiting(); }

 private:
  void decode_more() const;

  Source& text_;
  // Reading advances these.
  mutable Reader reader_;
  mutable std::uint64_t next_ = 0;  // in the text
  mutable bool has_ended_ = false;
  mutable std::vector<std::uint8_t> decoded_;
  mutable std::size_t taken_ = 0;  // of the decoded bytes
};

extern template class DecodedSource<age::ArmorReader>;
extern template class DecodedSource<Base64Reader>;

// Reading throws, too, if anything but whitespace follows the armor.
using ArmoredSource = DecodedSource<age::ArmorReader>;
using Base64Source = DecodedSource<Base64Reader>;

class ArmoredSink : public Sink {
 public:
  // Starts at the beginning of `text`, which must outlive it.
  explicit ArmoredSink(Sink& text) noexcept : text_(text) {}

  [[nodiscard]] const std::string& name() const noexcept override { return text_.name(); }
  [[nodiscard]] bool is_seekable() const noexcept override { return false; }
  using Sink::write_at;
  void write_at(std::uint64_t offset, std::span<const iovec> from) override;
  void stop_waiting() noexcept override { text_.stop_waiting(); }
  // Writes the last line, and returns the length of the text.
  [[nodiscard]] std::uint64_t finish();

 private:
  void put(const std::string& text);

  Sink& text_;
  age::ArmorWriter writer_;
  std::uint64_t written_ = 0;
};

}  // namespace paes::stream
