// SPDX-License-Identifier: Apache-2.0
#include "vault/configuration.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "crypto/libcrypto.hpp"
#include "paes/error.hpp"
#include "refusal.hpp"
#include "vault/configurations.hpp"

namespace paes::vault {
namespace {

using libcrypto::bytes_of;
using test::configuration_file;
using test::known_configurations;
using Json = nlohmann::ordered_json;

Configuration parsed(const std::string& text) {
  return parse_configuration(bytes_of(text), "conf");
}

bool same(const Configuration& a, const Configuration& b) {
  return a.creator == b.creator && a.features == b.features && a.fido2 == b.fido2 &&
         a.encrypted_key == b.encrypted_key && a.scrypt.salt == b.scrypt.salt &&
         a.scrypt.log2_n == b.scrypt.log2_n && a.scrypt.r == b.scrypt.r &&
         a.scrypt.p == b.scrypt.p && a.other_members == b.other_members;
}

// The default configuration with changes.
std::string changed(const std::function<void(Json&)>& change) {
  Json document = Json::parse(configuration_file("default"));
  change(document);
  return document.dump();
}

std::string base64_zeros(std::size_t bytes) {
  const std::string text((bytes * 8 + 5) / 6, 'A');
  return text + std::string((4 - text.size() % 4) % 4, '=');
}

std::string why_corrupt(const std::string& text) {
  const std::string what = test::refusal(ErrorCode::corrupt, [&] { (void)parsed(text); });
  const std::string before = "conf: is not a configuration of gocryptfs: ";
  EXPECT_TRUE(what.starts_with(before)) << what;
  EXPECT_EQ(what.find('\n'), std::string::npos);
  return what.substr(std::min(before.size(), what.size()));
}

std::string why_unread(const std::string& text) {
  return test::refusal(ErrorCode::failure, [&] { (void)parsed(text); });
}

TEST(VaultConfiguration, OfEachVersionAndOption) {
  for (const test::KnownConfiguration& known : known_configurations()) {
    SCOPED_TRACE(known.name);
    const Configuration read = parsed(configuration_file(known.name));
    EXPECT_EQ(read.features, known.features);
    EXPECT_EQ(read.creator, known.creator);
    EXPECT_EQ(read.encrypted_key.size(), known.features.has_hkdf ? 64U : 60U);
    EXPECT_EQ(read.scrypt.salt.size(), 32U);
    EXPECT_EQ(read.scrypt.log2_n, 10U);
    EXPECT_EQ(read.scrypt.r, 8U);
    EXPECT_EQ(read.scrypt.p, 1U);
    EXPECT_EQ(read.other_members, "{}");
  }
}

// Byte for byte what gocryptfs 2.3 wrote. Older versions list flags in another order.
TEST(VaultConfiguration, IsWrittenAsGocryptfsDoes) {
  for (const test::KnownConfiguration& known : known_configurations()) {
    SCOPED_TRACE(known.name);
    const std::string text = configuration_file(known.name);
    const Configuration read = parsed(text);
    const std::string written = configuration_text(read);
    EXPECT_TRUE(same(parsed(written), read));
    if (read.creator == "gocryptfs 2.3") {
      EXPECT_EQ(written, text);
    }
  }
}

TEST(VaultConfiguration, FlagsAreWhatGocryptfsKnows) {
  EXPECT_EQ(flags_of(parsed(configuration_file("all"))),
            (std::vector<std::string_view>{"HKDF", "XChaCha20Poly1305", "LongNameMax", "EMENames",
                                           "LongNames", "Raw64"}));
  EXPECT_EQ(flags_of(parsed(configuration_file("plaintextnames"))),
            (std::vector<std::string_view>{"HKDF", "GCMIV128", "PlaintextNames"}));
}

TEST(VaultConfiguration, UnknownMembersAreKept) {
  const std::string text = changed([](Json& all) {
    all["Comment"] = {{"of", "mine"}, {"list", {1, 2.5, nullptr, true}}};
    all["Number"] = 18446744073709551615U;
  });
  const Configuration read = parsed(text);
  const Json written = Json::parse(configuration_text(read));
  EXPECT_EQ(written["Comment"], Json::parse(text)["Comment"]);
  EXPECT_EQ(written["Number"], Json::parse(text)["Number"]);
  EXPECT_TRUE(same(parsed(configuration_text(read)), read));
}

// encoding/json of Go, with which gocryptfs reads, ignores the case of members' names.
TEST(VaultConfiguration, MembersNamesInAnyCase) {
  std::string text = configuration_file("longnamemax");
  const Configuration read = parsed(text);
  for (const char* const name :
       {"Creator", "EncryptedKey", "ScryptObject", "Salt", "KeyLen", "Version", "FeatureFlags"}) {
    const std::size_t at = text.find(name);
    ASSERT_NE(at, std::string::npos);
    text[at] = static_cast<char>(text[at] | 0x20);
  }
  EXPECT_TRUE(same(parsed(text), read));
  const auto in_capitals = [](const Json& object) {
    Json renamed;
    for (const auto& [name, value] : object.items()) {
      std::string capitals = name;
      std::transform(name.begin(), name.end(), capitals.begin(),
                     [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
      renamed[capitals] = value;
    }
    return renamed;
  };
  Json capitals = in_capitals(Json::parse(configuration_file("longnamemax")));
  capitals["SCRYPTOBJECT"] = in_capitals(capitals["SCRYPTOBJECT"]);
  EXPECT_TRUE(same(parsed(capitals.dump()), read));
  EXPECT_EQ(why_corrupt(changed([](Json& all) { all["version"] = 2; })),
            "the member Version stands there twice");
  EXPECT_EQ(why_corrupt(changed([](Json& all) { all["ScryptObject"]["n"] = 1024; })),
            "the member N stands there twice");
  // It also takes two letters outside of ASCII for an s and a k.
  EXPECT_EQ(why_corrupt(changed([](Json& all) { all["Ver\xc5\xbfion"] = 3; })),
            "the member Version is written with letters outside of ASCII");
  EXPECT_EQ(why_corrupt(changed([](Json& all) {
              all["Encrypted\xe2\x84\xaa"
                  "ey"] = "";
            })),
            "the member EncryptedKey is written with letters outside of ASCII");
  const std::string foreign = changed([](Json& all) { all["\xc5\xbf"] = 3; });
  EXPECT_NE(parsed(foreign).other_members, parsed(configuration_file("default")).other_members);
  // Flags are another matter: gocryptfs compares them to the letter.
  EXPECT_EQ(why_unread(changed([](Json& all) { all["FeatureFlags"].push_back("dirIV"); })),
            "conf: has a feature that paes does not know: dirIV");
}

TEST(VaultConfiguration, WhatIsNoJson) {
  const std::string good = configuration_file("default");
  EXPECT_EQ(why_corrupt(""), "it is empty");
  EXPECT_EQ(why_corrupt("\xef\xbb\xbf" + good), "it begins with a byte order mark");
  EXPECT_EQ(why_corrupt(good + std::string(1, '\0')), "there is a zero byte in it");
  EXPECT_EQ(why_corrupt(std::string(max_configuration_bytes + 1, ' ')), "it is too long");
  for (const std::string& text :
       {good + "x", good + "{}", "[" + good + "]", std::string("null"), std::string("{"),
        std::string("\xff\xfe{"), std::string("{\"a\": \"\xff\"}"), std::string("{\"a\": 1e999}"),
        std::string("{\"a\": 1,}"), std::string("// {}"), good.substr(0, good.size() - 3)}) {
    EXPECT_EQ(why_corrupt(text), "it is not a JSON object") << text;
  }
  EXPECT_EQ(why_corrupt("{\"Version\": 2, \"Version\": 2}"), "a member stands there twice");
  EXPECT_EQ(why_corrupt("{\"x\": {\"a\": 1, \"a\": 1}}"), "a member stands there twice");
}

TEST(VaultConfiguration, DeepNestingIsRefused) {
  const std::size_t deep = max_configuration_bytes / 2 - 16;
  EXPECT_EQ(why_corrupt("{\"a\":" + std::string(deep, '[') + std::string(deep, ']') + "}"),
            "it is nested too deeply");
  EXPECT_EQ(why_corrupt(std::string(max_configuration_bytes, '[')), "it is nested too deeply");
  std::string objects = "{\"a\":";
  for (int i = 0; i < 1000; ++i) {
    objects += "{\"a\":";
  }
  EXPECT_EQ(why_corrupt(objects), "it is nested too deeply");
  const auto nested = [](std::size_t lists) {
    return changed([&](Json& all) {
      all["Deep"] = Json::parse(std::string(lists, '[') + std::string(lists, ']'));
    });
  };
  EXPECT_NO_THROW((void)parsed(nested(16)));
  EXPECT_EQ(why_corrupt(nested(17)), "it is nested too deeply");
}

TEST(VaultConfiguration, TheLongestOne) {
  std::string text = configuration_file("default");
  text.resize(max_configuration_bytes, ' ');
  EXPECT_TRUE(same(parsed(text), parsed(configuration_file("default"))));
  EXPECT_EQ(why_corrupt(text + " "), "it is too long");
}

TEST(VaultConfiguration, NamesOfCiphers) {
  EXPECT_STREQ(name_of(ContentCipher::aes_256_gcm), "aes-256-gcm");
  EXPECT_STREQ(name_of(ContentCipher::xchacha20_poly1305), "xchacha20-poly1305");
  EXPECT_STREQ(name_of(ContentCipher::aes_siv), "aes-siv");
}

TEST(VaultConfiguration, WrongTypes) {
  const std::vector<Json> others = {nullptr,
                                    true,
                                    "text",
                                    -1,
                                    2.0,
                                    1e300,
                                    Json::array(),
                                    Json::object(),
                                    Json::array({"x"}),
                                    18446744073709551615U};
  for (const char* const member :
       {"Creator", "EncryptedKey", "ScryptObject", "Version", "FeatureFlags", "LongNameMax"}) {
    const Json good = Json::parse(configuration_file("longnamemax"));
    for (const Json& other : others) {
      Json document = good;
      document[member] = other;
      if (std::string_view(member) == "Creator" && other.is_string()) {
        continue;
      }
      SCOPED_TRACE(document.dump());
      try {
        (void)parsed(document.dump());
        ADD_FAILURE() << "was read";
      } catch (const Error& error) {
        EXPECT_TRUE(error.code == ErrorCode::corrupt || error.code == ErrorCode::failure);
      }
    }
  }
  for (const char* const member : {"Salt", "N", "R", "P", "KeyLen"}) {
    for (const Json& other : others) {
      SCOPED_TRACE(member + other.dump());
      (void)why_corrupt(changed([&](Json& all) { all["ScryptObject"][member] = other; }));
    }
    (void)why_corrupt(changed([&](Json& all) { all["ScryptObject"].erase(member); }));
  }
}

TEST(VaultConfiguration, MissingMembers) {
  EXPECT_EQ(why_corrupt(changed([](Json& all) { all.erase("Version"); })),
            "the member Version is missing");
  EXPECT_EQ(why_corrupt(changed([](Json& all) { all.erase("EncryptedKey"); })),
            "the member EncryptedKey is missing");
  EXPECT_EQ(why_corrupt(changed([](Json& all) { all.erase("ScryptObject"); })),
            "the object ScryptObject is missing");
  EXPECT_EQ(parsed(changed([](Json& all) { all.erase("Creator"); })).creator, "");
}

TEST(VaultConfiguration, ScryptsParameters) {
  const auto with = [](const char* member, std::uint64_t value) {
    return changed([&](Json& all) { all["ScryptObject"][member] = value; });
  };
  EXPECT_EQ(why_corrupt(with("N", 1000)), "N of scrypt is not a power of two");
  EXPECT_EQ(why_corrupt(with("N", 0)), "N of scrypt is not a power of two");
  EXPECT_EQ(why_corrupt(with("N", 512)), "N of scrypt is too low to protect anything");
  EXPECT_EQ(why_corrupt(with("N", std::uint64_t{1} << 41)),
            "N of scrypt is too high for any machine");
  EXPECT_EQ(parsed(with("N", std::uint64_t{1} << 40)).scrypt.log2_n, 40U);
  EXPECT_EQ(why_corrupt(with("R", 7)), "R of scrypt is out of range");
  EXPECT_EQ(parsed(with("R", 1U << 16)).scrypt.r, 1U << 16);
  EXPECT_EQ(why_corrupt(with("R", (1U << 16) + 1)), "R of scrypt is out of range");
  EXPECT_EQ(why_corrupt(with("R", std::uint64_t{1} << 32 | 8)), "R of scrypt is out of range");
  EXPECT_EQ(why_corrupt(with("P", 0)), "P of scrypt is out of range");
  EXPECT_EQ(why_corrupt(with("P", 1U << 30)), "P of scrypt is out of range");
  // With R at 8, P is below 2^30 / 8 (RFC 7914, section 6).
  EXPECT_EQ(why_corrupt(with("P", 1U << 27)), "P of scrypt is out of range");
  EXPECT_EQ(parsed(with("P", (1U << 27) - 1)).scrypt.p, (1U << 27) - 1);
  EXPECT_EQ(why_corrupt(with("KeyLen", 31)), "KeyLen of scrypt is not 32");
  EXPECT_EQ(why_corrupt(with("KeyLen", 64)), "KeyLen of scrypt is not 32");
  EXPECT_EQ(why_corrupt(changed([](Json& all) { all["ScryptObject"]["Salt"] = "AAAA"; })),
            "the salt is too short");
  const auto salt_of = [&](std::size_t bytes) {
    return changed(
        [&](Json& all) { all["ScryptObject"]["Salt"] = std::string(bytes / 3 * 4, 'A'); });
  };
  EXPECT_EQ(why_corrupt(salt_of(30)), "the salt is too short");
  EXPECT_EQ(parsed(salt_of(33)).scrypt.salt.size(), 33U);
  EXPECT_EQ(why_corrupt(changed([](Json& all) { all["ScryptObject"]["Salt"] = "AA"; })),
            "the member Salt is not Base 64");
}

TEST(VaultConfiguration, CostAsAWorkFactor) {
  EXPECT_EQ((ScryptCost{{}, 16, 8, 1}).work_factor(), 16U);
  EXPECT_EQ((ScryptCost{{}, 16, 9, 1}).work_factor(), 17U);
  EXPECT_EQ((ScryptCost{{}, 16, 8, 2}).work_factor(), 17U);
  EXPECT_EQ((ScryptCost{{}, 10, 16, 16}).work_factor(), 15U);
  EXPECT_EQ((ScryptCost{{}, 40, 1U << 16, (1U << 30) >> 17}).work_factor(), 66U);
  EXPECT_EQ((ScryptCost{{}, 16, 8, 1}).memory_bytes(), std::uint64_t{64} << 20);
  EXPECT_EQ((ScryptCost{{}, 40, 1U << 16, 1}).memory_bytes(), std::uint64_t{1} << 63);
}

// The lengths of what is encrypted with IVs of 16 and of 12 bytes.
TEST(VaultConfiguration, LengthOfTheEncryptedKey) {
  EXPECT_EQ(why_corrupt(changed([](Json& all) {
              all["EncryptedKey"] = Json::parse(configuration_file("example-v0.9"))["EncryptedKey"];
            })),
            "the encrypted master key has a wrong length");
  EXPECT_EQ(why_corrupt(changed([](Json& all) { all["FeatureFlags"].erase(0); })),  // HKDF
            "the encrypted master key has a wrong length");
}

TEST(VaultConfiguration, WhatPaesDoesNotRead) {
  EXPECT_EQ(why_unread(changed([](Json& all) { all["Version"] = 3; })),
            "conf: has version 3 of the format, and paes reads 2");
  EXPECT_EQ(why_unread(changed([](Json& all) { all["FeatureFlags"].push_back("Quantum"); })),
            "conf: has a feature that paes does not know: Quantum");
  EXPECT_EQ(why_unread(configuration_file("example-v0.6")),
            "conf: has IVs of 96 bits, as volumes before version 0.7 of gocryptfs have");
  EXPECT_EQ(why_unread(changed([](Json& all) {
              all["FeatureFlags"] = {"GCMIV128", "HKDF", "DirIV"};
            })),
            "conf: has names that are encrypted with CBC, as gocryptfs did before version 1.0");
  EXPECT_EQ(why_unread(changed([](Json& all) { all["FeatureFlags"] = nullptr; })),
            "conf: has IVs of 96 bits, as volumes before version 0.7 of gocryptfs have");
}

// The default configuration under a token, with changes to the member.
std::string with_fido2(const std::function<void(Json&)>& change) {
  return changed([&](Json& all) {
    all["FeatureFlags"].push_back("FIDO2");
    all["FIDO2"] = {{"CredentialID", "QUJD"}, {"HMACSalt", std::string(43, 'A') + "="}};
    change(all["FIDO2"]);
  });
}

TEST(VaultConfiguration, OfAToken) {
  const Configuration read = parsed(with_fido2([](Json&) {}));
  ASSERT_TRUE(read.fido2);
  EXPECT_EQ(read.fido2->id, (std::vector<std::uint8_t>{'A', 'B', 'C'}));
  EXPECT_EQ(read.fido2->salt, std::vector<std::uint8_t>(32));
  EXPECT_EQ(read.fido2->assert_options, std::vector<std::string>{});
  EXPECT_EQ(flags_of(read).back(), "FIDO2");
  EXPECT_EQ(read.other_members, "{}");
  EXPECT_TRUE(same(parsed(configuration_text(read)), read));
  const Configuration optioned = parsed(with_fido2([](Json& fido2) {
    fido2["AssertOptions"] = {"pin=true", "up=false"};
    fido2["HMACSalt"] = base64_zeros(64);
    fido2["CredentialID"] = base64_zeros(1023);
  }));
  EXPECT_EQ(optioned.fido2->assert_options, (std::vector<std::string>{"pin=true", "up=false"}));
  EXPECT_EQ(optioned.fido2->salt.size(), 64U);
  EXPECT_EQ(optioned.fido2->id.size(), 1023U);
  EXPECT_TRUE(same(parsed(configuration_text(optioned)), optioned));
  EXPECT_FALSE(same(optioned, read));
  for (const Json& none : {Json(nullptr), Json::array()}) {
    EXPECT_TRUE(
        same(parsed(with_fido2([&](Json& fido2) { fido2["AssertOptions"] = none; })), read));
  }
}

TEST(VaultConfiguration, OfATokenAsGocryptfs23WritesIt) {
  const std::string text = configuration_file("fido2");
  const Configuration read = parsed(text);
  ASSERT_TRUE(read.fido2);
  EXPECT_EQ(read.fido2->id.size(), 64U);
  EXPECT_EQ(configuration_text(read), text);
}

TEST(VaultConfiguration, DamagedMembersOfAToken) {
  const auto why = [](const char* member, const Json& value) {
    return why_corrupt(with_fido2([&](Json& fido2) { fido2[member] = value; }));
  };
  const char* const half = "FIDO2 is only one of flag and value";
  EXPECT_EQ(why_corrupt(changed([](Json& all) { all["FeatureFlags"].push_back("FIDO2"); })), half);
  EXPECT_EQ(why_corrupt(changed([](Json& all) { all["FIDO2"] = Json::object(); })), half);
  EXPECT_EQ(why_corrupt(with_fido2([](Json& fido2) { fido2 = Json::array(); })),
            "FIDO2 is not an object");
  EXPECT_EQ(why_corrupt(with_fido2([](Json& fido2) { fido2.erase("CredentialID"); })),
            "the member CredentialID is missing");
  EXPECT_EQ(why_corrupt(with_fido2([](Json& fido2) { fido2.erase("HMACSalt"); })),
            "the member HMACSalt is missing");
  EXPECT_EQ(why("CredentialID", 1), "the member CredentialID is not text");
  EXPECT_EQ(why("CredentialID", "QUJ"), "the member CredentialID is not Base 64");
  EXPECT_EQ(why("credentialID", "QUJD"), "the member CredentialID stands there twice");
  const char* const credential = "the credential of FIDO2 has a wrong length";
  EXPECT_EQ(why("CredentialID", ""), credential);
  EXPECT_EQ(why("CredentialID", base64_zeros(1026)), credential);
  for (const std::size_t bytes : {0U, 30U, 33U, 63U, 66U}) {
    EXPECT_EQ(why("HMACSalt", base64_zeros(bytes)), "the salt of FIDO2 has a wrong length");
  }
  const char* const list = "AssertOptions of FIDO2 is not a short list";
  EXPECT_EQ(why("AssertOptions", "pin=true"), list);
  EXPECT_EQ(why("AssertOptions", std::vector<std::string>(17, "up=true")), list);
  for (const Json& option : {Json(1), Json(""), Json("a b"), Json("a\n"),
                             Json(std::string(1, '\0')), Json(std::string(65, 'a'))}) {
    EXPECT_EQ(why("AssertOptions", Json::array({option})),
              "an option of FIDO2 is not one of fido2-assert");
  }
  EXPECT_EQ(parsed(with_fido2([](Json& fido2) {
              fido2["AssertOptions"] = std::vector<std::string>(16, std::string(64, 'Z'));
            })).fido2->assert_options.size(),
            16U);
}

TEST(VaultConfiguration, CombinationsThatMakeNoSense) {
  const auto with = [](std::vector<std::string> flags, std::optional<unsigned> limit = {}) {
    return changed([&](Json& all) {
      all["FeatureFlags"] = flags;
      if (limit) {
        all["LongNameMax"] = *limit;
      }
    });
  };
  EXPECT_EQ(why_corrupt(with({"HKDF", "XChaCha20Poly1305", "AESSIV", "EMENames"})),
            "it has two ciphers for content");
  EXPECT_EQ(why_corrupt(with({"HKDF", "XChaCha20Poly1305", "GCMIV128", "EMENames"})),
            "XChaCha20Poly1305 and GCMIV128 cannot be combined");
  EXPECT_EQ(why_corrupt(with({"XChaCha20Poly1305", "EMENames"})), "XChaCha20Poly1305 needs HKDF");
  for (const char* const flag : {"EMENames", "DirIV", "LongNames", "Raw64", "LongNameMax"}) {
    EXPECT_EQ(why_corrupt(with({"HKDF", "GCMIV128", "PlaintextNames", flag})),
              std::string("PlaintextNames and ") + flag + " cannot be combined");
  }
  EXPECT_EQ(why_corrupt(with({"HKDF", "GCMIV128", "EMENames", "LongNameMax"})),
            "LongNameMax is only one of flag and value");
  EXPECT_EQ(why_corrupt(with({"HKDF", "GCMIV128", "EMENames"}, 100)),
            "LongNameMax is only one of flag and value");
  EXPECT_EQ(why_corrupt(with({"HKDF", "GCMIV128", "EMENames", "LongNameMax"}, 61)),
            "LongNameMax is out of range");
  EXPECT_EQ(why_corrupt(with({"HKDF", "GCMIV128", "EMENames", "LongNameMax"}, 256)),
            "LongNameMax is out of range");
  EXPECT_EQ(
      parsed(with({"HKDF", "GCMIV128", "EMENames", "LongNameMax"}, 62)).features.long_name_max,
      62U);
  EXPECT_EQ(parsed(with({"HKDF", "GCMIV128", "EMENames", "LongNameMax"}, 255)).features,
            parsed(with({"HKDF", "GCMIV128", "EMENames"}, 0)).features);
}

// A message may show a flag, which anybody may have written, but not 60 KiB of it.
TEST(VaultConfiguration, LongFlagsAreShownInPart) {
  EXPECT_LT(why_unread(changed([](Json& all) {
              all["FeatureFlags"].push_back(std::string(50'000, 'x'));
            })).size(),
            120U);
}

// Every byte, with each of its bits flipped and replaced by what JSON gives a meaning: an Error, or
// what can be written and read again.
TEST(VaultConfiguration, EveryDamagedByte) {
  for (const char* const name : {"longnamemax", "example-v0.9"}) {
    const std::string good = configuration_file(name);
    const Configuration read = parsed(good);
    std::size_t equal = 0;
    std::size_t others = 0;
    for (std::size_t at = 0; at < good.size(); ++at) {
      std::string values("\0 \"\\{}[]:,0-eA=\xff", 16);
      for (unsigned bit = 0; bit < 8; ++bit) {
        values += static_cast<char>(good[at] ^ (1 << bit));
      }
      for (const char value : values) {
        std::string damaged = good;
        damaged[at] = value;
        if (damaged == good) {
          continue;
        }
        try {
          const Configuration now = parsed(damaged);
          ASSERT_TRUE(same(parsed(configuration_text(now)), now)) << damaged;
          ++(same(now, read) ? equal : others);
        } catch (const Error& error) {
          ASSERT_TRUE(error.code == ErrorCode::corrupt || error.code == ErrorCode::failure);
        }
      }
    }
    // White space, letters' case and unknown members in place of optional ones are equal; another
    // creator, salt or key is not.
    EXPECT_GT(equal, 0U);
    EXPECT_GT(others, 0U);
  }
}

TEST(VaultConfiguration, EveryPrefix) {
  const std::string good = configuration_file("default");
  for (std::size_t length = 0; length < good.size() - 1; ++length) {
    (void)why_corrupt(good.substr(0, length));
  }
}

// Indented, members of others take more room than in the file that they came from.
TEST(VaultConfiguration, WhatReadersWouldRefuseIsNotWritten) {
  const std::string text = changed([](Json& document) {
    document["Others"] = Json::array();
    for (int i = 0; i < 20000; ++i) {
      document["Others"].push_back(1);
    }
  });
  ASSERT_LE(text.size(), max_configuration_bytes);
  const Configuration read = parsed(text);
  const std::string why =
      test::refusal(ErrorCode::failure, [&] { (void)configuration_text(read); });
  EXPECT_TRUE(why.starts_with("configuration: would have ")) << why;
  Configuration bad = parsed(configuration_file("default"));
  bad.features.long_name_max = 61;
  EXPECT_TRUE(test::refusal(ErrorCode::corrupt, [&] {
                (void)configuration_text(bad);
              }).ends_with("LongNameMax is out of range"));
}

}  // namespace
}  // namespace paes::vault
