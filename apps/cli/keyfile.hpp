// SPDX-License-Identifier: Apache-2.0
// Files that hold secrets, as inputs and as outputs.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/secret.hpp"
#include "stream/file/file_place.hpp"

namespace paes::cli {

// With -f an output could replace the file that its key, passphrase or AAD came from. Throws
// Error(usage) when both names lead to one file or block device. `what` names the secret in the
// message. A secret that came from no file has an empty name.
void refuse_secret_as_output(const stream::FilePlace& output, const std::string& secret_file,
                             const char* what);

// A file of identities or recipients; "-" is standard input. Throws as stream::read_small_file
// does, and Error(usage) for a secret key in place of a name.
[[nodiscard]] SecretBytes read_key_file(const std::string& path);

// Whether a key is one line of at least 16 hexadecimal digits and nothing else, which a random key
// never is. The time does not depend on the bytes.
[[nodiscard]] bool holds_hexadecimal(Bytes contents);

// Makes a file that did not exist, mode 0600, synced with its folder. Throws Error(failure) when
// the name is taken, before it asks for the contents.
void write_new_secret_file(const std::string& path, const std::function<SecretBytes()>& contents);

// Writes without stdio, whose buffer nobody would wipe. Syncs if standard output is a file.
void write_standard_output(Bytes contents);

// Whether the path is what standard input reads, such as "-", /dev/stdin or the file it comes from.
[[nodiscard]] bool is_standard_input(const std::string& path);

// How many of the paths are standard input.
[[nodiscard]] unsigned standard_input_uses(const std::vector<std::string>& paths);

// Throws Error(usage) for more than one use: the first reader would leave nothing for the others.
void refuse_several_uses_of_standard_input(unsigned uses);

}  // namespace paes::cli
