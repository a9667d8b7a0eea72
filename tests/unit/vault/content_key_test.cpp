// SPDX-License-Identifier: Apache-2.0
// Blocks under each cipher of content: published vectors, edges of lengths, holes, and damage.
#include "vault/content_key.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "core/secret.hpp"
#include "crypto/hchacha20.hpp"
#include "crypto/libcrypto.hpp"
#include "encoding/encodings.hpp"
#include "guarded_buffer.hpp"
#include "hex.hpp"
#include "kernel/registry.hpp"
#include "kernel_cases.hpp"
#include "on_threads.hpp"
#include "sanitized.hpp"
#include "varied_bytes.hpp"

namespace paes::vault {
namespace {

using test::from_hex;
using test::to_hex;
using test::varied_bytes;
using Buffer = std::vector<std::uint8_t>;

constexpr std::pair<ContentCipher, const char*> ciphers[] = {
    {ContentCipher::aes_256_gcm, "aes_256_gcm"},
    {ContentCipher::xchacha20_poly1305, "xchacha20_poly1305"},
    {ContentCipher::aes_siv, "aes_siv"}};

const FileId file_id = {9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 11, 12, 13, 14, 15, 16};

Buffer key_of(ContentCipher cipher, std::uint64_t seed = 5) {
  return varied_bytes(cipher == ContentCipher::aes_siv ? 64 : 32, seed);
}

std::unique_ptr<ContentKey> made(ContentCipher cipher, std::uint64_t seed = 5) {
  return make_content_key(cipher, key_of(cipher, seed), best_kernel(Cipher::aes));
}

Buffer sealed(const ContentKey& key, const BlockPlace& place, Bytes text, std::uint64_t seed = 1) {
  Buffer block(text.size() + key.layout().overhead());
  key.seal(place, varied_bytes(key.layout().iv_bytes, seed), text, block);
  return block;
}

class ContentCase : public ::testing::TestWithParam<std::pair<ContentCipher, const char*>> {
 protected:
  const std::unique_ptr<ContentKey> key = made(GetParam().first);
  const BlockLayout layout = key->layout();

  // What opens, or nothing; a block that does not open must have left only zeros.
  [[nodiscard]] std::optional<Buffer> opened(const BlockPlace& place, Bytes block) const {
    Buffer text(block.size() - std::min(block.size(), layout.overhead()), 0xaa);
    if (open_block(*key, place, block, text)) {
      return text;
    }
    EXPECT_EQ(std::count(text.begin(), text.end(), 0), static_cast<std::ptrdiff_t>(text.size()));
    return std::nullopt;
  }
};

TEST_P(ContentCase, EdgesOfLengthsRoundTripWithinTheirMemory) {
  const test::GuardedBuffer texts(block_bytes);
  const test::GuardedBuffer blocks(max_sealed_block_bytes);
  for (const std::size_t bytes :
       {1U, 2U, 15U, 16U, 17U, 31U, 32U, 100U, 255U, 4079U, 4080U, 4081U, 4095U, 4096U}) {
    const BlockPlace place = {bytes, &file_id};
    const Buffer text = varied_bytes(bytes, bytes);
    const Buffer want = sealed(*key, place, text);
    for (const test::Guard side : {test::Guard::before, test::Guard::behind}) {
      const MutableBytes block = blocks.view(bytes + layout.overhead(), side);
      key->seal(place, Bytes(want).first(layout.iv_bytes), texts.filled(text, side), block);
      EXPECT_EQ(to_hex(block), to_hex(want));
      const MutableBytes back = texts.view(bytes, side);
      std::fill(back.begin(), back.end(), 0xaa);
      EXPECT_TRUE(open_block(*key, place, block, back));
      EXPECT_EQ(to_hex(back), to_hex(text));
    }
  }
}

TEST_P(ContentCase, EveryDamagedByteIsRefused) {
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{50}, block_bytes}) {
    const BlockPlace place = {3, &file_id};
    const Buffer text = varied_bytes(bytes, 2);
    const Buffer block = sealed(*key, place, text);
    ASSERT_EQ(opened(place, block), text);
    for (std::size_t at = 0; at < block.size(); ++at) {
      Buffer damaged = block;
      damaged[at] ^= static_cast<std::uint8_t>(1U << at % 8);
      EXPECT_EQ(opened(place, damaged), std::nullopt) << at;
    }
  }
}

