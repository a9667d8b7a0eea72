// SPDX-License-Identifier: Apache-2.0
// The subcommands of paes and of `paes vault`, as paes_commands.def and vault_commands.def list
// them.
#pragma once

#include "cli/command.hpp"

namespace paes::cli {

#define PAES_COMMAND(name) extern const Command command_##name;
#include "paes_commands.def"
#undef PAES_COMMAND

#define PAES_COMMAND(name) extern const Command vault_command_##name;
#include "vault_commands.def"
#undef PAES_COMMAND

}  // namespace paes::cli
