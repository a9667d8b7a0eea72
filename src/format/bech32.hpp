// Bech32 (BIP 173) as age uses it for its 32-byte keys: only in the letter case of the
// human-readable part. Written without a branch or an index that depends on the data, which may be
// a secret key; only the verdict shows.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "core/bytes.hpp"

namespace paes::bech32 {

inline constexpr std::size_t data_bytes = 32;

enum class Decoded { good, other_kind, bad_length, bad_character, bad_checksum, bad_padding };

// Human-readable part, '1', 52 characters of data, 6 of checksum.
[[nodiscard]] constexpr std::size_t text_length(std::string_view human_part) noexcept {
  return human_part.size() + 1 + 52 + 6;
}

// `human_part` is given in the case in which the whole text is to be written.
void encode(std::string_view human_part, std::span<const std::uint8_t, data_bytes> data,
            MutableBytes text) noexcept;

// `data` is meaningful only when the answer is good; the caller wipes it either way if it is
// secret.
[[nodiscard]] Decoded decode(std::string_view text, std::string_view human_part,
                             std::span<std::uint8_t, data_bytes> data) noexcept;

}  // namespace paes::bech32
