// SPDX-License-Identifier: Apache-2.0
// The container: 16 bytes of our own, an age envelope that carries the file's input key, and a
// Cobblestone payload, placed so that its chunk 0 begins on a page.
//
//   0            header: magic 89 'P' 'A' 'E' 'S' 0D 0A 1A, version, suite, k (u16 BE), E (u32 BE)
//   16           the envelope, E bytes
//   16 + E       zero bytes up to the payload, checked
//   4096*k - 56  the payload (see cobblestone.hpp)
//
// k is at most 257 and E at most 2^20. Both only say where things lie and are not authenticated.
// This file does no I/O.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/bytes.hpp"
#include "format/suite.hpp"

namespace paes::container {

inline constexpr std::size_t header_bytes = 16;
inline constexpr std::array<std::uint8_t, 8> magic = {0x89, 'P', 'A', 'E', 'S', '\r', '\n', 0x1a};
inline constexpr std::size_t context_bytes = 10;  // magic, version, suite: Cobblestone's context
inline constexpr std::size_t page_bytes = 4096;
inline constexpr std::size_t max_envelope_bytes = std::size_t{1} << 20;
inline constexpr std::uint8_t version = 1;

// The choices for a new container.
struct Shape {
  Suite suite = Suite::cobblestone_256;
  // The envelope can grow by this many recipients.
  std::size_t spare_recipients = 8;
};
// Enough for a stanza of X25519 or ssh-ed25519. One of RSA-4096 takes 6 of these, a hybrid one 13.
inline constexpr std::size_t spare_recipient_bytes = 128;

// The file's first context_bytes, to which the keys of its payload are bound.
[[nodiscard]] Bytes context(Suite suite) noexcept;

struct Header {
  Suite suite;
  std::uint16_t payload_page;    // k
  std::uint32_t envelope_bytes;  // E

  [[nodiscard]] std::uint64_t payload_offset() const noexcept;
  // How large an envelope may become: everything between header and payload.
  [[nodiscard]] std::size_t envelope_room() const noexcept;
};

// Throws Error(usage) above max_envelope_bytes.
void check_envelope_bytes(std::size_t envelope_bytes);

// The header of a new file, with the smallest k that leaves the room. Throws Error(usage) if there
// cannot be so much room, or if the envelope is above max_envelope_bytes.
[[nodiscard]] Header layout(const Shape& shape, std::size_t envelope_bytes);

[[nodiscard]] std::array<std::uint8_t, header_bytes> encode(const Header& header) noexcept;

// Whether a file begins like a container.
[[nodiscard]] bool is_container(Bytes first_bytes) noexcept;

// Throws Error(corrupt) if this is not a paes file, if its version or suite is unknown, or if its
// envelope is above the cap or reaches into the payload. Nothing is allocated before these checks.
[[nodiscard]] Header parse(Bytes first_bytes);

// Everything before the payload: header, envelope, zero bytes.
[[nodiscard]] std::vector<std::uint8_t> encode_preamble(const Header& header, Bytes envelope);

// Throws Error(corrupt) if a byte between envelope and payload is not zero. `preamble` is the
// file's first payload_offset() bytes.
void check_padding(const Header& header, Bytes preamble);

}  // namespace paes::container
