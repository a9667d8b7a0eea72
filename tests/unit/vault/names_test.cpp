// SPDX-License-Identifier: Apache-2.0
// Names of the backing tree: every length, every damaged character, and what gocryptfs refuses.
#include "vault/names.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "crypto/libcrypto.hpp"
#include "encoding/encodings.hpp"
#include "kernel/registry.hpp"
#include "paes/error.hpp"
#include "refusal.hpp"
#include "varied_bytes.hpp"

namespace paes::vault {
namespace {

using libcrypto::bytes_of;
using test::varied_bytes;

const std::vector<std::uint8_t> name_key = varied_bytes(32, 7);
constexpr FolderIv iv = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};

Features raw_features() { return {}; }
Features padded_features() {
  Features features;
  features.has_raw_base64 = false;
  return features;
}
Features plain_features() {
  Features features;
  features.has_plaintext_names = true;
  features.has_directory_ivs = false;
  features.has_long_names = false;
  features.has_raw_base64 = false;
  return features;
}
Features with_long_name_max(unsigned most) {
  Features features;
  features.long_name_max = most;
  return features;
}

NameCipher cipher_of(const Features& features) {
  return {name_key, features, best_kernel(Cipher::aes)};
}

// Bytes that a name can have, all of which occur.
std::string name_of(std::size_t bytes, std::uint64_t seed) {
  std::string name;
  for (const std::uint8_t byte : varied_bytes(bytes, seed)) {
    name += static_cast<char>(byte == 0 || byte == '/' ? 'x' : byte);
  }
  return name == "." ? "," : name;
}

// What seal_name would make of these bytes if it did not check them: whole blocks.
std::string encoded_of(Bytes padded, Bytes tweak, base64::Form form) {
  std::vector<std::uint8_t> text(padded.begin(), padded.end());
  Eme(name_key, best_kernel(Cipher::aes)).encrypt(tweak, text);
  std::string encoded;
  base64::append_public(text, encoded, form);
  return encoded;
}
constexpr base64::Form raw_form = {base64::Alphabet::url, false};
std::string encoded_of(std::string_view name) {
  std::vector<std::uint8_t> padded(name.begin(), name.end());
  const std::size_t padding = 16 - name.size() % 16;
  padded.insert(padded.end(), padding, static_cast<std::uint8_t>(padding));
  return encoded_of(padded, iv, raw_form);
}

TEST(Names, EveryLengthRoundTrips) {
  for (const Features& features : {raw_features(), padded_features(), plain_features()}) {
    const NameCipher cipher = cipher_of(features);
    for (std::size_t bytes = 1; bytes <= max_name_bytes; ++bytes) {
      const std::string name = name_of(bytes, bytes);
      const std::string encoded = cipher.encode(name, iv);
      EXPECT_EQ(cipher.decode(encoded, iv), name);
      const std::size_t padded = bytes / 16 * 16 + 16;
      const std::size_t want = features.has_plaintext_names ? bytes
                               : features.has_raw_base64    ? (padded * 4 + 2) / 3
                                                            : (padded + 2) / 3 * 4;
      EXPECT_EQ(encoded.size(), want);
      EXPECT_LE(encoded.size(), max_encoded_name_bytes);
      EXPECT_EQ(encoded.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                          "0123456789-_=") != std::string::npos &&
                    !features.has_plaintext_names,
                false);
    }
  }
}

TEST(Names, DependOnTheFolderAndOnTheKey) {
  const NameCipher cipher = cipher_of({});
  FolderIv other = iv;
  other[15] ^= 1;
  EXPECT_NE(cipher.encode("name", iv), cipher.encode("name", other));
  const NameCipher other_cipher(varied_bytes(32, 8), {}, best_kernel(Cipher::aes));
  EXPECT_NE(cipher.encode("name", iv), other_cipher.encode("name", iv));
}

