// SPDX-License-Identifier: Apache-2.0
// gocryptfs.conf: how a volume was made, and its master key under a passphrase or a token's secret.
// Converts text to values and back; no files. The format is gocryptfs's
// (github.com/rfjakob/gocryptfs, version 2 of the format, internal/configfile).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/bytes.hpp"

namespace paes::vault {

inline constexpr std::string_view configuration_name = "gocryptfs.conf";
// A configuration has 350 to 420 bytes, more if its creator or salt is longer.
inline constexpr std::size_t max_configuration_bytes = std::size_t{64} << 10;

inline constexpr unsigned format_version = 2;

enum class ContentCipher { aes_256_gcm, xchacha20_poly1305, aes_siv };
// The name that users write: "aes-256-gcm", "xchacha20-poly1305", "aes-siv".
[[nodiscard]] const char* name_of(ContentCipher cipher) noexcept;

// What the feature flags mean.
struct Features {
  ContentCipher content = ContentCipher::aes_256_gcm;
  bool has_hkdf = true;              // HKDF: each use of the master key gets its own key
  bool has_plaintext_names = false;  // PlaintextNames: if true, the flags below are false
  bool has_directory_ivs = true;     // DirIV
  bool has_long_names = true;        // LongNames in the configuration; see hashes_long_names
  bool has_raw_base64 = true;        // Raw64: encoded names without padding
  unsigned long_name_max = 255;      // LongNameMax: encoded names above it are hashed; 62 to 255

  // Whether long encoded names are stored as hashes. gocryptfs does not look at LongNames when it
  // mounts, so volumes of versions before 0.9, which lack the flag, have hashes, too.
  [[nodiscard]] constexpr bool hashes_long_names() const noexcept { return !has_plaintext_names; }

  bool operator==(const Features&) const = default;
};

// RFC 7914. The derived key has 32 bytes.
struct ScryptCost {
  std::vector<std::uint8_t> salt;  // 32 bytes or more, in new configurations 32
  unsigned log2_n = 16;
  unsigned r = 8;
  unsigned p = 1;

  // About how much memory a derivation takes.
  [[nodiscard]] std::uint64_t memory_bytes() const noexcept {
    return (std::uint64_t{128} * r) << log2_n;
  }
  // The log2 N, rounded up, that takes the same time with r = 8, p = 1, and at least the memory.
  [[nodiscard]] unsigned work_factor() const noexcept;
};

inline constexpr unsigned min_log2_n = 10;
inline constexpr unsigned default_log2_n = 16;
// The cap, unless the user allows more: a gibibyte of memory with r = 8, some seconds.
inline constexpr unsigned default_max_log2_n = 20;

// What a FIDO2 token needs to compute the secret that takes the passphrase's place: the HMAC of the
// salt under a key of the credential, which never leaves the token (CTAP 2, hmac-secret).
struct Fido2Credential {
  std::vector<std::uint8_t> id;             // 1 to 1023 bytes
  std::vector<std::uint8_t> salt;           // 32 bytes; 64 are read, too
  std::vector<std::string> assert_options;  // for fido2-assert, each after a -t: "pin=true"

  bool operator==(const Fido2Credential&) const = default;
};

inline constexpr std::size_t max_fido2_credential_bytes = 1023;  // WebAuthn
inline constexpr std::size_t fido2_salt_bytes = 32;
// Letters, digits, '=', '-' and '_', at most 64 of them.
[[nodiscard]] bool is_fido2_assert_option(std::string_view text) noexcept;
inline constexpr std::size_t max_fido2_assert_options = 16;

struct Configuration {
  std::string creator;
  Features features;
  std::vector<std::uint8_t> encrypted_key;  // 64 bytes; without HKDF 60
  ScryptCost scrypt;
  std::optional<Fido2Credential> fido2;  // if there is one, no passphrase opens the vault
  // Members that this version does not know, as the text of a JSON object. They are ignored, but
  // kept when a configuration is written again.
  std::string other_members = "{}";
};

// The names of the flags, in the order of configuration_text.
[[nodiscard]] std::vector<std::string_view> flags_of(const Configuration& configuration);

// Throws Error(corrupt) for what is not a configuration, and Error(failure) with a hint for a
// version, flag or combination that paes does not read. `name` is for messages. If a text has
// several readings among which gocryptfs chooses (a member that occurs twice), this throws. Letter
// case in members' names does not matter, as in gocryptfs.
[[nodiscard]] Configuration parse_configuration(Bytes text, std::string_view name);

// The text that gocryptfs would write: JSON indented with tabs, Base 64 with padding, a line feed
// at the end. The features are a combination that parse_configuration accepts.
[[nodiscard]] std::string configuration_text(const Configuration& configuration);

}  // namespace paes::vault
