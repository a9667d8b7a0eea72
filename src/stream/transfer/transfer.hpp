// SPDX-License-Identifier: Apache-2.0
// The one path for data: from a source through a transform into a sink, a buffer at a time, in
// bounded memory. Encryption, decryption, verification, raw modes, a rank's share of a file and the
// rest of an interrupted file are calls of `transfer` with another layout and transform.
//
// Seekable ends are read and written at computed offsets by all threads. Pipes are read and written
// in turns, so that reading, the cipher and writing still overlap.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

#include "exec/executor.hpp"
#include "kernel/kernel.hpp"
#include "message/device.hpp"
#include "stream/transfer/buffer.hpp"
#include "stream/transfer/cancel.hpp"
#include "stream/transfer/ends.hpp"
#include "stream/transfer/layout.hpp"

namespace paes::stream {

inline constexpr std::size_t default_piece_bytes = std::size_t{256} << 10;
inline constexpr std::size_t max_piece_bytes = std::size_t{4} << 20;  // bounds memory per thread
inline constexpr std::size_t max_device_piece_bytes = std::size_t{16} << 20;  // with a device

// How the work is done. None of it changes a byte of the output.
struct Options {
  const Executor& executor;
  const Kernel& kernel;
  // Text that a thread takes at a time. A device never gets more than its piece_bytes() at a time.
  std::size_t piece_bytes = default_piece_bytes;
  const Cancel* cancel = nullptr;
  std::atomic<std::uint64_t>* progress = nullptr;  // grows by the text bytes finished
  // Buffers that outlive the transfer, for callers with many short ones. If they do not fit its
  // layout, or there are none, the transfer has its own.
  BufferPool* buffers = nullptr;
  // Buffers go to the device. The kernel computes the buffers that the device declines, and
  // everything in chained modes.
  DeviceUse device_use = {};
};

// The piece, rounded up to a multiple of 16 KiB, and at most the device's piece_bytes(). Throws
// Error(usage) above max_piece_bytes, with a device above max_device_piece_bytes.
[[nodiscard]] std::size_t buffer_bytes(const Options& options);

// GCM reads its text twice to open it. Each pass is half of the progress.
enum class Pass : unsigned { only, first_of_two, second_of_two };

// What happens to the items of a buffer.
struct Transform {
  // Replaces the items in place by those after the transform and sets buffer.bytes to their length.
  // Runs on any thread, and for several buffers at a time unless is_ordered. May throw.
  std::function<void(Buffer& buffer)> run = nullptr;
  bool is_ordered = false;   // each buffer needs the one before it
  Device* device = nullptr;  // used by `run`; buffers are pinned for it
  Pass pass = Pass::only;
};

// Lets a transfer continue an interrupted one. Any thread may make the calls.
class Continuation {
 public:
  virtual ~Continuation() = default;
  // True if an earlier run did these items; they are then skipped. `scratch` is an empty buffer for
  // use within the call.
  [[nodiscard]] virtual bool is_done(Range items, Buffer& scratch) = 0;
  // The buffer is about to be written. May throw.
  virtual void check(Buffer& transformed) = 0;
  virtual void has_written(Range items) = 0;
};

// How many bytes a transfer has moved.
struct Moved {
  std::uint64_t written_bytes = 0;
  std::uint64_t text_bytes = 0;  // without tags
};

// Moves the items through the transform, each buffer on one of the executor's threads. `sink` may
// be null: nothing is written. A pipe is moved as a whole, whatever `items` says. A continuation
// needs two seekable ends. The first failure of a step is rethrown when all threads have stopped.
Moved transfer(Source& source, Sink* sink, const Layout& layout, const Transform& transform,
               Range items, const Options& options, Continuation* continuation = nullptr);

}  // namespace paes::stream