// Another character gives nothing or the encoding of another name.
TEST(Names, EveryDamagedCharacter) {
  for (const Features& features : {raw_features(), padded_features()}) {
    const NameCipher cipher = cipher_of(features);
    unsigned others = 0;
    for (const std::size_t bytes : {1U, 15U, 16U, 40U}) {
      const std::string encoded = cipher.encode(name_of(bytes, bytes), iv);
      for (std::size_t at = 0; at < encoded.size(); ++at) {
        for (int c = 0; c < 256; ++c) {
          std::string damaged = encoded;
          damaged[at] = static_cast<char>(c);
          if (const auto name = cipher.decode(damaged, iv); name && damaged != encoded) {
            EXPECT_TRUE(is_file_name(*name));
            EXPECT_EQ(cipher.encode(*name, iv), damaged);
            ++others;
          }
        }
      }
    }
    EXPECT_GT(others, 0U);  // about one in 256 has good padding
  }
}

TEST(Names, EveryCutAndEveryAdditionIsRefused) {
  for (const Features& features : {raw_features(), padded_features()}) {
    const NameCipher cipher = cipher_of(features);
    const std::string encoded = cipher.encode("sixteen bytes xy", iv);
    for (std::size_t bytes = 0; bytes < encoded.size(); ++bytes) {
      const auto name = cipher.decode(encoded.substr(0, bytes), iv);
      EXPECT_TRUE(!name || cipher.encode(*name, iv) == encoded.substr(0, bytes));
    }
    for (int c = 0; c < 256; ++c) {
      EXPECT_EQ(cipher.decode(encoded + static_cast<char>(c), iv), std::nullopt);
      EXPECT_EQ(cipher.decode(static_cast<char>(c) + encoded, iv), std::nullopt);
    }
  }
}

TEST(Names, OneSpellingOnly) {
  const NameCipher raw = cipher_of(raw_features());
  const NameCipher padded = cipher_of(padded_features());
  const std::string text = raw.encode("a", iv);  // 16 bytes: 22 characters, 4 spare bits
  EXPECT_EQ(padded.decode(text + "==", iv), "a");
  EXPECT_EQ(padded.decode(text, iv), std::nullopt);
  EXPECT_EQ(raw.decode(text + "==", iv), std::nullopt);
  for (const char* addition : {"\n", "\r", "\r\n", "=", " "}) {
    EXPECT_EQ(raw.decode(text + addition, iv), std::nullopt);
    EXPECT_EQ(padded.decode(text + "==" + addition, iv), std::nullopt);
    std::string within = text;
    within.insert(4, addition);
    EXPECT_EQ(raw.decode(within, iv), std::nullopt);
    EXPECT_EQ(padded.decode(within + "==", iv), std::nullopt);
  }
  // The last character's spare bits.
  constexpr std::string_view alphabet =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  const std::size_t last = alphabet.find(text.back());
  ASSERT_EQ(last % 16, 0U);
  for (std::size_t spare = 1; spare < 16; ++spare) {
    std::string other = text;
    other.back() = alphabet[last + spare];
    EXPECT_EQ(raw.decode(other, iv), std::nullopt);
    EXPECT_EQ(padded.decode(other + "==", iv), std::nullopt);
  }
  // The standard alphabet's characters.
  for (const auto& [ours, theirs] : {std::pair{'-', '+'}, std::pair{'_', '/'}}) {
    std::string encoded;
    for (std::uint64_t seed = 0; encoded.find(ours) == std::string::npos; ++seed) {
      encoded = raw.encode(name_of(60, seed), iv);
    }
    std::replace(encoded.begin(), encoded.end(), ours, theirs);
    EXPECT_EQ(raw.decode(encoded, iv), std::nullopt);
  }
}

// What tells a name under another key from what others keep in the folder.
TEST(Names, HaveTheirFormUnderEveryKey) {
  const NameCipher raw = cipher_of(raw_features());
  const NameCipher padded = cipher_of(padded_features());
  for (std::size_t bytes = 1; bytes <= max_name_bytes; ++bytes) {
    EXPECT_TRUE(raw.is_well_formed(raw.encode(name_of(bytes, bytes), iv)));
    EXPECT_TRUE(padded.is_well_formed(padded.encode(name_of(bytes, bytes), iv)));
  }
  const std::string text = raw.encode("a", iv);
  for (const std::string& other :
       {std::string(), std::string("lost+found"), std::string("notes.txt"), text.substr(1),
        text + "A", text + "==", text.substr(0, 21) + "x", std::string(22, '+'),
        std::string(max_encoded_name_bytes + 2, 'A')}) {
    EXPECT_FALSE(raw.is_well_formed(other)) << other;
  }
  EXPECT_FALSE(padded.is_well_formed(text));
  EXPECT_FALSE(cipher_of(plain_features()).is_well_formed(text));
}

