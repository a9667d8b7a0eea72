#include "paes/command_line.hpp"

#include <CLI/CLI.hpp>
#include <exception>
#include <new>
#include <string>
#include <vector>

#include "paes/error.hpp"
#include "paes/report.hpp"

namespace paes::cli {

namespace {

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
void refuse_empty_values(const CLI::App& command, const std::string& name,
                         const std::string& help) {
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& value : option->results()) {
      if (value.empty()) {
        throw Error(ErrorCode::usage, name + ": " + option->get_name() + " is empty", help);
      }
    }
  }
}

}  // namespace

// CLI11's exceptions in our words.
Action parse_command_line(const Program& program, int argc, char** argv) {
  const std::string name = program.name;
  const std::string list_hint = name + " --help lists the commands";
  CLI::App app{program.summary, name};
  app.set_version_flag("--version", name + " " PAES_VERSION);
  app.require_subcommand(1);
  app.footer(program.footer);
  // Only the chosen command declares its options: start-up time is part of every small file.
  const std::string chosen = argc > 1 ? argv[1] : "";
  Action action;
  for (const Command* command : program.commands) {
    CLI::App* sub = app.add_subcommand(command->name, command->summary);
    if (chosen == command->name) {
      action = command->declare(*sub);
    }
  }
  if (!action && !chosen.empty() && chosen[0] != '-') {
    throw Error(ErrorCode::usage, "command line: there is no command '" + chosen + "'", list_hint);
  }
  if (argc > 1 && chosen.empty()) {
    throw Error(ErrorCode::usage, "command line: the command is empty", list_hint);
  }
  const std::string what = action ? chosen : "command line";
  const std::string help = action ? name + " " + chosen + " --help" : list_hint;
  try {
    app.parse(arguments_for_cli11(argc, argv));
    if (action) {
      refuse_empty_values(*app.get_subcommand(chosen), chosen, help);
    }
  } catch (const CLI::Success& answer) {
    // Help and version are answers, not errors.
    std::ostringstream text;
    (void)app.exit(answer, text, text);
    print_result(text.str());
    return [] { return exit_done; };
  } catch (const CLI::ParseError& error) {
    throw Error(ErrorCode::usage, what + ": " + one_line(error.what()), help);
  }
  return action;
}

int run_reporting(const std::function<int()>& work) noexcept {
  try {
    try {
      return work();
    } catch (const Error& error) {
      print_error(error);
      return static_cast<int>(error.code);
    } catch (const std::bad_alloc&) {
      print_error(Error(ErrorCode::failure, "memory: not enough of it"));
    } catch (const std::exception& error) {
      print_error(Error(ErrorCode::failure, "internal error: " + one_line(error.what())));
    }
  } catch (...) {
    // Printing itself failed: the exit code still tells.
  }
  return static_cast<int>(ErrorCode::failure);
}

}  // namespace paes::cli
