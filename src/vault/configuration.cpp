// SPDX-License-Identifier: Apache-2.0
#include "vault/configuration.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "encoding/encodings.hpp"
#include "paes/error.hpp"

namespace paes::vault {

using Json = nlohmann::ordered_json;

namespace {

constexpr unsigned scrypt_key_bytes = 32;
constexpr std::size_t min_salt_bytes = 32;
constexpr unsigned min_r = 8;
constexpr unsigned min_p = 1;
// 2^50 bytes with r = 8. The caller's cap is far lower; this one keeps all products in range.
constexpr unsigned max_log2_n = 40;
constexpr unsigned max_r = 1U << 16;
constexpr unsigned max_r_times_p = (1U << 30) - 1;  // RFC 7914, section 6
constexpr unsigned min_long_name_max = 62;  // the name of a long name's own file has this length
constexpr unsigned max_long_name_max = 255;
constexpr std::size_t max_assert_option_bytes = 64;
// Deeper than any configuration, and far from too deep for the recursion of Json::dump.
constexpr int max_depth = 16;

// The flags (internal/configfile/feature_flags.go).
constexpr std::string_view gcm_iv_128 = "GCMIV128";
constexpr std::string_view hkdf = "HKDF";
constexpr std::string_view dir_iv = "DirIV";
constexpr std::string_view eme_names = "EMENames";
constexpr std::string_view long_names = "LongNames";
constexpr std::string_view long_name_max = "LongNameMax";
constexpr std::string_view raw_64 = "Raw64";
constexpr std::string_view plaintext_names = "PlaintextNames";
constexpr std::string_view aes_siv = "AESSIV";
constexpr std::string_view xchacha20_poly1305 = "XChaCha20Poly1305";
constexpr std::string_view fido2 = "FIDO2";
constexpr std::array known_flags = {
    gcm_iv_128,    hkdf,   dir_iv,          eme_names, long_names,
    long_name_max, raw_64, plaintext_names, aes_siv,   xchacha20_poly1305,
    fido2};

constexpr std::array known_members = {
    std::string_view("Creator"),      std::string_view("EncryptedKey"),
    std::string_view("ScryptObject"), std::string_view("Version"),
    std::string_view("FeatureFlags"), std::string_view("FIDO2"),
    std::string_view("LongNameMax")};

bool equal_but_for_case(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](char x, char y) { return lower(x) == lower(y); });
}

// Converts the two letters outside ASCII that gocryptfs's reader takes for ASCII letters (Go,
// encoding/json), in UTF-8: the long s and the sign of the kelvin.
std::string with_ascii_letters(std::string name) {
  for (const auto& [letter, ascii] :
       {std::pair{std::string_view("\xc5\xbf"), 's'}, {std::string_view("\xe2\x84\xaa"), 'k'}}) {
    for (std::size_t at = name.find(letter); at != std::string::npos; at = name.find(letter)) {
      name.replace(at, letter.size(), 1, ascii);
    }
  }
  return name;
}

bool is_known(std::string_view member) {
  return std::any_of(known_members.begin(), known_members.end(),
                     [&](std::string_view known) { return equal_but_for_case(member, known); });
}

// Reads one text. Its state is there for messages that name the text.
class Parser {
 public:
  explicit Parser(std::string_view name) : name_(name) {}

  [[nodiscard]] Configuration parse(Bytes text) const;

 private:
  // For what gocryptfs or a similar program did not write, or what is damaged.
  [[noreturn]] void refuse_as_corrupt(const std::string& why) const {
    throw Error(ErrorCode::corrupt, name_ + ": is not a configuration of gocryptfs: " + why,
                "if it was one, a copy of it opens the vault, and so does the master key with a "
                "new configuration");
  }
  // For what was written on purpose, by a version or with an option that paes does not read.
  [[noreturn]] void refuse_as_unread(const std::string& why, const std::string& hint) const {
    throw Error(ErrorCode::failure, name_ + ": " + why, hint);
  }
  void require(bool is_good, const std::string& why) const {
    if (!is_good) {
      refuse_as_corrupt(why);
    }
  }

  [[nodiscard]] Json parse_json(Bytes text) const;
  // Null if there is none.
  [[nodiscard]] const Json* find(const Json& object, std::string_view member) const;
  [[nodiscard]] std::uint64_t number(const Json& object, std::string_view member,
                                     std::optional<std::uint64_t> otherwise = {}) const;
  [[nodiscard]] std::vector<std::uint8_t> bytes(const Json& object, std::string_view member) const;
  [[nodiscard]] ScryptCost scrypt_cost(const Json& object) const;
  [[nodiscard]] std::optional<Fido2Credential> fido2_credential(
      const Json& document, const std::set<std::string>& flags) const;
  [[nodiscard]] std::set<std::string> flags(const Json& document) const;
  [[nodiscard]] Features features(const Json& document, const std::set<std::string>& flags) const;
  [[nodiscard]] ContentCipher content_cipher(const std::set<std::string>& flags) const;

