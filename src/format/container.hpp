// SPDX-License-Identifier: Apache-2.0
// The container: 16 bytes of our own, an age envelope that carries the file's input key, and a
// Cobblestone payload, placed so that its chunk 0 begins on a page.
//
//   0            header: magic 89 'P' 'A' 'E' 'S' 0D 0A 1A, version, suite, k (u16 BE), E (u32 BE)
//   16           the envelope, E bytes
//   16 + E       zero bytes up to the payload, checked
//   4096*k - 56  the payload (see cobblestone.hpp)
//
// k is at most 257 and E at most 2^20. Both only say where things lie, and are not authenticated.
// There is no I/O here.
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

// What a new container is to be.
struct Shape {
  Suite suite = Suite::cobblestone_256;
  // Room after the envelope for this many more recipients.
  std::size_t spare_recipients = 8;
};
// A stanza of X25519 or ssh-ed25519 fits. One of RSA-4096 takes 6 of these, a hybrid one 13.
inline constexpr std::size_t spare_recipient_bytes = 128;

// What the keys of a container's payload are bound to: the file's first context_bytes.
[[nodiscard]] Bytes context(Suite suite) noexcept;

struct Header {
  Suite suite;
  std::uint16_t payload_page;    // k
  std::uint32_t envelope_bytes;  // E

  [[nodiscard]] std::uint64_t payload_offset() const noexcept;
  // How large an envelope may become: everything between the header and the payload.
  [[nodiscard]] std::size_t envelope_room() const noexcept;
};

// Throws Error(usage) for an envelope above max_envelope_bytes.
void check_envelope_bytes(std::size_t envelope_bytes);

// The header of a new file: the smallest k that leaves the room. Throws as check_envelope_bytes
// does, and Error(usage) if there cannot be so much room.
[[nodiscard]] Header layout(const Shape& shape, std::size_t envelope_bytes);

[[nodiscard]] std::array<std::uint8_t, header_bytes> encode(const Header& header) noexcept;

// Whether it begins as a container does.
[[nodiscard]] bool is_container(Bytes first_bytes) noexcept;

// Throws Error(corrupt) if it is not a paes file, has an unknown version or suite, or an envelope
// that is above the cap or reaches into the payload. Nothing is allocated before these checks.
[[nodiscard]] Header parse(Bytes first_bytes);

// Everything before the payload: header, envelope, zero bytes.
[[nodiscard]] std::vector<std::uint8_t> encode_preamble(const Header& header, Bytes envelope);

// Throws Error(corrupt) when a byte between envelope and payload is not zero. `preamble` is the
// payload_offset() bytes at the file's start.
void check_padding(const Header& header, Bytes preamble);

}  // namespace paes::container