TEST_P(ContentCase, EveryCutIsRefused) {
  const BlockPlace place = {0, &file_id};
  const Buffer block = sealed(*key, place, varied_bytes(100, 2));
  for (std::size_t bytes = 0; bytes < block.size(); ++bytes) {
    EXPECT_EQ(opened(place, Bytes(block).first(bytes)), std::nullopt) << bytes;
  }
  Buffer longer = block;
  longer.push_back(0);
  EXPECT_EQ(opened(place, longer), std::nullopt);
}

TEST_P(ContentCase, ABlockBelongsToItsPlaceAndItsKey) {
  const Buffer text = varied_bytes(block_bytes, 2);
  const Buffer block = sealed(*key, {7, &file_id}, text);
  EXPECT_EQ(opened({7, &file_id}, block), text);
  for (const std::uint64_t other : {std::uint64_t{0}, std::uint64_t{6}, std::uint64_t{8},
                                    std::uint64_t{7} << 56, (std::uint64_t{1} << 63) + 7}) {
    EXPECT_EQ(opened({other, &file_id}, block), std::nullopt) << other;
  }
  FileId other_id = file_id;
  other_id[15] ^= 1;
  EXPECT_EQ(opened({7, &other_id}, block), std::nullopt);
  EXPECT_EQ(opened({7, nullptr}, block), std::nullopt);
  const auto other_key = made(GetParam().first, 6);
  Buffer nothing(text.size(), 0xaa);
  EXPECT_FALSE(other_key->open({7, &file_id}, block, nothing));
  EXPECT_EQ(nothing, Buffer(text.size()));
}

TEST_P(ContentCase, HolesAndIvsOfZeros) {
  const BlockPlace place = {1, &file_id};
  EXPECT_EQ(opened(place, Buffer(layout.stride())), Buffer(block_bytes));
  for (const std::size_t bytes : {std::size_t{1}, layout.iv_bytes, layout.overhead(),
                                  layout.overhead() + 1, layout.stride() - 1}) {
    EXPECT_EQ(opened(place, Buffer(bytes)), std::nullopt) << bytes;
  }
  for (std::size_t at = 0; at < layout.stride(); ++at) {
    Buffer almost(layout.stride());
    almost[at] = 1;
    EXPECT_EQ(opened(place, almost), std::nullopt) << at;
  }
  // Even an authentic block.
  Buffer block(layout.overhead() + 10);
  key->seal(place, Buffer(layout.iv_bytes), varied_bytes(10, 1), block);
  EXPECT_EQ(opened(place, block), std::nullopt);
}

