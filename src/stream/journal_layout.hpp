// Where things lie in a journal (journal.hpp says what one is for), and what one says of its work
// without any key.
//
//   0    8  magic 89 'P' 'A' 'E' 'S' 'J' 0D 0A        all integers big-endian
//   8    1  version 1
//   9    1  work: 1 encryption, 2 decryption
//   10   2  zero
//   12   4  chunks a stripe
//   16   8  bytes of text
//   24  56  the source: device, inode, bytes, mtime s and ns, ctime s and ns; zero for decryption
//   80  32  HMAC-SHA256 of the container's head
//   112 32  HMAC-SHA256 of the settings
//   144 80  zero
//   224 32  HMAC-SHA256 of all that
//   256     records of 16 bytes: HMAC-SHA256 of header and stripe number, truncated; zero before
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "core/bytes.hpp"

namespace paes::stream {

enum class Work : std::uint8_t { encrypt = 1, decrypt = 2 };

using JournalHeader = std::array<std::uint8_t, 256>;
using JournalRecord = std::array<std::uint8_t, 16>;

namespace journal_layout {

inline constexpr std::array<std::uint8_t, 8> magic = {0x89, 'P', 'A', 'E', 'S', 'J', '\r', '\n'};
inline constexpr std::uint8_t version = 1;

inline constexpr std::size_t version_at = 8;
inline constexpr std::size_t work_at = 9;
inline constexpr std::size_t stripe_at = 12;
inline constexpr std::size_t text_bytes_at = 16;
inline constexpr std::size_t source_at = 24;
inline constexpr std::size_t head_at = 80;
inline constexpr std::size_t settings_at = 112;
inline constexpr std::size_t tag_at = 224;

}  // namespace journal_layout

// True when these bytes claim to be a journal of paes, of any version.
[[nodiscard]] bool claims_to_be_journal(Bytes first_bytes) noexcept;

// None of this is authenticated.
struct JournalClaims {
  Work work;
  std::uint64_t text_bytes;
  std::uint64_t complete_text_bytes = 0;  // of the stripes that have a record

  [[nodiscard]] std::uint64_t stripes() const noexcept;
  // Adds the stripes from `first` on that have a record among these, whole ones.
  void add_records(std::uint64_t first, Bytes records) noexcept;
};

// Nothing when these bytes are no header of a journal that this version writes.
[[nodiscard]] std::optional<JournalClaims> parse_claims(Bytes header) noexcept;

}  // namespace paes::stream
