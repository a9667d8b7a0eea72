// How batches go through the pipeline: which thread does which step when. Knows nothing of what the
// steps are.
#pragma once

#include <cstdint>
#include <functional>

#include "exec/executor.hpp"
#include "stream/batch.hpp"
#include "stream/cancel.hpp"

namespace paes::stream {

struct Flow {
  // Fills batch number `index`; false when there is none any more. Called in order, one call at a
  // time, if `ordered_read`; with the numbers below `count` in any order otherwise.
  std::function<bool(std::uint64_t index, Batch& batch)> read;
  // Any thread; in order, one call at a time, if `ordered_transform`, else in any.
  std::function<void(Batch& batch)> transform;
  // Empty: nothing is written. In order, one call at a time, if `ordered_write`.
  std::function<void(Batch& batch)> write;
  bool ordered_read = false;
  bool ordered_transform = false;
  bool ordered_write = false;
  std::uint64_t count = 0;  // of batches; of no meaning if ordered_read
  ChunkShape shape = {};
  Engine* engine = nullptr;  // pins the batches' memory
  // Ends reads and writes that wait, in other threads; called when a step has failed.
  std::function<void()> stop_waiting;
};

// Runs the flow on the executor's threads, each with one batch of at most `batch_chunks` at a time.
// The first failure of a step is rethrown when all threads have stopped.
void run(const Flow& flow, const Executor& executor, std::size_t batch_chunks,
         const Cancel* cancel);

}  // namespace paes::stream
