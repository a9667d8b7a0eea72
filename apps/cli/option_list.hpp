// SPDX-License-Identifier: Apache-2.0
// `PROGRAM [COMMAND] --list-options` prints what can be typed there as JSON, for whoever makes
// shell completions or manuals: tools/generate does. No help mentions it.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command.hpp"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace paes::cli {

inline constexpr std::string_view list_option = "--list-options";

// An option, or an operand: a word that is no option.
struct ListedOption {
  std::vector<std::string> names;    // short names first; of an operand, what the help calls it
  std::string value;                 // what the help calls an option's value; empty: it takes none
  std::vector<std::string> choices;  // all that the value or operand can be; empty: not a few words
  bool repeats = false;
  bool is_hidden = false;  // from the help
  std::string help;
};

struct OptionList {
  std::string name;  // of program and command
  std::string summary;
  std::vector<ListedOption> options;
  std::vector<ListedOption> operands;
  std::span<const Command* const> commands = {};
  bool reads_encrypted_files = false;
};

// What the help shows in the place of the value, and list_of takes for the choices: a|b|c.
[[nodiscard]] std::string join_choices(const std::vector<std::string>& choices);

// What the help calls the option's value.
[[nodiscard]] std::string name_of_value(const CLI::Option& option);

// The options and operands that `app` has declared.
[[nodiscard]] OptionList list_of(const CLI::App& app, const std::string& name);

[[nodiscard]] std::string to_json(const OptionList& list);

}  // namespace paes::cli