TEST(Names, NamesThatNoFileCanHaveAreNotDecoded) {
  const NameCipher cipher = cipher_of({});
  ASSERT_EQ(cipher.decode(encoded_of("a good one"), iv), "a good one");
  const std::string zero("a\0b", 3);
  for (const std::string& name :
       {std::string("."), std::string(".."), std::string("/"), std::string("a/b"), zero,
        std::string(1, '\0'), std::string("../sixteen bytes and more"), std::string()}) {
    EXPECT_EQ(cipher.decode(encoded_of(name), iv), std::nullopt) << name;
    EXPECT_FALSE(is_file_name(name));
  }
  for (const char* name : {"...", ".a", "a.", "..a", " ", "\n", "\x80"}) {
    EXPECT_EQ(cipher.decode(encoded_of(name), iv), name);
    EXPECT_TRUE(is_file_name(name));
  }
  // Longer than any name: 256 bytes take 17 blocks.
  EXPECT_EQ(cipher.decode(encoded_of(std::string(256, 'x')), iv), std::nullopt);
  EXPECT_EQ(cipher.decode(std::string(100000, 'A'), iv), std::nullopt);
  EXPECT_FALSE(is_file_name(std::string(256, 'x')));
  EXPECT_TRUE(is_file_name(std::string(255, 'x')));
}

TEST(Names, BadPaddingIsRefused) {
  const NameCipher cipher = cipher_of({});
  for (unsigned count = 0; count < 256; ++count) {
    std::vector<std::uint8_t> padded(32, 'x');
    std::fill(padded.end() - std::min(count, 32U), padded.end(), static_cast<std::uint8_t>(count));
    padded.back() = static_cast<std::uint8_t>(count);
    const auto name = cipher.decode(encoded_of(padded, iv, raw_form), iv);
    EXPECT_EQ(name.has_value(), count >= 1 && count <= 16) << count;
    if (count >= 2 && count <= 16) {
      for (unsigned wrong = 2; wrong <= count; ++wrong) {
        auto damaged = padded;
        damaged[damaged.size() - wrong] ^= 0x40;
        EXPECT_EQ(cipher.decode(encoded_of(damaged, iv, raw_form), iv), std::nullopt);
      }
    }
  }
}

TEST(Names, LengthsThatCannotBeAreErrors) {
  const NameCipher cipher = cipher_of({});
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{256}, std::size_t{1000}}) {
    const std::string name(bytes, 'x');
    EXPECT_NE(test::refusal(ErrorCode::usage, [&] { (void)cipher.encode(name, iv); }), "");
    EXPECT_NE(test::refusal(ErrorCode::usage, [&] { (void)cipher.encode_attribute(name); }), "");
  }
}

TEST(Names, LongOnes) {
  const NameCipher cipher = cipher_of({});
  EXPECT_FALSE(cipher.is_long(cipher.encode(name_of(175, 1), iv)));  // 235 characters
  EXPECT_TRUE(cipher.is_long(cipher.encode(name_of(176, 1), iv)));   // 256
  EXPECT_FALSE(cipher.is_long(std::string(255, 'x')));
  EXPECT_TRUE(cipher.is_long(std::string(256, 'x')));
  const NameCipher least = cipher_of(with_long_name_max(62));
  EXPECT_FALSE(least.is_long(least.encode(name_of(31, 1), iv)));  // 43 characters
  EXPECT_TRUE(least.is_long(least.encode(name_of(32, 1), iv)));   // 64
  EXPECT_FALSE(least.is_long(std::string(62, 'x')));
  EXPECT_TRUE(least.is_long(std::string(63, 'x')));
  Features features;
  features.has_long_names = false;
  EXPECT_TRUE(cipher_of(features).is_long(std::string(256, 'x')));  // as gocryptfs does
  EXPECT_FALSE(cipher_of(plain_features()).is_long(std::string(300, 'x')));
  // The hash of no bytes at all is in FIPS 180-4's examples: e3b0c442...
  EXPECT_EQ(cipher.hashed(""), "gocryptfs.longname.47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU");
  EXPECT_EQ(cipher_of(padded_features()).hashed(""),
            "gocryptfs.longname.47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU=");
}

