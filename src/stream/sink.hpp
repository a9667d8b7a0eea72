// Where the bytes of a transfer go: a file, a pipe, a file that ranks share.
#pragma once

#include <sys/uio.h>

#include <cstdint>
#include <span>
#include <string>

#include "core/bytes.hpp"

namespace paes::stream {

class Sink {
 public:
  virtual ~Sink() = default;

  [[nodiscard]] virtual const std::string& name() const noexcept = 0;  // for messages
  // True: any thread may write anywhere, and what is never written reads as zero. False: a pipe,
  // which takes bytes in order.
  [[nodiscard]] virtual bool is_seekable() const noexcept = 0;

  // All of these bytes, or an exception. On a pipe `offset` is where the last call ended.
  virtual void write_at(std::uint64_t offset, std::span<const iovec> from) = 0;
  void write_at(std::uint64_t offset, Bytes from) {
    const iovec one = {const_cast<std::uint8_t*>(from.data()), from.size()};
    write_at(offset, std::span(&one, 1));
  }

  // Makes a write that waits, and every later one, throw: another thread has failed.
  virtual void stop_waiting() noexcept {}

 protected:
  Sink() = default;
  Sink(const Sink&) = default;
  Sink(Sink&&) = default;
  Sink& operator=(const Sink&) = default;
  Sink& operator=(Sink&&) = default;
};

}  // namespace paes::stream
