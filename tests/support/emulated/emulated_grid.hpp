// SPDX-License-Identifier: Apache-2.0
// A grid on the host: loops over all of its threads, which call the same functions as on the
// device. It replaces cuda/grid.hpp's part for nvcc: only for tests, the build compiles each device
// kernel NAME.cu again with this header before it (cmake/cuda.cmake).
//
// The image and all addresses of a launch are then the host's, everything is done when the launch
// returns, and it always returns 0. Instead of a stream it has an EmulatedConstant, or null: then
// the keys are read from the image.
#pragma once

#include <cstring>
#include <vector>

#include "core/secret.hpp"
#include "cuda/grid.hpp"
#include "emulated/emulation.hpp"

// Ends a file NAME.cu's launches.
#define PAES_LAUNCHES(name, ...) const Emulation emulation_of_##name(#name, {__VA_ARGS__})

namespace paes::cuda {
namespace {  // NOLINT

// Copies the keys to the emulated constant memory, where they are read from now on.
template <class Keys>
[[nodiscard]] int copy_to_slot(const InSlot<Keys>* /*symbol*/, const Keys*& keys,
                               const Launch& launch) {
  if (launch.stream != nullptr) {
    EmulatedConstant& constant = *static_cast<EmulatedConstant*>(launch.stream);
    constant.resize(sizeof(Keys));
    std::memcpy(constant.data(), keys, sizeof(Keys));
    keys = reinterpret_cast<const Keys*>(constant.data());
  }
  return 0;
}
template <class Keys>
[[nodiscard]] int wipe_slot(const InSlot<Keys>* /*symbol*/, const Launch& launch) {
  EmulatedConstant& constant = *static_cast<EmulatedConstant*>(launch.stream);
  wipe(constant.data(), constant.size());
  return 0;
}

template <class Core, Operation Which>
[[nodiscard]] int find_on_grid() {
  return 0;
}

template <class Core>
void fill_all(std::uint8_t* memory, const typename Core::Keys& keys, Thread thread) {
  for (thread.index = 0; thread.index < thread.threads; ++thread.index) {
    Core::fill(memory, keys, thread);
  }
}

// How many bytes at the beginning of a thread block's memory are the same for all keys.
template <class Core>
constexpr unsigned constant_bytes() {
  if constexpr (requires { Core::constant_bytes; }) {
    return Core::constant_bytes;
  } else {
    return requires { typename Core::FillsNoKeys; }
    ? Core::shared_bytes : 0;
  }
}

// The shared memory of a thread block's threads. What is the same for all keys is filled in once
// per process, because tests would otherwise do little else.
template <class Core>
class EmulatedMemory {
 public:
  EmulatedMemory(const typename Core::Keys& keys, const Thread& thread) {
    constexpr unsigned constant = constant_bytes<Core>();
    if constexpr (constant == 0) {
      own_.resize(Core::shared_bytes / 8);
      fill_all<Core>(reinterpret_cast<std::uint8_t*>(own_.data()), keys, thread);
    } else {
      static std::vector<std::uint64_t> constants = [&] {
        std::vector<std::uint64_t> filled(Core::shared_bytes / 8);
        auto* const memory = reinterpret_cast<std::uint8_t*>(filled.data());
        fill_all<Core>(memory, keys, thread);
        wipe(memory + constant, Core::shared_bytes - constant);
        return filled;
      }();
      data_ = reinterpret_cast<std::uint8_t*>(constants.data());
      if constexpr (constant != Core::shared_bytes) {
        own_ = constants;
        for (Thread filler = thread; filler.index < filler.threads; ++filler.index) {
          Core::fill_keys(reinterpret_cast<std::uint8_t*>(own_.data()), keys, filler);
        }
      }
    }
    if (!own_.empty()) {
      data_ = reinterpret_cast<std::uint8_t*>(own_.data());
    }
  }
  ~EmulatedMemory() { wipe(own_.data(), own_.size() * 8); }
  EmulatedMemory(const EmulatedMemory&) = delete;
  EmulatedMemory& operator=(const EmulatedMemory&) = delete;

  [[nodiscard]] std::uint8_t* data() const noexcept { return data_; }

 private:
  std::vector<std::uint64_t> own_;
  std::uint8_t* data_ = nullptr;
};

// Calls `body(memory, thread)` for each thread of a grid, block after block.
template <class Core, class AnyJob, class Body>
int emulate_threads(const Launch& launch, const AnyJob& job, const typename Core::Keys& keys,
                    const Body& body) {
  const std::uint64_t rows = rows_of<Core>(launch, job);
  Thread thread = {0, launch.shape.multiprocessors, 0, threads_of<Core>(launch)};
  thread.blocks = rows < thread.blocks ? static_cast<unsigned>(rows) : thread.blocks;
  for (thread.block = 0; thread.block < thread.blocks; ++thread.block) {
    const EmulatedMemory<Core> memory(keys, thread);
    for (thread.index = 0; thread.index < thread.threads; ++thread.index) {
      body(memory.data(), thread);
    }
    thread.index = 0;
  }
  return 0;
}

template <class Core, Operation Which>
int run_on_grid(const Launch& launch, const Job& job, const typename Core::Keys& keys) {
  return emulate_threads<Core>(launch, job, keys, [&](auto* memory, const Thread& thread) {
    run_core<Core, Which>(Core(memory, keys, thread), job, thread);
  });
}

template <class Core>
int run_tweaks_on_grid(const Launch& launch, const TweakJob& job, const typename Core::Keys& keys) {
  return emulate_threads<Core>(launch, job, keys, [&](auto* memory, const Thread& thread) {
    run_tweaks(Core(memory, keys, thread), job, thread);
  });
}

// A warp's first thread stands for its lanes, which a device runs together and sums up by shuffles.
template <class Core, TextFlow Flow>
int run_gcm_on_grid(const Launch& launch, const GcmJob& job, const typename Core::Keys& keys) {
  return emulate_threads<Core>(launch, job, keys, [&](auto* memory, const Thread& first) {
    for (GcmUnits units(job, first); first.lane() == 0 && units.has_more(); units.next()) {
      const HashUnit unit = hash_unit<Flow>(job, units.at);
      FieldWords sum = {};
      Thread thread = first;
      for (unsigned lane = 0; lane < warp_lanes; ++lane, ++thread.index) {
        sum = sum ^ Core(memory, keys, thread).template lane_part<Flow>(job, unit);
      }
      --thread.index;
      store_words(job.tags + units.at, Core(memory, keys, thread).result(job, unit, sum));
    }
  });
}

}  // namespace
}  // namespace paes::cuda