  std::string name_;
};

Json Parser::parse_json(Bytes text) const {
  require(!text.empty(), "it is empty");
  require(text.size() <= max_configuration_bytes, "it is too long");
  // The library skips a byte order mark and stops at a zero byte; gocryptfs refuses both.
  constexpr std::array<std::uint8_t, 3> byte_order_mark = {0xef, 0xbb, 0xbf};
  require(!std::equal(byte_order_mark.begin(), byte_order_mark.end(), text.begin(),
                      text.begin() + static_cast<std::ptrdiff_t>(
                                         std::min(text.size(), byte_order_mark.size()))),
          "it begins with a byte order mark");
  require(std::find(text.begin(), text.end(), 0) == text.end(), "there is a zero byte in it");
  bool is_too_deep = false;
  bool has_twice = false;
  std::vector<std::set<std::string>> members;  // of each open object
  const auto look = [&](int depth, Json::parse_event_t event, Json& parsed) {
    is_too_deep = is_too_deep || depth > max_depth;
    if (event == Json::parse_event_t::object_start) {
      members.emplace_back();
    } else if (event == Json::parse_event_t::object_end) {
      members.pop_back();
    } else if (event == Json::parse_event_t::key) {
      has_twice = !members.back().insert(parsed.get<std::string>()).second || has_twice;
    }
    return !is_too_deep;
  };
  Json document = Json::parse(text.begin(), text.end(), look, /*allow_exceptions=*/false);
  require(!is_too_deep, "it is nested too deeply");
  require(!document.is_discarded() && document.is_object(), "it is not a JSON object");
  require(!has_twice, "a member stands there twice");
  return document;
}

const Json* Parser::find(const Json& object, std::string_view member) const {
  const Json* found = nullptr;
  for (const auto& [name, value] : object.items()) {
    if (equal_but_for_case(name, member)) {
      require(found == nullptr, "the member " + std::string(member) + " stands there twice");
      found = &value;
    } else {
      require(!equal_but_for_case(with_ascii_letters(name), member),
              "the member " + std::string(member) + " is written with letters outside of ASCII");
    }
  }
  return found;
}

std::uint64_t Parser::number(const Json& object, std::string_view member,
                             std::optional<std::uint64_t> otherwise) const {
  const Json* const found = find(object, member);
  if (found == nullptr && otherwise) {
    return *otherwise;
  }
  require(found != nullptr, "the member " + std::string(member) + " is missing");
  require(found->is_number_unsigned(),
          "the member " + std::string(member) + " is not a number from 0 to 2^64 - 1");
  return found->get<std::uint64_t>();
}

std::vector<std::uint8_t> Parser::bytes(const Json& object, std::string_view member) const {
  const Json* const found = find(object, member);
  require(found != nullptr, "the member " + std::string(member) + " is missing");
  require(found->is_string(), "the member " + std::string(member) + " is not text");
  const auto& text = found->get_ref<const std::string&>();
  std::vector<std::uint8_t> data;
  require(text.size() % 4 == 0 && base64::append_decoded_public(text, data),
          "the member " + std::string(member) + " is not Base 64");
  return data;
}

ScryptCost Parser::scrypt_cost(const Json& document) const {
  const Json* const object = find(document, "ScryptObject");
  require(object != nullptr && object->is_object(), "the object ScryptObject is missing");
  ScryptCost cost;
  cost.salt = bytes(*object, "Salt");
  const std::uint64_t n = number(*object, "N");
  const std::uint64_t r = number(*object, "R");
  const std::uint64_t p = number(*object, "P");
  const std::uint64_t key_bytes = number(*object, "KeyLen");
  require(cost.salt.size() >= min_salt_bytes, "the salt is too short");
  require(std::has_single_bit(n), "N of scrypt is not a power of two");
  require(n >= std::uint64_t{1} << min_log2_n, "N of scrypt is too low to protect anything");
  require(n <= std::uint64_t{1} << max_log2_n, "N of scrypt is too high for any machine");
  require(r >= min_r && r <= max_r, "R of scrypt is out of range");
  require(p >= min_p && p <= max_r_times_p / r, "P of scrypt is out of range");
  require(key_bytes == scrypt_key_bytes, "KeyLen of scrypt is not 32");
  cost.log2_n = static_cast<unsigned>(std::countr_zero(n));
  cost.r = static_cast<unsigned>(r);
  cost.p = static_cast<unsigned>(p);
  return cost;
}

