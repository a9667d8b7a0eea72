// SPDX-License-Identifier: Apache-2.0
// The lab's experiments (bench/experiments) that use a device.
#pragma once

#include <string>
#include <vector>

#include "gpu/gpu_session.hpp"

namespace paes::bench {

// `only`: names out of E1, E2, E4, E7, E9, E10 and E17; with none, all of them are measured. Throws
// Error(usage) for any other name.
void measure_studies(GpuSession& session, const std::vector<std::string>& only, bool is_quick);

}  // namespace paes::bench
