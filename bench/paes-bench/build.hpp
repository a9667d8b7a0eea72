// SPDX-License-Identifier: Apache-2.0
// How this binary was built, for the reports of `paes-bench`; the values come from the build.
#pragma once

namespace paes::cli {

extern const char* const build_flags;   // "Release: -O3 -DNDEBUG"
extern const char* const build_commit;  // "0123456789ab", perhaps with "-dirty"; empty if unknown

}  // namespace paes::cli
