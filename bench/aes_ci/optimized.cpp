// SPDX-License-Identifier: Apache-2.0
// The variants at -O3 (bench/CMakeLists.txt).
#include "aes_ci/variants.hpp"

namespace paes::bench {

std::vector<AesCiRow> optimized_rows() { return make_rows("O3"); }

}  // namespace paes::bench
