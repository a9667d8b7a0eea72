// SPDX-License-Identifier: Apache-2.0
// Options that take several numbers, with commas between them.
#pragma once

#include <CLI/CLI.hpp>
#include <vector>

#include "cli/decimal.hpp"

namespace paes::cli {

inline void take_numbers(CLI::App& app, const char* name, std::vector<unsigned>& numbers,
                         unsigned least, unsigned most, const char* description) {
  app.add_option(name, numbers, description)
      ->delimiter(',')
      ->check(decimal())
      ->check(CLI::Range(least, most));
}

}  // namespace paes::cli
