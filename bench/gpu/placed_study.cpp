// SPDX-License-Identifier: Apache-2.0
#include "gpu/placed_study.hpp"

#include "gpu/placed_kernels.hpp"

namespace paes::bench {
namespace {

using cuda::PlacedKernel;
using cuda::TablePlace;

// How many threads of the kernel's launches a multiprocessor holds. An emulated one has a single
// thread block.
unsigned threads_held(const GpuSession& session, const PlacedKernel& placed) {
  int blocks = 1;
#if defined(PAES_HAS_NVCC)
  if (!session.is_emulated) {
    if (const int error = blocks_a_multiprocessor(placed, blocks); error != 0) {
      throw Error(ErrorCode::failure, std::string("cuda: the room for ") + placed.kernel.name +
                                          ": CUDA error " + std::to_string(error));
    }
  }
#else
  (void)session;
#endif
  return static_cast<unsigned>(blocks) * placed.threads;
}

// The number of the computing kernel that is launched alike.
std::size_t computing_like(std::size_t number) {
  const auto placed = cuda::placed_kernels();
  for (std::size_t i = 0; i < placed.size(); ++i) {
    if (placed[i].place == TablePlace::compute && placed[i].threads == placed[number].threads &&
        placed[i].is_alone == placed[number].is_alone) {
      return i;
    }
  }
  throw Error(ErrorCode::failure,
              std::string("nothing computes like ") + placed[number].kernel.name);
}

void measure_places(const GpuSession& session, StudyBench& bench, std::size_t bytes) {
  const auto kernels = cuda::placed_kernels();
  std::vector<Entrant> entrants;
  const auto add = [&](const cuda::DeviceKernel& kernel, const char* tables, const char* blocks) {
    entrants.push_back(bench.on_device(kernel, bytes));
    Entrant& made = entrants.back();
    made.seconds = [&bench, &kernel, bytes] { return bench.launch_seconds(kernel, bytes); };
    made.of.push_back({"tables", quoted(tables)});
    made.of.push_back({"blocks", quoted(blocks)});
  };
  for (const PlacedKernel& placed : kernels) {
    add(placed.kernel, name_of(placed.place), placed.is_alone ? "one" : "all");
    entrants.back().of.push_back({"threads_a_block", std::to_string(placed.threads)});
  }
  // The fast kernel, whose look-ups in shared memory never wait for each other.
  add(device_kernel("cuda_tables"), "banks", "all");
  in_turns(entrants);
  for (std::size_t i = 0; i < entrants.size(); ++i) {
    bench.record(entrants[i].of, "time without copies", "s", entrants[i].taken);
    bench.record(entrants[i].of, "rate without copies", "GB/s", rates_of(entrants[i], bytes));
    if (i < kernels.size()) {
      bench.record(entrants[i].of, "ratio to compute", "ratio",
                   times_as_fast(entrants[computing_like(i)], entrants[i]));
      bench.record(entrants[i].of, "threads a multiprocessor", "count",
                   {static_cast<double>(threads_held(session, kernels[i]))});
    }
  }
}

void measure_streams(const GpuSession& session, StudyBench& bench, std::size_t bytes) {
  const std::size_t piece_bytes = session.is_emulated ? 256 : 4 * mebibyte;
  std::vector<Entrant> entrants;
  constexpr unsigned counts[] = {1, 2, 4, cuda::max_slots};
  for (const char* const name : {"cuda_compute", "cuda_tables"}) {
    for (const unsigned count : counts) {
      entrants.push_back(bench.on_streams(device_kernel(name), bytes, count, piece_bytes));
    }
  }
  in_turns(entrants);
  for (std::size_t i = 0; i < entrants.size(); ++i) {
    const Entrant& one_stream = entrants[i / std::size(counts) * std::size(counts)];
    bench.record(entrants[i].of, "rate", "GB/s", rates_of(entrants[i], bytes));
    bench.record(entrants[i].of, "rate to one stream", "ratio",
                 times_as_fast(one_stream, entrants[i]));
  }
}

}  // namespace

void measure_placed_kernels(const GpuSession& session, StudyBench& bench, bool is_quick) {
  const std::size_t wanted = session.is_emulated ? 4 * kibibyte : (is_quick ? 128 : 255) * mebibyte;
  const std::size_t bytes = std::min(session.text->size(), wanted);
  bench.expect({Cipher::aes, Mode::ecb, Direction::encrypt, 16}, bytes);
  measure_places(session, bench, bytes);
  measure_streams(session, bench, bytes);
  if (is_quick) {
    bench.leave_out("255 MiB", "for the time; --full has it");
  }
}

}  // namespace paes::bench
