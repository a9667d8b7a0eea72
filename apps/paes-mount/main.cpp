// SPDX-License-Identifier: Apache-2.0
// The program paes-mount: shows the text of a vault in a folder. A program of its own, so that paes
// never needs libfuse.
#include "cli/command_line.hpp"
#include "paes-mount/mount_command.hpp"
#include "paes-mount/mount_command_line.hpp"

namespace {

constexpr const paes::cli::Command* commands[] = {&paes::mount::command};

constexpr paes::cli::Program program = {
    "paes-mount",
    "Mounts a vault, a folder in the format of gocryptfs.",
    commands,
    "'paes umount MOUNTPOINT' unmounts it; paes-mount(1) has it all.",
    "",
    true,
    [](std::string_view word) {
      return word.starts_with('-') ? paes::mount::hint_for_option_of_gocryptfs(word) : "";
    }};

}  // namespace

int main(int argc, char** argv) { return paes::cli::run_program(program, argc, argv); }
