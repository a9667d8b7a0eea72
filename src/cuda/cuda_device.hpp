// The CUDA device: message/device.hpp over a runtime. Each call takes a slot, copies its text in,
// launches, copies out and waits; pieces of several calls overlap. Buffers that their owner has
// pinned are copied directly, everything else through pinned staging of the slot. Texts, keys,
// hashes and tags are wiped from the device and from staging before the memory is given back, and
// round keys from constant memory at the end of each call.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "cuda/runtime.hpp"
#include "cuda/slot.hpp"
#include "message/device.hpp"

namespace paes::cuda {

struct DeviceOptions {
  unsigned slots = 4;  // of each device, 1 to max_slots
  std::size_t piece_bytes = std::size_t{4} << 20;
  // CTR's keystream alone comes from the device, and the caller's thread adds it to the text: saves
  // the copy to the device.
  bool copies_keystream = false;
  std::string kernel = {};  // a device kernel by name; empty: the best of each cipher
  Note note = {};           // is told when memory is short, and when it is given up; any thread
};

// Throws Error(usage) where the kernel's name is unknown. Null, and one line of why, which is a
// note as well, where there is no memory for anything or no slot.
[[nodiscard]] std::unique_ptr<Device> make_device(std::shared_ptr<Runtime> runtime,
                                                  const DeviceOptions& options, std::string& why);

inline std::unique_ptr<Device> make_device(std::shared_ptr<Runtime> runtime,
                                           const DeviceOptions& options = {}) {
  std::string why;
  return make_device(std::move(runtime), options, why);
}

}  // namespace paes::cuda
