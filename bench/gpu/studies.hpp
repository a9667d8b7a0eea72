// SPDX-License-Identifier: Apache-2.0
// The lab's experiments (bench/experiments) that use a device.
#pragma once

#include <string>

#include "gpu/gpu_session.hpp"

namespace paes::bench {

// `wanted`: E1, E2, E4, E7, E9, E10, E17, or "all". Throws Error(usage) for anything else.
void measure_studies(GpuSession& session, const std::string& wanted, bool is_quick);

}  // namespace paes::bench
