// The textual header of an age v1 file (c2sp.org/age, "Header"): strict parsing into views of the
// file, the fields of the X25519 and scrypt stanzas, and the writing of stanzas. There is no
// cryptography here.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/bytes.hpp"

namespace paes::age {

inline constexpr std::size_t file_key_bytes = 16;
inline constexpr std::size_t wrapped_key_bytes = file_key_bytes + 16;  // and Poly1305's tag
inline constexpr std::size_t mac_bytes = 32;
inline constexpr std::size_t payload_nonce_bytes = 16;
inline constexpr std::string_view x25519_type = "X25519";
inline constexpr std::string_view scrypt_type = "scrypt";

// Views into the file, so that nothing of an unknown stanza is decoded or copied.
struct Stanza {
  std::string_view arguments;  // the type first, joined by single spaces
  std::string_view body;       // canonical Base 64 in lines, without the last line feed

  [[nodiscard]] std::string_view type() const noexcept {
    return arguments.substr(0, arguments.find(' '));
  }
};

struct ParsedFile {
  std::vector<Stanza> stanzas;
  Bytes authenticated;  // what the MAC covers: everything up to and including "---"
  std::array<std::uint8_t, mac_bytes> mac;
  Bytes payload;  // at least a nonce
};

// Throws Error(corrupt) if the header or a stanza of the two known types is malformed, or if a
// scrypt stanza is not the only one.
[[nodiscard]] ParsedFile parse_file(Bytes file);

struct X25519Stanza {
  std::array<std::uint8_t, 32> share;
  std::array<std::uint8_t, wrapped_key_bytes> wrapped_key;
};
struct ScryptStanza {
  std::array<std::uint8_t, 16> salt;
  unsigned work_factor;  // log2 N
  std::array<std::uint8_t, wrapped_key_bytes> wrapped_key;
};
// Both throw Error(corrupt) unless the stanza has exactly this form.
[[nodiscard]] X25519Stanza read_x25519(const Stanza& stanza);
[[nodiscard]] ScryptStanza read_scrypt(const Stanza& stanza);

// A header is its version line, stanzas, and the end line that append_mac writes.
[[nodiscard]] std::string version_line();
void append_stanza(std::string& header, const X25519Stanza& stanza);
void append_stanza(std::string& header, const ScryptStanza& stanza);
inline constexpr std::string_view mac_mark = "---";  // the MAC covers everything up to its end
void append_mac(std::string& header, const std::array<std::uint8_t, mac_bytes>& mac);

}  // namespace paes::age