TEST_P(ContentCase, ConsecutiveBlocks) {
  constexpr std::uint64_t first = 1000;
  Buffer all;
  Buffer texts;
  for (std::uint64_t i = 0; i < 5; ++i) {
    const Buffer text = i == 2 ? Buffer(block_bytes) : varied_bytes(i == 4 ? 77 : block_bytes, i);
    const Buffer block =
        i == 2 ? Buffer(layout.stride()) : sealed(*key, {first + i, &file_id}, text, i);
    all.insert(all.end(), block.begin(), block.end());
    texts.insert(texts.end(), text.begin(), text.end());
  }
  Buffer back(texts.size(), 0xaa);
  EXPECT_EQ(open_blocks(*key, file_id, first, all, back), 5U);
  EXPECT_EQ(to_hex(back), to_hex(texts));
  EXPECT_EQ(open_blocks(*key, file_id, first, {}, {}), 0U);

  for (std::size_t bad = 0; bad < 5; ++bad) {
    Buffer damaged = all;
    damaged[bad * layout.stride() + layout.overhead() + 3] ^= 1;
    std::fill(back.begin(), back.end(), 0xaa);
    EXPECT_EQ(open_blocks(*key, file_id, first, damaged, back), bad);
    EXPECT_TRUE(std::equal(texts.begin(),
                           texts.begin() + static_cast<std::ptrdiff_t>(bad * block_bytes),
                           back.begin()));
    const Bytes rest = Bytes(back).subspan(bad * block_bytes);
    const Bytes wiped = rest.first(std::min(rest.size(), block_bytes));
    EXPECT_EQ(to_hex(wiped), to_hex(Buffer(wiped.size())));
  }
  std::fill(back.begin(), back.end(), 0xaa);
  EXPECT_EQ(open_blocks(*key, file_id, first + 1, all, back), 0U);
  // A last block that is too short to hold text.
  const Bytes cut = Bytes(all).first(layout.stride() + layout.overhead());
  EXPECT_EQ(open_blocks(*key, file_id, first, cut, MutableBytes(back).first(block_bytes)), 1U);
}

TEST_P(ContentCase, ManyThreadsShareAKey) {
  test::on_threads(test::is_sanitized ? 50 : 400, 4, [&](std::size_t i) {
    const BlockPlace place = {i, &file_id};
    const Buffer text = varied_bytes(1 + i * 10, i);
    const Buffer block = sealed(*key, place, text, i);
    EXPECT_EQ(opened(place, block), text);
  });
}

TEST_P(ContentCase, LinkTargets) {
  Features raw;
  Features padded;
  padded.has_raw_base64 = false;
  Features plain = padded;
  plain.has_plaintext_names = true;
  for (const Features& features : {raw, padded, plain}) {
    for (const std::size_t bytes : {0U, 1U, 2U, 3U, 16U, 1000U, 4095U}) {
      const std::string target(bytes, 'x');
      const std::string stored = seal_link_target(*key, target, features);
      EXPECT_EQ(open_link_target(*key, stored, features), target);
      EXPECT_EQ(link_target_length(*key, stored, features), bytes);
      const std::uint64_t from_length = link_target_length(*key, stored.size(), features);
      EXPECT_GE(from_length, bytes);
      EXPECT_LE(from_length, bytes + (features.has_raw_base64 ? 0 : 2));
      if (features.has_plaintext_names || bytes == 0) {
        EXPECT_EQ(stored, target);
        continue;
      }
      EXPECT_NE(seal_link_target(*key, target, features), stored);  // another IV
      EXPECT_EQ(stored.ends_with('='),
                !features.has_raw_base64 && (bytes + layout.overhead()) % 3 != 0);
      EXPECT_EQ(open_link_target(*key, stored + "\n", features), std::nullopt);
      EXPECT_EQ(open_link_target(*key, stored.substr(4), features), std::nullopt);
      EXPECT_EQ(open_link_target(*key, "!" + stored.substr(1), features), std::nullopt);
    }
    if (!features.has_plaintext_names) {
      const std::string stored = seal_link_target(*key, "a target", features);
      for (std::size_t at = 0; at < stored.size(); ++at) {
        std::string damaged = stored;
        damaged[at] = damaged[at] == 'A' ? 'B' : 'A';
        EXPECT_EQ(open_link_target(*key, damaged, features), std::nullopt) << at;
      }
      for (const char* bad : {"A", "AA", "AAAA", "a target", "===="}) {
        EXPECT_EQ(open_link_target(*key, bad, features), std::nullopt);
        EXPECT_EQ(link_target_length(*key, std::string_view(bad), features), 0U);
      }
    }
  }
}

