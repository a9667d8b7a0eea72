// The one command of paes-mount.
#pragma once

#include "paes/command.hpp"

namespace paes::mount {

extern const cli::Command command;

}  // namespace paes::mount
