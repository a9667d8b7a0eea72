// SPDX-License-Identifier: Apache-2.0
// gocryptfs.conf: how a volume was made, and its master key under a passphrase. Text to values and
// back; no files. The format is that of gocryptfs (github.com/rfjakob/gocryptfs, version 2 of the
// format, internal/configfile).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/bytes.hpp"

namespace paes::vault {

inline constexpr std::string_view configuration_name = "gocryptfs.conf";
// A configuration has 350 to 420 bytes; creators and salts may be longer.
inline constexpr std::size_t max_configuration_bytes = std::size_t{64} << 10;

inline constexpr unsigned format_version = 2;

enum class ContentCipher { aes_256_gcm, xchacha20_poly1305, aes_siv };
// As users write it: "aes-256-gcm", "xchacha20-poly1305", "aes-siv".
[[nodiscard]] const char* name_of(ContentCipher cipher) noexcept;

// The feature flags, as what they mean.
struct Features {
  ContentCipher content = ContentCipher::aes_256_gcm;
  bool has_hkdf = true;              // HKDF: each use of the master key has a key of its own
  bool has_plaintext_names = false;  // PlaintextNames: then the rest is false
  bool has_directory_ivs = true;     // DirIV
  bool has_long_names = true;        // LongNames, as the configuration says: see hashes_long_names
  bool has_raw_base64 = true;        // Raw64: encoded names without padding
  unsigned long_name_max = 255;      // LongNameMax: encoded names above it are hashed; 62 to 255

  // Whether long encoded names are stored as hashes. gocryptfs does not look at LongNames when it
  // mounts, so that volumes of its versions before 0.9, which lack it, have them, too.
  [[nodiscard]] constexpr bool hashes_long_names() const noexcept { return !has_plaintext_names; }

  bool operator==(const Features&) const = default;
};

// RFC 7914. The derived key has 32 bytes.
struct ScryptCost {
  std::vector<std::uint8_t> salt;  // 32 bytes or more, in new configurations 32
  unsigned log2_n = 16;
  unsigned r = 8;
  unsigned p = 1;

  // What a derivation takes, about.
  [[nodiscard]] std::uint64_t memory_bytes() const noexcept {
    return (std::uint64_t{128} * r) << log2_n;
  }
  // The log2 N, rounded up, that costs as much time with r = 8 and p = 1. Memory is never above it.
  [[nodiscard]] unsigned work_factor() const noexcept;
};

inline constexpr unsigned min_log2_n = 10;
inline constexpr unsigned default_log2_n = 16;
// Unless the user allows more: a gibibyte of memory with r = 8, some seconds.
inline constexpr unsigned default_max_log2_n = 20;

struct Configuration {
  std::string creator;
  Features features;
  std::vector<std::uint8_t> encrypted_key;  // 64 bytes; without HKDF 60
  ScryptCost scrypt;
  // Members that this version does not know, as the text of a JSON object. They have no meaning
  // here, and are kept when a configuration is written again.
  std::string other_members = "{}";
};

// The names of the features' flags, in the order of configuration_text.
[[nodiscard]] std::vector<std::string_view> flags_of(const Features& features);

// Throws Error(corrupt) for what is no configuration, Error(failure) with a hint for a version, a
// flag or a combination that paes does not read (FIDO2 among them). `name` is for messages. Where
// gocryptfs chooses among several readings of a text (a member that stands there twice), this
// throws. As with gocryptfs, the case of letters in members' names does not matter.
[[nodiscard]] Configuration parse_configuration(Bytes text, std::string_view name);

// As gocryptfs writes it: JSON indented with tabs, Base 64 with padding, a line feed at the end.
// The features are a combination that parse_configuration accepts.
[[nodiscard]] std::string configuration_text(const Configuration& configuration);

}  // namespace paes::vault