TEST_P(ContentCase, Attributes) {
  EXPECT_TRUE(seal_attribute(*key, {}).empty());
  EXPECT_EQ(open_attribute(*key, {}), Buffer());
  for (const std::size_t bytes : {1U, 2U, 3U, 255U, 4096U, 4097U, 65536U}) {
    const Buffer value = varied_bytes(bytes, bytes);
    const Buffer stored = seal_attribute(*key, value);
    EXPECT_EQ(stored.size(), bytes + layout.overhead());
    EXPECT_EQ(open_attribute(*key, stored), value);
    EXPECT_NE(seal_attribute(*key, value), stored);
    for (const bool is_padded : {false, true}) {
      std::string text;
      base64::append_public(stored, text, {base64::Alphabet::url, is_padded});
      EXPECT_EQ(open_attribute(*key, libcrypto::bytes_of(text)), value);
      text[5] = text[5] == 'A' ? 'B' : 'A';
      EXPECT_EQ(open_attribute(*key, libcrypto::bytes_of(text)), std::nullopt);
    }
  }
  const Buffer stored = seal_attribute(*key, varied_bytes(20, 1));
  for (std::size_t at = 0; at < stored.size(); ++at) {
    Buffer damaged = stored;
    damaged[at] ^= 0x10;
    EXPECT_EQ(open_attribute(*key, damaged), std::nullopt) << at;
    EXPECT_EQ(open_attribute(*key, Bytes(stored).first(std::max(at, std::size_t{1}))),
              std::nullopt);
  }
  // Values and targets are the same kind of block.
  EXPECT_EQ(open_attribute(*key, sealed(*key, {}, varied_bytes(9, 1))), varied_bytes(9, 1));
  EXPECT_EQ(open_attribute(*key, sealed(*key, {0, &file_id}, varied_bytes(9, 1))), std::nullopt);
}

INSTANTIATE_TEST_SUITE_P(Ciphers, ContentCase, ::testing::ValuesIn(ciphers),
                         [](const auto& row) { return std::string(row.param.second); });

// Associated data of 8 bytes is a block's number.
struct Vector {
  const char* source;
  ContentCipher cipher;
  const char* key;
  const char* iv;
  std::uint64_t number;
  const char* text;
  const char* sealed;  // after the IV
};

constexpr Vector vectors[] = {
    {"Wycheproof, xchacha20_poly1305_test, 5", ContentCipher::xchacha20_poly1305,
     "697c197c9e0023c8eee42ddf08c12c46718a436561b0c66d998c81879f7cb74c",
     "cd78f4533c94648feacd5aef0291b00b454ee3dcdb76dcc8", 0x6384f4714ff18c18, "e1",
     "b0e5e35f5332f91bdd2d28e59d68a0b141"},
    {"Wycheproof, xchacha20_poly1305_test, 33", ContentCipher::xchacha20_poly1305,
     "51a99f0646767fbc01d7736df0340191acfbb5ae0288ed6fff2d34f0ea31470f",
     "ffdca5c51a0852ab18dd484af6664b63ab4097d303450837", 0xa2e44e165e7ca5f7,
     "93553954f0be4e24185601ce5c3c34",
     "f91d01453f568774115f75b5dad6428fc36af6ae5ee3e05b38ed43598bbfcd"},
    {"Wycheproof, xchacha20_poly1305_test, 35", ContentCipher::xchacha20_poly1305,
     "7fb18b56f3f5122585754a3b6c6a4e523036e66793db569c3e8e28032e916eb6",
     "c02c8c595064ac303b1be5df6ab43048856e97ae9962fb8f", 0x8981c7260d514ab6,
     "6e8c0bb3361908f5b33e059408651ae3",
     "a7eb11bfaa0d1c2ce457598049399575485a94f61aa5f47a3036e85a57effd2f"},
    {"Wycheproof, aead_aes_siv_cmac_test, 736", ContentCipher::aes_siv,
     "323ca981ca0f742a7dcb2a9395140b35cb948cbb59e159e10438748d883c367e"
     "360030172b23339cf0884e42229cccfde7bea55143796029612b613fbee71559",
     "d10ab6b4a3acfcd6c8f5d850df27b145", 0x7050d4bb6f5dcff5, "85c863857f1bbcbaa680a6cd",
     "0d4cd52d300cb613e0bbab25aed3083cb31d864d70bcd9505a7ecd14"},
};

