// SPDX-License-Identifier: Apache-2.0
// SSH's other types of keys, such as ecdsa-sha2-nistp256 and those of security keys (sk-...). age
// supports none of them, because they can only sign. This kind exists so that an error says so, and
// so that a file of recipients may contain such keys.
#include <algorithm>

#include "age/ssh_key.hpp"

namespace paes::age {

namespace {

// The limit for a type's name (RFC 4251, section 6).
constexpr std::size_t max_type_length = 64;

bool has_known_beginning(std::string_view text) {
  return text.starts_with("ssh-") || text.starts_with("ecdsa-sha2-") || text.starts_with("sk-");
}

bool is_plain(std::string_view type) {
  return type.size() <= max_type_length &&
         std::all_of(type.begin(), type.end(), [](char c) { return c > ' ' && c <= '~'; });
}

bool claims_recipient(std::string_view text) {
  return has_known_beginning(text) || parse_ssh_line(text).has_value();
}

SharedRecipient refuse_recipient(std::string_view text, const std::string& name,
                                 const Prompts& /*prompts*/) {
  const auto line = parse_ssh_line(text);
  if (!line || !is_plain(line->type)) {
    throw Error(ErrorCode::usage, name + ": is a damaged or incomplete SSH public key");
  }
  throw UnsupportedKey(name + ": is an SSH key of type " + std::string(line->type) +
                           ", and age takes ssh-ed25519 and ssh-rsa",
                       "an SSH key of type " + std::string(line->type));
}

}  // namespace

extern const KeyKind kind_ssh_unsupported = {.claims_recipient = claims_recipient,
                                             .parse_recipient = refuse_recipient};

}  // namespace paes::age
