// SPDX-License-Identifier: Apache-2.0
// What users keep in small files: identities, recipients, passphrases. Every length is capped
// before memory is taken, and what was read is wiped.
#pragma once

#include <string>

#include "core/secret.hpp"
#include "stream/transfer/cancel.hpp"

namespace paes::stream {

// Above this a file of identities or recipients is none.
inline constexpr std::size_t max_key_file_bytes = std::size_t{1} << 20;

// The whole file, FIFOs and /dev/fd/N included. Throws Error "PATH: why"; above `max_bytes` it is
// Error(usage). `cancel` may be null.
[[nodiscard]] SecretBytes read_small_file(const std::string& path, std::size_t max_bytes,
                                          const Cancel* cancel = nullptr);

// The rest of a descriptor that is open already; `name` is for messages.
[[nodiscard]] SecretBytes read_small_file(int descriptor, const std::string& name,
                                          std::size_t max_bytes, const Cancel* cancel);

// A file of keys. Throws Error(usage) if `path` is a secret key by mistake and no such file is
// there: the message of that would show the key.
[[nodiscard]] SecretBytes read_key_file(const std::string& path, const Cancel* cancel = nullptr);

}  // namespace paes::stream
