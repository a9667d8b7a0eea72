// SPDX-License-Identifier: Apache-2.0
// Envelopes: round trips, everything a reader must refuse, and adding recipients. That other
// programs read what is sealed here, and the other way round, is tested where those programs run.
#include "age/envelope.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <stdexcept>

#include "age/age_payload.hpp"
#include "age/x25519.hpp"
#include "crypto/libcrypto.hpp"
#include "format/container.hpp"
#include "hex.hpp"
#include "refusal.hpp"

namespace paes::age {
namespace {

using libcrypto::bytes_of;
using test::refusal;

constexpr unsigned quick_work_factor = 4;

struct KeyPair {
  std::vector<SharedIdentity> identities = {generate_x25519()};
  SharedRecipient recipient = identities.front()->recipients().front();
};

std::vector<std::uint8_t> counting(std::size_t bytes) {
  std::vector<std::uint8_t> text(bytes);
  std::iota(text.begin(), text.end(), std::uint8_t{0});
  return text;
}

std::vector<std::uint8_t> copy(const SecretBytes& bytes) {
  return {bytes.data(), bytes.data() + bytes.size()};
}

Credentials with_passphrase(std::string_view passphrase,
                            unsigned max_work_factor = default_max_work_factor) {
  return {{}, [passphrase] { return SecretBytes(bytes_of(passphrase)); }, max_work_factor};
}

std::vector<std::uint8_t> seal_to(const KeyPair& pair, Bytes text) {
  return seal_to_recipients({&pair.recipient, 1}, text);
}

// True if the bytes were refused as damaged, as fit for no key, or for their work factor.
bool is_refused(Bytes envelope, const Credentials& credentials) {
  try {
    (void)open(envelope, credentials);
    return false;
  } catch (const Error& error) {
    const std::string what = error.what();
    EXPECT_TRUE(error.code != ErrorCode::failure || what.find("work factor") != std::string::npos)
        << what;
    return true;
  }
}

TEST(Age, RoundTripsToRecipients) {
  const KeyPair pair;
  for (const std::size_t bytes : {0u, 1u, 16u, 32u, 65535u, 65536u, 65537u, 131072u, 131073u}) {
    const auto text = counting(bytes);
    EXPECT_EQ(copy(open(seal_to(pair, text), {pair.identities, {}})), text) << bytes;
  }
}

TEST(Age, RoundTripsToAPassphrase) {
  const auto text = counting(32);
  const auto envelope = seal_to_passphrase(bytes_of("geheim"), text, quick_work_factor);
  EXPECT_EQ(copy(open(envelope, with_passphrase("geheim"))), text);
  EXPECT_EQ(refusal(ErrorCode::wrong_key, [&] { (void)open(envelope, with_passphrase("Geheim")); }),
            "envelope: the passphrase is wrong");
}

TEST(Age, TheDefaultWorkFactorOpensUnderTheDefaultCap) {
  const auto text = counting(32);
  const auto envelope = seal_to_passphrase(bytes_of("geheim"), text);
  EXPECT_EQ(summarize(envelope).stanzas.at(0).work_factor, 18u);
  EXPECT_EQ(copy(open(envelope, with_passphrase("geheim"))), text);
}

TEST(Age, EachOfManyRecipientsOpensAndNobodyElse) {
  const KeyPair a, b, c;
  const SharedRecipient both[] = {a.recipient, b.recipient};
  const auto envelope = seal_to_recipients(both, counting(32));
  EXPECT_EQ(copy(open(envelope, {a.identities, {}})), counting(32));
  EXPECT_EQ(copy(open(envelope, {b.identities, {}})), counting(32));
  EXPECT_EQ(refusal(ErrorCode::wrong_key,
                    [&] {
                      (void)open(envelope, {c.identities, {}});
                    }),
            "envelope: no identity given opens it");
  EXPECT_EQ(refusal(ErrorCode::wrong_key, [&] { (void)open(envelope, with_passphrase("x")); }),
            "envelope: needs an identity");
}

TEST(Age, NoTwoEnvelopesAreAlike) {
  const KeyPair pair;
  EXPECT_NE(seal_to(pair, counting(32)), seal_to(pair, counting(32)));
  EXPECT_NE(seal_to_passphrase(bytes_of("x"), {}, 1), seal_to_passphrase(bytes_of("x"), {}, 1));
}

// A file key is drawn for each envelope. A nonce that were not would show only under a key that
// comes again.
TEST(Age, EveryPayloadHasANonceOfItsOwn) {
  const auto file_key = counting(file_key_bytes);
  const auto one = seal_payload(file_key, {});
  const auto other = seal_payload(file_key, {});
  EXPECT_FALSE(std::equal(one.begin(), one.begin() + payload_nonce_bytes, other.begin()));
}

TEST(Age, EveryFlippedBitIsRefused) {
  const KeyPair pair;
  const auto to_recipient = seal_to(pair, counting(32));
  const auto to_passphrase = seal_to_passphrase(bytes_of("geheim"), counting(32), 4);
  const std::pair<const std::vector<std::uint8_t>&, Credentials> cases[] = {
      {to_recipient, {pair.identities, {}}}, {to_passphrase, with_passphrase("geheim", 9)}};
  for (const auto& [envelope, credentials] : cases) {
    ASSERT_FALSE(is_refused(envelope, credentials));
    for (std::size_t bit = 0; bit < envelope.size() * 8; ++bit) {
      auto flipped = envelope;
      flipped[bit / 8] = static_cast<std::uint8_t>(flipped[bit / 8] ^ (1u << (bit % 8)));
      EXPECT_TRUE(is_refused(flipped, credentials)) << "bit " << bit;
    }
  }
}

TEST(Age, EveryTruncationAndAnExtensionAreRefused) {
  const KeyPair pair;
  const Credentials credentials{pair.identities, {}};
  for (const std::size_t text_bytes : {0u, 32u, 65536u}) {
    auto envelope = seal_to(pair, counting(text_bytes));
    const std::size_t step = text_bytes > 1000 ? 97 : 1;
    for (std::size_t bytes = 0; bytes < envelope.size(); bytes += step) {
      EXPECT_TRUE(is_refused(Bytes(envelope).first(bytes), credentials)) << bytes;
    }
    envelope.push_back(0);
    EXPECT_TRUE(is_refused(envelope, credentials));
  }
}

// A recipient that wraps as it is told to.
class ToldRecipient final : public RecipientKey {
 public:
  explicit ToldRecipient(std::vector<NewStanza> stanzas) : stanzas_(std::move(stanzas)) {}
  [[nodiscard]] WrappedKey wrap(Bytes /*file_key*/, const WaitReady& wait) const override {
    check(wait);
    return {stanzas_};
  }
  [[nodiscard]] std::string text() const override { return ""; }

