// SPDX-License-Identifier: Apache-2.0
// SSH's keys: what ssh-keygen and age wrote, recipients and stanzas that are refused, and that no
// error quotes a secret. That age opens what is sealed here is tested where age runs.
#include <gtest/gtest.h>

#include "age/age_payload.hpp"
#include "age/header.hpp"
#include "age/ssh_ed25519.hpp"
#include "age/ssh_files.hpp"
#include "age/ssh_rsa.hpp"
#include "encoding/encodings.hpp"
#include "hex.hpp"
#include "refusal.hpp"

namespace paes::age {
namespace {

using libcrypto::bytes_of;
using test::load_ssh;
using test::refusal;
using test::ssh_file;
using test::ssh_line_of;
using test::ssh_passphrase;

Prompts answering(std::string_view answer, int* asked = nullptr) {
  return {.passphrase = [answer, asked](const std::string& question) {
    EXPECT_EQ(question, "Enter passphrase for \"ed25519_encrypted\": ");
    if (asked != nullptr) {
      ++*asked;
    }
    return SecretBytes(bytes_of(answer));
  }};
}

std::string opened(const std::string& age_file, const std::vector<SharedIdentity>& identities) {
  const ParsedHeader header = parse_checked(bytes_of(age_file));
  const SecretBytes file_key = open_header(header, {identities, {}});
  const auto text = open_payload(file_key, bytes_of(age_file).subspan(header.bytes));
  EXPECT_TRUE(text.has_value());
  return text ? std::string(libcrypto::text_of(*text)) : "";
}

std::optional<SecretBytes> unwrapped(const IdentityKey& identity, const std::string& header) {
  const WaitReady never;
  Effort effort(never);
  return identity.unwrap(parse_checked(bytes_of(header)).stanzas, effort);
}

std::vector<SharedRecipient> recipients(std::initializer_list<std::string> lines) {
  std::vector<SharedRecipient> keys;
  for (const std::string& line : lines) {
    keys.push_back(parse_recipient(line));
  }
  return keys;
}

TEST(SshKeys, OpenWhatAgeSealed) {
  const std::string sealed = ssh_file("both.age");
  for (const char* name : {"ed25519", "rsa", "rsa_pkcs1", "rsa_pkcs8"}) {
    EXPECT_EQ(opened(sealed, load_ssh(name)), "file for ssh keys") << name;
  }
  EXPECT_EQ(opened(sealed, load_ssh("ed25519_encrypted", answering(ssh_passphrase))),
            "file for ssh keys");
  EXPECT_EQ(refusal(ErrorCode::wrong_key, [&] { (void)opened(sealed, load_ssh("ed25519_pkcs8")); }),
            "envelope: no identity given opens it");
}

TEST(SshKeys, HaveOneSpelling) {
  for (const std::string name : {"ed25519", "rsa"}) {
    const std::string line = ssh_line_of(name);
    const std::string bare = line.substr(0, line.rfind(' '));
    for (const std::string& text : {line, bare, bare + " ", bare + "\ta b c", bare + " \xff"}) {
      EXPECT_EQ(parse_recipient(text)->text(), bare);
    }
    EXPECT_EQ(load_ssh(name).at(0)->recipients().front()->text(), bare);
    EXPECT_EQ(refusal(ErrorCode::usage, [&] { (void)load_ssh(name).at(0)->secret_text(); }),
              "identity: an SSH key stays in the file that ssh-keygen wrote");
  }
  EXPECT_EQ(load_ssh("rsa_pkcs1").at(0)->recipients().front()->text(),
            load_ssh("rsa").at(0)->recipients().front()->text());
  EXPECT_TRUE(load_ssh("ed25519_pkcs8")
                  .at(0)
                  ->recipients()
                  .front()
                  ->text()
                  .starts_with("ssh-ed25519 AAAA"));
}

TEST(SshKeys, EachOfMixedRecipientsOpens) {
  const SharedIdentity own = generate_x25519();
  auto all = recipients({ssh_line_of("rsa"), ssh_line_of("ed25519")});
  all.push_back(own->recipients().front());
  const SealedHeader sealed = seal_header(all);
  const ParsedHeader header = parse_checked(bytes_of(sealed.text));
  ASSERT_EQ(header.stanzas.size(), 3u);
  for (const auto& identities :
       {load_ssh("rsa"), load_ssh("ed25519"), std::vector<SharedIdentity>{own}}) {
    const SecretBytes file_key = open_header(header, {identities, {}});
    EXPECT_TRUE(equal_constant_time(file_key, sealed.file_key));
  }
}

TEST(SshKeys, ThePassphraseIsAskedForOnceAndOnlyIfAStanzaNamesTheKey) {
  int asked = 0;
  const auto identities = load_ssh("ed25519_encrypted", answering(ssh_passphrase, &asked));
  EXPECT_EQ(identities.at(0)->recipients().front()->text(),
            load_ssh("ed25519").at(0)->recipients().front()->text());
  const auto others = seal_header(recipients({ssh_line_of("rsa")}));
  (void)refusal(ErrorCode::wrong_key, [&] {
    (void)open_header(parse_checked(bytes_of(others.text)), {identities, {}});
  });
  EXPECT_EQ(asked, 0);
  (void)opened(ssh_file("both.age"), identities);
  (void)opened(ssh_file("both.age"), identities);
  EXPECT_EQ(asked, 1);
}

TEST(SshKeys, AWrongPassphraseAndNobodyToAsk) {
  const auto why = [](const Prompts& prompts) {
    const auto identities = load_ssh("ed25519_encrypted", prompts);
    return refusal(ErrorCode::wrong_key, [&] { (void)opened(ssh_file("both.age"), identities); });
  };
  EXPECT_EQ(why(answering("open Sesame")), "ed25519_encrypted: the passphrase is wrong");
  EXPECT_EQ(why(answering("")), "ed25519_encrypted: the passphrase is wrong");
  EXPECT_EQ(why({}),
            "ed25519_encrypted: is encrypted, and there is nobody to ask for its passphrase");
}

TEST(SshRecipients, RefusalsSayWhy) {
  const auto why = [](const std::string& text) {
    return refusal(ErrorCode::usage, [&] { (void)parse_recipient(text); });
  };
  const std::string damaged = "recipient: is a damaged or incomplete SSH public key";
  const std::string line = ssh_line_of("ed25519");
  const std::string rsa = ssh_line_of("rsa");
  EXPECT_EQ(why("ssh-ed25519"), damaged);
  EXPECT_EQ(why("ssh-ed25519 "), damaged);
  EXPECT_EQ(why("ssh-ed25519 AAAA"), damaged);
  EXPECT_EQ(why("ssh-rsa AAAA"), damaged);
  EXPECT_EQ(why("ssh-dss AAAA"), damaged);
  EXPECT_EQ(why("ssh-rsa" + line.substr(line.find(' '))), damaged);
  EXPECT_EQ(why(line.substr(0, 60)), damaged);
  EXPECT_EQ(why(line.substr(0, 80) + "AAAA"), damaged);
  EXPECT_EQ(why(rsa.substr(0, rsa.rfind(' ')) + "="), damaged);

  const auto line_with = [](Bytes key) {
    Wire wire;
    append_string(wire, bytes_of(ssh_ed25519_type));
    append_string(wire, key);
    return ssh_line(wire);
  };
  // 2 is no y-coordinate of the curve; 1 is that of the neutral point; -1 is of order 2.
  EXPECT_EQ(why(line_with(test::from_hex("02" + std::string(62, '0')))),
            "recipient: is not a point of Ed25519's curve");
  EXPECT_EQ(why(line_with(test::from_hex("01" + std::string(62, '0')))),
            "recipient: is not a point of Ed25519's curve");
  EXPECT_EQ(why(line_with(test::from_hex("ec" + std::string(60, 'f') + "7f"))),
            "recipient: is of small order: anybody could open the file");
}

std::string rsa_line(std::size_t bits, Wire exponent = {1, 0, 1}, std::uint8_t last = 1) {
  Wire modulus((bits + 7) / 8, 0xff);
  modulus.front() = static_cast<std::uint8_t>(0xff >> (7 - (bits - 1) % 8));
  modulus.back() = last;
  Wire wire;
  append_string(wire, bytes_of(ssh_rsa_type));
  append_positive(wire, exponent);
  append_positive(wire, modulus);
  return ssh_line(wire);
}

TEST(SshRecipients, RsaKeysOfExtremeSizesAreRefused) {
  EXPECT_NE(parse_recipient(rsa_line(2048)), nullptr);
  EXPECT_NE(parse_recipient(rsa_line(16384)), nullptr);
  for (const std::size_t bits : {1024u, 2047u, 16385u}) {
    EXPECT_EQ(refusal(ErrorCode::usage, [&] { (void)parse_recipient(rsa_line(bits)); }),
              "recipient: is an RSA key of " + std::to_string(bits) +
                  " bits, and age takes 2048 or more, paes up to 16384");
  }
  const std::string damaged = "recipient: is a damaged or incomplete SSH public key";
  for (const Wire& exponent : {Wire{1}, Wire{4}, Wire{1, 0, 0, 1}, Wire{}}) {
    EXPECT_EQ(refusal(ErrorCode::usage, [&] { (void)parse_recipient(rsa_line(2048, exponent)); }),
              damaged);
  }
  EXPECT_EQ(refusal(ErrorCode::usage,
                    [&] {
                      (void)parse_recipient(rsa_line(2048, {1, 0, 1}, 2));
                    }),
            damaged);
}

TEST(SshRecipients, AFileMayHoldKeysThatAgeDoesNotTake) {
  Wire ecdsa;
  append_string(ecdsa, bytes_of("ecdsa-sha2-nistp256"));
  append_string(ecdsa, bytes_of("nistp256"));
  const std::string text =
      "# us\n" + ssh_line(ecdsa) + " me\n" + ssh_line_of("ed25519") + "\n" + rsa_line(1024) + "\n";
  std::vector<std::string> warnings;
  const auto warn = [&](const std::string& what_why) { warnings.push_back(what_why); };
  EXPECT_EQ(parse_recipient_file(bytes_of(text), "team", {.warn = warn}).size(), 1u);
  EXPECT_EQ(warnings,
            (std::vector<std::string>{
                "team line 2: an SSH key of type ecdsa-sha2-nistp256 is skipped",
                "team line 4: an RSA key of 1024 bits, which age does not take, is skipped"}));
  EXPECT_EQ(refusal(ErrorCode::usage, [&] { (void)parse_recipient_file(bytes_of(text), "team"); }),
            "team line 2: recipient: is an SSH key of type ecdsa-sha2-nistp256, and age takes "
            "ssh-ed25519 and ssh-rsa");
  EXPECT_EQ(refusal(ErrorCode::usage,
                    [&] {
                      (void)parse_recipient_file(bytes_of(ssh_line(ecdsa)), "team", {.warn = warn});
                    }),
            "team: holds no recipient that age takes");
  EXPECT_EQ(refusal(ErrorCode::usage,
                    [&] {
                      (void)parse_recipient_file(bytes_of("ssh-ed25519 AAAA"), "team",
                                                 {.warn = warn});
                    }),
            "team line 1: recipient: is a damaged or incomplete SSH public key");
}

// What is wrong with a stanza matters only to the key that the stanza names.
TEST(SshStanzas, AMalformedOneIsRefusedOnlyByItsKey) {
  for (const std::string name : {"ed25519", "rsa"}) {
    const SharedIdentity identity = load_ssh(name).at(0);
    WrappedKey wrapped = identity->recipients().front()->wrap(Wire(file_key_bytes));
    const NewStanza good = wrapped.stanzas.at(0);
    const auto opened_by = [&](const NewStanza& stanza) {
      std::string header = version_line();
      append_stanza(header, stanza);
      header.append("--- ").append(base64::encode(Wire(mac_bytes))).append("\n");
      return unwrapped(*identity, header);
    };
    EXPECT_TRUE(opened_by(good).has_value());
    NewStanza bad = good;
    bad.body.pop_back();
    EXPECT_NE(refusal(ErrorCode::corrupt, [&] { (void)opened_by(bad); }).find("malformed"),
              std::string::npos);
    bad = good;
    bad.arguments += " more";
    EXPECT_NE(refusal(ErrorCode::corrupt, [&] { (void)opened_by(bad); }).find("malformed"),
              std::string::npos);
    bad = good;
    bad.body.front() ^= 1;
    EXPECT_FALSE(opened_by(bad).has_value());
    const std::size_t tag = good.arguments.find(' ') + 1;
    bad.arguments[tag] = bad.arguments[tag] == 'A' ? 'B' : 'A';
    bad.body.clear();
    EXPECT_FALSE(opened_by(bad).has_value());
    bad.arguments = good.arguments.substr(0, tag - 1);
    EXPECT_FALSE(opened_by(bad).has_value());
  }
}

// 4,096 bits take 5 ms for each stanza, and 1 MiB holds more than a thousand of them.
TEST(SshStanzas, ThoseThatNameAKeyInVainAreCapped) {
  for (const std::string name : {"ed25519", "rsa"}) {
    const SharedIdentity identity = load_ssh(name).at(0);
    NewStanza vain = identity->recipients().front()->wrap(Wire(file_key_bytes)).stanzas.at(0);
    const NewStanza good = vain;
    vain.body.back() ^= 1;
    const auto header_with = [&](unsigned count) {
      std::string header = version_line();
      for (unsigned i = 0; i < count; ++i) {
        append_stanza(header, vain);
      }
      append_stanza(header, good);
      return header.append("--- ").append(base64::encode(Wire(mac_bytes))).append("\n");
    };
    EXPECT_TRUE(unwrapped(*identity, header_with(Effort::max_named_in_vain)).has_value());
    EXPECT_EQ(
        refusal(ErrorCode::corrupt,
                [&] { (void)unwrapped(*identity, header_with(Effort::max_named_in_vain + 1)); }),
        "envelope: it names a key over and over, and is not for it");
  }
}

// How much of an Effort one stanza takes: more than is left is refused before the work is done.
TEST(SshStanzas, CostTheirPartOfTheEffort) {
  const std::pair<SharedIdentity, std::uint64_t> costs[] = {
      {load_ssh("ed25519").at(0), 100}, {load_ssh("rsa").at(0), 625}, {generate_x25519(), 50}};
  for (const auto& [identity, us] : costs) {
    const SharedRecipient recipient = identity->recipients().front();
    const SealedHeader sealed = seal_header({&recipient, 1});
    const ParsedHeader header = parse_checked(bytes_of(sealed.text));
    const WaitReady never;
    Effort enough(never);
    enough.spend(Effort::max_us - us);
    EXPECT_TRUE(identity->unwrap(header.stanzas, enough).has_value()) << us;
    Effort too_little(never);
    too_little.spend(Effort::max_us - us + 1);
    const auto& tried = *identity;  // clang 14 captures no structured bindings
    EXPECT_EQ(refusal(ErrorCode::failure, [&] { (void)tried.unwrap(header.stanzas, too_little); }),
              "envelope: has too many recipients to try all identities on all of them");
  }
}

TEST(SshWire, NumbersArePositiveAndInTheirShortestForm) {
  const auto read = [](const Wire& value) -> std::optional<Wire> {
    Wire wire;
    append_string(wire, value);
    WireReader reader(wire);
    const Bytes number = reader.positive();
    return reader.is_complete() ? std::optional<Wire>({number.begin(), number.end()})
                                : std::nullopt;
  };
  EXPECT_EQ(read({1}), Wire{1});
  EXPECT_EQ(read({0x7f, 0}), (Wire{0x7f, 0}));
  EXPECT_EQ(read({0, 0x80}), Wire{0x80});
  EXPECT_EQ(read({0, 0xff, 1}), (Wire{0xff, 1}));
  for (const Wire& bad : {Wire{}, Wire{0}, Wire{0, 0x7f}, Wire{0, 0, 0x80}, Wire{0x80}}) {
    EXPECT_EQ(read(bad), std::nullopt);
  }
  for (const Wire& number : {Wire{}, Wire{1}, Wire{0x7f}, Wire{0x80}, Wire{0xff, 0}}) {
    Wire wire;
    append_positive(wire, number);
    const bool has_zero = !number.empty() && number[0] >= 0x80;
    ASSERT_EQ(wire.size(), 4 + number.size() + (has_zero ? 1 : 0));
    EXPECT_EQ(wire[3], wire.size() - 4);
    EXPECT_TRUE(std::equal(number.rbegin(), number.rend(), wire.rbegin()));
    EXPECT_TRUE(!has_zero || wire[4] == 0);
  }
}

TEST(SshWire, WhatCannotBeReadIsZeroOrEmpty) {
  const Wire wire = {0, 0, 0, 1, 9, 0, 0, 0};
  WireReader reader(wire);
  EXPECT_EQ(reader.string().size(), 1u);
  EXPECT_EQ(reader.number(), 0u);
  EXPECT_FALSE(reader.is_good());
  EXPECT_TRUE(reader.bytes(1).empty());  // three are there, but it is too late
  EXPECT_FALSE(reader.is_good());
}

TEST(SshWire, ALineBeginsWithItsType) {
  const auto line_of = [](const std::string& type, const std::string& inside) {
    Wire wire;
    append_string(wire, bytes_of(inside));
    wire.resize(wire.size() + 8 - wire.size() % 3);
    std::string line = type + " ";
    base64::append_public(wire, line);
    const auto parsed = parse_ssh_line(line);
    return parsed && parsed->type == type;
  };
  EXPECT_TRUE(line_of("x", "x"));
  EXPECT_FALSE(line_of("", ""));
  EXPECT_FALSE(line_of("x", "y"));
  EXPECT_FALSE(line_of("x", "xx"));
}

TEST(SshStanzas, AShareOfSmallOrderIsRefused) {
  const SharedIdentity identity = load_ssh("ed25519").at(0);
  const std::string tag = ssh_tag(parse_ssh_line(ssh_line_of("ed25519"))->wire);
  std::string header = version_line();
  append_stanza(header, {"ssh-ed25519 " + tag + " " + base64::encode(Wire(32)), Wire(32)});
  header.append("--- ").append(base64::encode(Wire(mac_bytes))).append("\n");
  EXPECT_EQ(refusal(ErrorCode::corrupt, [&] { (void)unwrapped(*identity, header); }),
            "envelope: an ssh-ed25519 share of small order");
}

// Whatever is wrong with the file, no part of the key stands in the message.
TEST(SshKeys, NoErrorQuotesASecret) {
  for (const std::string name : {"ed25519", "rsa", "rsa_pkcs1", "ed25519_pkcs8"}) {
    const std::string good = ssh_file(name);
    const std::size_t middle = good.size() / 2;
    const std::string no_end = good.substr(0, good.find("\n-----END"));
    const std::string inner = good.substr(good.find('\n') + 1);
    const std::string secret = good.substr(middle - 8, 8);
    for (const std::string& bad :
         {no_end, inner, good.substr(0, middle) + "!" + good.substr(middle),
          good.substr(0, middle) + good.substr(middle + 1)}) {
      for (const auto& parse : {+[](Bytes text) { (void)parse_identity_file(text, "key"); },
                                +[](Bytes text) { (void)parse_recipient_file(text, "key"); }}) {
        const std::string message = refusal(ErrorCode::usage, [&] { parse(bytes_of(bad)); });
        EXPECT_EQ(message.find(secret), std::string::npos) << message;
      }
    }
  }
}

}  // namespace
}  // namespace paes::age
