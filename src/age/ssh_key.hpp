// SPDX-License-Identifier: Apache-2.0
// SSH's public keys (RFC 4253, section 6.6; RFC 8709): how a line and the wire encode them, and
// which of them age supports. Each supported type is one file, which defines its SshType.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "age/keys.hpp"

namespace paes::age {

// Takes values off the front of a wire encoding (RFC 4251, section 5). What cannot be read is empty
// or zero, and is_good() stays false from then on.
class WireReader {
 public:
  explicit WireReader(Bytes wire) noexcept : rest_(wire) {}

  std::uint32_t number() noexcept;
  Bytes bytes(std::size_t count) noexcept;
  Bytes string() noexcept;
  std::string_view text() noexcept;
  // A positive mpint in its shortest form, big-endian, without a leading zero.
  Bytes positive() noexcept;

  [[nodiscard]] Bytes rest() const noexcept { return rest_; }
  [[nodiscard]] bool is_good() const noexcept { return good_; }
  [[nodiscard]] bool is_complete() const noexcept { return good_ && rest_.empty(); }

 private:
  Bytes rest_;
  bool good_ = true;
};

using Wire = std::vector<std::uint8_t>;

void append_string(Wire& wire, Bytes value);
// `value` is big-endian without leading zeros.
void append_positive(Wire& wire, Bytes value);

// A key in a line "TYPE BASE64 COMMENT".
struct SshLine {
  std::string_view type;
  Wire wire;
};

// Empty unless the line has this form and its Base 64 begins with the same type.
[[nodiscard]] std::optional<SshLine> parse_ssh_line(std::string_view line);
// The key's line, without a comment.
[[nodiscard]] std::string ssh_line(Bytes wire);

// Whether the line begins with the type's name.
[[nodiscard]] bool is_of_ssh_type(std::string_view line, std::string_view type) noexcept;

// Throws Error(usage) unless the line holds a key of this type.
[[nodiscard]] Wire wire_of_line(std::string_view line, std::string_view type,
                                const std::string& name);

// The first 4 bytes of the key's SHA-256: stanzas name a key by them, rarely another one, too.
[[nodiscard]] std::string ssh_tag(Bytes wire);
[[nodiscard]] bool is_for_ssh_key(const Stanza& stanza, std::string_view type,
                                  std::string_view tag) noexcept;

// A type of key that age supports. `name` is what errors call the key; all are Error(usage).
struct SshType {
  std::string_view type;
  SharedRecipient (*recipient_of_wire)(Bytes wire, const std::string& name);
  // Reads the private key's own fields after the type, in OpenSSH's form (PROTOCOL.key).
  SharedIdentity (*read_identity)(WireReader& fields, const std::string& name);
};

extern const SshType ssh_type_ed25519;
extern const SshType ssh_type_rsa;

// Null for a type that age does not support.
[[nodiscard]] const SshType* find_ssh_type(std::string_view type) noexcept;

// An SSH key has no text in paes's own form. Throws Error(usage).
[[noreturn]] void refuse_ssh_secret_text();

}  // namespace paes::age
