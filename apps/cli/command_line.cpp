// SPDX-License-Identifier: Apache-2.0
#include "cli/command_line.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/help_page.hpp"
#include "cli/option_list.hpp"
#include "cli/process.hpp"
#include "cli/report.hpp"
#include "core/current_error.hpp"
#include "core/descriptor.hpp"
#include "paes/error.hpp"

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

// CLI11 gives some words a meaning of its own. To prevent that, a word is prefixed with a byte that
// no argument can hold. The byte is removed before the word becomes a value.
constexpr char literal_mark = '\0';

std::string marked(const std::string& word) {
  return word.empty() ? word : literal_mark + word;  // empty ones are refused, see below
}

std::string unmarked(std::string text) {
  std::erase(text, literal_mark);
  return text;
}

void unmark_values(CLI::App& command) {
  const CLI::Validator unmark(
      [](std::string& word) {
        word = unmarked(std::move(word));
        return std::string();
      },
      "");
  for (CLI::Option* option : command.get_options()) {
    if (option->get_items_expected_max() > 0) {
      option->transform(unmark);
    }
  }
}

bool takes_value(const CLI::App& command, const std::string& name) {
  const CLI::Option* option = command.get_option_no_throw(name);
  return option != nullptr && option->get_items_expected_max() > 0;
}

// Where the value of an option begins in the option's own argument, as in -oFILE and --output=FILE;
// at its end if the value is the next argument. Nothing: there is no option with a value in it.
std::optional<std::size_t> value_begin(const CLI::App& command, const std::string& argument) {
  if (argument.starts_with("--")) {
    const std::size_t name_bytes = std::min(argument.find('='), argument.size());
    return takes_value(command, argument.substr(0, name_bytes))
               ? std::optional(std::min(name_bytes + 1, argument.size()))
               : std::nullopt;
  }
  for (std::size_t i = 1; i < argument.size(); ++i) {
    if (takes_value(command, {'-', argument[i]})) {
      return i + 1;
    }
  }
  return std::nullopt;
}

// Whether the argument after this one is the value of an option.
bool wants_next(const CLI::App& command, const std::string& argument) {
  return value_begin(command, argument) == argument.size() && !argument.ends_with('=');
}

std::string with_marked_value(const CLI::App& command, const std::string& argument) {
  const std::size_t begin = value_begin(command, argument).value_or(argument.size());
  return argument.substr(0, begin) + marked(argument.substr(begin));
}

struct Word {
  std::string text;
  bool is_option;  // else it is a file or an option's value
};

// What stands after the command, without the "--" that ends the options.
std::vector<Word> words_of(const CLI::App& command, std::span<char* const> after_command) {
  std::vector<Word> words;
  bool options_may_follow = true;
  bool is_value = false;
  for (const std::string argument : after_command) {
    const bool is_option =
        options_may_follow && !is_value && argument.size() > 1 && argument[0] == '-';
    if (is_option && argument == "--") {
      options_may_follow = false;
      continue;
    }
    words.push_back({argument, is_option});
    is_value = is_option && wants_next(command, argument);
  }
  return words;
}

// The arguments as CLI11 wants them, last one first. Words and values after the command are marked,
// because CLI11 would end the command at "++", read "[a,b]" as a list (from 2.6 on also in
// "-i[a,b]"), and end the command at a "--" after a file. words_of has dealt with "--" already.
std::vector<std::string> arguments_for_cli11(const CLI::App& command,
                                             std::span<char* const> up_to_command,
                                             std::span<char* const> after_command) {
  std::vector<std::string> arguments(up_to_command.begin(), up_to_command.end());
  for (const Word& word : words_of(command, after_command)) {
    arguments.push_back(word.is_option ? with_marked_value(command, word.text) : marked(word.text));
  }
  std::reverse(arguments.begin(), arguments.end());
  return arguments;
}

// An empty value comes from a script's variable that was never set. If it counted as an option that
// was not given, paes would for example decrypt a whole file instead of a range.
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

// `chosen` is null where `app` is that of a program whose command has not been named.
void print_list(const CLI::App& app, const std::string& name, const Program& program,
                const Command* chosen) {
  OptionList list = list_of(app, name);
  if (chosen == nullptr) {
    list.commands = program.commands;
  } else {
    list.reads_encrypted_files = chosen->operands == Operands::encrypted_files;
    if (chosen->first_words != nullptr) {
      list.operands.front().choices = chosen->first_words();
    }
  }
  print_result(to_json(list));
}

}  // namespace

CommandLine::CommandLine(const Program& program, std::span<char* const> arguments) noexcept
    : program_(program), arguments_(arguments) {
  while (command_at_ < arguments_.size() && arguments_[command_at_][0] == '-') {
    ++command_at_;
  }
}

std::string CommandLine::command() const {
  if (program_.is_one_command) {
    return program_.commands.front()->name;
  }
  return command_at_ < arguments_.size() ? arguments_[command_at_] : "";
}

std::span<char* const> CommandLine::up_to_command() const {
  return arguments_.first(program_.is_one_command ? 0
                                                  : std::min(command_at_ + 1, arguments_.size()));
}

std::span<char* const> CommandLine::after_command() const {
  return arguments_.subspan(up_to_command().size());
}

