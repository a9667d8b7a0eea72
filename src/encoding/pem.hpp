// SPDX-License-Identifier: Apache-2.0
// PEM, the textual form of keys (RFC 7468; RFC 1421 for the header fields of older ones): one block
// of Base 64 between a BEGIN and an END line. Its data may be a secret key, so it is decoded
// without look-ups.
#pragma once

#include <optional>
#include <string_view>

#include "core/secret.hpp"

namespace paes::pem {

struct PemBlock {
  std::string_view label;   // "OPENSSH PRIVATE KEY"
  bool has_fields = false;  // such as "Proc-Type: 4,ENCRYPTED"; then `data` is empty
  SecretBytes data;
};

// Whether a text may be PEM, judging by its first bytes.
[[nodiscard]] bool is_pem(std::string_view text) noexcept;

// Whether a text has more than one BEGIN line.
[[nodiscard]] bool has_several(std::string_view text) noexcept;

// Empty unless the text is exactly one block. White space may follow.
[[nodiscard]] std::optional<PemBlock> parse(std::string_view text);

}  // namespace paes::pem
