// Lists of words on the command line, each of which is taken as it stands. The lists of newer CLI11
// take the one word "{}" for no word at all.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace paes::cli {

inline CLI::Option* add_words(CLI::App& app, const std::string& names,
                              std::vector<std::string>& words, const std::string& description) {
  const CLI::callback_t take = [&words](const CLI::results_t& given) {
    words = given;
    return true;
  };
  return app.add_option(names, take, description)
      ->type_name("TEXT")
      ->expected(CLI::detail::expected_max_vector_size);
}

}  // namespace paes::cli