std::string CommandLine::command_in_documents() const {
  std::string name = program_.prefix + command();
  if (name.ends_with(' ')) {
    name.pop_back();
  }
  return name;
}

// Asked for when something has failed, perhaps before the options were declared.
bool CommandLine::wants_json() const {
  CLI::App options;
  for (const Command* one : program_.commands) {
    if (command() == one->name && one->declare != nullptr) {
      (void)one->declare(options);
    }
  }
  const auto before = up_to_command();
  const std::vector<Word> after = words_of(options, after_command());
  return std::any_of(before.begin(), before.end(),
                     [](const char* text) { return std::string_view(text) == "--json"; }) ||
         std::any_of(after.begin(), after.end(),
                     [](const Word& word) { return word.is_option && word.text == "--json"; });
}

bool CommandLine::wants_list() const {
  const auto words = command().empty() ? arguments_ : after_command();
  return words.size() == 1 && words.front() == list_option;
}

// CLI11's exceptions in our words.
Action CommandLine::parse() const {
  const std::string name = program_.name;
  const std::string list_hint = name + " --help lists the commands";
  CLI::App app{program_.summary, name};
  format_help(app);
  app.set_version_flag("--version", name + " " PAES_VERSION, "print the version");
  app.require_subcommand(program_.is_one_command ? 0 : 1);
  app.footer(program_.footer);
  // Only the chosen command is added and declares its options: start-up time is part of every small
  // file.
  const std::string chosen = command();
  const bool is_known = std::any_of(program_.commands.begin(), program_.commands.end(),
                                    [&](const Command* one) { return chosen == one->name; });
  Action action;
  const Command* chosen_command = nullptr;
  CLI::App* chosen_app = nullptr;
  for (const Command* one : program_.commands) {
    if (is_known && chosen != one->name) {
      continue;
    }
    CLI::App* const sub =
        program_.is_one_command ? &app : app.add_subcommand(one->name, one->summary);
    if (chosen == one->name && one->run_words != nullptr) {
      return [one, words = after_command()] { return one->run_words(words); };
    }
    if (chosen == one->name) {
      action = one->declare(*sub);
      chosen_command = one;
      chosen_app = sub;
    }
  }
  const std::string command_name = program_.is_one_command || chosen.empty() ? "" : " " + chosen;
  if (wants_list() && (chosen_app != nullptr || chosen.empty())) {
    print_list(chosen_app != nullptr ? *chosen_app : app, name + command_name, program_,
               chosen_command);
    return [] { return exit_done; };
  }
  if (!action && !chosen.empty()) {
    throw Error(ErrorCode::usage, "command line: there is no command '" + chosen + "'", list_hint);
  }
  if (!action && command_at_ < arguments_.size()) {
    throw Error(ErrorCode::usage, "command line: the command is empty", list_hint);
  }
  const std::string what = action ? program_.prefix + chosen : "command line";
  std::string help = action ? name + command_name + " --help" : list_hint;
  if (program_.hint_for != nullptr) {
    for (const char* const word : after_command()) {
      if (std::string hint = program_.hint_for(word); !hint.empty()) {
        help = std::move(hint);
        break;
      }
    }
  }
  try {
    if (chosen_app != nullptr) {
      unmark_values(*chosen_app);
      app.parse(arguments_for_cli11(*chosen_app, up_to_command(), after_command()));
      refuse_empty_values(*chosen_app, what, help);
    } else {
      app.parse(std::vector<std::string>(arguments_.rbegin(), arguments_.rend()));
    }
  } catch (const CLI::Success& answer) {
    // Help and version are answers, not errors.
    std::ostringstream text;
    (void)app.exit(answer, text, text);
    print_result(text.str());
    return [] { return exit_done; };
  } catch (const CLI::ExtrasError&) {
    throw Error(ErrorCode::usage, what + ": not expected: " + unmarked(app.remaining(true).front()),
                help);
  } catch (const CLI::ParseError& error) {
    throw Error(ErrorCode::usage, what + ": " + one_line(error.what()), help);
  }
  return action;
}

int CommandLine::run_reporting(const std::function<int()>& work) const noexcept {
  try {
    try {
      return work();
    } catch (const ClosedOutput& error) {
      if (!stop_for_closed_output()) {
        print_error(error);
      }
    } catch (...) {
      const Error error = current_error();
      print_error(error);
      if (wants_json() && !has_printed_json()) {
        print_json(failure_document(command_in_documents(), error));
      }
      return static_cast<int>(error.code);
    }
  } catch (const ClosedOutput&) {
    (void)stop_for_closed_output();
  } catch (...) {
    // Printing itself failed: the exit code still tells.
  }
  return static_cast<int>(ErrorCode::failure);
}

int run_command(const CommandLine& line) { return line.parse()(); }

int run_program(const Program& program, int argc, char** argv,
                int (*run)(const CommandLine& line)) {
  const CommandLine line(program,
                         std::span(argv + 1, argc > 0 ? static_cast<std::size_t>(argc) - 1 : 0));
  const int code = line.run_reporting([&] {
    prepare_process();
    return run(line);
  });
  if (code != exit_done) {
    die_by_caught_signal();
  }
  return code;
}

}  // namespace paes::cli