TEST(ContentVectors, Published) {
  for (const Vector& vector : vectors) {
    const auto key =
        make_content_key(vector.cipher, from_hex(vector.key), best_kernel(Cipher::aes));
    const Buffer text = from_hex(vector.text);
    Buffer block(text.size() + key->layout().overhead());
    key->seal({vector.number, nullptr}, from_hex(vector.iv), text, block);
    EXPECT_EQ(to_hex(block), std::string(vector.iv) + vector.sealed) << vector.source;
    Buffer back(text.size());
    EXPECT_TRUE(key->open({vector.number, nullptr}, block, back)) << vector.source;
    EXPECT_EQ(back, text) << vector.source;
  }
}

// draft-irtf-cfrg-xchacha-03, section 2.2.1.
TEST(HChaCha20, TheDraftsExample) {
  std::array<std::uint8_t, 32> subkey;
  hchacha20(from_hex("000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"),
            from_hex("000000090000004a0000000031415927"), subkey);
  EXPECT_EQ(to_hex(subkey), "82413b4227b27bfed30e42508a877d73a0f9e4d58a74a853c12ec41326d3ecdc");
}

// draft-irtf-cfrg-xchacha-03, appendix A.3.1, whose associated data has 12 bytes.
TEST(HChaCha20, TheDraftsMessage) {
  constexpr std::string_view text =
      "Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the future, "
      "sunscreen would be it.";
  const Buffer key = from_hex("808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f");
  std::array<std::uint8_t, 32> subkey;
  hchacha20(key, from_hex("404142434445464748494a4b4c4d4e4f"), subkey);
  Buffer out(text.size() + libcrypto::chacha20_poly1305_tag_bytes);
  libcrypto::chacha20_poly1305_seal(subkey, from_hex("000000005051525354555657"),
                                    libcrypto::bytes_of(text), out,
                                    from_hex("50515253c0c1c2c3c4c5c6c7"));
  EXPECT_EQ(to_hex(out),
            "bd6d179d3e83d43b9576579493c0e939572a1700252bfaccbed2902c21396cbb"
            "731c7f1b0b4aa6440bf3a82f4eda7e39ae64c6708c54c216cb96b72e1213b452"
            "2f8c9ba40db5d945b11b69b982c1bb9e3f3fac2bc369488f76b2383565d3fff9"
            "21f9664c97637da9768812f615c68b13b52e"
            "c0875924c1c7987947deafd8780acf49");
}

class ContentKernelCase : public KernelCase {};

// Every kernel makes the same blocks: the reference is libcrypto, which takes such IVs as well.
TEST_P(ContentKernelCase, EveryKernelMakesTheSameBlocks) {
  PAES_SKIP_IF_UNAVAILABLE();
  constexpr ContentCipher cipher = ContentCipher::aes_256_gcm;
  const auto key = make_content_key(cipher, key_of(cipher), kernel());
  const auto reference =
      make_content_key(cipher, key_of(cipher), find_kernel(Cipher::aes, "openssl"));
  for (const std::size_t bytes : {1U, 16U, 4095U, 4096U}) {
    const Buffer text = varied_bytes(bytes, bytes);
    const Buffer block = sealed(*reference, {bytes, &file_id}, text);
    EXPECT_EQ(to_hex(sealed(*key, {bytes, &file_id}, text)), to_hex(block));
    Buffer back(bytes);
    EXPECT_TRUE(open_block(*key, {bytes, &file_id}, block, back));
    EXPECT_EQ(back, text);
  }
}

PAES_FOR_ALL_KERNELS(ContentKernelCase);

}  // namespace
}  // namespace paes::vault