TEST(Names, KindsOfStoredNames) {
  const NameCipher cipher = cipher_of({});
  const std::string hashed = cipher.hashed("x");
  EXPECT_EQ(cipher.kind_of("gocryptfs.conf"), StoredKind::configuration);
  EXPECT_EQ(cipher.kind_of("gocryptfs.diriv"), StoredKind::folder_iv);
  EXPECT_EQ(cipher.kind_of(hashed), StoredKind::long_name);
  EXPECT_EQ(cipher.kind_of(hashed + ".name"), StoredKind::long_name_file);
  EXPECT_EQ(cipher.kind_of("gocryptfs.longname."), StoredKind::long_name);
  for (const char* name : {"", "a", "gocryptfs.con", "gocryptfs.conf.tmp", "gocryptfs.longname",
                           "gocryptfs.diriv.rmdir.1", "x.name"}) {
    EXPECT_EQ(cipher.kind_of(name), StoredKind::name) << name;
  }
  Features features;
  features.has_directory_ivs = false;
  EXPECT_EQ(cipher_of(features).kind_of("gocryptfs.diriv"), StoredKind::name);
  features.has_long_names = false;
  EXPECT_EQ(cipher_of(features).kind_of(hashed), StoredKind::long_name);
  const NameCipher plain = cipher_of(plain_features());
  EXPECT_EQ(plain.kind_of("gocryptfs.conf"), StoredKind::configuration);
  EXPECT_EQ(plain.kind_of("gocryptfs.diriv"), StoredKind::name);
  EXPECT_EQ(plain.kind_of(hashed), StoredKind::name);
}

TEST(Names, InPlainTextHaveTheSameChecks) {
  const NameCipher cipher = cipher_of(plain_features());
  EXPECT_EQ(cipher.encode("any name\n", iv), "any name\n");
  EXPECT_EQ(cipher.decode("any name\n", iv), "any name\n");
  for (const std::string& name :
       {std::string(), std::string("."), std::string(".."), std::string("a/b"),
        std::string(1, '\0'), std::string(256, 'x')}) {
    EXPECT_EQ(cipher.decode(name, iv), std::nullopt);
  }
}

TEST(Names, OfAttributes) {
  for (const Features& features : {raw_features(), padded_features(), plain_features()}) {
    const NameCipher cipher = cipher_of(features);
    for (const std::size_t bytes : {1U, 15U, 16U, 100U, 255U}) {
      const std::string name = name_of(bytes, bytes);
      const std::string stored = cipher.encode_attribute(name);
      EXPECT_TRUE(stored.starts_with("user.gocryptfs."));
      EXPECT_EQ(cipher.decode_attribute(stored), name);
      EXPECT_EQ(cipher.decode_attribute(stored.substr(5)), std::nullopt);
      EXPECT_EQ(cipher.decode_attribute(stored + "\n"), std::nullopt);
    }
    // These are attributes' names, but no file's.
    for (const char* name : {".", "..", "user.a/b"}) {
      EXPECT_EQ(cipher.decode_attribute(cipher.encode_attribute(name)), name);
    }
    for (const char* stored : {"", "user.a", "user.gocryptfs.", "user.gocryptfs.AAAA",
                               "security.capability", "system.posix_acl_access"}) {
      EXPECT_EQ(cipher.decode_attribute(stored), std::nullopt) << stored;
    }
  }
  // The tweak takes the place of a folder's IV.
  constexpr std::string_view tweak = "xattr_name_iv_xx";
  FolderIv as_iv;
  std::copy(tweak.begin(), tweak.end(), as_iv.begin());
  const NameCipher cipher = cipher_of({});
  EXPECT_EQ(cipher.encode_attribute("user.a"), "user.gocryptfs." + cipher.encode("user.a", as_iv));
  std::vector<std::uint8_t> zero_inside = {'a', 0, 'b'};
  zero_inside.insert(zero_inside.end(), 13, 13);
  EXPECT_EQ(cipher.decode_attribute("user.gocryptfs." +
                                    encoded_of(zero_inside, bytes_of(tweak), raw_form)),
            std::nullopt);
}

}  // namespace
}  // namespace paes::vault
