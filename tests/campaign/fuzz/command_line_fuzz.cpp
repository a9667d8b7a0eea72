// SPDX-License-Identifier: Apache-2.0
// The command line of paes: the input is its words, with a line feed after each. They are parsed,
// and nothing is run. Whatever they say, there is an action, or one line that says what is wrong.
#include <string>
#include <string_view>
#include <vector>

#include "cli/command_line.hpp"
#include "fuzz/property.hpp"
#include "paes/error.hpp"

namespace paes::cli {
#define PAES_COMMAND(name) extern const Command command_##name;
#include "paes/paes_commands.def"
#undef PAES_COMMAND
}  // namespace paes::cli

namespace {

using paes::fuzz::require;

constexpr const paes::cli::Command* commands[] = {
#define PAES_COMMAND(name) &paes::cli::command_##name,
#include "paes/paes_commands.def"
#undef PAES_COMMAND
};
constexpr paes::cli::Program program = {"paes", "summary", commands, "footer"};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  std::vector<std::string> words(1);
  for (std::size_t i = 0; i < bytes; ++i) {
    if (data[i] == '\n') {
      words.emplace_back();
    } else if (data[i] != 0) {  // no word of a command line has one
      words.back() += static_cast<char>(data[i]);
    }
  }
  std::vector<char*> arguments;
  for (std::string& word : words) {
    arguments.push_back(word.data());
  }
  try {
    const paes::cli::CommandLine line(program, arguments);
    require(line.parse() != nullptr, "there is something to do");
  } catch (const paes::Error& error) {
    require(error.code == paes::ErrorCode::usage, "what makes no sense is the user's error");
    for (const std::string_view text :
         {std::string_view(error.what()), std::string_view(error.hint)}) {
      // What the user's own words have, the error may repeat.
      require(text.find('\n') == std::string_view::npos, "an error is one line");
    }
    require(!std::string_view(error.what()).empty(), "an error says something");
  }
  return 0;
}
