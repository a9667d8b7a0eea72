# SPDX-License-Identifier: Apache-2.0
# Writes the source of bench_build.hpp's values to OUTPUT, only if they have changed, so that asking
# git at each build causes no compilation.
execute_process(
  COMMAND git -C ${SOURCE} describe --always --exclude=* --abbrev=12 --dirty
  OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
if(failed)
  set(commit "")
endif()
file(CONFIGURE OUTPUT ${OUTPUT} @ONLY CONTENT [[
#include "paes-bench/build.hpp"

namespace paes::cli {
const char* const build_flags = "@FLAGS@";
const char* const build_commit = "@commit@";
}  // namespace paes::cli
]])