 private:
  std::vector<NewStanza> stanzas_;
};

// Both formats: a reader takes no header above 1 MiB, so that nobody could open the file.
TEST(Age, AHeaderAboveTheLimitIsNotMade) {
  const KeyPair pair;
  const SharedRecipient told =
      std::make_shared<ToldRecipient>(std::vector<NewStanza>{{"long", counting(1000)}});
  const std::vector<SharedRecipient> many(1000, told);
  const auto why = [&](auto make) { return refusal(ErrorCode::usage, make); };
  const std::string expected =
      "recipients: their stanzas make a header that is longer than 1 MiB, and no reader takes one";
  EXPECT_EQ(why([&] { (void)seal_header(many); }), expected);
  EXPECT_EQ(why([&] { (void)seal_to_recipients(many, counting(32)); }), expected);
  const auto envelope = seal_to(pair, counting(32));
  const OpenEnvelope opened(envelope, {pair.identities, {}});
  EXPECT_EQ(why([&] { (void)opened.changed({.added = many}); }), expected);
  const SealedHeader most = seal_header(std::span(many).first(700));
  EXPECT_EQ(parse_checked(bytes_of(most.text)).stanzas.size(), 700u);
}

TEST(Age, AHeaderThatNobodyCouldReadIsNotMade) {
  const std::vector<NewStanza> wrong[] = {
      {{"X25519 " + std::string(43, 'A'), {}}},
      {{"scrypt AAAA 18", std::vector<std::uint8_t>(32)}},
      {{"scrypt " + std::string(22, 'A') + " 18", std::vector<std::uint8_t>(32)}, {"other", {}}},
      {{"a  b", {}}},
      {{"", {}}},
      {{"a\nb", {}}}};
  for (const std::vector<NewStanza>& stanzas : wrong) {
    const SharedRecipient told = std::make_shared<ToldRecipient>(stanzas);
    const std::string what =
        refusal(ErrorCode::failure, [&] { (void)seal_header(std::span(&told, 1)); });
    EXPECT_TRUE(what.starts_with("recipients: make a header that nobody could read: ")) << what;
  }
}

// What one header may cost, and that a call can be given up between two stanzas.
TEST(Age, StanzasTimesIdentitiesAreCapped) {
  const KeyPair other;
  const std::vector<SharedRecipient> many(200, other.recipient);
  const SealedHeader sealed = seal_header(many);
  const ParsedHeader header = parse_checked(bytes_of(sealed.text));
  int checks = 0;
  const WaitReady gives_up = [&checks](int descriptor, short /*events*/) {
    EXPECT_LT(descriptor, 0);
    if (++checks == 100) {
      throw std::runtime_error("stop");
    }
  };
  const std::vector<SharedIdentity> mine = KeyPair().identities;
  EXPECT_THROW((void)open_header(header, {mine, {}, default_max_work_factor, gives_up}),
               std::runtime_error);
  EXPECT_EQ(checks, 100);
  const WaitReady never;
  Effort effort(never);
  for (int i = 0; i < 10; ++i) {
    effort.spend(Effort::max_us / 10);
  }
  EXPECT_EQ(refusal(ErrorCode::failure, [&] { effort.spend(1); }),
            "envelope: has too many recipients to try all identities on all of them");
  for (unsigned i = 0; i < Effort::max_named_in_vain; ++i) {
    effort.named_in_vain();
  }
  EXPECT_EQ(refusal(ErrorCode::corrupt, [&] { effort.named_in_vain(); }),
            "envelope: it names a key over and over, and is not for it");
}

TEST(Age, TheWorkFactorIsCappedBeforeThePassphraseIsAskedFor) {
  const auto envelope = seal_to_passphrase(bytes_of("geheim"), counting(32), 6);
  bool asked = false;
  Credentials credentials{{},
                          [&] {
                            asked = true;
                            return SecretBytes(bytes_of("geheim"));
                          },
                          5};
  EXPECT_EQ(refusal(ErrorCode::failure, [&] { (void)open(envelope, credentials); }),
            "envelope: the passphrase's work factor 6 is above the limit of 5");
  EXPECT_FALSE(asked);
  credentials.max_work_factor = 6;
  EXPECT_EQ(copy(open(envelope, credentials)), counting(32));
  EXPECT_TRUE(asked);
}

TEST(Age, ThePassphraseIsAskedForOnceAndOnlyWhenNeeded) {
  const KeyPair pair;
  int asked = 0;
  const auto ask = [&] {
    ++asked;
    return SecretBytes(bytes_of("geheim"));
  };
  (void)open(seal_to(pair, {}), {pair.identities, ask});
  EXPECT_EQ(asked, 0);
  (void)open(seal_to_passphrase(bytes_of("geheim"), {}, 4), {pair.identities, ask});
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(
      refusal(ErrorCode::wrong_key,
              [&] {
                (void)open(seal_to_passphrase(bytes_of("geheim"), {}, 4), {pair.identities, {}});
              }),
      "envelope: needs a passphrase");
}

TEST(Age, SummaryNamesTheStanzas) {
  const KeyPair pair;
  const SharedRecipient twice[] = {pair.recipient, pair.recipient};
  const Summary to_two = summarize(seal_to_recipients(twice, {}));
  ASSERT_EQ(to_two.stanzas.size(), 2u);
  EXPECT_EQ(to_two.stanzas[1].type, "X25519");
  EXPECT_EQ(to_two.stanzas[1].work_factor, 0u);
  EXPECT_EQ(to_two.stanzas[0].type, "X25519");
  const Summary to_passphrase = summarize(seal_to_passphrase(bytes_of("x"), {}, 7));
  ASSERT_EQ(to_passphrase.stanzas.size(), 1u);
  EXPECT_EQ(to_passphrase.stanzas[0].type, "scrypt");
  EXPECT_EQ(to_passphrase.stanzas[0].work_factor, 7u);
}

TEST(Age, SealingToNobodyOrToAnEmptyPassphraseIsRefused) {
  EXPECT_EQ(refusal(ErrorCode::usage, [] { (void)seal_to_recipients({}, {}); }),
            "recipients: none given");
  EXPECT_EQ(refusal(ErrorCode::usage, [] { (void)seal_to_passphrase({}, {}, 4); }),
            "passphrase: is empty");
}

std::vector<std::uint8_t> changed(Bytes envelope, const Credentials& credentials,
                                  const RecipientChange& change) {
  return OpenEnvelope(envelope, credentials).changed(change);
}

TEST(Age, AddedRecipientsOpenAndTheFirstOnesStillDo) {
  const KeyPair a, b;
  const auto envelope = seal_to(a, counting(32));
  const auto extended =
      changed(envelope, {a.identities, {}}, {.added = std::span(&b.recipient, 1)});
  EXPECT_EQ(copy(open(extended, {a.identities, {}})), counting(32));
  EXPECT_EQ(copy(open(extended, {b.identities, {}})), counting(32));
  EXPECT_EQ(summarize(extended).stanzas.size(), 2u);
  // The first stanza is the one that was there.
  EXPECT_EQ(parse_header(extended).stanzas[0].body, parse_header(envelope).stanzas[0].body);
}

TEST(Age, OnlyWhoOpensAnEnvelopeAddsToIt) {
  const KeyPair a, b;
  const auto envelope = seal_to(a, counting(32));
  const RecipientChange more{.added = std::span(&b.recipient, 1)};
  (void)refusal(ErrorCode::wrong_key, [&] { (void)changed(envelope, {b.identities, {}}, more); });
  auto damaged = envelope;
  damaged.back() ^= 1;
  (void)refusal(ErrorCode::corrupt, [&] { (void)changed(damaged, {a.identities, {}}, more); });
}

TEST(Age, NobodyIsAddedToAPassphrase) {
  const KeyPair a;
  const RecipientChange more{.added = std::span(&a.recipient, 1)};
  const auto envelope = seal_to_passphrase(bytes_of("x"), counting(32), 4);
  (void)refusal(ErrorCode::usage, [&] { check_change(envelope, more); });
  (void)refusal(ErrorCode::usage, [&] { (void)changed(envelope, with_passphrase("x"), more); });
  const auto replaced =
      changed(envelope, with_passphrase("x"), {.removed = {0}, .added = more.added});
  EXPECT_EQ(copy(open(replaced, {a.identities, {}})), counting(32));
}

TEST(Age, AKeyIsReplacedByOneThatOpensWithIt) {
  const KeyPair a, b;
  const auto envelope = seal_to(a, counting(32));
  const auto after =
      changed(envelope, {a.identities, {}}, {.removed = {0}, .added = std::span(&b.recipient, 1)});
  EXPECT_EQ(copy(open(after, {b.identities, {}})), counting(32));
  (void)refusal(ErrorCode::wrong_key, [&] { (void)open(after, {a.identities, {}}); });
}

TEST(Age, ChangesThatCannotBeMadeAreKnownWithoutAKey) {
  const KeyPair a;
  const auto envelope = seal_to(a, counting(32));
  EXPECT_EQ(refusal(ErrorCode::usage, [&] { check_change(envelope, {.removed = {1}}); }),
            "envelope: has 1 recipient, so there is no number 2");
  EXPECT_EQ(refusal(ErrorCode::usage, [&] { check_change(envelope, {.removed = {0}}); }),
            "envelope: nobody could open it without its last recipient");
  check_change(envelope, {.removed = {0}, .added = std::span(&a.recipient, 1)});
}

TEST(Age, UnknownStanzasAreSkippedAndKept) {
  const KeyPair a, b;
  const auto envelope = seal_to(a, counting(32));
  // Without the file key the MAC cannot be right, so the reader must come as far as the MAC.
  std::string text(envelope.begin(), envelope.end());
  text.insert(text.find("-> X25519"), "-> example.com/odd ~ !\n" + std::string(64, 'A') + "\n\n");
  const Summary summary = summarize(bytes_of(text));
  ASSERT_EQ(summary.stanzas.size(), 2u);
  EXPECT_EQ(summary.stanzas[0].type, "example.com/odd");
  EXPECT_EQ(refusal(ErrorCode::corrupt,
                    [&] {
                      (void)open(bytes_of(text), {a.identities, {}});
                    }),
            "envelope: its header was changed (the MAC is wrong)");
}

TEST(Age, AnEnvelopeAboveTheCapIsNeitherReadNorWritten) {
  const KeyPair pair;
  const auto text = counting(container::max_envelope_bytes);
  EXPECT_NE(refusal(ErrorCode::usage, [&] { (void)seal_to(pair, text); }).find("above the limit"),
            std::string::npos);
  auto envelope = seal_to(pair, {});
  envelope.resize(container::max_envelope_bytes + 1);
  EXPECT_EQ(refusal(ErrorCode::corrupt, [&] { (void)summarize(envelope); }),
            "envelope: longer than 1048576 bytes");
  envelope.pop_back();
  EXPECT_EQ(summarize(envelope).stanzas.size(), 1u);
}

TEST(Age, AnEnvelopeHasAtLeastANonceBehindItsHeader) {
  const KeyPair pair;
  const std::vector<std::uint8_t> envelope = seal_to(pair, {});
  const std::size_t header = parse_header(envelope).bytes;
  EXPECT_EQ(summarize(Bytes(envelope).first(header + 16)).stanzas.size(), 1u);
  EXPECT_EQ(
      refusal(ErrorCode::corrupt, [&] { (void)summarize(Bytes(envelope).first(header + 15)); }),
      "envelope: truncated");
}

// A header of nothing but tiny stanzas, as many as the cap lets in: a reader that looks back at
// every step would take minutes.
TEST(Age, AHeaderFullOfStanzasIsReadInLinearTime) {
  std::string text = version_line();
  while (text.size() + 100 < container::max_envelope_bytes) {
    text += "-> a\n\n";
  }
  text += "--- " + std::string(43, 'A') + "\n" + std::string(40, 'x');
  const auto start = std::chrono::steady_clock::now();
  EXPECT_GT(summarize(bytes_of(text)).stanzas.size(), 170000u);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
}

TEST(Age, SpellingsOfAWorkFactor) {
  const std::string before = version_line() + "-> scrypt " + std::string(22, 'A') + " ";
  const std::string after =
      "\n" + std::string(43, 'A') + "\n--- " + std::string(43, 'A') + "\n" + std::string(32, 'x');
  for (const char* good : {"1", "9", "10", "63"}) {
    EXPECT_EQ(std::to_string(summarize(bytes_of(before + good + after)).stanzas[0].work_factor),
              good);
  }
  for (const char* bad : {"0", "01", "+1", "-1", "1x", "x1", "0x1", "", " 1", "64", "4294967297",
                          "18446744073709551617", "1 1"}) {
    EXPECT_THROW((void)summarize(bytes_of(before + bad + after)), Error) << bad;
  }
}

}  // namespace
}  // namespace paes::age
