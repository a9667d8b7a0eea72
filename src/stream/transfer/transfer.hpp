// SPDX-License-Identifier: Apache-2.0
// The one path for data: from a source through a transform into a sink, a buffer at a time, in
// bounded memory. Encryption, decryption, verification, raw modes, a rank's share of a file and the
// rest of an interrupted file are calls of `transfer` with another layout and transform.
//
// Seekable ends are read and written at computed offsets by all threads. Pipes are read and written
// in turns, so that reading, the cipher and writing still overlap.
#pragma once

#include <cstdint>
#include <functional>

#include "stream/transfer/buffer.hpp"
#include "stream/transfer/ends.hpp"
#include "stream/transfer/layout.hpp"
#include "stream/transfer/work.hpp"

namespace paes::stream {

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
               Range items, const Work& work, Continuation* continuation = nullptr);

}  // namespace paes::stream
