// SPDX-License-Identifier: Apache-2.0
#include "age/keys.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <ctime>

#include "crypto/libcrypto.hpp"
#include "paes/error.hpp"

namespace paes::age {

#define PAES_KEY_KIND(name) extern const KeyKind kind_##name;
#include "age/kinds.def"
#undef PAES_KEY_KIND

namespace {

constexpr std::array kinds = {
#define PAES_KEY_KIND(name) &kind_##name,
#include "age/kinds.def"
#undef PAES_KEY_KIND
};

constexpr std::size_t max_file_bytes = std::size_t{1} << 20;
constexpr std::size_t max_file_keys = 10000;

const KeyKind& find_kind(bool (*KeyKind::*claims)(std::string_view), std::string_view text) {
  return **std::find_if(kinds.begin(), kinds.end() - 1, [&](const KeyKind* kind) {
    return kind->*claims != nullptr && (kind->*claims)(text);
  });
}

void check_length(Bytes contents, std::string_view source) {
  if (contents.size() > max_file_bytes) {
    throw Error(ErrorCode::usage,
                std::string(source) + ": longer than " + std::to_string(max_file_bytes) + " bytes");
  }
}

// Calls take(line, where) for every line that may hold a key. `where` is the file's name and line
// number, and is put in front of take's errors.
template <typename Take>
void for_each_key_line(Bytes contents, std::string_view source, std::string_view kind, Take take) {
  const auto file_error = [&](const std::string& why) -> Error {
    return {ErrorCode::usage, std::string(source) + ": " + why};
  };
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
      throw file_error("more than " + std::to_string(max_file_keys) + " keys");
    }
    const std::string where = std::string(source) + " line " + std::to_string(number) + ": ";
    try {
      take(line, where);
    } catch (const Error& error) {
      throw Error(error.code, where + error.what(), error.hint);
    }
  }
  if (keys == 0) {
    throw file_error("holds no " + std::string(kind));
  }
}

}  // namespace

void Effort::spend(std::uint64_t microseconds) {
  check(wait_);
  spent_us_ += microseconds;
  if (spent_us_ > max_us) {
    throw Error(ErrorCode::failure,
                "envelope: has too many recipients to try all identities on all of them",
                "give only the identity that opens it");
  }
}

void Effort::named_in_vain() {
  if (++named_in_vain_ > max_named_in_vain) {
    throw corrupt("it names a key over and over, and is not for it");
  }
}

std::vector<SharedRecipient> recipients_of(std::span<const SharedIdentity> identities) {
  std::vector<SharedRecipient> all;
  for (const SharedIdentity& identity : identities) {
    const std::vector<SharedRecipient> its = identity->recipients();
    all.insert(all.end(), its.begin(), its.end());
  }
  return all;
}

bool mentions_secret_key(std::string_view text) {
  const auto small = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; };
  const auto find = [&](std::string_view in, std::string_view mark) {
    return std::search(in.begin(), in.end(), mark.begin(), mark.end(),
                       [&](char c, char of_mark) { return small(c) == of_mark; });
  };
  const auto is_in_key = [&](char c) {
    return (small(c) >= 'a' && small(c) <= 'z') || (c >= '0' && c <= '9');
  };
  if (find(text, "age-secret-key") != text.end()) {
    return true;
  }
  // A file may have a plugin's name. In a key, "-1" and a checksum follow the name.
  constexpr std::ptrdiff_t checksum_length = 6;
  const auto plugin = find(text, "age-plugin-");
  for (auto at = plugin; at != text.end(); ++at) {
    const std::string_view rest = text.substr(static_cast<std::size_t>(at - text.begin()));
    if (rest.starts_with("-1") && rest.size() >= 2 + checksum_length &&
        std::all_of(at + 2, at + 2 + checksum_length, is_in_key)) {
      return true;
    }
  }
  return false;
}

SharedRecipient parse_recipient(std::string_view text, const std::string& name,
                                const Prompts& prompts) {
  if (mentions_secret_key(text)) {
    throw Error(ErrorCode::usage, name + ": is a secret key",
                "give the public key, age1..., and keep the other to yourself");
  }
  return find_kind(&KeyKind::claims_recipient, text).parse_recipient(text, name, prompts);
}

SharedIdentity parse_identity(std::string_view text, const std::string& name,
                              const Prompts& prompts) {
  return find_kind(&KeyKind::claims_identity, text).parse_identity(text, name, prompts);
}

SecretBytes identity_file_text(const IdentityKey& identity) {
  const std::time_t now = std::time(nullptr);
  struct tm utc = {};
  char date[32];
  (void)std::strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
  std::string comments = std::string("# created: ") + date + "\n";
  // Empty if only its plugin knows it.
  if (const std::string text = identity.recipients().front()->text(); !text.empty()) {
    comments += "# public key: " + text + "\n";
  }
  const SecretBytes key = identity.secret_text();
  SecretBytes text(comments.size() + key.size() + 1);
  std::memcpy(text.data(), comments.data(), comments.size());
  std::memcpy(text.data() + comments.size(), key.data(), key.size());
  text.data()[text.size() - 1] = '\n';
  return text;
}

std::vector<SharedIdentity> parse_identity_file(Bytes contents, std::string_view source,
                                                const Prompts& prompts) {
  check_length(contents, source);
  for (const KeyKind* kind : kinds) {
    if (kind->claims_identity_file != nullptr && kind->claims_identity_file(contents)) {
      return kind->parse_identity_file(contents, std::string(source), prompts);
    }
  }
  return parse_identity_lines(contents, source, prompts);
}

std::vector<SharedIdentity> parse_identity_lines(Bytes contents, std::string_view source,
                                                 const Prompts& prompts) {
  check_length(contents, source);
  std::vector<SharedIdentity> identities;
  for_each_key_line(contents, source, "identity",
                    [&](std::string_view line, const std::string& /*where*/) {
                      identities.push_back(parse_identity(line, "identity", prompts));
                    });
  return identities;
}

std::vector<SharedRecipient> parse_recipient_file(Bytes contents, std::string_view source,
                                                  const Prompts& prompts) {
  check_length(contents, source);
  std::vector<SharedRecipient> recipients;
  for_each_key_line(contents, source, "recipient",
                    [&](std::string_view line, const std::string& where) {
                      try {
                        recipients.push_back(parse_recipient(line, "recipient", prompts));
                      } catch (const UnsupportedKey& key) {
                        if (!prompts.warn) {
                          throw;
                        }
                        prompts.warn(where + key.description + " is skipped");
                      }
                    });
  if (recipients.empty()) {
    throw Error(ErrorCode::usage, std::string(source) + ": holds no recipient that age takes");
  }
  return recipients;
}

}  // namespace paes::age
