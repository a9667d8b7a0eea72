// SPDX-License-Identifier: Apache-2.0
// The experiments of the lab (bench/experiments) that a device has a part in.
#pragma once

#include <string>

#include "gpu/gpu_session.hpp"

namespace paes::bench {

// `wanted`: E1, E2, E4, E7, E9, E10, or "all" of them. Throws Error(usage) for another.
void measure_studies(GpuSession& session, const std::string& wanted, bool is_quick);

}  // namespace paes::bench
