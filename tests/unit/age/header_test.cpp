// SPDX-License-Identifier: Apache-2.0
// Headers: who is asked for a passphrase stanza, which recipients may stand together, what is
// checked of new stanzas, and the limit of a header's length.
#include "age/header.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

#include "age/hybrid_stanza.hpp"
#include "age/ssh_files.hpp"
#include "age/tagged_stanza.hpp"
#include "age/x25519.hpp"
#include "encoding/encodings.hpp"
#include "refusal.hpp"

namespace paes::age {
namespace {

using libcrypto::bytes_of;
using test::refusal;
using Buffer = std::vector<std::uint8_t>;

constexpr std::string_view passphrase = "geheim";

// A recipient that wraps as it is told to.
class ToldRecipient final : public RecipientKey {
 public:
  explicit ToldRecipient(WrappedKey wrapped) : wrapped_(std::move(wrapped)) {}
  [[nodiscard]] WrappedKey wrap(Bytes /*file_key*/, const WaitReady& /*wait*/) const override {
    return wrapped_;
  }
  [[nodiscard]] std::string text() const override { return ""; }

 private:
  WrappedKey wrapped_;
};

SharedRecipient told(std::vector<NewStanza> stanzas, std::vector<std::string> labels = {}) {
  return std::make_shared<ToldRecipient>(WrappedKey{std::move(stanzas), std::move(labels)});
}

// An identity that does as it is told, and counts how often it is asked.
class ToldIdentity final : public IdentityKey {
 public:
  using Answer = std::function<std::optional<SecretBytes>()>;
  explicit ToldIdentity(Answer answer, bool may_know = true)
      : answer_(std::move(answer)), may_know_(may_know) {}
  [[nodiscard]] std::optional<SecretBytes> unwrap(std::span<const Stanza> /*stanzas*/,
                                                  Effort& /*effort*/) const override {
    ++asked;
    return answer_();
  }
  [[nodiscard]] bool may_know_a_passphrase() const noexcept override { return may_know_; }
  [[nodiscard]] std::vector<SharedRecipient> recipients() const override { return {}; }
  [[nodiscard]] SecretBytes secret_text() const override { return {}; }

  mutable int asked = 0;

 private:
  Answer answer_;
  bool may_know_;
};

using Told = std::shared_ptr<const ToldIdentity>;

Told failing(ErrorCode code, const std::string& why) {
  return std::make_shared<ToldIdentity>(
      [=]() -> std::optional<SecretBytes> { throw Error(code, why); });
}

class PassphraseStanza : public testing::Test {
 protected:
  [[nodiscard]] Told knowing() const {
    return std::make_shared<ToldIdentity>(
        [this]() -> std::optional<SecretBytes> { return SecretBytes(Bytes(sealed_.file_key)); });
  }
  [[nodiscard]] SecretBytes opened(const std::vector<SharedIdentity>& identities,
                                   bool can_ask = true, WaitReady wait = {}) {
    Credentials credentials{identities, nullptr, default_max_work_factor, std::move(wait)};
    if (can_ask) {
      credentials.ask_passphrase = [this] {
        ++asked_;
        return SecretBytes(bytes_of(passphrase));
      };
    }
    return open_header(header_, credentials);
  }

