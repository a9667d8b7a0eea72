// SPDX-License-Identifier: Apache-2.0
// Bech32 and Base 64: published examples, every single-character change, and other spellings.
#include "encoding/encodings.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <string>

#include "crypto/libcrypto.hpp"
#include "hex.hpp"

namespace paes {
namespace {

using bech32::Decoded;

// From c2sp.org/age, "The X25519 recipient type": the identity is 32 times 0x42.
constexpr std::string_view example_identity =
    "AGE-SECRET-KEY-1GFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPQ4EGAEX";
constexpr std::string_view example_recipient =
    "age1zvkyg2lqzraa2lnjvqej32nkuu0ues2s82hzrye869xeexvn73equnujwj";

Decoded decode(std::string_view text, std::string_view part) {
  std::array<std::uint8_t, 32> data{};
  return bech32::decode(text, part, data);
}

std::string changed(std::string_view text, std::size_t at, char to) {
  std::string copy(text);
  copy.at(at) = to;
  return copy;
}

std::string repeated(std::string_view part, unsigned count) {
  std::string text;
  for (unsigned i = 0; i < count; ++i) {
    text += part;
  }
  return text;
}

TEST(Bech32, TheSpecificationsExamplesDecodeAndEncode) {
  for (const auto& [text, part] : {std::pair{example_identity, std::string_view("AGE-SECRET-KEY-")},
                                   std::pair{example_recipient, std::string_view("age")}}) {
    std::array<std::uint8_t, 32> data{};
    ASSERT_EQ(bech32::decode(text, part, data), Decoded::good);
    if (text == example_identity) {
      EXPECT_EQ(test::to_hex(data), repeated("42", 32));
    }
    std::string written(bech32::text_length(part), '?');
    bech32::encode(part, data, {reinterpret_cast<std::uint8_t*>(written.data()), written.size()});
    EXPECT_EQ(written, text);
  }
}

TEST(Bech32, EveryOtherCharacterInEveryPlaceIsNoticed) {
  for (std::size_t at = 0; at < example_recipient.size(); ++at) {
    for (int c = 0; c < 256; ++c) {
      if (static_cast<unsigned char>(example_recipient[at]) == c) {
        continue;
      }
      const std::string other = changed(example_recipient, at, static_cast<char>(c));
      EXPECT_NE(decode(other, "age"), Decoded::good) << at << " " << c;
    }
  }
}

TEST(Bech32, NamesWhatIsWrong) {
  const std::string good(example_recipient);
  EXPECT_EQ(decode("", "age"), Decoded::other_kind);
  EXPECT_EQ(decode("age", "age"), Decoded::other_kind);
  EXPECT_EQ(decode(example_identity, "age"), Decoded::other_kind);
  EXPECT_EQ(decode("age1", "age"), Decoded::bad_length);
  EXPECT_EQ(decode(good + "q", "age"), Decoded::bad_length);
  EXPECT_EQ(decode(good.substr(0, good.size() - 1), "age"), Decoded::bad_length);
  EXPECT_EQ(decode(changed(good, 10, 'b'), "age"), Decoded::bad_character);
  EXPECT_EQ(decode(changed(good, 10, 'Q'), "age"), Decoded::bad_character);
  EXPECT_EQ(decode(changed(good, 4, 'v'), "age"), Decoded::bad_checksum);
}

TEST(Bech32, OneCaseOnly) {
  std::string other_case(example_recipient);
  for (char& c : other_case) {
    c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  }
  EXPECT_EQ(decode(other_case, "age"), Decoded::other_kind);
  EXPECT_EQ(decode("age" + other_case.substr(3), "age"), Decoded::bad_character);
}

TEST(Bech32, PaddingThatIsNotZeroIsASecondSpelling) {
  // The code is linear: adding the code word whose data is one padding bit gives a text with a
  // right checksum and that bit set.
  constexpr std::string_view alphabet = "qpzry9x8gf2tvdw0s3jn54khce6mua7l";
  const auto polymod = [](const std::vector<unsigned>& values) {
    std::uint32_t state = 0;  // linear: no constant, no human-readable part
    for (const unsigned value : values) {
      const std::uint32_t top = state >> 25;
      state = (state & 0x1ffffff) << 5 ^ value;
      constexpr std::uint32_t generator[] = {0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd,
                                             0x2a1462b3};
      for (unsigned i = 0; i < 5; ++i) {
        state ^= (top >> i & 1) != 0 ? generator[i] : 0;
      }
    }
    return state;
  };
  for (unsigned bit = 0; bit < 4; ++bit) {
    std::vector<unsigned> word(58, 0);
    word[51] = 1u << bit;
    const std::uint32_t checksum = polymod(word);
    for (unsigned i = 0; i < 6; ++i) {
      word[52 + i] = checksum >> (5 * (5 - i)) & 31;
    }
    ASSERT_EQ(polymod(word), 0u);
    std::string text(example_recipient);
    for (unsigned i = 0; i < 58; ++i) {
      text[4 + i] = alphabet[alphabet.find(text[4 + i]) ^ word[i]];
    }
    EXPECT_EQ(decode(text, "age"), Decoded::bad_padding) << bit;
  }
}

// RFC 4648, section 10.
TEST(Base64, TheStandardsExamples) {
  const std::pair<std::string_view, std::string_view> examples[] = {{"", ""},
                                                                    {"f", "Zg=="},
                                                                    {"fo", "Zm8="},
                                                                    {"foo", "Zm9v"},
                                                                    {"foob", "Zm9vYg=="},
                                                                    {"fooba", "Zm9vYmE="},
                                                                    {"foobar", "Zm9vYmFy"}};
  for (const auto& [plain, padded] : examples) {
    std::string appended = "- ";
    base64::append_public(libcrypto::bytes_of(plain), appended);
    EXPECT_EQ(appended, "- " + std::string(padded));
    std::vector<std::uint8_t> back = {'x'};
    EXPECT_TRUE(base64::append_decoded_public(padded, back));
    EXPECT_EQ(std::string(back.begin(), back.end()), "x" + std::string(plain));
    const std::string_view text = padded.substr(0, padded.find('='));
    EXPECT_EQ(base64::encode(libcrypto::bytes_of(plain)), text);
    EXPECT_EQ(base64::text_length(plain.size()), text.size());
    std::vector<std::uint8_t> data(plain.size());
    EXPECT_TRUE(base64::decode(text, data));
    EXPECT_EQ(std::string(data.begin(), data.end()), plain);
  }
}

TEST(Base64, OneSpellingOnly) {
  std::array<std::uint8_t, 1> one{};
  std::array<std::uint8_t, 2> two{};
  for (const char* text : {"Zh", "Zv", "Z", "Zg==", "Zg=", "Z-", "Z_", " Zg", "Zg\n", "ZgA"}) {
    EXPECT_FALSE(base64::decode(text, one)) << text;
  }
  EXPECT_FALSE(base64::decode("Zm9", two));
  EXPECT_FALSE(base64::is_canonical("Zm9vY"));
  EXPECT_TRUE(base64::is_canonical("Zm9v"));
  EXPECT_EQ(base64::encode(test::from_hex("fbff")), "+/8");
  for (const char* text : {"Zh==", "Zm9=", "Z===", "====", "=", "Zg=", "Zg", "Zm9vZ", "Zg==Zm9v",
                           "Zm=v", "Zg=v", "Z-==", "Zm9v\n", "Zm9\n", "Zm9\xff"}) {
    std::vector<std::uint8_t> data;
    EXPECT_FALSE(base64::append_decoded_public(text, data)) << text;
  }
}

// Each character at each place, by arithmetic and by the table.
TEST(Base64, TheFastDecoderKnowsTheSameCharacters) {
  for (const std::string good : {"Zg", "Zm8", "Zm9v", "Zm9vZm9v"}) {
    const std::string padding(3 - (good.size() - 1) % 4, '=');
    for (int c = 0; c < 256; ++c) {
      for (std::size_t at = 0; at < good.size(); ++at) {
        std::string text = good;
        text[at] = static_cast<char>(c);
        std::vector<std::uint8_t> fast;
        std::vector<std::uint8_t> want(good.size() * 3 / 4);
        const bool is_good = base64::decode(text, want);
        ASSERT_EQ(base64::is_canonical(text), is_good) << c << " at " << at;
        ASSERT_EQ(base64::append_decoded_public(text + padding, fast), is_good)
            << c << " at " << at;
        ASSERT_TRUE(!is_good || fast == want) << c << " at " << at;
      }
    }
  }
}

TEST(Base64, TheFastEncoderWritesTheSame) {
  for (std::size_t bytes = 0; bytes < 400; ++bytes) {
    std::vector<std::uint8_t> data(bytes);
    std::iota(data.begin(), data.end(), static_cast<std::uint8_t>(bytes * 37));
    const std::string text = base64::encode(data);
    std::string fast;
    base64::append_public(data, fast);
    EXPECT_EQ(fast.substr(0, fast.find('=')), text);
    std::vector<std::uint8_t> back(bytes);
    EXPECT_TRUE(base64::decode(text, back));
    EXPECT_EQ(back, data);
  }
}

// Every form is the standard one with two characters replaced and the padding kept or cut.
TEST(Base64, TheOtherAlphabetAndNoPadding) {
  using base64::Alphabet;
  for (std::size_t bytes = 0; bytes < 200; ++bytes) {
    std::vector<std::uint8_t> data(bytes);
    std::iota(data.begin(), data.end(), static_cast<std::uint8_t>(0xf8 + bytes));
    for (const bool is_padded : {false, true}) {
      for (const Alphabet alphabet : {Alphabet::standard, Alphabet::url}) {
        const base64::Form form = {alphabet, is_padded};
        std::string want = base64::encode(data);
        if (alphabet == Alphabet::url) {
          std::replace(want.begin(), want.end(), '+', '-');
          std::replace(want.begin(), want.end(), '/', '_');
        }
        want.append(is_padded ? (4 - want.size() % 4) % 4 : 0, '=');
        std::string text;
        base64::append_public(data, text, form);
        ASSERT_EQ(text, want);
        ASSERT_EQ(base64::decoded_bytes(text, form), bytes);
        std::vector<std::uint8_t> back(bytes);
        ASSERT_TRUE(base64::decode_public(text, back, form)) << text;
        ASSERT_EQ(back, data);
      }
    }
  }
}

TEST(Base64, NoFormReadsAnother) {
  const auto is_read = [](std::string_view text, base64::Form form) {
    std::vector<std::uint8_t> data(base64::decoded_bytes(text, form));
    return base64::decode_public(text, data, form);
  };
  constexpr base64::Form raw_url = {base64::Alphabet::url, false};
  constexpr base64::Form padded_url = {base64::Alphabet::url, true};
  for (const char* text : {"_-8", "Zg", "", "Zm9v"}) {
    EXPECT_TRUE(is_read(text, raw_url)) << text;
  }
  for (const char* text : {"_-8=", "+/8", "Zg==", "Z", "Zm9vZ", "Zh", "Zm9", "Zg\n", "\r", "Zg="}) {
    EXPECT_FALSE(is_read(text, raw_url)) << text;
  }
  for (const char* text : {"_-8=", "Zg==", "", "Zm9v"}) {
    EXPECT_TRUE(is_read(text, padded_url)) << text;
  }
  for (const char* text : {"_-8", "+/8=", "Zg", "Zg=", "Z===", "====", "Zh==", "Zm9=", "Zg==\n"}) {
    EXPECT_FALSE(is_read(text, padded_url)) << text;
  }
}

}  // namespace
TEST(Hexadecimal, EachCharacterHasItsValueOrNone) {
  const std::string_view digits = "0123456789abcdef";
  for (unsigned c = 0; c < 256; ++c) {
    const auto lower = static_cast<char>(c >= 'A' && c <= 'Z' ? c | 0x20 : c);
    const std::size_t at = c < 128 ? digits.find(lower) : std::string_view::npos;
    const unsigned value = hexadecimal::value_of(static_cast<std::uint8_t>(c));
    EXPECT_TRUE(at == std::string_view::npos ? value >= 16 : value == at) << c;
  }
}

TEST(Hexadecimal, DecodesTwoDigitsAByte) {
  std::uint8_t data[3] = {};
  EXPECT_TRUE(hexadecimal::decode("00fFa7", data));
  EXPECT_EQ(data[0], 0x00);
  EXPECT_EQ(data[1], 0xff);
  EXPECT_EQ(data[2], 0xa7);
  for (const std::string_view wrong : {"", "00fFa", "00fFa70", "00fFa7 ", "0gfFa7", "g0fFa7"}) {
    EXPECT_FALSE(hexadecimal::decode(wrong, data)) << wrong;
  }
}

}  // namespace paes
