// SPDX-License-Identifier: Apache-2.0
#include "age/ssh_key.hpp"

#include <algorithm>
#include <array>

#include "crypto/libcrypto.hpp"
#include "encoding/encodings.hpp"

namespace paes::age {

namespace {

constexpr std::string_view blanks = " \t";

}  // namespace

Bytes WireReader::bytes(std::size_t count) noexcept {
  if (!good_ || count > rest_.size()) {
    good_ = false;
    return {};
  }
  const Bytes taken = rest_.first(count);
  rest_ = rest_.subspan(count);
  return taken;
}

std::uint32_t WireReader::number() noexcept {
  const Bytes taken = bytes(4);
  return good_ ? load_be32(taken.data()) : 0;
}

Bytes WireReader::string() noexcept { return bytes(number()); }

std::string_view WireReader::text() noexcept { return libcrypto::text_of(string()); }

Bytes WireReader::positive() noexcept {
  Bytes value = string();
  const bool has_zero = !value.empty() && value.front() == 0;
  if (has_zero) {
    value = value.subspan(1);
  }
  // A leading zero must be there exactly if the number would be negative without it.
  if (value.empty() || (value.front() >= 0x80) != has_zero) {
    good_ = false;
    return {};
  }
  return value;
}

void append_string(Wire& wire, Bytes value) {
  std::array<std::uint8_t, 4> length;
  store_be32(length.data(), static_cast<std::uint32_t>(value.size()));
  wire.insert(wire.end(), length.begin(), length.end());
  wire.insert(wire.end(), value.begin(), value.end());
}

void append_positive(Wire& wire, Bytes value) {
  Wire padded;
  if (!value.empty() && value.front() >= 0x80) {
    padded.push_back(0);
  }
  padded.insert(padded.end(), value.begin(), value.end());
  append_string(wire, padded);
}

std::optional<SshLine> parse_ssh_line(std::string_view line) {
  const std::size_t type_end = line.find_first_of(blanks);
  const std::size_t begin = line.find_first_not_of(blanks, type_end);
  if (type_end == 0 || begin == std::string_view::npos) {
    return std::nullopt;
  }
  const std::size_t end = std::min(line.find_first_of(blanks, begin), line.size());
  const std::string_view type = line.substr(0, type_end);
  Wire wire;
  if (!base64::append_decoded_public(line.substr(begin, end - begin), wire) ||
      WireReader(wire).text() != type) {
    return std::nullopt;
  }
  return SshLine{type, std::move(wire)};
}

std::string ssh_line(Bytes wire) {
  std::string line(WireReader(wire).text());
  base64::append_public(wire, line.append(" "));
  return line;
}

bool is_of_ssh_type(std::string_view line, std::string_view type) noexcept {
  return line.substr(0, line.find_first_of(blanks)) == type;
}

Wire wire_of_line(std::string_view line, std::string_view type, const std::string& name) {
  auto parsed = parse_ssh_line(line);
  if (!parsed || parsed->type != type) {
    throw Error(ErrorCode::usage, name + ": is a damaged or incomplete SSH public key");
  }
  return std::move(parsed->wire);
}

std::string ssh_tag(Bytes wire) {
  std::array<std::uint8_t, libcrypto::sha256_bytes> hash;
  libcrypto::sha256(wire, hash);
  return base64::encode(Bytes(hash).first(4));
}

bool is_for_ssh_key(const Stanza& stanza, std::string_view type, std::string_view tag) noexcept {
  std::string_view rest = stanza.arguments;
  if (stanza.type() != type || rest.size() == type.size()) {
    return false;
  }
  rest.remove_prefix(type.size() + 1);
  return rest.substr(0, rest.find(' ')) == tag;
}

const SshType* find_ssh_type(std::string_view type) noexcept {
  for (const SshType* known : {&ssh_type_ed25519, &ssh_type_rsa}) {
    if (known->type == type) {
      return known;
    }
  }
  return nullptr;
}

void refuse_ssh_secret_text() {
  throw Error(ErrorCode::usage, "identity: an SSH key stays in the file that ssh-keygen wrote");
}

}  // namespace paes::age