std::set<std::string> Parser::flags(const Json& document) const {
  const Json* const list = find(document, "FeatureFlags");
  std::set<std::string> flags;
  if (list == nullptr || list->is_null()) {  // the first versions wrote null for an empty list
    return flags;
  }
  require(list->is_array(), "FeatureFlags is not a list");
  for (const Json& flag : *list) {
    require(flag.is_string(), "a feature flag is not text");
    const auto& text = flag.get_ref<const std::string&>();
    constexpr std::size_t most_shown = 40;
    if (std::find(known_flags.begin(), known_flags.end(), text) == known_flags.end()) {
      refuse_as_unread("has a feature that paes does not know: " + text.substr(0, most_shown),
                       "a later version of gocryptfs may have made it");
    }
    flags.insert(text);
  }
  return flags;
}

std::optional<Fido2Credential> Parser::fido2_credential(const Json& document,
                                                        const std::set<std::string>& flags) const {
  const Json* const object = find(document, fido2);
  require((object != nullptr) == flags.contains(std::string(fido2)),
          "FIDO2 is only one of flag and value");
  if (object == nullptr) {
    return std::nullopt;
  }
  require(object->is_object(), "FIDO2 is not an object");
  Fido2Credential credential;
  credential.id = bytes(*object, "CredentialID");
  require(!credential.id.empty() && credential.id.size() <= max_fido2_credential_bytes,
          "the credential of FIDO2 has a wrong length");
  credential.salt = bytes(*object, "HMACSalt");
  require(
      credential.salt.size() == fido2_salt_bytes || credential.salt.size() == 2 * fido2_salt_bytes,
      "the salt of FIDO2 has a wrong length");
  const Json* const options = find(*object, "AssertOptions");
  if (options == nullptr || options->is_null()) {  // as gocryptfs writes an empty list
    return credential;
  }
  require(options->is_array() && options->size() <= max_fido2_assert_options,
          "AssertOptions of FIDO2 is not a short list");
  for (const Json& option : *options) {
    require(option.is_string() && is_fido2_assert_option(option.get_ref<const std::string&>()),
            "an option of FIDO2 is not one of fido2-assert");
    credential.assert_options.push_back(option.get<std::string>());
  }
  return credential;
}

ContentCipher Parser::content_cipher(const std::set<std::string>& flags) const {
  const auto has = [&](std::string_view flag) { return flags.contains(std::string(flag)); };
  require(!(has(xchacha20_poly1305) && has(aes_siv)), "it has two ciphers for content");
  if (has(xchacha20_poly1305)) {
    require(!has(gcm_iv_128), "XChaCha20Poly1305 and GCMIV128 cannot be combined");
    require(has(hkdf), "XChaCha20Poly1305 needs HKDF");
    return ContentCipher::xchacha20_poly1305;
  }
  if (!has(gcm_iv_128)) {
    refuse_as_unread("has IVs of 96 bits, as volumes before version 0.7 of gocryptfs have",
                     "copy the files with a version of gocryptfs before 1.0");
  }
  return has(aes_siv) ? ContentCipher::aes_siv : ContentCipher::aes_256_gcm;
}

Features Parser::features(const Json& document, const std::set<std::string>& flags) const {
  const auto has = [&](std::string_view flag) { return flags.contains(std::string(flag)); };
  Features features;
  features.content = content_cipher(flags);
  features.has_hkdf = has(hkdf);
  features.has_plaintext_names = has(plaintext_names);
  features.has_directory_ivs = has(dir_iv);
  features.has_long_names = has(long_names);
  features.has_raw_base64 = has(raw_64);
  for (const std::string_view flag : {eme_names, dir_iv, long_names, raw_64, long_name_max}) {
    require(!(has(plaintext_names) && has(flag)),
            "PlaintextNames and " + std::string(flag) + " cannot be combined");
  }
  if (!has(plaintext_names) && !has(eme_names)) {
    refuse_as_unread("has names that are encrypted with CBC, as gocryptfs did before version 1.0",
                     "copy the files with a version of gocryptfs before 1.0");
  }
  const std::uint64_t limit = number(document, long_name_max, 0);
  require((limit != 0) == has(long_name_max), "LongNameMax is only one of flag and value");
  if (limit != 0) {
    require(limit >= min_long_name_max && limit <= max_long_name_max,
            "LongNameMax is out of range");
    features.long_name_max = static_cast<unsigned>(limit);
  }
  return features;
}

