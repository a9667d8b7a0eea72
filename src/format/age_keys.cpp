// age's keys and the files that hold them: "age1..." for the public half, "AGE-SECRET-KEY-1..." for
// the secret one (c2sp.org/age, "The X25519 recipient type").
#include <algorithm>
#include <array>
#include <cstring>
#include <ctime>
#include <string>

#include "format/age.hpp"
#include "format/encodings.hpp"
#include "format/libcrypto.hpp"
#include "paes/error.hpp"

namespace paes::age {

namespace {

constexpr std::string_view recipient_part = "age";
constexpr std::string_view identity_part = "AGE-SECRET-KEY-";
constexpr std::size_t max_file_bytes = std::size_t{1} << 20;
constexpr std::size_t max_file_keys = 10000;

// What kind of key it is, if it is one that paes does not read; else nothing.
std::string_view known_but_unsupported(std::string_view text) noexcept {
  if (text.starts_with("age1pq1") || text.starts_with("AGE-SECRET-KEY-PQ-1")) {
    return "a post-quantum key, which paes does not support yet";
  }
  if (text.starts_with("AGE-PLUGIN-") ||
      (text.starts_with("age1") && text.substr(4).find('1') != std::string_view::npos)) {
    return "a key of an age plugin, which paes does not support";
  }
  if (text.starts_with("age-encryption.org/") || text.starts_with("-----BEGIN AGE ENCRYPTED")) {
    return "an encrypted key file: decrypt it with age first";
  }
  if (text.starts_with("ssh-") || text.starts_with("-----BEGIN")) {
    return "an SSH or PEM key, which paes does not support";
  }
  return {};
}

// Why `text` is no key of the kind `part`, without a word of the text itself: it may be a secret.
std::string reason(std::string_view text, bech32::Decoded decoded, std::string_view part) {
  if (const auto known = known_but_unsupported(text); !known.empty()) {
    return "is " + std::string(known);
  }
  switch (decoded) {
    case bech32::Decoded::other_kind:
      return "does not begin with " + std::string(part) + "1";
    case bech32::Decoded::bad_length:
      return "is not " + std::to_string(bech32::text_length(part)) + " characters long";
    case bech32::Decoded::bad_character:
      return "has a character that keys do not have";
    case bech32::Decoded::bad_checksum:
      return "has a typing error: its checksum is wrong";
    default:
      return "is not in its canonical spelling";
  }
}

// A clamped scalar is a multiple of the cofactor. So any clamped scalar sends exactly the points of
// small order to zero. It need not be secret here (RFC 7748, section 7).
bool has_small_order(const X25519Recipient& recipient) {
  std::array<std::uint8_t, 32> any_scalar{};
  any_scalar[0] = 8;
  std::array<std::uint8_t, 32> product;
  return !libcrypto::x25519(any_scalar, recipient.public_key, product);
}

// Calls take(line) for every line that may hold a key. Its errors get the file's name and line
// number in front.
template <typename Take>
void for_each_key_line(Bytes contents, std::string_view source, std::string_view kind, Take take) {
  const auto refuse = [&](const std::string& why) -> Error {
    return {ErrorCode::usage, std::string(source) + ": " + why};
  };
  if (contents.size() > max_file_bytes) {
    throw refuse("longer than " + std::to_string(max_file_bytes) + " bytes");
  }
  std::string_view rest = libcrypto::text_of(contents);
  std::size_t keys = 0;
  for (std::size_t number = 1; !rest.empty(); ++number) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (line.ends_with('\r')) {
      line.remove_suffix(1);
    }
    if (line.empty() || line.starts_with('#')) {
      continue;
    }
    if (++keys > max_file_keys) {
      throw refuse("more than " + std::to_string(max_file_keys) + " keys");
    }
    try {
      take(line);
    } catch (const Error& error) {
      throw Error(error.code,
                  std::string(source) + " line " + std::to_string(number) + ": " + error.what(),
                  error.hint);
    }
  }
  if (keys == 0) {
    throw refuse("holds no " + std::string(kind));
  }
}

}  // namespace

bool mentions_secret_key(std::string_view text) {
  constexpr std::string_view mark = "age-secret-key";
  const auto is_same = [](char c, char of_mark) {
    return of_mark == (c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c);
  };
  return std::search(text.begin(), text.end(), mark.begin(), mark.end(), is_same) != text.end();
}

X25519Recipient parse_recipient(std::string_view text, const std::string& name) {
  X25519Recipient recipient;
  const auto decoded = bech32::decode(text, recipient_part, recipient.public_key);
  if (decoded != bech32::Decoded::good) {
    if (mentions_secret_key(text)) {
      throw Error(ErrorCode::usage, name + ": is a secret key",
                  "give the public key, age1..., and keep the other to yourself");
    }
    throw Error(ErrorCode::usage, name + ": " + reason(text, decoded, recipient_part));
  }
  if (has_small_order(recipient)) {
    throw Error(ErrorCode::usage, name + ": is of small order: anybody could open the file");
  }
  return recipient;
}

std::string to_string(const X25519Recipient& recipient) {
  std::string text(bech32::text_length(recipient_part), '\0');
  bech32::encode(recipient_part, recipient.public_key,
                 {reinterpret_cast<std::uint8_t*>(text.data()), text.size()});
  return text;
}

X25519Identity parse_identity(std::string_view text) {
  X25519Identity identity;
  const auto decoded = bech32::decode(text, identity_part, identity->secret_key);
  if (decoded != bech32::Decoded::good) {
    throw Error(ErrorCode::usage, "identity: " + reason(text, decoded, identity_part));
  }
  return identity;
}

SecretBytes to_secret_text(const X25519Identity& identity) {
  SecretBytes text(bech32::text_length(identity_part));
  bech32::encode(identity_part, identity->secret_key, text);
  return text;
}

X25519Identity generate_identity() {
  X25519Identity identity;
  random_bytes(identity->secret_key);
  return identity;
}

X25519Recipient recipient_of(const X25519Identity& identity) {
  X25519Recipient recipient;
  libcrypto::x25519_public_key(identity->secret_key, recipient.public_key);
  return recipient;
}

SecretBytes identity_file_text(const X25519Identity& identity) {
  const std::time_t now = std::time(nullptr);
  struct tm utc = {};
  char date[32];
  (void)std::strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
  const std::string comments = std::string("# created: ") + date +
                               "\n# public key: " + to_string(recipient_of(identity)) + "\n";
  const SecretBytes key = to_secret_text(identity);
  SecretBytes text(comments.size() + key.size() + 1);
  std::memcpy(text.data(), comments.data(), comments.size());
  std::memcpy(text.data() + comments.size(), key.data(), key.size());
  text.data()[text.size() - 1] = '\n';
  return text;
}

std::vector<X25519Identity> parse_identity_file(Bytes contents, std::string_view source) {
  std::vector<X25519Identity> identities;
  for_each_key_line(contents, source, "identity",
                    [&](std::string_view line) { identities.push_back(parse_identity(line)); });
  return identities;
}

std::vector<X25519Recipient> parse_recipient_file(Bytes contents, std::string_view source) {
  std::vector<X25519Recipient> recipients;
  for_each_key_line(contents, source, "recipient",
                    [&](std::string_view line) { recipients.push_back(parse_recipient(line)); });
  return recipients;
}

}  // namespace paes::age
