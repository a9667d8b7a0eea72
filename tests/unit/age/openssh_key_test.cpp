// SPDX-License-Identifier: Apache-2.0
// Files of SSH's private keys: each field that is malformed, damaged numbers, other PEM.
#include "age/openssh_key.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

#include "age/ssh_files.hpp"
#include "encoding/encodings.hpp"
#include "encoding/pem.hpp"
#include "refusal.hpp"

namespace paes::age {
namespace {

using libcrypto::bytes_of;
using test::load_ssh;
using test::refusal;
using test::ssh_file;
using test::ssh_passphrase;

// The parts of an OpenSSH key, for tests that change one of them.
struct Parts {
  explicit Parts(const std::string& name) {
    const auto block = pem::parse(ssh_file(name));
    WireReader reader(block->data);
    (void)reader.bytes(15);
    cipher = reader.text();
    kdf = reader.text();
    options = copy(reader.string());
    keys = reader.number();
    public_wire = copy(reader.string());
    section = copy(reader.string());
    EXPECT_TRUE(reader.is_complete());
  }

  static Wire copy(Bytes bytes) { return {bytes.begin(), bytes.end()}; }

  [[nodiscard]] Wire assembled() const {
    constexpr std::string_view magic("openssh-key-v1\0", 15);
    Wire wire(magic.begin(), magic.end());
    append_string(wire, bytes_of(cipher));
    append_string(wire, bytes_of(kdf));
    append_string(wire, options);
    for (const int shift : {24, 16, 8, 0}) {
      wire.push_back(static_cast<std::uint8_t>(keys >> shift));
    }
    append_string(wire, public_wire);
    append_string(wire, section);
    wire.insert(wire.end(), after.begin(), after.end());
    return wire;
  }

