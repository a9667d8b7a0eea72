// SPDX-License-Identifier: Apache-2.0
// How encrypted files are named, and which files a command takes by that.
#pragma once

#include <string>
#include <vector>

#include "stream/container/file_format.hpp"

namespace paes::cli {

// Which files of a folder a command takes. It skips and counts the others.
enum class InputKind {
  plain,      // all but those that are encrypted already
  encrypted,  // those whose names end as those of a format do that tells who can open the file
  bare,       // those whose names end as those of payloads alone do
};

// How the names of encrypted files end, in the order of the formats: ".paes", ".age" and so on.
[[nodiscard]] std::vector<std::string> encrypted_suffixes();
// The format whose suffix ends an encrypted file's name, or null.
[[nodiscard]] const stream::FileFormat* format_of_name(const std::string& name);
// Whether a command takes a file of this name.
[[nodiscard]] bool takes_name(InputKind kind, const std::string& name);
// FILE with a format's suffix, and without it, in the folder where it lies; "-" for "-". The second
// throws Error(usage) for a name without a format's suffix.
[[nodiscard]] std::string encrypted_name(
    const std::string& input, const stream::FileFormat& format = *stream::file_formats().front());
[[nodiscard]] std::string decrypted_name(const std::string& input);

}  // namespace paes::cli
