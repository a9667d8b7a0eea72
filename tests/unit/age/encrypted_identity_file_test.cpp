// SPDX-License-Identifier: Apache-2.0
// Files of identities under a passphrase: when the passphrase is asked for, whose fault an error
// is, and what of the file is refused without asking.
#include "age/encrypted_identity_file.hpp"

#include <gtest/gtest.h>

#include "age/armor.hpp"
#include "age/envelope.hpp"
#include "age/x25519.hpp"
#include "crypto/libcrypto.hpp"
#include "refusal.hpp"

namespace paes::age {
namespace {

using libcrypto::bytes_of;
using test::refusal;

using File = std::vector<std::uint8_t>;

std::string lines_of(std::span<const SharedIdentity> identities) {
  std::string lines;
  for (const SharedIdentity& identity : identities) {
    lines.append(libcrypto::text_of(identity_file_text(*identity)));
  }
  return lines;
}

File encrypted(std::string_view text, unsigned work_factor = 4) {
  return seal_to_passphrase(bytes_of("geheim"), bytes_of(text), work_factor);
}

// Prompts that type `answer`, and count.
struct Typist {
  std::string answer = "geheim";
  std::vector<std::string> questions = {};

  Prompts prompts() {
    Prompts prompts;
    prompts.passphrase = [this](const std::string& question) {
      questions.push_back(question);
      return SecretBytes(bytes_of(answer));
    };
    return prompts;
  }
};

const std::vector<SharedIdentity> pair = {generate_x25519(), generate_x25519()};

std::vector<std::uint8_t> sealed_to(const SharedIdentity& identity) {
  return seal_to_recipients(identity->recipients(), bytes_of("text"));
}

TEST(EncryptedIdentityFile, IsAskedForOnceAndOnlyWhenNeeded) {
  Typist typist;
  const auto loaded = parse_identity_file(encrypted(lines_of(pair)), "key.age", typist.prompts());
  ASSERT_EQ(loaded.size(), 1U);
  EXPECT_TRUE(typist.questions.empty());
  // A file under a passphrase is for no identity.
  EXPECT_EQ(refusal(ErrorCode::wrong_key,
                    [&] {
                      (void)open(encrypted("x"), {loaded, {}});
                    }),
            "envelope: needs a passphrase");
  EXPECT_TRUE(typist.questions.empty());
  for (const SharedIdentity& identity : pair) {
    EXPECT_EQ(libcrypto::text_of(open(sealed_to(identity), {loaded, {}})), "text");
  }
  EXPECT_EQ(refusal(ErrorCode::wrong_key,
                    [&] {
                      (void)open(sealed_to(generate_x25519()), {loaded, {}});
                    }),
            "envelope: no identity given opens it");
  EXPECT_EQ(typist.questions, std::vector<std::string>{"Enter passphrase for \"key.age\": "});
}

TEST(EncryptedIdentityFile, StandsForAllOfItsKeys) {
  Typist typist;
  const auto loaded = parse_identity_file(encrypted(lines_of(pair)), "f", typist.prompts());
  const auto recipients = recipients_of(loaded);
  ASSERT_EQ(recipients.size(), 2U);
  EXPECT_EQ(recipients[0]->text(), pair[0]->recipients().front()->text());
  EXPECT_EQ(recipients[1]->text(), pair[1]->recipients().front()->text());
  EXPECT_EQ(refusal(ErrorCode::usage, [&] { (void)loaded.front()->secret_text(); }),
            "f: is encrypted, and stays in its file");
}

TEST(EncryptedIdentityFile, MayBeArmored) {
  std::string text = "\n \n";
  ArmorWriter writer;
  writer.add(encrypted(lines_of(pair)), text);
  writer.end(text);
  Typist typist;
  EXPECT_EQ(recipients_of(parse_identity_file(bytes_of(text), "f", typist.prompts())).size(), 2U);
  text[text.size() / 2] = '!';
  EXPECT_TRUE(refusal(ErrorCode::usage, [&] {
                (void)parse_identity_file(bytes_of(text), "f", typist.prompts());
              }).starts_with("f: armor: "));
}

TEST(EncryptedIdentityFile, AWrongPassphraseIsSaidOfTheKeyFileAndStaysWrong) {
  Typist typist{.answer = "Geheim"};
  const auto loaded = parse_identity_file(encrypted(lines_of(pair)), "f", typist.prompts());
  const auto file = sealed_to(pair[1]);
  for (const char* answer : {"Geheim", "geheim"}) {
    typist.answer = answer;
    EXPECT_EQ(refusal(ErrorCode::wrong_key,
                      [&] {
                        (void)open(file, {loaded, {}});
                      }),
              "f: envelope: the passphrase is wrong");
  }
  EXPECT_EQ(typist.questions.size(), 1u);
}

TEST(EncryptedIdentityFile, WhatIsNotOneIsRefusedWithoutAsking) {
  Typist typist;
  const auto why = [&](const File& contents) {
    return refusal(ErrorCode::usage,
                   [&] { (void)parse_identity_file(contents, "f", typist.prompts()); });
  };
  EXPECT_EQ(why(sealed_to(pair[0])), "f: is encrypted, but not with a passphrase");
  const File whole = encrypted(lines_of(pair));
  EXPECT_TRUE(why(File(whole.begin(), whole.begin() + 100)).starts_with("f: envelope: "));
  EXPECT_EQ(refusal(ErrorCode::usage, [&] { (void)parse_identity_file(whole, "f"); }),
            "f: is encrypted with a passphrase");
  EXPECT_TRUE(typist.questions.empty());
}

TEST(EncryptedIdentityFile, WhatItHoldsIsAListOfKeys) {
  Typist typist;
  const auto why = [&](const File& contents) {
    const auto loaded = parse_identity_file(contents, "f", typist.prompts());
    return refusal(ErrorCode::usage, [&] { (void)recipients_of(loaded); });
  };
  EXPECT_EQ(why(encrypted("# none\n")), "f: holds no identity");
  EXPECT_TRUE(why(encrypted("-----BEGIN OPENSSH PRIVATE KEY-----\n")).starts_with("f line 1: "));
  const File inner = encrypted(lines_of(pair));
  EXPECT_TRUE(why(encrypted(libcrypto::text_of(inner))).starts_with("f line 1: "));
  File damaged = inner;
  damaged.back() ^= 1;
  EXPECT_EQ(why(damaged), "f: envelope: its payload is damaged or truncated");
}

TEST(EncryptedIdentityFile, TheWorkFactorIsCapped) {
  Typist typist;
  std::string text(libcrypto::text_of(encrypted(lines_of(pair))));
  text.replace(text.find(" 4\n"), 3, " 21\n");
  const auto loaded = parse_identity_file(bytes_of(text), "f", typist.prompts());
  EXPECT_EQ(refusal(ErrorCode::failure, [&] { (void)recipients_of(loaded); }),
            "f: envelope: the passphrase's work factor 21 is above the limit of 20");
}

}  // namespace
}  // namespace paes::age
