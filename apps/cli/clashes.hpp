// SPDX-License-Identifier: Apache-2.0
// Outputs of one command that would take each other's place, or that of an input.
#pragma once

#include <vector>

#include "cli/encrypted_names.hpp"
#include "cli/outcome.hpp"

namespace paes::cli {

// Throws Error(usage) for two inputs with one output. With `replaces_outputs` (-f) also for an
// output that would replace an input, before or after that is read. What was found, is encrypted
// already and would be replaced is no input: it is skipped. Whether a file system takes two names
// for one is seen only when both outputs are there (stream/file/run_outputs.hpp).
void settle_clashes(std::vector<Outcome>& outcomes, InputKind takes, bool replaces_outputs);

}  // namespace paes::cli
