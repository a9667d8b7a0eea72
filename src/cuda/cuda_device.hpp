// SPDX-License-Identifier: Apache-2.0
// The CUDA device: implements message/device.hpp with a Runtime. Each call takes a slot, copies its
// text in, launches, copies out and waits. Several calls overlap. Buffers that their owner has
// pinned are copied directly; everything else goes through the slot's pinned staging memory. Texts,
// keys, hashes and tags are wiped from the device and from staging before the memory is given back,
// and round keys are wiped from constant memory at the end of each call.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "cuda/runtime.hpp"
#include "cuda/slot.hpp"
#include "message/device.hpp"

namespace paes::cuda {

struct DeviceOptions {
  unsigned slots = 4;  // per device, 1 to max_slots
  std::size_t piece_bytes = std::size_t{4} << 20;
  // In CTR, the device makes only the keystream, and the caller's thread adds it to the text. That
  // saves the copy to the device.
  bool copies_keystream = false;
  std::string kernel = {};  // a device kernel by name; empty: the best of each cipher
  Note note = {};           // told, in any thread, why the CPU does the work
};

// Throws Error(usage) for an unknown kernel name. Returns null, and one line in `why`, which is
// also passed to `note`, if there is no memory or no slot, or after another failure that passes.
[[nodiscard]] std::unique_ptr<Device> make_device(std::shared_ptr<Runtime> runtime,
                                                  const DeviceOptions& options, std::string& why);

inline std::unique_ptr<Device> make_device(std::shared_ptr<Runtime> runtime,
                                           const DeviceOptions& options = {}) {
  std::string why;
  return make_device(std::move(runtime), options, why);
}

}  // namespace paes::cuda
