// SPDX-License-Identifier: Apache-2.0
// Keys of vaults for those who store the files themselves: with each kind of configuration, what is
// damaged, and what a caller may get wrong.
#include <gtest/gtest.h>

#include <algorithm>

#include "hex.hpp"
#include "library/public_sample.hpp"
#include "paes/vault.hpp"
#include "refusal.hpp"
#include "vault/configurations.hpp"

namespace paes {
namespace {

using test::configuration_file;
using test::from_hex;
using test::known_configurations;

constexpr VaultFolderIv folder_iv = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};

Bytes as_bytes(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

VaultKey key_of(const test::KnownConfiguration& known) {
  return VaultKey::with_master_key(as_bytes(configuration_file(known.name)),
                                   from_hex(known.master_key));
}
VaultKey default_key() { return key_of(known_configurations().front()); }

Contents sealed_run(const VaultKey& key, const VaultFileHeader& header, Bytes text,
                    std::uint64_t first_block = 0) {
  Contents sealed(key.sealed_bytes(text.size()));
  key.seal_blocks(header, first_block, text, sealed);
  return sealed;
}

Contents opened_run(const VaultKey& key, const VaultFileHeader& header, Bytes sealed,
                    std::uint64_t first_block = 0) {
  Contents text(key.opened_bytes(sealed.size()), 0xaa);
  key.open_blocks(header, first_block, sealed, text, "a file");
  return text;
}

// Whether the run is refused, with no byte of its text.
std::string refused(const VaultKey& key, const VaultFileHeader& header, Bytes sealed,
                    std::uint64_t first_block = 0) {
  Contents text(key.opened_bytes(sealed.size()), 0xaa);
  const std::string what = test::refusal(
      ErrorCode::corrupt, [&] { key.open_blocks(header, first_block, sealed, text, "a file"); });
  EXPECT_TRUE(std::all_of(text.begin(), text.end(), [](std::uint8_t byte) { return byte == 0; }));
  return what;
}

TEST(PublicVault, PassphraseAndMasterKeyOfEachKindOfVaultAreTheSame) {
  for (const test::KnownConfiguration& known : known_configurations()) {
    SCOPED_TRACE(known.name);
    const std::string configuration = configuration_file(known.name);
    const VaultKey one = VaultKey::open(as_bytes(configuration), Passphrase(known.passphrase));
    const VaultKey other = key_of(known);
    EXPECT_EQ(one.has_plain_names(), known.features.has_plaintext_names);
    EXPECT_EQ(one.has_folder_ivs(), known.features.has_directory_ivs);
    for (const std::string& name : {std::string("a"), std::string("ü\n"), std::string(180, 'l')}) {
      const VaultName stored = one.stored_name(name, folder_iv, true);
      if (stored.encoded.empty()) {
        EXPECT_EQ(one.kind_of(stored.stored, false), VaultEntryKind::name);
        EXPECT_EQ(other.name_of(stored.stored, folder_iv), name);
      } else {
        EXPECT_EQ(one.kind_of(stored.stored, false), VaultEntryKind::long_name);
        EXPECT_EQ(other.name_of_long(stored.stored, stored.encoded, folder_iv), name);
      }
    }
    const VaultFileHeader header = VaultKey::new_header();
    for (const unsigned bytes : {1U, 16U, 4095U, 4096U, 4097U, 12288U, 10000U}) {
      const Contents written = random_buffer(bytes, bytes);
      const Contents stored = sealed_run(one, header, written, 5);
      EXPECT_EQ(opened_run(other, header, stored, 5), written);
      EXPECT_EQ(one.stored_bytes(bytes), header.size() + stored.size());
      EXPECT_EQ(one.text_bytes(header.size() + stored.size()), bytes);
      EXPECT_EQ(one.block_offset(2), header.size() + 2 * one.sealed_bytes(vault_block_bytes));
    }
    EXPECT_EQ(one.text_bytes(0), 0U);
    EXPECT_EQ(one.stored_bytes(0), 0U);
  }
}

TEST(PublicVault, WhatDoesNotOpenIt) {
  const std::string configuration = configuration_file("default");
  const Passphrase right("correct horse");
  const auto open = [&](const Passphrase& passphrase, const VaultKeyOptions& options = {}) {
    (void)VaultKey::open(as_bytes(configuration), passphrase, options);
  };
  EXPECT_EQ(test::refusal(ErrorCode::wrong_key, [&] { open(Passphrase("battery staple")); }),
            "gocryptfs.conf: the passphrase is wrong");
  EXPECT_EQ(
      test::refusal(ErrorCode::wrong_key, [&] { open(Passphrase("x"), {.name = "b/v.conf"}); }),
      "b/v.conf: the passphrase is wrong");
  EXPECT_EQ(test::refusal(ErrorCode::usage, [&] { open(Passphrase()); }), "passphrase: is empty");
  EXPECT_EQ(test::refusal(ErrorCode::usage, [&] { open(right, {.max_work_factor = 9}); }),
            "max_work_factor: 9");
  EXPECT_EQ(test::refusal(ErrorCode::usage, [&] { open(right, {.max_work_factor = 31}); }),
            "max_work_factor: 31");
  (void)test::refusal(ErrorCode::usage, [&] { open(right, {.kernel = "no such"}); });
  std::string costly = configuration;
  costly.replace(costly.find("1024"), 4, "2048");
  EXPECT_EQ(test::refusal(
                ErrorCode::failure,
                [&] { (void)VaultKey::open(as_bytes(costly), right, {.max_work_factor = 10}); }),
            "gocryptfs.conf: its passphrase has work factor 11, above the limit of 10");
  Cancel cancel;
  cancel.request();
  (void)test::refusal(ErrorCode::failure, [&] { open(right, {.cancel = &cancel}); });
  (void)test::refusal(ErrorCode::corrupt, [&] { (void)VaultKey::open(as_bytes("{}"), right, {}); });
  (void)test::refusal(ErrorCode::usage, [&] {
    (void)VaultKey::with_master_key(as_bytes(configuration), Contents(31), {});
  });
}

// Under another master key, nothing decrypts.
TEST(PublicVault, OfATokenIsOpenedByItsMasterKeyAlone) {
  const test::KnownConfiguration& known = known_configurations().front();
  std::string configuration = configuration_file(known.name);
  const auto put_before = [&](const char* place, const std::string& text) {
    configuration.insert(configuration.find(place), text);
  };
  put_before("\"HKDF\"", "\"FIDO2\", ");
  put_before("\"FeatureFlags\"", "\"FIDO2\": {\"CredentialID\": \"QUJD\", \"HMACSalt\": \"" +
                                     std::string(43, 'A') + "=\"}, ");
  EXPECT_EQ(test::refusal(ErrorCode::failure,
                          [&] {
                            (void)VaultKey::open(as_bytes(configuration),
                                                 Passphrase(known.passphrase), {.name = "conf"});
                          }),
            "conf: a FIDO2 token opens this vault, and not a passphrase");
  const VaultKey key =
      VaultKey::with_master_key(as_bytes(configuration), from_hex(known.master_key));
  EXPECT_TRUE(key.has_folder_ivs());
}

TEST(PublicVault, AnotherMasterKey) {
  const VaultKey one = default_key();
  const VaultKey other =
      VaultKey::with_master_key(as_bytes(configuration_file("default")), Contents(32, 7));
  const VaultFileHeader header = VaultKey::new_header();
  const Contents stored = sealed_run(one, header, random_buffer(100, 1));
  EXPECT_EQ(refused(other, header, stored), "a file: block 0 is not authentic");
}

TEST(PublicVault, EachDamagedByteIsRefused) {
  for (const test::KnownConfiguration& known : known_configurations()) {
    SCOPED_TRACE(known.name);
    const VaultKey key = key_of(known);
    const VaultFileHeader header = VaultKey::new_header();
    const Contents written = random_buffer(4096 + 20, 3);
    const Contents stored = sealed_run(key, header, written, 1);
    const std::size_t stride = key.sealed_bytes(vault_block_bytes);
    for (std::size_t at = 0; at < stored.size(); at += at % stride < 100 ? 1 : 61) {
      Contents damaged = stored;
      damaged[at] ^= 1U << (at % 8);
      EXPECT_EQ(refused(key, header, damaged, 1),
                "a file: block " + std::to_string(1 + at / stride) + " is not authentic");
    }
    for (std::size_t at = 0; at < header.size(); ++at) {
      VaultFileHeader damaged = header;
      damaged[at] ^= 0x40;
      EXPECT_EQ(refused(key, damaged, stored, 1),
                at < 2 ? "a file: the header is damaged" : "a file: block 1 is not authentic");
    }
    // In another place, in another order, or cut.
    (void)refused(key, header, stored, 2);
    Contents whole = sealed_run(key, header, random_buffer(8192, 3));
    std::rotate(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(stride), whole.end());
    (void)refused(key, header, whole);
    for (const std::size_t lost :
         {std::size_t{1}, std::size_t{19}, std::size_t{20}, std::size_t{30}}) {
      (void)refused(key, header, Bytes(stored).first(stored.size() - lost), 1);
    }
  }
}

TEST(PublicVault, HolesAreZeros) {
  const VaultKey key = default_key();
  const Contents hole(2 * key.sealed_bytes(vault_block_bytes));
  EXPECT_EQ(opened_run(key, VaultKey::new_header(), hole), Contents(8192));
  (void)refused(key, VaultKey::new_header(), Bytes(hole).first(hole.size() - 1));
}

TEST(PublicVault, DamagedNames) {
  const VaultKey key = default_key();
  const VaultName name = key.stored_name("a name", folder_iv, true);
  const VaultName long_name = key.stored_name(std::string(200, 'n'), folder_iv, true);
  VaultFolderIv other_iv = folder_iv;
  other_iv[0] ^= 1;
  const auto why = [&](const std::string& stored, const VaultFolderIv& iv) {
    return test::refusal(ErrorCode::corrupt, [&] { (void)key.name_of(stored, iv); });
  };
  EXPECT_EQ(why(name.stored, other_iv), "name: it is damaged");
  EXPECT_EQ(why(name.stored.substr(1), folder_iv), "name: it is damaged");
  EXPECT_EQ(why("a plain file.txt", folder_iv), "name: it is damaged");
  EXPECT_EQ(why("", folder_iv), "name: it is damaged");
  EXPECT_EQ(why(long_name.encoded, folder_iv), "name: it is damaged");
  const auto why_long = [&](const std::string& encoded) {
    return test::refusal(ErrorCode::corrupt,
                         [&] { (void)key.name_of_long(long_name.stored, encoded, folder_iv); });
  };
  EXPECT_EQ(why_long(long_name.encoded.substr(4)), "name: the file of its long name is damaged");
  EXPECT_EQ(why_long(""), "name: the file of its long name is damaged");
  EXPECT_EQ(why_long(key.stored_name(std::string(201, 'n'), folder_iv, true).encoded),
            "name: the file of its long name holds another name");
  EXPECT_EQ(why_long(name.stored), "name: the file of its long name holds another name");
}

TEST(PublicVault, NamesThatNoFileCanHave) {
  const VaultKey key = default_key();
  for (const std::string& name :
       {std::string(), std::string("."), std::string(".."), std::string("a/b"),
        std::string("a\0b", 3), std::string(256, 'a')}) {
    EXPECT_EQ(
        test::refusal(ErrorCode::usage, [&] { (void)key.stored_name(name, folder_iv, true); }),
        "name: no file can have it");
  }
  EXPECT_EQ(key.name_of(key.stored_name("gocryptfs.conf", folder_iv, true).stored, folder_iv),
            "gocryptfs.conf");
}

TEST(PublicVault, WhatAVaultKeepsForItself) {
  const VaultKey key = default_key();
  EXPECT_EQ(key.kind_of("gocryptfs.conf", true), VaultEntryKind::configuration);
  EXPECT_EQ(key.kind_of("gocryptfs.conf", false), VaultEntryKind::name);
  EXPECT_EQ(key.kind_of("gocryptfs.diriv", false), VaultEntryKind::folder_iv);
  EXPECT_EQ(key.kind_of("gocryptfs.longname.x.name", true), VaultEntryKind::long_name_file);
  EXPECT_EQ(key.kind_of(key.new_unfinished_name(), true), VaultEntryKind::unfinished);
  EXPECT_NE(key.new_unfinished_name(), key.new_unfinished_name());
  EXPECT_NE(VaultKey::new_folder_iv(), VaultKey::new_folder_iv());
  const test::KnownConfiguration& plain_vault =
      *std::find_if(known_configurations().begin(), known_configurations().end(),
                    [](const auto& known) { return known.features.has_plaintext_names; });
  const VaultKey plain = key_of(plain_vault);
  EXPECT_EQ(plain.kind_of(plain.new_unfinished_name(), false), VaultEntryKind::unfinished);
  EXPECT_EQ(plain.kind_of("gocryptfs.diriv", false), VaultEntryKind::name);
  for (const std::string& name : {std::string("gocryptfs.conf"), plain.new_unfinished_name()}) {
    EXPECT_EQ(
        test::refusal(ErrorCode::usage, [&] { (void)plain.stored_name(name, folder_iv, true); }),
        "name: the vault keeps it for itself");
  }
  EXPECT_EQ(plain.stored_name("gocryptfs.conf", folder_iv, false).stored, "gocryptfs.conf");
}

TEST(PublicVault, WrongLengths) {
  const VaultKey key = default_key();
  const VaultFileHeader header = VaultKey::new_header();
  Contents buffer(5000);
  EXPECT_EQ(test::refusal(ErrorCode::usage,
                          [&] { key.open_blocks(header, 0, Contents(100), MutableBytes(buffer)); }),
            "text: not as long as that of the blocks");
  EXPECT_EQ(test::refusal(ErrorCode::usage,
                          [&] { key.seal_blocks(header, 0, Contents(100), MutableBytes(buffer)); }),
            "sealed: not as long as the blocks");
  EXPECT_EQ(test::refusal(ErrorCode::usage,
                          [&] {
                            key.seal_blocks(VaultFileHeader{}, 0, Contents(1),
                                            MutableBytes(buffer).first(key.sealed_bytes(1)));
                          }),
            "header: is damaged");
  // Nothing is sealed to nothing, and nothing opened to nothing.
  key.seal_blocks(header, 0, {}, {});
  key.open_blocks(header, 0, {}, {});
}

// A block gets another IV each time, and a forked child another than its parent.
TEST(PublicVault, SealingTwiceIsNotTheSame) {
  const VaultKey key = default_key();
  const VaultFileHeader header = VaultKey::new_header();
  const Contents written(8192);
  const Contents one = sealed_run(key, header, written);
  const Contents other = sealed_run(key, header, written);
  EXPECT_NE(one, other);
  EXPECT_FALSE(std::equal(one.begin(), one.begin() + 16, one.begin() + 4096 + 32));
  EXPECT_NE(header, VaultKey::new_header());
}

}  // namespace
}  // namespace paes
