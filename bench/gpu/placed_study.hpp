// SPDX-License-Identifier: Apache-2.0
// E17 of the lab: where AES's tables lie on a device, how many threads a thread block has, and how
// many streams carry the text.
#pragma once

#include "gpu/study_bench.hpp"

namespace paes::bench {

// Records into the section that is open.
void measure_placed_kernels(const GpuSession& session, StudyBench& bench, bool is_quick);

}  // namespace paes::bench
