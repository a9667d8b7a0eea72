// SPDX-License-Identifier: Apache-2.0
// The variants at -O0 (bench/CMakeLists.txt).
#include "aes_ci/variants.hpp"

namespace paes::bench {

std::vector<AesCiRow> unoptimized_rows() { return make_rows("O0"); }

}  // namespace paes::bench
