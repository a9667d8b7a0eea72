// SPDX-License-Identifier: Apache-2.0
// Keys of plugins: "age1NAME1..." and "AGE-PLUGIN-NAME-1..." (c2sp.org/age-plugin). A program
// age-plugin-NAME on the path wraps and unwraps the file key, for example with a hardware key. It
// exchanges stanzas over its standard input and output.
#pragma once

#include <string>
#include <string_view>

#include "age/keys.hpp"

namespace paes::age {

// `text` goes to the plugin unchanged. The plugin is started only to wrap a file key.
[[nodiscard]] SharedRecipient plugin_recipient(std::string_view plugin, std::string text,
                                               const Prompts& prompts);
[[nodiscard]] SharedIdentity plugin_identity(std::string_view plugin, SecretBytes text,
                                             const Prompts& prompts);

// An identity without data, for plugins that know themselves which key is meant. Throws
// Error(usage) for a name that no plugin can have.
[[nodiscard]] SharedIdentity plugin_identity_without_data(const std::string& plugin,
                                                          const Prompts& prompts);

}  // namespace paes::age
