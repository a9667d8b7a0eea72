// SPDX-License-Identifier: Apache-2.0
// The two ends of a transfer: where bytes come from, and where they go. An end is a file, a pipe, a
// file that ranks share, or memory.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "core/bytes.hpp"

namespace paes::stream {

class End {
 public:
  virtual ~End() = default;

  [[nodiscard]] virtual const std::string& name() const noexcept = 0;  // for errors
  // True if any thread may use any offset. False for a pipe, which is used in order: `offset` is
  // where the last call ended.
  [[nodiscard]] virtual bool is_seekable() const noexcept = 0;
  // Makes waiting and later calls throw, when another thread has failed.
  virtual void stop_waiting() noexcept {}

 protected:
  End() = default;
  End(const End&) = default;
  End(End&&) = default;
  End& operator=(const End&) = default;
  End& operator=(End&&) = default;
};

class Source : public End {
 public:
  // Only a seekable source knows it.
  [[nodiscard]] virtual std::uint64_t bytes() const noexcept = 0;
  // Reads exactly these bytes or throws, or fewer at a pipe's end. Returns how many came.
  virtual std::size_t read_at(std::uint64_t offset, std::span<const iovec> to) const = 0;
  std::size_t read_at(std::uint64_t offset, MutableBytes to) const {
    const iovec one = {to.data(), to.size()};
    return read_at(offset, std::span(&one, 1));
  }
  // Announces that everything will be read, mostly in order.
  virtual void expect_sequential() const noexcept {}
  // Both throw if what was read since the source was opened may not belong together:
  // check_same_size() if the length changed, check_unchanged() also if the source was written.
  virtual void check_same_size() const {}
  virtual void check_unchanged() const {}
};

// Parts of a seekable sink that are never written read as zero.
class Sink : public End {
 public:
  // Writes all of these bytes or throws.
  virtual void write_at(std::uint64_t offset, std::span<const iovec> from) = 0;
  void write_at(std::uint64_t offset, Bytes from) {
    const iovec one = {const_cast<std::uint8_t*>(from.data()), from.size()};
    write_at(offset, std::span(&one, 1));
  }
};

}  // namespace paes::stream
