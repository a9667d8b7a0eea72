// SPDX-License-Identifier: Apache-2.0
// The container's header: its layout by hand, the placing of the payload, and what is refused.
#include "format/container.hpp"

#include <gtest/gtest.h>

#include "format/cobblestone.hpp"
#include "hex.hpp"
#include "refusal.hpp"

namespace paes::container {
namespace {

using test::from_hex;
using test::refusal;
using test::to_hex;

std::string parse_refusal(const char* hex) {
  return refusal(ErrorCode::corrupt, [&] { (void)parse(from_hex(hex)); });
}

TEST(Container, HeaderByHand) {
  const Header header{Suite::cobblestone_256, 1, 200};
  EXPECT_EQ(to_hex(encode(header)), "89504145530d0a1a01020001000000c8");
  const Header parsed = parse(from_hex("89504145530d0a1a01020001000000c8"));
  EXPECT_EQ(parsed.suite, Suite::cobblestone_256);
  EXPECT_EQ(parsed.payload_page, 1);
  EXPECT_EQ(parsed.envelope_bytes, 200u);
  EXPECT_EQ(parsed.payload_offset(), 4040u);
  EXPECT_EQ(parsed.envelope_room(), 4024u);
}

TEST(Container, PayloadStandsBeforeAPageWithRoomToSpareAndNoMore) {
  for (const std::size_t envelope :
       {std::size_t{1}, std::size_t{200}, std::size_t{2999}, std::size_t{3000}, std::size_t{3001},
        std::size_t{100000}, max_envelope_bytes}) {
    const Header header = layout({Suite::cobblestone_128}, envelope);
    EXPECT_EQ((header.payload_offset() + cobblestone::prefix_bytes) % page_bytes, 0u);
    EXPECT_GE(header.envelope_room(), envelope + 1024);
    EXPECT_LT(header.envelope_room(), envelope + 1024 + page_bytes);
    const Header parsed = parse(encode(header));
    EXPECT_EQ(parsed.payload_page, header.payload_page);
    EXPECT_EQ(parsed.envelope_bytes, envelope);
  }
  EXPECT_EQ(layout({Suite::cobblestone_128}, 3000).payload_page, 1);
  EXPECT_EQ(layout({Suite::cobblestone_128}, 3001).payload_page, 2);
}

TEST(Container, RoomForRecipientsIsReserved) {
  for (const std::size_t recipients : {std::size_t{0}, std::size_t{1}, std::size_t{100}}) {
    const Header header = layout({Suite::cobblestone_256, recipients}, 200);
    EXPECT_GE(header.envelope_room(), 200 + recipients * 128);
    EXPECT_LT(header.envelope_room(), 200 + recipients * 128 + page_bytes);
    EXPECT_EQ(parse(encode(header)).payload_page, header.payload_page);
  }
  EXPECT_EQ(parse(encode(layout({Suite::cobblestone_256, 8191}, 200))).payload_page, 257);
  for (const std::size_t recipients : {std::size_t{8300}, std::size_t{1} << 57, SIZE_MAX}) {
    const std::string why = refusal(ErrorCode::usage, [&] {
      (void)layout({Suite::cobblestone_256, recipients}, 200);
    });
    EXPECT_EQ(why,
              "envelope: there is no room for " + std::to_string(recipients) + " more recipients");
  }
}

TEST(Container, LayoutRefusesAnEnvelopeAboveTheCap) {
  const std::string why = refusal(
      ErrorCode::usage, [] { (void)layout({Suite::cobblestone_256}, max_envelope_bytes + 1); });
  EXPECT_EQ(why, "envelope: 1048577 bytes are above the limit of 1048576");
}

TEST(Container, ParseNamesWhatIsWrong) {
  EXPECT_EQ(parse_refusal(""), "header: not a paes file");
  EXPECT_EQ(parse_refusal("6167652d656e6372797074696f6e2e6f"), "header: not a paes file");
  EXPECT_EQ(parse_refusal("89504145530b0a1a01020001000000c8"), "header: not a paes file");
  EXPECT_EQ(parse_refusal("8950"), "header: truncated");
  EXPECT_EQ(parse_refusal("89504145530d0a1a01020001000000"), "header: truncated");
  EXPECT_EQ(parse_refusal("89504145530d0a1a02020001000000c8"), "header: unknown version 2");
  EXPECT_EQ(parse_refusal("89504145530d0a1a00020001000000c8"), "header: unknown version 0");
  EXPECT_EQ(parse_refusal("89504145530d0a1a01000001000000c8"), "header: unknown suite 0");
  EXPECT_EQ(parse_refusal("89504145530d0a1a01030001000000c8"), "header: unknown suite 3");
  EXPECT_EQ(parse_refusal("89504145530d0a1a0102000000000000"),
            "header: the payload cannot begin on page 0");
  EXPECT_EQ(parse_refusal("89504145530d0a1a0102ffff000000c8"),
            "header: the payload cannot begin on page 65535");
  EXPECT_EQ(parse_refusal("89504145530d0a1a0102010100100001"),
            "header: an envelope of 1048577 bytes is above the limit of 1048576");
  EXPECT_EQ(parse_refusal("89504145530d0a1a01020001ffffffff"),
            "header: an envelope of 4294967295 bytes is above the limit of 1048576");
  EXPECT_EQ(parse_refusal("89504145530d0a1a0102000100000fb9"),
            "header: the envelope reaches into the payload");
  EXPECT_EQ(parse_refusal("89504145530d0a1a0102000100000000"), "header: no envelope");
}

TEST(Container, AnEnvelopeMayFillAllTheRoom) {
  EXPECT_EQ(parse(from_hex("89504145530d0a1a0102000100000fb8")).envelope_bytes, 4024u);
}

TEST(Container, EveryFlippedBitOfAHeaderIsRefusedOrChangesTheHeader) {
  const auto good = encode(layout({Suite::cobblestone_256}, 200));
  for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
    auto flipped = good;
    flipped[bit / 8] = static_cast<std::uint8_t>(flipped[bit / 8] ^ (1u << (bit % 8)));
    try {
      EXPECT_EQ(encode(parse(flipped)), flipped) << bit;
    } catch (const Error& error) {
      EXPECT_EQ(error.code, ErrorCode::corrupt);
    }
  }
}

TEST(Container, PaddingIsZeroAndChecked) {
  const std::vector<std::uint8_t> envelope(200, 0x55);
  const Header header = layout({Suite::cobblestone_256}, envelope.size());
  auto preamble = encode_preamble(header, envelope);
  ASSERT_EQ(preamble.size(), header.payload_offset());
  EXPECT_EQ(to_hex(Bytes(preamble).first(17)), "89504145530d0a1a01020001000000c855");
  EXPECT_NO_THROW(check_padding(header, preamble));
  for (const std::size_t at : {header_bytes + envelope.size(), preamble.size() - 1}) {
    preamble[at] = 1;
    EXPECT_EQ(refusal(ErrorCode::corrupt, [&] { check_padding(header, preamble); }),
              "header: the space behind the envelope is not zero");
    preamble[at] = 0;
  }
  preamble.pop_back();
  EXPECT_EQ(refusal(ErrorCode::corrupt, [&] { check_padding(header, preamble); }),
            "header: truncated before the payload");
}

TEST(Container, ChangedLineEndsAreToldFromOtherDamage) {
  for (const char* const changed :
       {"89504145530a1a01020001000000c8", "89504145530d1a01020001000000c8",
        "89504145530d0d0a1a01020001000000c8"}) {
    EXPECT_EQ(parse_refusal(changed),
              "header: its line ends were changed, and with them its contents")
        << changed;
  }
  for (const char* const damaged :
       {"89504145530d0b1a01020001000000c8", "89504145530d0a1b01020001000000c8",
        "89504145530a0a1b01020001000000c8", "89504145530d0d1a", "89504145530a", "8950414553",
        "89"}) {
    EXPECT_EQ(parse_refusal(damaged).find("line ends"), std::string::npos) << damaged;
  }
}

TEST(Container, ItsKeysAreBoundToItsFirstTenBytes) {
  EXPECT_EQ(to_hex(context(Suite::cobblestone_128)), "89504145530d0a1a0101");
  EXPECT_EQ(to_hex(context(Suite::cobblestone_256)), "89504145530d0a1a0102");
}

TEST(Container, IsKnownByItsMagic) {
  EXPECT_TRUE(is_container(magic));
  EXPECT_TRUE(is_container(from_hex("89504145530d0a1aff")));
  EXPECT_FALSE(is_container(Bytes(magic).first(7)));
  EXPECT_FALSE(is_container({}));
  for (std::size_t at = 0; at < magic.size(); ++at) {
    auto other = magic;
    other[at] ^= 1;
    EXPECT_FALSE(is_container(other)) << at;
  }
}

}  // namespace
}  // namespace paes::container
