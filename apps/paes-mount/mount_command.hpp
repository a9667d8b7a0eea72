// SPDX-License-Identifier: Apache-2.0
// The one command of paes-mount.
#pragma once

#include "cli/command.hpp"

namespace paes::mount {

extern const cli::Command command;

}  // namespace paes::mount
