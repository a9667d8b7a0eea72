#include "format/age_header.hpp"

#include <charconv>
#include <optional>

#include "format/container.hpp"
#include "format/encodings.hpp"
#include "format/libcrypto.hpp"
#include "paes/error.hpp"

namespace paes::age {

namespace {

constexpr std::string_view version_prefix = "age-encryption.org/";
constexpr std::string_view version_1 = "age-encryption.org/v1";
constexpr std::string_view stanza_mark = "-> ";
constexpr std::size_t columns = 64;
// Far above what libcrypto or a machine can run. The caller has a lower cap.
constexpr unsigned max_representable_work_factor = 63;

Error corrupt(const std::string& why, const char* hint = "") {
  return {ErrorCode::corrupt, "envelope: " + why, hint};
}

// Takes lines off the front of a text, which must each end with a line feed.
class LineReader {
 public:
  explicit LineReader(std::string_view text) : rest_(text) {}

  [[nodiscard]] std::string_view rest() const noexcept { return rest_; }

  std::string_view next() {
    const std::size_t end = rest_.find('\n');
    if (end == std::string_view::npos) {
      throw corrupt("truncated header");
    }
    const std::string_view line = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    return line;
  }

 private:
  std::string_view rest_;
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

// The body's lines, of which all but the last have 64 columns. The last is shorter, perhaps empty.
std::string_view take_body(LineReader& lines) {
  const std::string_view all = lines.rest();
  std::size_t body_length = 0;
  for (;;) {
    const std::string_view line = lines.next();
    if (line.size() > columns || !base64::is_canonical(line)) {
      throw corrupt("malformed stanza body");
    }
    body_length += line.size();
    if (line.size() < columns) {
      return all.substr(0, body_length);
    }
    ++body_length;
  }
}

std::vector<std::string_view> split(std::string_view arguments) {
  std::vector<std::string_view> parts;
  std::size_t space = arguments.find(' ');
  while (space != std::string_view::npos) {
    parts.push_back(arguments.substr(0, space));
    arguments.remove_prefix(space + 1);
    space = arguments.find(' ');
  }
  parts.push_back(arguments);
  return parts;
}

// ^[1-9][0-9]*$; nothing for any other spelling.
std::optional<unsigned> parse_work_factor(std::string_view text) {
  const char* const end = text.data() + text.size();
  unsigned value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  if (read.ec != std::errc{} || read.ptr != end || text.front() == '0' ||
      value > max_representable_work_factor) {
    return std::nullopt;
  }
  return value;
}

void check_known_stanzas(const std::vector<Stanza>& stanzas) {
  for (const Stanza& stanza : stanzas) {
    if (stanza.type() == x25519_type) {
      (void)read_x25519(stanza);
    } else if (stanza.type() == scrypt_type) {
      (void)read_scrypt(stanza);
      // Someone who opens a file with a passphrase may expect that its writer knew the passphrase.
      if (stanzas.size() != 1) {
        throw corrupt("a passphrase stanza that is not alone");
      }
    }
  }
}

}  // namespace

ParsedFile parse_file(Bytes file) {
  if (file.size() > container::max_envelope_bytes) {
    throw corrupt("longer than " + std::to_string(container::max_envelope_bytes) + " bytes");
  }
  const std::string_view text = libcrypto::text_of(file);
  if (!text.starts_with(version_prefix)) {
    throw corrupt("not an age file");
  }
  LineReader lines(text);
  if (lines.next() != version_1) {
    throw corrupt("unknown version of age", "a newer paes may read this file");
  }

  ParsedFile parsed;
  while (lines.rest().starts_with(stanza_mark)) {
    Stanza stanza;
    stanza.arguments = lines.next().substr(stanza_mark.size());
    if (!are_arguments(stanza.arguments)) {
      throw corrupt("malformed stanza");
    }
    stanza.body = take_body(lines);
    parsed.stanzas.push_back(stanza);
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
  parsed.payload = file.last(lines.rest().size());
  if (parsed.payload.size() < payload_nonce_bytes) {
    throw corrupt("truncated");
  }
  check_known_stanzas(parsed.stanzas);
  return parsed;
}

X25519Stanza read_x25519(const Stanza& stanza) {
  X25519Stanza read;
  const auto arguments = split(stanza.arguments);
  if (arguments.size() != 2 || !base64::decode(arguments[1], read.share) ||
      !base64::decode(stanza.body, read.wrapped_key)) {
    throw corrupt("malformed X25519 stanza");
  }
  return read;
}

ScryptStanza read_scrypt(const Stanza& stanza) {
  ScryptStanza read;
  const auto arguments = split(stanza.arguments);
  const auto work_factor =
      arguments.size() == 3 ? parse_work_factor(arguments[2]) : std::optional<unsigned>{};
  if (!work_factor || !base64::decode(arguments[1], read.salt) ||
      !base64::decode(stanza.body, read.wrapped_key)) {
    throw corrupt("malformed scrypt stanza");
  }
  read.work_factor = *work_factor;
  return read;
}

std::string version_line() { return std::string(version_1) + "\n"; }

void append_stanza(std::string& header, const X25519Stanza& stanza) {
  header.append(stanza_mark).append(x25519_type).append(" ");
  header.append(base64::encode(stanza.share)).append("\n");
  header.append(base64::encode(stanza.wrapped_key)).append("\n");
}

void append_stanza(std::string& header, const ScryptStanza& stanza) {
  header.append(stanza_mark).append(scrypt_type).append(" ");
  header.append(base64::encode(stanza.salt)).append(" ");
  header.append(std::to_string(stanza.work_factor)).append("\n");
  header.append(base64::encode(stanza.wrapped_key)).append("\n");
}

void append_mac(std::string& header, const std::array<std::uint8_t, mac_bytes>& mac) {
  header.append(" ").append(base64::encode(mac)).append("\n");
}

}  // namespace paes::age
