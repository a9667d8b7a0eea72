// SPDX-License-Identifier: Apache-2.0
// The help page of a command: options in groups, each with what its value is called and with its
// default. What else the parser knows of an option, such as ranges, is left to the man page.
#pragma once

#include <string>

namespace CLI {
class App;
}  // namespace CLI

namespace paes::cli {

// Before any option or subcommand is declared.
void format_help(CLI::App& app);

// The options that are declared while it exists stand under this heading.
class OptionGroup {
 public:
  OptionGroup(CLI::App& app, const char* heading);
  ~OptionGroup();
  OptionGroup(const OptionGroup&) = delete;
  OptionGroup& operator=(const OptionGroup&) = delete;

 private:
  CLI::App& app_;
  const std::string before_;
};

inline constexpr const char* keys_group = "Keys";
inline constexpr const char* files_group = "Files";
inline constexpr const char* work_group = "How the work is done";
inline constexpr const char* printed_group = "What is printed";

}  // namespace paes::cli
