// SPDX-License-Identifier: Apache-2.0
// `paes vault info`: what a vault's configuration says, without any key. Nothing of it is
// authenticated: it tells what the file claims.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "cli/report.hpp"
#include "cli/vault_options.hpp"
#include "vault/names.hpp"

namespace paes::cli {

namespace {

using nlohmann::ordered_json;
using vault::Features;

struct VaultInfoCommand {
  VaultPlace place;
  bool json = false;
};

std::string text_of_names(const Features& features) {
  if (features.has_plaintext_names) {
    return "not encrypted";
  }
  return fmt::format("{}; above {} bytes encoded, as a hash",
                     features.has_directory_ivs ? "encrypted, in each folder differently"
                                                : "encrypted, equal names alike in all folders",
                     features.long_name_max);
}

void print_text(const std::string& path, const vault::Configuration& configuration) {
  const Features& features = configuration.features;
  const vault::ScryptCost& cost = configuration.scrypt;
  std::string text = fmt::format("{}\n", printable(path));
  const auto line = [&text](const char* name, const std::string& value) {
    text += fmt::format("  {:<12}{}\n", name, value);
  };
  line("format", fmt::format("gocryptfs {}", vault::format_version));
  line("creator", configuration.creator.empty() ? "not named" : printable(configuration.creator));
  line("flags", fmt::format("{}", fmt::join(vault::flags_of(configuration), " ")));
  line("content", name_of(features.content));
  line("names", text_of_names(features));
  line("name length", fmt::format("up to {} bytes", vault::max_name_bytes));
  line(configuration.fido2 ? "FIDO2 token" : "passphrase",
       fmt::format("scrypt, work factor 2^{}, r {}, p {}, {}", cost.log2_n, cost.r, cost.p,
                   human_bytes(static_cast<double>(cost.memory_bytes()))));
  print_result(text);
}

void print_document(const std::string& path, const vault::Configuration& configuration) {
  const Features& features = configuration.features;
  const vault::ScryptCost& cost = configuration.scrypt;
  print_json({{"command", "vault info"},
              {"file", path},
              {"format", "gocryptfs"},
              {"version", vault::format_version},
              {"creator", configuration.creator},
              {"flags", vault::flags_of(configuration)},
              {"cipher", name_of(features.content)},
              {"encrypts_names", !features.has_plaintext_names},
              {"max_name_bytes", vault::max_name_bytes},
              {"long_name_max",
               features.hashes_long_names() ? ordered_json(features.long_name_max) : nullptr},
              {"fido2", configuration.fido2.has_value()},
              {"scrypt",
               {{"log2_n", cost.log2_n},
                {"r", cost.r},
                {"p", cost.p},
                {"salt_bytes", cost.salt.size()},
                {"work_factor", cost.work_factor()},
                {"memory_bytes", cost.memory_bytes()}}}});
}

Action declare(CLI::App& app) {
  const auto command = std::make_shared<VaultInfoCommand>();
  command->place.declare(app, false);
  app.add_flag("--json", command->json, "print JSON (docs/schema/vault_info.schema.json)");
  return [command] {
    const std::string path = command->place.configuration_path();
    const vault::Configuration configuration = work_on_file(
        "vault info", path, command->json, [&] { return command->place.read_configuration(); });
    if (command->json) {
      print_document(path, configuration);
    } else {
      print_text(path, configuration);
    }
    return exit_done;
  };
}

}  // namespace

extern const Command vault_command_info = {"info", "show how a vault is encrypted", declare};

}  // namespace paes::cli
