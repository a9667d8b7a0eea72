// SPDX-License-Identifier: Apache-2.0
#include "cli/help_page.hpp"

#include <CLI/CLI.hpp>
#include <memory>
#include <vector>

#include "cli/option_list.hpp"

namespace paes::cli {

namespace {

constexpr std::size_t column = 30;

std::string row(const std::string& left, const std::string& what) {
  std::string line = "  " + left;
  if (!what.empty()) {
    line += line.size() < column ? std::string(column - line.size(), ' ')
                                 : "\n" + std::string(column, ' ');
    line += what;
  }
  return line + "\n";
}

void add_rows(std::string& page, const std::string& heading, const std::string& rows) {
  if (!rows.empty()) {
    page += "\n" + heading + ":\n" + rows;
  }
}

std::string names_of(const CLI::Option& option) {
  std::string names;
  for (const std::string& name : option.get_snames()) {
    names += (names.empty() ? "-" : ",-") + name;
  }
  for (const std::string& name : option.get_lnames()) {
    names += (names.empty() ? "--" : ",--") + name;
  }
  return names;
}

// What follows an option's names: its value, its default, and that it takes several.
std::string value_of(const CLI::Option& option) {
  if (option.get_items_expected_max() == 0) {
    return "";
  }
  const std::string standard = option.get_default_str();
  return " " + name_of_value(option) + (standard.empty() ? "" : " (" + standard + ")") +
         (option.get_expected_max() > 1 ? " ..." : "");
}

std::string usage_of(const CLI::Option& operand) {
  const std::string name = operand.get_name(true) + (operand.get_expected_max() > 1 ? "..." : "");
  return operand.get_required() ? " " + name : " [" + name + "]";
}

// Written here as a whole, because the parser's own pages differ from version to version.
class HelpPage : public CLI::FormatterBase {
 public:
  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode /*mode*/) const override {
    const auto operands =
        app->get_options([](const CLI::Option* option) { return option->get_positional(); });
    const auto commands = app->get_subcommands([](const CLI::App* command) {
      return !command->get_group().empty() && !command->get_name().empty();
    });
    std::string page = app->get_description() + "\nUsage: " + name + " [OPTIONS]";
    std::string rows;
    for (const CLI::Option* const operand : operands) {
      page += usage_of(*operand);
      rows += row(operand->get_name(true), operand->get_description());
    }
    if (!commands.empty()) {
      page += app->get_require_subcommand_min() == 0 ? " [SUBCOMMAND]" : " SUBCOMMAND";
    }
    page += '\n';
    add_rows(page, "Positionals", rows);
    for (const std::string& group : app->get_groups()) {
      add_rows(page, group == "OPTIONS" ? "Options" : group, options_of(*app, group));
    }
    rows.clear();
    for (const CLI::App* const command : commands) {
      rows += row(command->get_name(), command->get_description());
    }
    add_rows(page, "Subcommands", rows);
    const std::string footer = app->get_footer();
    return footer.empty() ? page : page + "\n" + footer + "\n";
  }

 private:
  // A hidden option's group has no name.
  static std::string options_of(const CLI::App& app, const std::string& group) {
    std::string rows;
    for (const CLI::Option* const option : app.get_options()) {
      if (!group.empty() && option->get_group() == group && option->nonpositional()) {
        rows += row(names_of(*option) + value_of(*option), option->get_description());
      }
    }
    return rows;
  }
};

}  // namespace

void format_help(CLI::App& app) {
  app.formatter(std::make_shared<HelpPage>());
  app.set_help_flag("-h,--help", "print this page");
}

OptionGroup::OptionGroup(CLI::App& app, const char* heading)
    : app_(app), before_(app.option_defaults()->get_group()) {
  app_.option_defaults()->group(heading);
}

// The parser has taken this heading before. NOLINTNEXTLINE(bugprone-exception-escape)
OptionGroup::~OptionGroup() { app_.option_defaults()->group(before_); }

}  // namespace paes::cli
