// SPDX-License-Identifier: Apache-2.0
// The one path for data: from a source through a transform into a sink, one buffer at a time, in
// bounded memory. Encryption, decryption, verification, raw modes, a rank's share of a file and the
// rest of an interrupted file all call `transfer`, each with its own layout and transform.
//
// All threads read and write seekable ends at computed offsets. They take turns at pipes, so that
// reading, the cipher and writing still overlap.
#pragma once

#include <cstdint>
#include <functional>

#include "stream/transfer/buffer.hpp"
#include "stream/transfer/ends.hpp"
#include "stream/transfer/layout.hpp"
#include "stream/transfer/work.hpp"

namespace paes::stream {

// To open one GCM message, raw_gcm.hpp reads it twice; each pass is half of the progress.
enum class Pass : unsigned { only, first_of_two, second_of_two };

// What happens to the items of a buffer.
struct Transform {
  // Transforms the items in place and sets buffer.bytes to their new length. Runs on any thread,
  // and for several buffers at a time unless is_ordered. May throw.
  std::function<void(Buffer& buffer)> run = nullptr;
  bool is_ordered = false;   // each buffer needs the previous one
  Device* device = nullptr;  // used by `run`; buffers are pinned for it
  Pass pass = Pass::only;
};

// Lets a transfer continue an interrupted one. Any thread may make the calls.
class Continuation {
 public:
  virtual ~Continuation() = default;
  // True if an earlier run has done these items; they are then skipped. `scratch` is an empty
  // buffer for use within the call.
  [[nodiscard]] virtual bool is_done(Range items, Buffer& scratch) = 0;
  // Called before the buffer is written. May throw.
  virtual void check(Buffer& transformed) = 0;
  virtual void has_written(Range items) = 0;
};

// How many bytes a transfer has moved.
struct MovedBytes {
  std::uint64_t written_bytes = 0;
  std::uint64_t text_bytes = 0;  // without tags
};

// Moves the items through the transform, each buffer on one of the executor's threads. If `sink` is
// null, nothing is written. A pipe is moved completely, whatever `items` says. A continuation needs
// two seekable ends. The first failure of a step is rethrown when all threads have stopped.
MovedBytes transfer(Source& source, Sink* sink, const Layout& layout, const Transform& transform,
                    Range items, const Work& work, Continuation* continuation = nullptr);

}  // namespace paes::stream
