// Where the bytes of a transfer come from: a file, a pipe, a file that ranks share, memory.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "core/bytes.hpp"

namespace paes::stream {

class Source {
 public:
  virtual ~Source() = default;

  [[nodiscard]] virtual const std::string& name() const noexcept = 0;  // for messages
  // True: bytes() is known, and any thread may read anywhere. False: a pipe, which is read once and
  // in order.
  [[nodiscard]] virtual bool is_seekable() const noexcept = 0;
  [[nodiscard]] virtual std::uint64_t bytes() const noexcept = 0;

  // Exactly these bytes, or an exception. On a pipe `offset` is where the last call ended, and
  // fewer bytes come only at the end. Returns how many came.
  virtual std::size_t read_at(std::uint64_t offset, std::span<const iovec> to) const = 0;
  std::size_t read_at(std::uint64_t offset, MutableBytes to) const {
    const iovec one = {to.data(), to.size()};
    return read_at(offset, std::span(&one, 1));
  }

  // Makes a read that waits, and every later one, throw: another thread has failed.
  virtual void stop_waiting() noexcept {}

 protected:
  Source() = default;
  Source(const Source&) = default;
  Source(Source&&) = default;
  Source& operator=(const Source&) = default;
  Source& operator=(Source&&) = default;
};

}  // namespace paes::stream
