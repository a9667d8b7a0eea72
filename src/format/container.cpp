// SPDX-License-Identifier: Apache-2.0
#include "format/container.hpp"

#include <algorithm>
#include <cassert>
#include <string>
#include <string_view>

#include "format/cobblestone.hpp"
#include "paes/error.hpp"

namespace paes::container {

namespace {

// Modelled on PNG's magic: the first byte reveals a transfer by seven bits, the line ends reveal a
// conversion as text.

Error refusal(const std::string& why, const char* hint = "") {
  return {ErrorCode::corrupt, "header: " + why, hint};
}

constexpr std::size_t page_for(std::size_t envelope_bytes, std::size_t spare_recipients) {
  const std::size_t before_chunks = header_bytes + envelope_bytes +
                                    spare_recipients * spare_recipient_bytes +
                                    cobblestone::prefix_bytes;
  return (before_chunks + page_bytes - 1) / page_bytes;
}

// A payload never moves to a later page, so none begins after the page for the largest new
// envelope. This bounds what a reader holds in memory before the payload.
constexpr std::size_t max_payload_page = page_for(max_envelope_bytes, Shape().spare_recipients);

// The magic contains both line ends, so it shows how they were converted. Any other damage to its
// end is not a conversion.
bool has_changed_line_ends(Bytes first_bytes) noexcept {
  constexpr std::string_view name = "\x89PAES";
  const std::string_view begin(reinterpret_cast<const char*>(first_bytes.data()),
                               std::min(first_bytes.size(), magic.size()));
  if (!begin.starts_with(name)) {
    return false;
  }
  const std::string_view line_end = begin.substr(name.size());
  return line_end.starts_with("\n\x1a") || line_end.starts_with("\r\x1a") ||
         line_end.starts_with("\r\r\n");
}

}  // namespace

Bytes context(Suite suite) noexcept {
  static const auto header_128 = encode({Suite::cobblestone_128, 0, 0});
  static const auto header_256 = encode({Suite::cobblestone_256, 0, 0});
  return Bytes(suite == Suite::cobblestone_128 ? header_128 : header_256).first(context_bytes);
}

std::uint64_t Header::payload_offset() const noexcept {
  return std::uint64_t{payload_page} * page_bytes - cobblestone::prefix_bytes;
}

std::size_t Header::envelope_room() const noexcept {
  return static_cast<std::size_t>(payload_offset()) - header_bytes;
}

void check_envelope_bytes(std::size_t envelope_bytes) {
  if (envelope_bytes > max_envelope_bytes) {
    throw Error(ErrorCode::usage,
                "envelope: " + std::to_string(envelope_bytes) + " bytes are above the limit of " +
                    std::to_string(max_envelope_bytes),
                "use fewer recipients");
  }
}

Header layout(const Shape& shape, std::size_t envelope_bytes) {
  check_envelope_bytes(envelope_bytes);
  // There cannot be more recipients than bytes. The check keeps the product from wrapping around.
  const std::size_t page =
      page_for(envelope_bytes, std::min(shape.spare_recipients, max_envelope_bytes));
  if (page > max_payload_page) {
    throw Error(ErrorCode::usage,
                "envelope: there is no room for " + std::to_string(shape.spare_recipients) +
                    " more recipients",
                "a container has at most " + std::to_string(max_envelope_bytes) +
                    " bytes for all, and reserves " + std::to_string(spare_recipient_bytes) +
                    " for each");
  }
  return {shape.suite, static_cast<std::uint16_t>(page),
          static_cast<std::uint32_t>(envelope_bytes)};
}

std::array<std::uint8_t, header_bytes> encode(const Header& header) noexcept {
  std::array<std::uint8_t, header_bytes> bytes;
  std::copy(magic.begin(), magic.end(), bytes.begin());
  bytes[8] = version;
  bytes[9] = static_cast<std::uint8_t>(header.suite);
  store_be16(bytes.data() + 10, header.payload_page);
  store_be32(bytes.data() + 12, header.envelope_bytes);
  return bytes;
}

bool is_container(Bytes first_bytes) noexcept {
  return first_bytes.size() >= magic.size() &&
         std::equal(magic.begin(), magic.end(), first_bytes.begin());
}

Header parse(Bytes first_bytes) {
  const std::size_t comparable = std::min(first_bytes.size(), magic.size());
  if (comparable == 0 ||
      !std::equal(magic.begin(), magic.begin() + comparable, first_bytes.begin())) {
    if (has_changed_line_ends(first_bytes)) {
      throw refusal("its line ends were changed, and with them its contents",
                    "a program copied it as text: copy the original again, as binary");
    }
    throw refusal("not a paes file");
  }
  if (first_bytes.size() < header_bytes) {
    throw refusal("truncated");
  }
  if (first_bytes[8] != version) {
    throw refusal("unknown version " + std::to_string(first_bytes[8]),
                  "a newer paes may read this file");
  }
  const std::uint8_t suite = first_bytes[9];
  if (suite != static_cast<std::uint8_t>(Suite::cobblestone_128) &&
      suite != static_cast<std::uint8_t>(Suite::cobblestone_256)) {
    throw refusal("unknown suite " + std::to_string(suite), "a newer paes may read this file");
  }
  const Header header{static_cast<Suite>(suite), load_be16(first_bytes.data() + 10),
                      load_be32(first_bytes.data() + 12)};
  if (header.envelope_bytes > max_envelope_bytes) {
    throw refusal("an envelope of " + std::to_string(header.envelope_bytes) +
                  " bytes is above the limit of " + std::to_string(max_envelope_bytes));
  }
  if (header.payload_page == 0 || header.payload_page > max_payload_page) {
    throw refusal("the payload cannot begin on page " + std::to_string(header.payload_page));
  }
  if (header.envelope_bytes == 0) {
    throw refusal("no envelope");
  }
  if (header.envelope_bytes > header.envelope_room()) {
    throw refusal("the envelope reaches into the payload");
  }
  return header;
}

std::vector<std::uint8_t> encode_preamble(const Header& header, Bytes envelope) {
  assert(envelope.size() == header.envelope_bytes && envelope.size() <= header.envelope_room());
  std::vector<std::uint8_t> preamble(static_cast<std::size_t>(header.payload_offset()));
  const auto first_bytes = encode(header);
  std::copy(first_bytes.begin(), first_bytes.end(), preamble.begin());
  std::copy(envelope.begin(), envelope.end(), preamble.begin() + header_bytes);
  return preamble;
}

void check_padding(const Header& header, Bytes preamble) {
  if (preamble.size() != header.payload_offset()) {
    throw refusal("truncated before the payload");
  }
  const Bytes padding = preamble.subspan(header_bytes + header.envelope_bytes);
  if (std::any_of(padding.begin(), padding.end(), [](std::uint8_t byte) { return byte != 0; })) {
    throw refusal("the space behind the envelope is not zero");
  }
}

}  // namespace paes::container
