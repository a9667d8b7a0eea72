// SPDX-License-Identifier: Apache-2.0
#include "cli/help_page.hpp"

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/option_list.hpp"

namespace paes::cli {

namespace {

class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_option_opts(const CLI::Option* option) const override {
    if (option->get_positional() || option->get_items_expected_max() == 0) {
      return "";
    }
    const std::string standard = option->get_default_str();
    return " " + name_of_value(*option) + (standard.empty() ? "" : " (" + standard + ")") +
           (option->get_expected_max() > 1 ? " ..." : "");
  }
};

}  // namespace

void format_help(CLI::App& app) {
  app.formatter(std::make_shared<HelpFormatter>());
  app.set_help_flag("-h,--help", "print this page");
}

OptionGroup::OptionGroup(CLI::App& app, const char* heading)
    : app_(app), before_(app.option_defaults()->get_group()) {
  app_.option_defaults()->group(heading);
}

// The parser has taken this heading before. NOLINTNEXTLINE(bugprone-exception-escape)
OptionGroup::~OptionGroup() { app_.option_defaults()->group(before_); }

}  // namespace paes::cli
