// SPDX-License-Identifier: Apache-2.0
// Ends of a transfer that are not files: the caller's memory, and callbacks.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "paes/file.hpp"
#include "stream/transfer/ends.hpp"

namespace paes::stream {

// Bytes that a source has from `first_offset` on.
class MemorySource : public Source {
 public:
  MemorySource(Bytes from, std::uint64_t first_offset, const std::string& name) noexcept
      : from_(from), first_offset_(first_offset), name_(name) {}

  [[nodiscard]] const std::string& name() const noexcept override { return name_; }
  [[nodiscard]] bool is_seekable() const noexcept override { return true; }
  [[nodiscard]] std::uint64_t bytes() const noexcept override {
    return first_offset_ + from_.size();
  }
  using Source::read_at;
  std::size_t read_at(std::uint64_t offset, std::span<const iovec> to) const override;

 private:
  Bytes from_;
  std::uint64_t first_offset_;
  const std::string& name_;
};

// A store that a callback reads. Its beginning is read only once, because opening a file asks for
// it in several parts, and a request may take long. It may contain text, so it is wiped.
class CallbackSource : public Source {
 public:
  CallbackSource(ReadAt read_at, std::uint64_t bytes, std::string name);
  ~CallbackSource() override;
  CallbackSource(const CallbackSource&) = delete;
  CallbackSource& operator=(const CallbackSource&) = delete;

  [[nodiscard]] const std::string& name() const noexcept override { return name_; }
  [[nodiscard]] bool is_seekable() const noexcept override { return true; }
  [[nodiscard]] std::uint64_t bytes() const noexcept override { return bytes_; }
  using Source::read_at;
  std::size_t read_at(std::uint64_t offset, std::span<const iovec> to) const override;

 private:
  void read_all(std::uint64_t offset, MutableBytes to) const;

  ReadAt read_at_;
  std::uint64_t bytes_;
  std::string name_;
  std::vector<std::uint8_t> head_;
};

// A callback that takes bytes in order.
class CallbackSink : public Sink {
 public:
  CallbackSink(Writer::Write write, std::string name)
      : write_(std::move(write)), name_(std::move(name)) {}
  [[nodiscard]] bool is_there() const noexcept { return write_ != nullptr; }

  [[nodiscard]] const std::string& name() const noexcept override { return name_; }
  [[nodiscard]] bool is_seekable() const noexcept override { return false; }
  using Sink::write_at;
  void write_at(std::uint64_t offset, std::span<const iovec> from) override;

 private:
  Writer::Write write_;
  std::string name_;
};

}  // namespace paes::stream