  std::string cipher, kdf;
  Wire options, public_wire, section, after;
  std::uint32_t keys = 0;
};

SharedIdentity open_key(const Wire& data, std::string_view answer = {}) {
  return OpensshKey(data, "key").open(bytes_of(answer), {});
}

std::string why_refused(const Parts& parts, std::string_view answer = {}) {
  return refusal(ErrorCode::usage, [&] { (void)open_key(parts.assembled(), answer); });
}

TEST(OpensshKey, EveryFieldIsChecked) {
  const Parts good("ed25519");
  ASSERT_NE(open_key(good.assembled()), nullptr);
  const auto changed = [&](const auto& change) {
    Parts parts = good;
    change(parts);
    return why_refused(parts);
  };
  EXPECT_EQ(changed([](Parts& p) { p.cipher = "3des-cbc"; }),
            "key: is encrypted with a cipher that paes does not know");
  EXPECT_EQ(changed([](Parts& p) { p.kdf = "bcrypt"; }),
            "key: is damaged: its key derivation is malformed");
  EXPECT_EQ(changed([](Parts& p) { p.options = {0}; }),
            "key: is damaged: its key derivation is malformed");
  EXPECT_EQ(changed([](Parts& p) { p.cipher = "aes256-ctr"; }),
            "key: is damaged: its key derivation is malformed");
  EXPECT_EQ(changed([](Parts& p) { p.keys = 2; }), "key: holds 2 keys, not one");
  EXPECT_EQ(changed([](Parts& p) { p.keys = 0; }), "key: holds 0 keys, not one");
  EXPECT_EQ(changed([](Parts& p) { p.after = {0}; }),
            "key: is damaged: its private section has a wrong length");
  EXPECT_EQ(changed([](Parts& p) { p.section.pop_back(); }),
            "key: is damaged: its private section has a wrong length");
  EXPECT_EQ(changed([](Parts& p) { p.section.clear(); }),
            "key: is damaged: its private section has a wrong length");
  EXPECT_EQ(changed([](Parts& p) { p.section.back() ^= 1; }),
            "key: is damaged: its padding is wrong");
  EXPECT_EQ(changed([](Parts& p) { p.section.insert(p.section.end(), 8, 0); }),
            "key: is damaged: its private section is malformed");
  EXPECT_EQ(changed([](Parts& p) { p.section[0] ^= 1; }),
            "key: is damaged: its private section is malformed");
  EXPECT_EQ(changed([](Parts& p) { p.public_wire.back() ^= 1; }).substr(0, 4), "key:");
  EXPECT_EQ(changed([](Parts& p) {
              p.public_wire = Parts("ed25519_encrypted").public_wire;
              p.public_wire.pop_back();
            }),
            "key: is a damaged or incomplete SSH public key");
  EXPECT_EQ(changed([](Parts& p) { p.public_wire = Parts("rsa").public_wire; }),
            "key: is damaged: its private section is malformed");
  EXPECT_EQ(changed([](Parts& p) {
              p.public_wire.clear();
              append_string(p.public_wire, bytes_of("ssh-dss"));
            }),
            "key: is an SSH key of a type that age does not take");
}

// A key that costs minutes is refused before anyone is asked or any work is done.
TEST(OpensshKey, TheCostIsCapped) {
  const auto with_options = [](std::size_t salt_bytes, std::uint32_t rounds) {
    Parts parts("ed25519_encrypted");
    parts.options.clear();
    append_string(parts.options, Wire(salt_bytes));
    for (const int shift : {24, 16, 8, 0}) {
      parts.options.push_back(static_cast<std::uint8_t>(rounds >> shift));
    }
    try {
      OpensshKey(parts.assembled(), "key");
    } catch (const Error& error) {
      EXPECT_EQ(error.code, ErrorCode::usage);
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(with_options(16, 10001),
            "key: its passphrase takes 10001 rounds, above the limit of 10000");
  EXPECT_EQ(with_options(16, 0xffffffff).find("key: its passphrase takes 4294967295"), 0u);
  EXPECT_EQ(with_options(16, 0), "key: is damaged: its key derivation is malformed");
  EXPECT_EQ(with_options(0, 2), "key: is damaged: its key derivation is malformed");
  EXPECT_EQ(with_options(1025, 2), "key: is damaged: its key derivation is malformed");
  EXPECT_EQ(with_options(1024, 10000), "");
}

TEST(OpensshKey, TheDerivationCanBeGivenUp) {
  const OpensshKey key(Parts("ed25519_encrypted").assembled(), "key");
  int checks = 0;
  const WaitReady gives_up = [&checks](int descriptor, short /*events*/) {
    EXPECT_LT(descriptor, 0);
    if (++checks == 2) {
      throw std::runtime_error("stop");
    }
  };
  EXPECT_THROW((void)key.open(bytes_of(ssh_passphrase), gives_up), std::runtime_error);
  EXPECT_EQ(checks, 2);
}

TEST(OpensshKey, EveryTruncationIsRefused) {
  const Wire data = Parts("ed25519").assembled();
  for (std::size_t bytes = 0; bytes < data.size(); ++bytes) {
    (void)refusal(ErrorCode::usage, [&] {
      (void)open_key(Wire(data.begin(), data.begin() + static_cast<std::ptrdiff_t>(bytes)));
    });
  }
}

// The comment, "test", is all that may differ. It may also take in the one byte of padding.
TEST(OpensshKey, EveryFlippedBitOutsideTheCommentIsRefused) {
  const Wire data = Parts("ed25519").assembled();
  int accepted = 0;
  for (std::size_t bit = 0; bit < data.size() * 8; ++bit) {
    Wire flipped = data;
    flipped[bit / 8] = static_cast<std::uint8_t>(flipped[bit / 8] ^ (1U << (bit % 8)));
    try {
      (void)open_key(flipped);
      ++accepted;
    } catch (const Error& error) {
      EXPECT_EQ(error.code, ErrorCode::usage) << error.what();
    }
  }
  EXPECT_EQ(accepted, 4 * 8 + 1);
}

TEST(OpensshKey, AnEncryptedSectionThatWasChangedIsRefused) {
  Parts parts("ed25519_encrypted");
  ASSERT_NE(open_key(parts.assembled(), ssh_passphrase), nullptr);
  parts.section.back() ^= 1;  // CTR: the same bit of the padding
  EXPECT_EQ(why_refused(parts, ssh_passphrase), "key: is damaged: its padding is wrong");
}

// n, e, d, iqmp, p and q: with any of them changed, they do not belong together.
TEST(OpensshKey, NumbersOfAnRsaKeyThatDoNotMatchAreRefused) {
  const Parts good("rsa");
  WireReader reader(good.section);
  (void)reader.bytes(8);
  (void)reader.string();
  for (int field = 0; field < 6; ++field) {
    const Bytes number = reader.string();
    Parts parts = good;
    // The bit below the top one of the last byte: an odd number stays odd.
    const auto last =
        static_cast<std::size_t>(number.data() - good.section.data()) + number.size() - 1;
    parts.section[last] ^= 2;
    (void)why_refused(parts);
    parts.section[last] ^= 3;  // even
    (void)why_refused(parts);
  }
}

TEST(SshIdentityFile, OtherPemIsRefused) {
  const auto why = [](const std::string& text) {
    return refusal(ErrorCode::usage, [&] { (void)parse_identity_file(bytes_of(text), "key"); });
  };
  const std::string good = ssh_file("ed25519");
  EXPECT_EQ(why(good + "more"), "key: is damaged: it is not one block of PEM");
  EXPECT_EQ(why(good + good), "key: holds more than one key in PEM");
  for (const std::string kind : {"PUBLIC KEY", "RSA PUBLIC KEY"}) {
    EXPECT_EQ(why("-----BEGIN " + kind + "-----\nAAAA\n-----END " + kind + "-----\n"),
              "key: is a public key in PEM, which opens nothing");
  }
  EXPECT_EQ(why(good.substr(0, 100)), "key: is damaged: it is not one block of PEM");
  EXPECT_EQ(why("-----BEGIN EC PRIVATE KEY-----\nAAAA\n-----END EC PRIVATE KEY-----\n"),
            "key: is PEM, but no private key that age takes");
  EXPECT_EQ(why("-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\nAAAA\n"
                "-----END RSA PRIVATE KEY-----\n"),
            "key: is encrypted in an old form, which paes does not read");
  EXPECT_EQ(
      why("-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n"),
      "key: is encrypted in an old form, which paes does not read");
  EXPECT_EQ(why("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"),
            "key: is damaged: its private key is malformed");
  std::string longest = "-----BEGIN ";
  longest.resize(16384, 'A');
  EXPECT_EQ(why(longest), "key: is damaged: it is not one block of PEM");
  EXPECT_EQ(why(longest + "A"), "key: is too long for a private key");
}

// Each byte of DER that is changed is refused or changes nothing: the redundant exponents and the
// version's like are not used.
TEST(SshIdentityFile, DamagedDerNeverGivesAnotherKey) {
  for (const std::string name : {"rsa_pkcs1", "rsa_pkcs8"}) {
    const std::string text = ssh_file(name);
    const auto block = pem::parse(text);
    const std::string recipient = load_ssh(name).at(0)->recipients().front()->text();
    for (std::size_t at = 0; at < block->data.size(); at += 7) {
      Wire der(block->data.data(), block->data.data() + block->data.size());
      der[at] ^= 0x15;
      std::string base64;
      base64::append_public(der, base64);
      const std::string label(block->label);
      try {
        const auto identities =
            parse_identity_file(bytes_of("-----BEGIN " + label + "-----\n" + base64 +
                                         "\n-----END " + label + "-----\n"),
                                "key");
        EXPECT_EQ(identities.at(0)->recipients().front()->text(), recipient) << name << " " << at;
      } catch (const Error& error) {
        EXPECT_EQ(error.code, ErrorCode::usage) << error.what();
      }
    }
  }
}

// DER that is longer or shorter than a key, wherever it ends.
TEST(SshIdentityFile, DerOfAnotherLengthIsRefused) {
  for (const std::string name : {"rsa_pkcs1", "rsa_pkcs8"}) {
    const std::string text = ssh_file(name);
    const auto block = pem::parse(text);
    const Wire whole(block->data.data(), block->data.data() + block->data.size());
    const auto why = [&](const Wire& der) {
      const std::string label(block->label);
      std::string base64;
      base64::append_public(der, base64);
      return refusal(ErrorCode::usage, [&] {
        (void)parse_identity_file(bytes_of("-----BEGIN " + label + "-----\n" + base64 +
                                           "\n-----END " + label + "-----\n"),
                                  "key");
      });
    };
    constexpr std::string_view malformed = "key: is damaged: its private key is malformed";
    Wire longer = whole;
    longer.push_back(0);
    EXPECT_EQ(why(longer), malformed) << name;
    // Something more within the outer sequence, whose length is in its third and fourth byte.
    ASSERT_EQ(whole[1], 0x82);
    longer = whole;
    longer.insert(longer.end(), {0x05, 0x00});
    const unsigned inside = 256U * longer[2] + longer[3] + 2U;
    longer[2] = static_cast<std::uint8_t>(inside >> 8);
    longer[3] = static_cast<std::uint8_t>(inside);
    if (name == "rsa_pkcs1") {  // PKCS #8 may have attributes there
      EXPECT_EQ(why(longer), malformed);
    }
    for (std::size_t bytes = 13; bytes < whole.size(); bytes += 13) {
      EXPECT_EQ(why(Wire(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(bytes))),
                malformed)
          << name << " of " << bytes << " bytes";
    }
  }
}

std::string why_refused_der(const std::string& label, const Wire& der) {
  std::string base64;
  base64::append_public(der, base64);
  try {
    (void)parse_identity_file(
        bytes_of("-----BEGIN " + label + "-----\n" + base64 + "\n-----END " + label + "-----\n"),
        "key");
  } catch (const Error& error) {
    EXPECT_EQ(error.code, ErrorCode::usage);
    return error.what();
  }
  return "";
}

// The key with some of its bytes replaced. Its outer length has two bytes.
Wire with_replaced(const Wire& whole, std::size_t at, std::size_t bytes, const Wire& by) {
  Wire changed = whole;
  const auto begin = changed.begin() + static_cast<std::ptrdiff_t>(at);
  changed.erase(begin, begin + static_cast<std::ptrdiff_t>(bytes));
  changed.insert(changed.begin() + static_cast<std::ptrdiff_t>(at), by.begin(), by.end());
  const std::size_t inside = changed.size() - 4;
  changed[2] = static_cast<std::uint8_t>(inside >> 8);
  changed[3] = static_cast<std::uint8_t>(inside);
  return changed;
}

TEST(SshIdentityFile, VersionsAndNumbersOfDer) {
  const std::string malformed = "key: is damaged: its private key is malformed";
  const auto der_of = [](const std::string& name) {
    const std::string text = ssh_file(name);
    const auto block = pem::parse(text);
    return Wire(block->data.data(), block->data.data() + block->data.size());
  };
  const Wire pkcs8 = der_of("rsa_pkcs8");
  ASSERT_EQ(Wire(pkcs8.begin() + 4, pkcs8.begin() + 7), (Wire{2, 1, 0}));
  EXPECT_EQ(why_refused_der("PRIVATE KEY", with_replaced(pkcs8, 4, 3, {2, 1, 0})), "");
  EXPECT_EQ(why_refused_der("PRIVATE KEY", with_replaced(pkcs8, 4, 3, {2, 1, 1})), "");
  for (const Wire& version : {Wire{2, 1, 2}, Wire{2, 2, 1, 0}, Wire{2, 2, 1, 1}, Wire{4, 1, 0},
                              Wire{2, 2, 0, 0}, Wire{2, 2, 0, 1}, Wire{2, 1, 128}, Wire{2, 0}}) {
    EXPECT_EQ(why_refused_der("PRIVATE KEY", with_replaced(pkcs8, 4, 3, version)), malformed);
  }
  const Wire pkcs1 = der_of("rsa_pkcs1");
  const Wire exponent = {2, 3, 1, 0, 1};
  const auto found = std::search(pkcs1.begin(), pkcs1.end(), exponent.begin(), exponent.end());
  ASSERT_NE(found, pkcs1.end());
  const auto at = static_cast<std::size_t>(found - pkcs1.begin());
  EXPECT_EQ(why_refused_der("RSA PRIVATE KEY", with_replaced(pkcs1, at, 5, exponent)), "");
  EXPECT_EQ(why_refused_der("RSA PRIVATE KEY", with_replaced(pkcs1, at, 5, {2, 1, 0})), malformed);
}

// DER has one spelling of each length.
TEST(SshIdentityFile, LengthsOfDerHaveTheirShortestForm) {
  const std::string malformed = "key: is damaged: its private key is malformed";
  const std::string text = ssh_file("ed25519_pkcs8");
  const auto block = pem::parse(text);
  const Wire whole(block->data.data(), block->data.data() + block->data.size());
  ASSERT_EQ(whole.size(), 48U);
  const auto with_head = [&](Wire head, std::size_t attributes = 0) {
    head.insert(head.end(), whole.begin() + 2, whole.end());
    head.resize(head.size() + attributes);
    return why_refused_der("PRIVATE KEY", head);
  };
  EXPECT_EQ(with_head({0x30, 46}), "");
  EXPECT_EQ(with_head({0x30, 127}, 127 - 46), "");
  EXPECT_EQ(with_head({0x30, 0x81, 128}, 128 - 46), "");
  EXPECT_EQ(with_head({0x30, 0x81, 255}, 255 - 46), "");
  EXPECT_EQ(with_head({0x30, 0x82, 1, 0}, 256 - 46), "");
  for (const Wire& head : {Wire{0x30, 0x81, 46}, Wire{0x30, 0x82, 0, 46}, Wire{0x30, 0x80},
                           Wire{0x30, 0x83, 0, 0, 46}, Wire{0x31, 46}, Wire{0x30, 45}}) {
    EXPECT_EQ(with_head(head), malformed);
  }
  EXPECT_EQ(with_head({0x30, 0x81, 127}, 127 - 46), malformed);
  EXPECT_EQ(with_head({0x30, 0x83, 1, 0, 0}, 256 - 46), malformed);
  EXPECT_EQ(with_head({0x30, 0x82, 0, 255}, 255 - 46), malformed);
}

TEST(SshIdentityFile, OtherAlgorithmsAndSeedsAreRefused) {
  const std::string text = ssh_file("ed25519_pkcs8");
  const auto block = pem::parse(text);
  const Wire whole(block->data.data(), block->data.data() + block->data.size());
  const auto changed = [&](std::size_t at, std::size_t bytes, const Wire& by) {
    Wire der = whole;
    const auto begin = der.begin() + static_cast<std::ptrdiff_t>(at);
    der.erase(begin, begin + static_cast<std::ptrdiff_t>(bytes));
    der.insert(der.begin() + static_cast<std::ptrdiff_t>(at), by.begin(), by.end());
    der[1] = static_cast<std::uint8_t>(der.size() - 2);
    return why_refused_der("PRIVATE KEY", der);
  };
  const std::string unknown = "key: is a private key of a type that age does not take";
  EXPECT_EQ(changed(5, 7, {0x30, 5, 6, 3, 0x2b, 0x65, 0x70}), "");
  EXPECT_EQ(changed(5, 7, {0x30, 5, 6, 3, 0x2b, 0x65, 0x71}), unknown);  // Ed448
  EXPECT_EQ(changed(5, 7, {0x30, 4, 6, 2, 0x2b, 0x65}), unknown);
  EXPECT_EQ(changed(5, 7, {0x30, 2, 6, 0}), unknown);
  const std::string malformed = "key: is damaged: its private key is malformed";
  EXPECT_EQ(changed(5, 7, {0x30, 0}), malformed);
  EXPECT_EQ(changed(5, 7, {0x30, 5, 4, 3, 0x2b, 0x65, 0x70}), malformed);
  // A seed of 31 bytes, one of 33, and something after it.
  EXPECT_EQ(changed(12, 5, {4, 33, 4, 31}), malformed);
  EXPECT_EQ(changed(12, 4, {4, 35, 4, 33, 0}), malformed);
  EXPECT_EQ(changed(12, 4, {4, 35, 4, 32, 0}), malformed);
}

}  // namespace
}  // namespace paes::age