  SealedHeader sealed_ = seal_header(bytes_of(passphrase), 1, {});
  ParsedHeader header_ = parse_checked(bytes_of(sealed_.text));
  int asked_ = 0;
};

TEST_F(PassphraseStanza, APluginThatKnowsThePassphraseIsAskedBeforeTheUser) {
  const Told one = knowing();
  const Told other = knowing();
  EXPECT_TRUE(equal_constant_time(opened({one, other}), sealed_.file_key));
  EXPECT_EQ(asked_, 0);
  EXPECT_EQ(one->asked, 1);
  EXPECT_EQ(other->asked, 0);
}

TEST_F(PassphraseStanza, OtherIdentitiesAreNotAsked) {
  const auto never = std::make_shared<const ToldIdentity>(
      []() -> std::optional<SecretBytes> { return std::nullopt; }, false);
  const auto ignorant = std::make_shared<const ToldIdentity>(
      []() -> std::optional<SecretBytes> { return std::nullopt; });
  EXPECT_TRUE(equal_constant_time(opened({never, ignorant}), sealed_.file_key));
  EXPECT_EQ(asked_, 1);
  EXPECT_EQ(never->asked, 0);
  EXPECT_EQ(ignorant->asked, 1);
}

TEST_F(PassphraseStanza, APluginThatFailsMattersOnlyIfNobodyElseOpens) {
  const Told one = failing(ErrorCode::failure, "one");
  const Told other = failing(ErrorCode::failure, "other");
  EXPECT_TRUE(equal_constant_time(opened({one, other}), sealed_.file_key));
  EXPECT_EQ(asked_, 1);
  EXPECT_EQ(refusal(ErrorCode::failure, [&] { (void)opened({one, other}, false); }), "one");
  EXPECT_TRUE(equal_constant_time(opened({one, knowing()}, false), sealed_.file_key));
  EXPECT_EQ(refusal(ErrorCode::corrupt,
                    [&] {
                      (void)opened({failing(ErrorCode::corrupt, "damaged"), knowing()});
                    }),
            "damaged");
  EXPECT_EQ(asked_, 1);
}

TEST_F(PassphraseStanza, WhoeverGivesUpDuringAPluginIsNotAsked) {
  const WaitReady gives_up = [](int, short) { throw std::runtime_error("stop"); };
  const Told one = failing(ErrorCode::failure, "one");
  EXPECT_THROW((void)opened({one}, true, gives_up), std::runtime_error);
  EXPECT_EQ(one->asked, 1);
  EXPECT_EQ(asked_, 0);
}

// A file key from a plugin must be that of the header, too.
TEST_F(PassphraseStanza, AWrongFileKeyDoesNotFitTheMac) {
  const auto wrong = std::make_shared<const ToldIdentity>(
      [] { return std::optional<SecretBytes>(SecretBytes(file_key_bytes)); });
  EXPECT_EQ(refusal(ErrorCode::corrupt, [&] { (void)opened({wrong}); }),
            "envelope: its header was changed (the MAC is wrong)");
}

TEST(Headers, ARaisedLimitOfTheWorkFactorIsSuggestedIfSomebodyCanMeanIt) {
  std::string text = seal_header(bytes_of(passphrase), 1, {}).text;
  const auto hint_at = [&](const std::string& work_factor) -> std::string {
    std::string other = text;
    other.replace(other.find(" 1\n"), 3, " " + work_factor + "\n");
    try {
      (void)open_header(parse_checked(bytes_of(other)), {});
    } catch (const Error& error) {
      EXPECT_EQ(error.code, ErrorCode::failure);
      return error.hint;
    }
    return "opened";
  };
  EXPECT_EQ(hint_at("21"), "if you trust the file: --max-work-factor 21");
  EXPECT_EQ(hint_at("30"), "if you trust the file: --max-work-factor 30");
  EXPECT_EQ(hint_at("31"), "");
}

TEST(Headers, RecipientsWithUnlikeLabelsMayNotStandTogether) {
  const std::vector<NewStanza> stanza = {{"some", {}}};
  const SharedRecipient none = told(stanza);
  const SharedRecipient one = told(stanza, {"one"});
  const SharedRecipient safe = told(stanza, {std::string(post_quantum_label)});
  const auto why = [](const SharedRecipient& a, const SharedRecipient& b) {
    const SharedRecipient both[] = {a, b};
    return refusal(ErrorCode::usage, [&] { (void)seal_header(both); });
  };
  const std::string plugins =
      "recipients: may not stand in one file: a plugin's key goes with its like alone";
  const std::string post_quantum =
      "recipients: may not stand in one file: a post-quantum key goes with its like alone, or its "
      "protection would be lost";
  EXPECT_EQ(why(none, one), plugins);
  EXPECT_EQ(why(one, none), plugins);
  EXPECT_EQ(why(none, safe), post_quantum);
  EXPECT_EQ(why(safe, none), post_quantum);
  EXPECT_EQ(why(safe, one), post_quantum);
  for (const SharedRecipient& like : {none, one, safe}) {
    const SharedRecipient both[] = {like, like};
    EXPECT_EQ(parse_checked(bytes_of(seal_header(both).text)).stanzas.size(), 2u);
  }
}

// A header does not say labels, so the types of its stanzas must.
TEST(Headers, WhoIsAddedMustFitThoseWhoStay) {
  const SharedRecipient weak = told({{"some", {}}});
  const SharedRecipient safe = told({{"some", {}}}, {std::string(post_quantum_label)});
  const Buffer file_key(file_key_bytes);
  for (const std::string_view type : {hybrid_type, hybrid_tagged_type, x25519_type}) {
    const bool is_post_quantum = type != x25519_type;
    const std::string text = header_for(
        {.recipients = std::vector{told(
             {{"other", {}}, {std::string(type) + " " + std::string(43, 'A'), Buffer(32)}},
             {"any"})}},
        file_key);
    const ParsedHeader header = parse_checked(bytes_of(text));
    const auto with = [&](const SharedRecipient& added, std::vector<std::size_t> removed = {}) {
      return parse_checked(bytes_of(change_header(
                               header, file_key,
                               {.removed = std::move(removed), .added = std::span(&added, 1)})))
          .stanzas.size();
    };
    EXPECT_EQ(with(is_post_quantum ? safe : weak), 3u) << type;
    EXPECT_NE(refusal(ErrorCode::usage, [&] { (void)with(is_post_quantum ? weak : safe); })
                  .find("post-quantum"),
              std::string::npos)
        << type;
    EXPECT_EQ(with(weak, {0, 1}), 1u);  // nobody stays
    EXPECT_EQ(with(weak, {1}), 2u);     // what stays means nothing
  }
}

TEST(Headers, ThoseWhoStayKeepTheirStanzas) {
  const SharedRecipient all[] = {told({{"a", {1}}}), told({{"b", {2}}}), told({{"c", {3}}}),
                                 told({{"d", {4}}})};
  const SealedHeader sealed = seal_header(all);
  const ParsedHeader header = parse_checked(bytes_of(sealed.text));
  const auto left = [&](std::vector<std::size_t> removed) {
    const std::string text =
        change_header(header, sealed.file_key, {.removed = std::move(removed)});
    std::string types;
    for (const Stanza& stanza : parse_checked(bytes_of(text)).stanzas) {
      types += stanza.type();
    }
    return types;
  };
  EXPECT_EQ(left({}), "abcd");
  EXPECT_EQ(left({0}), "bcd");
  EXPECT_EQ(left({3}), "abc");
  EXPECT_EQ(left({1, 2}), "ad");
  EXPECT_EQ(left({0, 1, 3}), "c");
  EXPECT_EQ(change_header(header, sealed.file_key, {}), sealed.text);
  EXPECT_EQ(refusal(ErrorCode::usage,
                    [&] {
                      (void)left({1, 4});
                    }),
            "envelope: has 4 recipients, so there is no number 5");
}

// One recipient whose stanza has so long a body that the header has `bytes` bytes.
std::string header_of(std::size_t bytes) {
  // 3 bytes of body are 4 characters; the arguments' length makes up for the rest.
  const std::string empty = seal_header(std::vector{told({{"a", {}}})}).text;
  const std::size_t body = (bytes - empty.size()) * 3 / 4 / 66 * 64 / 48 * 48;
  const std::size_t lines = body / 48 * 65;
  const std::string type(1 + bytes - empty.size() - lines, 'a');
  return seal_header(std::vector{told({{type, Buffer(body)}})}).text;
}

TEST(Headers, HaveAtMostOneMebibyte) {
  const std::string longest = header_of(max_header_bytes);
  ASSERT_EQ(longest.size(), std::size_t{1} << 20);
  EXPECT_EQ(parse_header(bytes_of(longest)).bytes, longest.size());
  EXPECT_EQ(parse_header(bytes_of(longest + "payload")).bytes, longest.size());
  EXPECT_EQ(refusal(ErrorCode::usage, [] { (void)header_of(max_header_bytes + 1); }),
            "recipients: their stanzas make a header that is longer than 1 MiB, and no reader "
            "takes one");
  std::string longer = longest;
  longer.insert(longer.find("\n-> ") + 4, "a");
  EXPECT_EQ(refusal(ErrorCode::corrupt, [&] { (void)parse_header(bytes_of(longer)); }),
            "envelope: the header is longer than 1 MiB");
  EXPECT_EQ(refusal(ErrorCode::corrupt,
                    [&] { (void)parse_header(bytes_of(longest).first(longest.size() - 1)); }),
            "envelope: truncated header");
}

// What a plugin writes is checked as what paes itself would read.
TEST(NewStanzas, OfEveryKnownTypeAreChecked) {
  const Buffer file_key(file_key_bytes);
  const auto wrapped_for = [&](const SharedRecipient& recipient) {
    return recipient->wrap(file_key).stanzas.front();
  };
  const std::string tag_and_share =
      " " + base64::encode(Buffer(recipient_tag_bytes)) + " " +
      base64::encode(Buffer(libcrypto::ml_kem_768_ciphertext_bytes + 65));
  const NewStanza stanzas[] = {
      wrapped_for(generate_x25519()->recipients().front()),
      wrap_under(bytes_of(passphrase), 1, file_key, {}),
      {std::string(hybrid_type) + " " + base64::encode(Buffer(sizeof(HybridEncapsulation))),
       Buffer(wrapped_file_key_bytes)},
      {std::string(hybrid_tagged_type) + tag_and_share, Buffer(wrapped_file_key_bytes)},
      wrapped_for(test::load_ssh("ed25519").front()->recipients().front()),
      wrapped_for(test::load_ssh("rsa").front()->recipients().front())};
  for (const NewStanza& good : stanzas) {
    SCOPED_TRACE(good.arguments);
    EXPECT_NO_THROW(check_new_stanza(good));
    const std::string type = good.arguments.substr(0, good.arguments.find(' '));
    const std::string malformed = "envelope: malformed " + type + " stanza";
    NewStanza more = good;
    more.arguments += " more";
    NewStanza cut = good;
    cut.arguments.resize(good.arguments.rfind(' '));
    NewStanza shorter = good;
    shorter.body.resize(31);
    NewStanza longer = good;
    longer.body.resize(2049);
    for (const NewStanza& bad : {more, cut, shorter, longer}) {
      EXPECT_EQ(refusal(ErrorCode::corrupt, [&] { check_new_stanza(bad); }), malformed);
    }
    for (const char broken : {'!', '='}) {
      NewStanza other = good;
      other.arguments[good.arguments.size() - 1] = broken;
      if (type != "ssh-rsa" && type != "scrypt") {
        EXPECT_EQ(refusal(ErrorCode::corrupt, [&] { check_new_stanza(other); }), malformed);
      }
    }
  }
  EXPECT_NO_THROW(check_new_stanza({"some other", {}}));
}

TEST(NewStanzas, MayNotBeCut) {
  std::string_view cut = "-> a\n";
  EXPECT_EQ(refusal(ErrorCode::corrupt, [&] { (void)take_stanza(cut); }),
            "envelope: truncated header");
}

TEST(NewStanzas, OfRsaHaveTheLengthOfAKey) {
  const auto is_taken = [](std::size_t bytes) {
    try {
      check_new_stanza({"ssh-rsa AAAAAA", Buffer(bytes)});
      return true;
    } catch (const Error& error) {
      EXPECT_EQ(error.code, ErrorCode::corrupt);
      return false;
    }
  };
  EXPECT_FALSE(is_taken(255));
  EXPECT_TRUE(is_taken(256));
  EXPECT_TRUE(is_taken(2048));
  EXPECT_FALSE(is_taken(2049));
}

// What is drawn for a header is drawn for it alone: its file key, and the share or salt of each
// stanza. Two headers that shared one would show who reads both.
TEST(NewStanzas, HaveNothingInCommonWithThoseOfAnotherHeader) {
  std::vector<SharedRecipient> readers = generate_x25519()->recipients();
  for (const char* const name : {"ed25519", "rsa"}) {
    readers.push_back(test::load_ssh(name).at(0)->recipients().front());
  }
  const auto is_alike = [](const SealedHeader& one, const SealedHeader& other, bool has_share) {
    const Stanza in_one = parse_checked(bytes_of(one.text)).stanzas.at(0);
    const Stanza in_other = parse_checked(bytes_of(other.text)).stanzas.at(0);
    return equal_constant_time(one.file_key, other.file_key) || in_one.body == in_other.body ||
           (has_share && in_one.arguments == in_other.arguments);
  };
  for (const SharedRecipient& reader : readers) {
    const bool has_share = reader->text().find("ssh-rsa") == std::string::npos;
    EXPECT_FALSE(is_alike(seal_header({&reader, 1}), seal_header({&reader, 1}), has_share))
        << reader->text();
  }
  EXPECT_FALSE(is_alike(seal_header(bytes_of(passphrase), 1, {}),
                        seal_header(bytes_of(passphrase), 1, {}), true));
}

}  // namespace
}  // namespace paes::age
