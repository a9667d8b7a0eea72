// The two spellings of bytes as text that age uses: Base 64 in headers, Bech32 for keys.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/bytes.hpp"

// Standard Base 64 without padding, canonical only (RFC 4648, sections 4 and 3.5). It is not for
// secrets, because it looks characters up in a table.
namespace paes::base64 {

[[nodiscard]] constexpr std::size_t text_length(std::size_t bytes) noexcept {
  return (bytes * 8 + 5) / 6;
}

[[nodiscard]] std::string encode(Bytes data);

// True if `text` is the canonical encoding of some bytes.
[[nodiscard]] bool is_canonical(std::string_view text) noexcept;

// True if `text` is the canonical encoding of exactly data.size() bytes, which are then in `data`.
[[nodiscard]] bool decode(std::string_view text, MutableBytes data) noexcept;

}  // namespace paes::base64

// Bech32 (BIP 173) for keys of 32 bytes. Only the letter case of the human-readable part is
// accepted. No branch and no index depends on the data, which may be a secret key; only the result
// is public.
namespace paes::bech32 {

inline constexpr std::size_t data_bytes = 32;
inline constexpr std::size_t data_symbols = 52;  // of 5 bits; the last four bits are padding
inline constexpr std::size_t checksum_symbols = 6;

enum class Decoded { good, other_kind, bad_length, bad_character, bad_checksum, bad_padding };

// Human-readable part, '1', data, checksum.
[[nodiscard]] constexpr std::size_t text_length(std::string_view human_part) noexcept {
  return human_part.size() + 1 + data_symbols + checksum_symbols;
}

// `human_part` is given in the case in which the whole text is to be written.
void encode(std::string_view human_part, std::span<const std::uint8_t, data_bytes> data,
            MutableBytes text) noexcept;

// `data` is meaningful only when the answer is good. The caller wipes it either way if it is
// secret.
[[nodiscard]] Decoded decode(std::string_view text, std::string_view human_part,
                             std::span<std::uint8_t, data_bytes> data) noexcept;

}  // namespace paes::bech32
