// SPDX-License-Identifier: Apache-2.0
#include "cli/option_list.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/encrypted_names.hpp"

namespace paes::cli {

namespace {

// Empty unless the text is words between bars.
std::vector<std::string> split_choices(const std::string& value) {
  constexpr std::string_view of_words = "abcdefghijklmnopqrstuvwxyz0123456789-_|";
  std::vector<std::string> choices;
  if (value.find('|') != std::string::npos &&
      value.find_first_not_of(of_words) == std::string::npos) {
    std::istringstream words(value);
    for (std::string word; std::getline(words, word, '|');) {
      choices.push_back(word);
    }
  }
  return choices;
}

}  // namespace

std::string name_of_value(const CLI::Option& option) {
  const std::string type = option.get_type_name();  // with what the parser checks after a colon
  return type.substr(0, type.find(':'));
}

namespace {

ListedOption listed(const CLI::Option& option) {
  ListedOption one;
  for (const std::string& name : option.get_snames()) {
    one.names.push_back("-" + name);
  }
  for (const std::string& name : option.get_lnames()) {
    one.names.push_back("--" + name);
  }
  if (one.names.empty()) {
    one.names.push_back(option.get_name(true));
  }
  if (option.get_items_expected_max() > 0) {
    one.value = name_of_value(option);
    one.choices = split_choices(one.value);
  }
  one.repeats = option.get_expected_max() > 1;
  one.is_hidden = option.get_group().empty();
  one.help = option.get_description();
  return one;
}

nlohmann::ordered_json describe(const ListedOption& one, bool is_operand) {
  nlohmann::ordered_json document;
  if (is_operand) {
    document["name"] = one.names.front();
  } else {
    document["names"] = one.names;
    document["value"] = one.value;
    document["hidden"] = one.is_hidden;
  }
  document["choices"] = one.choices;
  document["repeats"] = one.repeats;
  document["help"] = one.help;
  return document;
}

}  // namespace

std::string join_choices(const std::vector<std::string>& choices) {
  std::string text;
  for (const std::string& choice : choices) {
    text += (text.empty() ? "" : "|") + choice;
  }
  return text;
}

OptionList list_of(const CLI::App& app, const std::string& name) {
  OptionList list{name, app.get_description(), {}, {}};
  for (const CLI::Option* option : app.get_options()) {
    (option->get_positional() ? list.operands : list.options).push_back(listed(*option));
  }
  return list;
}

std::string to_json(const OptionList& list) {
  nlohmann::ordered_json document = {{"name", list.name}, {"summary", list.summary}};
  document["options"] = nlohmann::ordered_json::array();
  for (const ListedOption& option : list.options) {
    document["options"].push_back(describe(option, false));
  }
  document["operands"] = nlohmann::ordered_json::array();
  for (const ListedOption& operand : list.operands) {
    document["operands"].push_back(describe(operand, true));
  }
  document["encrypted_suffixes"] =
      list.reads_encrypted_files ? encrypted_suffixes() : std::vector<std::string>{};
  document["commands"] = nlohmann::ordered_json::array();
  for (const Command* const command : list.commands) {
    document["commands"].push_back({{"name", command->name}, {"summary", command->summary}});
  }
  return document.dump(2) + "\n";
}

}  // namespace paes::cli
