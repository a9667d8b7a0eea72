// The command line of paes: picks the subcommand from commands.def, parses its options, runs it and
// turns every way to fail into one line and an exit code.
#include <CLI/CLI.hpp>
#include <exception>
#include <new>
#include <string>
#include <vector>

#include "paes/command.hpp"
#include "paes/process.hpp"
#include "paes/report.hpp"

namespace {

using paes::Error;
using paes::ErrorCode;
using paes::cli::Command;

constexpr const Command* commands[] = {
#define PAES_COMMAND(name) &paes::cli::command_##name,
#include "paes/commands.def"
#undef PAES_COMMAND
};

std::string one_line(std::string text) {
  for (char& c : text) {
    c = c == '\n' ? ' ' : c;
  }
  while (!text.empty() && text.back() == ' ') {
    text.pop_back();
  }
  return text;
}

// The arguments as CLI11 wants them, last one first. It takes "[a,b]" for the list of a and b, so a
// file of such a name is called "./[a,b]" instead.
std::vector<std::string> arguments_for_cli11(int argc, char** argv) {
  std::vector<std::string> arguments;
  for (int i = argc - 1; i > 0; --i) {
    const std::string argument = argv[i];
    arguments.push_back(argument.starts_with('[') && argument.ends_with(']') ? "./" + argument
                                                                             : argument);
  }
  return arguments;
}

// An empty value is a script's variable that was never set: taken for an option that was not given
// it would, for one, decrypt a whole file instead of a range.
void refuse_empty_values(const CLI::App& command, const std::string& name) {
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& value : option->results()) {
      if (value.empty()) {
        throw Error(ErrorCode::usage, name + ": " + option->get_name() + " is empty",
                    "paes " + name + " --help");
      }
    }
  }
}

// CLI11's exceptions in the words of paes. Help and version are answers, not errors.
int parse_and_run(int argc, char** argv) {
  CLI::App app{"Bulk encryption on all of the machine: authenticated, seekable, in an open format.",
               "paes"};
  app.set_version_flag("--version", "paes " PAES_VERSION);
  app.require_subcommand(1);
  app.footer("'paes COMMAND --help' explains a command; paes(1) has it all.");
  // Only the chosen command declares its options: start-up time is part of every small file.
  const std::string chosen = argc > 1 ? argv[1] : "";
  paes::cli::Action action;
  for (const Command* command : commands) {
    CLI::App* sub = app.add_subcommand(command->name, command->summary);
    if (chosen == command->name) {
      action = command->declare(*sub);
    }
  }
  if (!action && !chosen.empty() && chosen[0] != '-') {
    throw Error(ErrorCode::usage, "command line: there is no command '" + chosen + "'",
                "paes --help lists the commands");
  }
  if (argc > 1 && chosen.empty()) {
    throw Error(ErrorCode::usage, "command line: the command is empty",
                "paes --help lists the commands");
  }
  const std::string what = action ? chosen : "command line";
  try {
    app.parse(arguments_for_cli11(argc, argv));
    if (action) {
      refuse_empty_values(*app.get_subcommand(chosen), chosen);
    }
  } catch (const CLI::Success& answer) {
    std::ostringstream text;
    (void)app.exit(answer, text, text);
    paes::cli::print_result(text.str());
    return paes::cli::exit_done;
  } catch (const CLI::ParseError& error) {
    throw Error(ErrorCode::usage, what + ": " + one_line(error.what()),
                action ? "paes " + chosen + " --help" : "paes --help lists the commands");
  }
  return action();
}

int run(int argc, char** argv) noexcept {
  try {
    try {
      paes::cli::prepare_process();
      return parse_and_run(argc, argv);
    } catch (const Error& error) {
      paes::cli::print_error(error);
      return static_cast<int>(error.code);
    } catch (const std::bad_alloc&) {
      paes::cli::print_error(Error(ErrorCode::failure, "memory: not enough of it"));
    } catch (const std::exception& error) {
      paes::cli::print_error(
          Error(ErrorCode::failure, "internal error: " + one_line(error.what())));
    }
  } catch (...) {
    // Printing itself failed: the exit code still tells.
  }
  return static_cast<int>(ErrorCode::failure);
}

}  // namespace

int main(int argc, char** argv) {
  const int code = run(argc, argv);
  if (code != paes::cli::exit_done) {
    paes::cli::die_by_caught_signal();
  }
  return code;
}
