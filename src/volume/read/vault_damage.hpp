// SPDX-License-Identifier: Apache-2.0
// What is damaged in a volume: found by reading, told to whoever asked.
#pragma once

#include <functional>
#include <string>

namespace paes::volume {

struct Finding {
  std::string path;  // in the volume; where the name is damaged, as it is stored
  std::string what;  // "block 7 is not authentic"
};

// Called from any thread.
using DamageReport = std::function<void(const Finding&)>;

}  // namespace paes::volume