Configuration Parser::parse(Bytes text) const {
  const Json document = parse_json(text);
  const std::uint64_t version = number(document, "Version");
  if (version != format_version) {
    refuse_as_unread("has version " + std::to_string(version) + " of the format, and paes reads " +
                         std::to_string(format_version),
                     "");
  }
  Configuration configuration;
  if (const Json* const creator = find(document, "Creator"); creator != nullptr) {
    require(creator->is_string(), "the member Creator is not text");
    configuration.creator = creator->get<std::string>();
  }
  const std::set<std::string> flags = this->flags(document);
  configuration.features = features(document, flags);
  configuration.fido2 = fido2_credential(document, flags);
  configuration.scrypt = scrypt_cost(document);
  configuration.encrypted_key = bytes(document, "EncryptedKey");
  require(configuration.encrypted_key.size() == (configuration.features.has_hkdf ? 64 : 60),
          "the encrypted master key has a wrong length");
  Json others = Json::object();
  for (const auto& [member, value] : document.items()) {
    if (!is_known(member)) {
      others[member] = value;
    }
  }
  configuration.other_members = others.dump();
  return configuration;
}

std::string base64_of(Bytes data) {
  std::string text;
  base64::append_public(data, text);
  return text;
}

Json json_of(const Fido2Credential& credential) {
  Json object = {{"CredentialID", base64_of(credential.id)},
                 {"HMACSalt", base64_of(credential.salt)}};
  if (!credential.assert_options.empty()) {  // versions before 2.5 do not know them
    object["AssertOptions"] = credential.assert_options;
  }
  return object;
}

}  // namespace

bool is_fido2_assert_option(std::string_view text) noexcept {
  return !text.empty() && text.size() <= max_assert_option_bytes &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '=' || c == '-' || c == '_';
         });
}

const char* name_of(ContentCipher cipher) noexcept {
  switch (cipher) {
    case ContentCipher::xchacha20_poly1305:
      return "xchacha20-poly1305";
    case ContentCipher::aes_siv:
      return "aes-siv";
    case ContentCipher::aes_256_gcm:
      break;
  }
  return "aes-256-gcm";
}

unsigned ScryptCost::work_factor() const noexcept {
  const std::uint64_t of_default = (std::uint64_t{r} * p + 7) / 8;
  return log2_n + static_cast<unsigned>(std::bit_width(of_default - 1));
}

std::vector<std::string_view> flags_of(const Configuration& configuration) {
  const Features& features = configuration.features;
  std::vector<std::string_view> flags;
  const auto add = [&](bool is_set, std::string_view flag) {
    if (is_set) {
      flags.push_back(flag);
    }
  };
  add(features.has_hkdf, hkdf);
  add(features.content == ContentCipher::xchacha20_poly1305, xchacha20_poly1305);
  add(features.content != ContentCipher::xchacha20_poly1305, gcm_iv_128);
  add(features.has_plaintext_names, plaintext_names);
  add(features.has_directory_ivs, dir_iv);
  add(features.long_name_max != max_long_name_max, long_name_max);
  add(!features.has_plaintext_names, eme_names);
  add(features.has_long_names, long_names);
  add(features.has_raw_base64, raw_64);
  add(features.content == ContentCipher::aes_siv, aes_siv);
  add(configuration.fido2.has_value(), fido2);
  return flags;
}

Configuration parse_configuration(Bytes text, std::string_view name) {
  return Parser(name).parse(text);
}

std::string configuration_text(const Configuration& configuration) {
  const ScryptCost& cost = configuration.scrypt;
  Json document = {{"Creator", configuration.creator},
                   {"EncryptedKey", base64_of(configuration.encrypted_key)},
                   {"ScryptObject",
                    {{"Salt", base64_of(cost.salt)},
                     {"N", std::uint64_t{1} << cost.log2_n},
                     {"R", cost.r},
                     {"P", cost.p},
                     {"KeyLen", scrypt_key_bytes}}},
                   {"Version", format_version},
                   {"FeatureFlags", flags_of(configuration)}};
  if (configuration.fido2) {
    document["FIDO2"] = json_of(*configuration.fido2);
  }
  if (configuration.features.long_name_max != max_long_name_max) {
    document["LongNameMax"] = configuration.features.long_name_max;
  }
  document.update(Json::parse(configuration.other_members));
  std::string text = document.dump(1, '\t') + "\n";
  // What a reader would refuse must not replace what opens the vault. Members of other programs
  // take more room here than in the file that they came from.
  const Bytes bytes = {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
  if (bytes.size() > max_configuration_bytes) {
    throw Error(ErrorCode::failure, "configuration: would have " + std::to_string(bytes.size()) +
                                        " bytes, and readers take " +
                                        std::to_string(max_configuration_bytes));
  }
  (void)parse_configuration(bytes, "configuration");
  return text;
}

}  // namespace paes::vault
