// SPDX-License-Identifier: Apache-2.0
#include "age/stanza.hpp"

#include <algorithm>

#include "core/secret.hpp"
#include "crypto/libcrypto.hpp"
#include "encoding/encodings.hpp"

namespace paes::age {

namespace {

constexpr std::string_view version_prefix = "age-encryption.org/";
constexpr std::string_view version_1 = "age-encryption.org/v1";
constexpr std::string_view stanza_mark = "-> ";

// Takes lines off the front of a text. Each must end with a line feed.
class LineReader {
 public:
  // `is_capped`: the text is only the beginning of a file, but no header may be longer than it.
  explicit LineReader(std::string_view text, bool is_capped = false)
      : rest_(text), is_capped_(is_capped) {}

  [[nodiscard]] std::string_view rest() const noexcept { return rest_; }

  std::string_view next() {
    const std::size_t end = rest_.find('\n');
    if (end == std::string_view::npos) {
      throw corrupt(is_capped_ ? "the header is longer than 1 MiB" : "truncated header");
    }
    const std::string_view line = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    return line;
  }

 private:
  std::string_view rest_;
  bool is_capped_;
};

bool are_arguments(std::string_view text) noexcept {
  bool in_argument = false;
  for (const char c : text) {
    if (c == ' ' ? !in_argument : (c < 0x21 || c > 0x7e)) {
      return false;
    }
    in_argument = c != ' ';
  }
  return in_argument;
}

// Takes the lines of a body. All have body_columns characters, but the last is shorter, perhaps
// empty.
std::string_view take_body(LineReader& lines) {
  const std::string_view all = lines.rest();
  std::size_t body_length = 0;
  for (;;) {
    const std::string_view line = lines.next();
    if (line.size() > body_columns || !base64::is_canonical(line)) {
      throw corrupt("malformed stanza body");
    }
    body_length += line.size();
    if (line.size() < body_columns) {
      return all.substr(0, body_length);
    }
    ++body_length;
  }
}

Stanza take_stanza(LineReader& lines) {
  const std::string_view line = lines.next();
  Stanza stanza;
  if (!line.starts_with(stanza_mark) || !are_arguments(line.substr(stanza_mark.size()))) {
    throw corrupt("malformed stanza");
  }
  stanza.arguments = line.substr(stanza_mark.size());
  stanza.body = take_body(lines);
  return stanza;
}

}  // namespace

std::vector<std::string_view> Stanza::split_arguments() const {
  std::vector<std::string_view> parts;
  std::string_view rest = arguments;
  std::size_t space = rest.find(' ');
  while (space != std::string_view::npos) {
    parts.push_back(rest.substr(0, space));
    rest.remove_prefix(space + 1);
    space = rest.find(' ');
  }
  parts.push_back(rest);
  return parts;
}

std::size_t Stanza::body_bytes() const noexcept {
  const auto symbols = static_cast<std::size_t>(
      std::count_if(body.begin(), body.end(), [](char c) { return c != '\n'; }));
  return symbols * 6 / 8;
}

bool Stanza::decode_body(MutableBytes to) const {
  const std::size_t length = base64::text_length(to.size());
  if (body.size() != length + length / body_columns) {  // a line feed after each whole line
    return false;
  }
  std::string text;
  text.reserve(length);  // so that it stays in one place
  std::copy_if(body.begin(), body.end(), std::back_inserter(text),
               [](char c) { return c != '\n'; });
  // A body from a plugin can hold a file key.
  const WipeOnExit wiped({reinterpret_cast<std::uint8_t*>(text.data()), text.size()});
  return base64::decode(text, to);
}

Stanza take_stanza(std::string_view& text) {
  LineReader lines(text);
  const Stanza stanza = take_stanza(lines);
  text = lines.rest();
  return stanza;
}

Error corrupt(const std::string& why, const char* hint) {
  return {ErrorCode::corrupt, "envelope: " + why, hint};
}

bool is_age(Bytes first_bytes) noexcept {
  return libcrypto::text_of(first_bytes).starts_with(version_prefix);
}

ParsedHeader parse_header(Bytes file) {
  const std::string_view text =
      libcrypto::text_of(file.first(std::min(file.size(), max_header_bytes)));
  if (!text.starts_with(version_prefix)) {
    throw corrupt("not an age file");
  }
  LineReader lines(text, file.size() > text.size());
  const std::string_view version = lines.next();
  if (version.ends_with('\r')) {
    throw corrupt("its line ends were changed to CRLF, and with them its contents",
                  "a program copied it as text: copy the original again, as binary");
  }
  if (version != version_1) {
    throw corrupt("unknown version of age", "a newer paes may read this file");
  }

  ParsedHeader parsed;
  while (lines.rest().starts_with(stanza_mark)) {
    parsed.stanzas.push_back(take_stanza(lines));
  }
  if (parsed.stanzas.empty()) {
    throw corrupt("malformed header");
  }

  const std::size_t covered = text.size() - lines.rest().size() + mac_mark.size();
  const std::string_view end = lines.next();
  if (!end.starts_with(mac_mark) || !end.substr(mac_mark.size()).starts_with(' ') ||
      !base64::decode(end.substr(mac_mark.size() + 1), parsed.mac)) {
    throw corrupt("malformed header");
  }
  parsed.authenticated = file.first(covered);
  parsed.bytes = text.size() - lines.rest().size();
  return parsed;
}

std::string version_line() { return std::string(version_1) + "\n"; }

void append_stanza(std::string& header, const NewStanza& stanza) {
  header.append(stanza_mark).append(stanza.arguments).append("\n");
  std::string body = base64::encode(stanza.body);
  const WipeOnExit wiped({reinterpret_cast<std::uint8_t*>(body.data()), body.size()});
  for (std::size_t begin = 0; begin <= body.size(); begin += body_columns) {
    header.append(body, begin, body_columns).append("\n");
  }
}

void append_stanza(std::string& header, const Stanza& stanza) {
  header.append(stanza_mark).append(stanza.arguments).append("\n");
  header.append(stanza.body).append("\n");
}

void append_mac(std::string& header, const std::array<std::uint8_t, mac_bytes>& mac) {
  header.append(" ").append(base64::encode(mac)).append("\n");
}

}  // namespace paes::age
