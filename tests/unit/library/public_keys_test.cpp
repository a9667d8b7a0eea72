// SPDX-License-Identifier: Apache-2.0
// Keys as callers hold them: text and files, errors that repeat no secret, copies that share, and
// which combinations seal and open.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstring>
#include <optional>

#include "age/envelope.hpp"
#include "crypto/libcrypto.hpp"
#include "encoding/encodings.hpp"
#include "library/key_parts.hpp"
#include "library/public_sample.hpp"
#include "stream/file/create_output.hpp"
#include "test_data.hpp"

namespace paes {
namespace {

const Contents text = random_buffer(1000, 3);

std::string secret_text(const Identity& identity, const Folder& folder) {
  const std::string path = folder / "identity";
  std::filesystem::remove(path);
  identity.save(path);
  const Contents saved = read_file(path);
  const std::string all(saved.begin(), saved.end());
  return all.substr(all.find("AGE-SECRET-KEY-1"), 74);
}

TEST(PublicKeys, GoToTextAndBack) {
  const Folder folder;
  const Identity identity = Identity::generate();
  EXPECT_EQ(Recipient(identity.recipient().text()).text(), identity.recipient().text());
  EXPECT_EQ(identity.recipient().text().rfind("age1", 0), 0U);
  EXPECT_EQ(Identity(secret_text(identity, folder)).recipient().text(),
            identity.recipient().text());
  EXPECT_NE(Identity::generate().recipient().text(), identity.recipient().text());
}

TEST(PublicKeys, ErrorsNeverRepeatTheText) {
  const Folder folder;
  const std::string secret = secret_text(my_identity(), folder);
  const std::string recipient = my_identity().recipient().text();
  const auto expect_silent = [](const std::function<void()>& action, const std::string& given) {
    const Error error = error_of(action);
    EXPECT_EQ(error.code, ErrorCode::usage) << error.what();
    const std::string said = std::string(error.what()) + error.hint;
    for (std::size_t at = 0; at + 12 <= given.size(); at += 4) {
      EXPECT_EQ(said.find(given.substr(at, 12)), std::string::npos) << said;
    }
    EXPECT_EQ(said.find('\n'), std::string::npos);
  };
  for (std::size_t at = 0; at < secret.size(); at += 7) {
    std::string wrong = secret;
    wrong[at] = wrong[at] == 'Q' ? 'P' : 'Q';
    expect_silent([&] { (void)Identity(wrong); }, wrong.substr(16));
    write_file(folder / "wrong", Contents(wrong.begin(), wrong.end()));
    expect_silent([&] { (void)Identity::load(folder / "wrong"); }, wrong.substr(16));
    expect_silent([&] { (void)Recipient::load(folder / "wrong"); }, wrong.substr(16));
  }
  for (const std::string& wrong : {secret.substr(0, 73), secret + "Q", secret + "\n", " " + secret,
                                   recipient, std::string()}) {
    expect_silent([&] { (void)Identity(wrong); },
                  wrong.substr(std::min<std::size_t>(wrong.size(), 20)));
  }
  for (const std::string& wrong :
       {secret, recipient + "q", recipient.substr(1), std::string("age1"), std::string(100000, 'a'),
        std::string("\0age1", 5)}) {
    expect_silent([&] { (void)Recipient(wrong); }, wrong.substr(0, 200));
  }
}

TEST(PublicKeys, AreLoadedFromFiles) {
  const Folder folder;
  const Identity first = Identity::generate();
  const Identity second = Identity::generate();
  const std::string secrets =
      "# a comment\n\n" + secret_text(first, folder) + "\r\n" + secret_text(second, folder);
  write_file(folder / "secrets", Contents(secrets.begin(), secrets.end()));
  const std::vector<Identity> identities = Identity::load(folder / "secrets");
  ASSERT_EQ(identities.size(), 2U);
  EXPECT_EQ(identities[1].recipient().text(), second.recipient().text());
  const std::string publics =
      first.recipient().text() + "\n# two\n" + second.recipient().text() + "\n";
  write_file(folder / "publics", Contents(publics.begin(), publics.end()));
  const std::vector<Recipient> recipients = Recipient::load(folder / "publics");
  ASSERT_EQ(recipients.size(), 2U);
  EXPECT_EQ(recipients[0].text(), first.recipient().text());
  for (const Identity& each : {first, second}) {
    const Contents file = sealed(text, {.recipients = recipients});
    EXPECT_TRUE(all_of(Reader(store(file), {.identities = {each}})) == text);
  }
  EXPECT_EQ(error_of([&] { (void)Identity::load(folder / "none"); }).code, ErrorCode::failure);
  EXPECT_EQ(error_of([&] { (void)Recipient::load(folder.path()); }).code, ErrorCode::failure);
}

TEST(PublicKeys, AreLoadedFromAnEncryptedFile) {
  const Folder folder;
  const Identity first = Identity::generate();
  const Identity second = Identity::generate();
  const std::string secrets = secret_text(first, folder) + "\n" + secret_text(second, folder);
  const Contents list =
      age::seal_to_passphrase(libcrypto::bytes_of("geheim"), libcrypto::bytes_of(secrets), 4);
  write_file(folder / "list", list);
  const std::vector<Identity> loaded = Identity::load(folder / "list", Passphrase("geheim"));
  ASSERT_EQ(loaded.size(), 2U);
  EXPECT_EQ(loaded[1].recipient().text(), second.recipient().text());
  const auto load = [&](const char* passphrase) {
    return error_of([&] { (void)Identity::load(folder / "list", Passphrase(passphrase)); });
  };
  EXPECT_EQ(load("Geheim").code, ErrorCode::wrong_key);
  EXPECT_EQ(error_of([&] { (void)Identity::load(folder / "list"); }).code, ErrorCode::usage);
  EXPECT_EQ(error_of([&] { (void)Identity::load(folder / "list", Passphrase()); }).code,
            ErrorCode::usage);
  // An SSH key's passphrase is tried when the key has to open a file.
  const auto open_with_ssh = [](const char* passphrase) {
    const std::vector<Identity> ssh =
        Identity::load(test::test_data("age/ssh/ed25519_encrypted"), Passphrase(passphrase));
    const Contents file = sealed(text, {.recipients = {ssh.at(0).recipient()}});
    return all_of(Reader(store(file), {.identities = ssh}));
  };
  EXPECT_TRUE(open_with_ssh("open sesame") == text);
  EXPECT_EQ(error_of([&] { (void)open_with_ssh("open Sesame"); }).code, ErrorCode::wrong_key);
  // A list that needs none takes any.
  write_file(folder / "plain", Contents(secrets.begin(), secrets.end()));
  EXPECT_EQ(Identity::load(folder / "plain", Passphrase("x")).size(), 2U);
}

TEST(PublicKeys, ASavedIdentityIsItsOwnersAlone) {
  const Folder folder;
  const Identity identity = Identity::generate();
  for (const mode_t mask : {mode_t{0}, mode_t{0277}}) {
    const mode_t before = umask(mask);
    const std::string path = folder / ("identity" + std::to_string(mask));
    identity.save(path);
    (void)umask(before);
    struct stat status = {};
    ASSERT_EQ(stat(path.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777, 0600U);
    const std::vector<Identity> loaded = Identity::load(path);
    ASSERT_EQ(loaded.size(), 1U);
    EXPECT_EQ(loaded[0].recipient().text(), identity.recipient().text());
    const Contents saved = read_file(path);
    const std::string all(saved.begin(), saved.end());
    EXPECT_NE(all.find("# public key: " + identity.recipient().text() + "\n"), std::string::npos);
    EXPECT_EQ(all.back(), '\n');
    // It replaces nothing, not even itself.
    EXPECT_EQ(error_of([&] { Identity::generate().save(path); }).code, ErrorCode::failure);
    EXPECT_TRUE(read_file(path) == saved);
  }
  std::filesystem::create_symlink("nowhere", folder / "link");
  EXPECT_EQ(error_of([&] { identity.save(folder / "link"); }).code, ErrorCode::failure);
  EXPECT_FALSE(exists(folder / "nowhere"));
  EXPECT_EQ(error_of([&] { identity.save(folder / "none/identity"); }).code, ErrorCode::failure);
}

TEST(PublicKeys, CopiesOutliveWhatTheyWereCopiedFrom) {
  std::optional<Identity> identity = Identity::generate();
  const Identity copy = *identity;
  std::optional<SealFor> seal_for = SealFor{.recipients = {identity->recipient()}};
  const SealFor copied = *seal_for;
  identity.reset();
  seal_for.reset();
  const Contents file = sealed(text, copied);
  EXPECT_TRUE(all_of(Reader(store(file), {.identities = {copy}})) == text);
  std::optional<CobblestoneKey> key = own_key();
  const OpenWith with = with_own(*key);
  const Contents bare = sealed(text, for_own(*key));
  key.reset();
  EXPECT_TRUE(all_of(Reader(store(bare), with)) == text);
  Contents bytes(32, 7);  // the key does not look at the caller's memory again
  const CobblestoneKey taken(bytes);
  const Contents sealed_with_taken = sealed(text, for_own(taken));
  std::fill(bytes.begin(), bytes.end(), std::uint8_t{0});
  EXPECT_TRUE(all_of(Reader(store(sealed_with_taken), with_own(taken))) == text);
}

TEST(PublicKeys, LengthsAreChecked) {
  for (std::size_t bytes = 0; bytes < 70; ++bytes) {
    if (bytes == 16 || bytes == 32) {
      EXPECT_FALSE(own_key(bytes).is_empty());
      continue;
    }
    EXPECT_EQ(error_of([&] { (void)own_key(bytes); }).code, ErrorCode::usage);
  }
  EXPECT_TRUE(CobblestoneKey().is_empty());
  EXPECT_TRUE(Passphrase().is_empty());
  EXPECT_EQ(error_of([] { (void)Passphrase(""); }).code, ErrorCode::usage);
  EXPECT_FALSE(Passphrase(std::string_view("\0", 1)).is_empty());
}

TEST(PublicKeys, OnlyOneWayAtATimeSeals) {
  const std::vector<Recipient> recipients = {my_identity().recipient()};
  const Passphrase passphrase("a passphrase");
  const auto code_of = [&](const SealFor& seal_for) {
    return error_of([&] { (void)sealed(text, seal_for); }).code;
  };
  EXPECT_EQ(code_of({}), ErrorCode::usage);
  EXPECT_EQ(code_of({.recipients = recipients, .passphrase = passphrase}), ErrorCode::usage);
  EXPECT_EQ(code_of({.recipients = recipients, .key = own_key()}), ErrorCode::usage);
  EXPECT_EQ(code_of({.passphrase = passphrase, .key = own_key()}), ErrorCode::usage);
  for (const unsigned key_bits : {0U, 1U, 129U, 192U, 512U}) {
    EXPECT_EQ(code_of({.recipients = recipients, .key_bits = key_bits}), ErrorCode::usage);
  }
  const Contents file = sealed(text, {.recipients = recipients});
  for (const unsigned work_factor : {0U, 31U, 64U, UINT32_MAX}) {
    EXPECT_EQ(error_of([&] {
                (void)Reader(store(file),
                             {.identities = {my_identity()}, .max_work_factor = work_factor});
              }).code,
              ErrorCode::usage);
  }
}

// The one test that pays for a passphrase as files have it.
TEST(PublicKeys, APassphraseSealsAndOpens) {
  const Passphrase passphrase("correct horse battery staple");
  const Contents file = sealed(text, {.passphrase = passphrase});
  const FileInfo info = inspect_file(store(file));
  ASSERT_EQ(info.stanzas.size(), 1U);
  EXPECT_EQ(info.stanzas[0].type, "scrypt");
  EXPECT_EQ(info.stanzas[0].work_factor, age::written_work_factor);
  EXPECT_TRUE(all_of(Reader(store(file), {.passphrase = passphrase})) == text);
  // Refused before anything is paid, and by name.
  const Error error = error_of(
      [&] { (void)Reader(store(file), {.passphrase = passphrase, .max_work_factor = 17}); });
  EXPECT_EQ(error.code, ErrorCode::failure);
  EXPECT_EQ(error_of([&] { (void)Reader(store(file), with_mine()); }).code, ErrorCode::wrong_key);
}

// An envelope whose passphrase costs little.
Contents sealed_cheaply(const Folder& folder) {
  const std::string passphrase = "cheap";
  write_file(folder / "text", text);
  const auto suite = container::Suite::cobblestone_256;
  const Contents input_key = stream::sample_key(suite);
  const Contents envelope = age::seal_to_passphrase(
      Bytes(reinterpret_cast<const std::uint8_t*>(passphrase.data()), passphrase.size()), input_key,
      2);
  stream::Input input = stream::Input::open(folder / "text");
  const auto output = stream::create_output(folder / "cheap.paes", {});
  (void)stream::encrypt_with_salt(
      input, *output, suite, envelope, input_key, stream::sample_salt,
      {.executor = serial_executor(), .kernel = best_kernel(Cipher::aes)});
  return read_file(folder / "cheap.paes");
}

// A plugin alone knows the public keys of its identities.
TEST(PublicKeys, RecipientsOfPluginsAreToldApart) {
  const auto key_of = [](std::string_view plugin, std::uint8_t data) {
    const std::vector<std::uint8_t> bytes(20, data);
    std::string key(bech32::text_length(plugin, bytes.size()), '\0');
    bech32::encode(plugin, bytes, {reinterpret_cast<std::uint8_t*>(key.data()), key.size()});
    return key;
  };
  const Identity foo(key_of("AGE-PLUGIN-FOO-", 'A'));
  const Identity bar(key_of("AGE-PLUGIN-BAR-", 'A'));
  const Identity foo_too(key_of("AGE-PLUGIN-FOO-", 'B'));
  EXPECT_TRUE(foo.recipient() == foo.recipient());
  EXPECT_FALSE(foo.recipient() == bar.recipient());
  EXPECT_FALSE(foo.recipient() == foo_too.recipient());
  EXPECT_FALSE(foo.recipient() == my_identity().recipient());
  EXPECT_FALSE(my_identity().recipient() == foo.recipient());
  EXPECT_TRUE(Recipient(my_identity().recipient().text()) == my_identity().recipient());
  EXPECT_FALSE(Identity::generate().recipient() == my_identity().recipient());
}

// The message that there is no such file would show it.
TEST(PublicKeys, ASecretKeyInPlaceOfAFileIsNotShown) {
  const std::string data = "QYPQXPQ9QCRSSZG2PVXQ6RS0ZQG3YYC5Z5TPWXQERGD3C8G7RUSQCCLVZP";
  for (const std::string& key :
       {"AGE-SECRET-KEY-1" + data, "AGE-PLUGIN-FOO-1" + data, "age-plugin-foo-bar-1" + data}) {
    for (const auto& load :
         {+[](const std::string& path) { (void)Identity::load(path); },
          +[](const std::string& path) { (void)Identity::load(path, Passphrase("word")); },
          +[](const std::string& path) { (void)Recipient::load(path); }}) {
      const Error error = error_of([&] { load(key); });
      EXPECT_EQ(error.code, ErrorCode::usage);
      EXPECT_EQ(std::string(error.what()).find(data.substr(0, 10)), std::string::npos);
    }
  }
  const Error error = error_of([] { (void)Identity::load("age-plugin-foo-1.txt"); });
  EXPECT_EQ(error.code, ErrorCode::failure);
}

TEST(PublicKeys, AWrongPassphraseOpensNothing) {
  const Folder folder;
  const Contents file = sealed_cheaply(folder);
  EXPECT_TRUE(all_of(Reader(store(file), {.passphrase = Passphrase("cheap")})) == text);
  EXPECT_TRUE(all_of(Reader(store(file), {.identities = {my_identity()},
                                          .passphrase = Passphrase("cheap"),
                                          .max_work_factor = 2})) == text);
  for (const char* wrong : {"Cheap", "cheap ", "chea"}) {
    EXPECT_EQ(error_of([&] { (void)Reader(store(file), {.passphrase = Passphrase(wrong)}); }).code,
              ErrorCode::wrong_key);
  }
  EXPECT_EQ(error_of([&] {
              (void)Reader(store(file), {.passphrase = Passphrase("cheap"), .max_work_factor = 1});
            }).code,
            ErrorCode::failure);
}

TEST(PublicKeys, APassphraseIsAFilesFirstLine) {
  const Folder folder;
  const std::string path = folder / "passphrase";
  const auto written = [&](const std::string& contents) {
    write_file(path, Contents(contents.begin(), contents.end()));
    const Passphrase loaded = Passphrase::load(path);
    const Bytes bytes = KeyParts::of(loaded).text;
    return std::string(bytes.begin(), bytes.end());
  };
  EXPECT_EQ(written("words"), "words");
  EXPECT_EQ(written("words\n"), "words");
  EXPECT_EQ(written(" two words \nand more\n"), " two words ");
  for (const char* const empty : {"", "\n", "\nwords"}) {
    write_file(path, Contents(empty, empty + std::strlen(empty)));
    EXPECT_EQ(error_of([&] { (void)Passphrase::load(path); }).code, ErrorCode::usage);
  }
  EXPECT_EQ(error_of([&] { (void)Passphrase::load(folder / "none"); }).code, ErrorCode::failure);
}

}  // namespace
}  // namespace paes
