// SPDX-License-Identifier: Apache-2.0
// A journal says "complete" for nothing but what was recorded in it, under its key, for its file;
// and a header that differs in anything is not taken for the same.
#include "stream/resume/journal.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <numeric>
#include <string>

#include "age/age_payload.hpp"
#include "crypto/libcrypto.hpp"
#include "hex.hpp"
#include "stream/file_sample.hpp"

namespace paes::stream {
namespace {

const Contents sample_head = random_buffer(4152, 11);
const Contents sample_settings = random_buffer(64, 12);
const Contents sample_input_key = random_buffer(32, 13);

JournalFacts sample_facts() {
  return {JournalKind::encrypt, 123'456'789, {1, 2, 3, 4, 5, 6, 7}, sample_head, sample_settings};
}

class JournalFile : public testing::Test {
 protected:
  JournalFile()
      : journal_(open((folder_ / "j").c_str(), O_RDWR | O_CREAT, 0600)),
        data_(open((folder_ / "d").c_str(), O_RDWR | O_CREAT, 0600)) {}

  [[nodiscard]] Journal made(const JournalKey& key, const JournalHeader& header) const {
    return {key, header, journal_.number(), data_.number(), "d"};
  }
  void flip(off_t at) const {
    std::uint8_t byte = 0;
    ASSERT_EQ(pread(journal_.number(), &byte, 1, at), 1);
    byte ^= 1;
    ASSERT_EQ(pwrite(journal_.number(), &byte, 1, at), 1);
  }

  Folder folder_;
  Descriptor journal_;
  Descriptor data_;
  JournalKey key_{sample_input_key, sample_salt};
  JournalHeader header_ = key_.header(sample_facts());
};

constexpr off_t record_at(std::uint64_t stripe) {
  return static_cast<off_t>(sizeof(JournalHeader) + stripe * sizeof(JournalRecord));
}

// A run of another version of paes continues it, so no byte of it may move. The tags were computed
// by Python's hmac.
TEST(JournalFormat, IsFixed) {
  Contents input_key(32);
  std::iota(input_key.begin(), input_key.end(), std::uint8_t{0});
  Contents salt(24);
  std::iota(salt.begin(), salt.end(), std::uint8_t{64});
  const JournalKey key(input_key, salt);
  const JournalHeader header = key.header({JournalKind::encrypt,
                                           123'456'789,
                                           {1, 2, 3, 4, 5, 6, 7},
                                           libcrypto::bytes_of("head"),
                                           libcrypto::bytes_of("settings")});
  std::string expected = "89504145534a0d0a010100000000010000000000075bcd15";
  for (const char* const field : {"1", "2", "3", "4", "5", "6", "7"}) {
    expected += std::string("000000000000000") + field;
  }
  expected += "530743e29fe9c9649a97bbaaeaf607e43433b39e57be34445376f53f3aafead0";
  expected += "22141f717318d673f464d7360ed885cc4d04243cb2ed3602e9df0726c60010ba";
  expected += std::string(2 * 80, '0');
  expected += "659787055493d4e60adbecb9fa7707aa29a2851ea6a36f161ea420b1881a8207";
  EXPECT_EQ(test::to_hex(header), expected);
  EXPECT_EQ(test::to_hex(key.record(header, 9)), "b27bb5bbf4045a3c0a4fb9e792a8ba51");
}

TEST_F(JournalFile, HoldsWhatWasCompletedAndNothingElse) {
  {
    Journal journal = made(key_, header_);
    journal.complete(7);
    journal.complete(0);
    journal.complete(1'000'000);
    journal.flush();
    EXPECT_EQ(journal.recorded(), 3U);
  }
  const Journal again = made(key_, header_);
  for (const std::uint64_t stripe : {0U, 7U, 1'000'000U}) {
    EXPECT_TRUE(again.is_complete(stripe)) << stripe;
  }
  for (const std::uint64_t stripe : {1U, 6U, 8U, 999'999U, 1'000'001U}) {
    EXPECT_FALSE(again.is_complete(stripe)) << stripe;
  }
}

TEST_F(JournalFile, SaysWithoutAKeyHowMuchIsComplete) {
  constexpr std::uint64_t text_bytes = 123'456'789;  // 29 stripes and a part
  constexpr std::uint64_t stripe_bytes = std::uint64_t{4} << 20;
  const auto said = [&]() -> std::uint64_t {
    const Contents whole = read_file(folder_ / "j");
    auto claims = parse_claims(whole);
    EXPECT_TRUE(claims);
    EXPECT_EQ(claims->work, JournalKind::encrypt);
    EXPECT_EQ(claims->text_bytes, text_bytes);
    EXPECT_EQ(claims->stripes(), 30U);
    claims->add_records(0, Bytes(whole).subspan(sizeof(JournalHeader)));
    return claims->complete_text_bytes;
  };
  ASSERT_EQ(pwrite(journal_.number(), header_.data(), header_.size(), 0), 256);
  EXPECT_EQ(said(), 0U);
  Journal journal = made(key_, header_);
  journal.complete(3);
  journal.flush();
  EXPECT_EQ(said(), stripe_bytes);
  journal.complete(29);
  journal.complete(30);  // is none of this text's
  journal.flush();
  EXPECT_EQ(said(), stripe_bytes + text_bytes % stripe_bytes);
  for (std::uint64_t stripe = 0; stripe < 30; ++stripe) {
    journal.complete(stripe);
  }
  journal.flush();
  EXPECT_EQ(said(), text_bytes);
}

TEST_F(JournalFile, OtherHeadersClaimNothing) {
  EXPECT_FALSE(parse_claims(Bytes(header_).first(255)));
  EXPECT_FALSE(parse_claims({}));
  const auto claims_with = [this](std::size_t at, std::uint8_t byte) {
    JournalHeader other = header_;
    other.at(at) = byte;
    return parse_claims(other).has_value();
  };
  EXPECT_TRUE(claims_with(journal_layout::work_at, 2));
  for (const auto& [at, byte] :
       std::vector<std::pair<std::size_t, std::uint8_t>>{{0, 'P'},
                                                         {journal_layout::version_at, 2},
                                                         {journal_layout::work_at, 0},
                                                         {journal_layout::work_at, 3},
                                                         {journal_layout::stripe_at + 3, 1},
                                                         {journal_layout::text_bytes_at, 1}}) {
    EXPECT_FALSE(claims_with(at, byte)) << at;
  }
}

TEST_F(JournalFile, RecordsNothingOnceItIsStopped) {
  Journal journal = made(key_, header_);
  journal.complete(3);
  journal.flush();
  journal.complete(4);
  journal.stop();
  journal.keep();
  journal.flush();
  EXPECT_TRUE(journal.is_complete(3));
  EXPECT_FALSE(journal.is_complete(4));
  EXPECT_EQ(journal.recorded(), 1U);
}

TEST_F(JournalFile, RecordsNothingBeforeASync) {
  Journal journal = made(key_, header_);
  journal.complete(3);
  EXPECT_FALSE(journal.is_complete(3));
  journal.flush();
  EXPECT_TRUE(journal.is_complete(3));
  journal.complete(4);
  journal.keep();
  EXPECT_TRUE(journal.is_complete(4));
}

// A sync may take all the time until the next one is due, but not each of twenty.
TEST_F(JournalFile, RecordsNothingSoonAfterASync) {
  Journal journal = made(key_, header_);
  unsigned recorded_at_once = 0;
  for (std::uint64_t stripe = 0; stripe < 40; stripe += 2) {
    journal.complete(stripe);
    journal.flush();
    journal.complete(stripe + 1);
    recorded_at_once += journal.is_complete(stripe + 1) ? 1U : 0U;
  }
  EXPECT_LT(recorded_at_once, 20U);
}

// Whatever errno was before, only an interrupted read is repeated.
TEST_F(JournalFile, AMissingRecordIsReadOnce) {
  const Journal journal = made(key_, header_);
  errno = EINTR;
  EXPECT_FALSE(journal.is_complete(5));
  const Journal unreadable(key_, header_, -1, data_.number(), "d");
  EXPECT_FALSE(unreadable.is_complete(5));
}

TEST_F(JournalFile, RecordsWithoutAFlushWhenTimeHasPassed) {
  Journal journal = made(key_, header_);
  for (std::uint64_t stripe = 0; journal.recorded() == 0; ++stripe) {
    ASSERT_LT(stripe, 1000U) << "nothing was recorded for ten seconds";
    journal.complete(stripe);
    usleep(10'000);
  }
  EXPECT_TRUE(journal.is_complete(0));
}

TEST_F(JournalFile, IsWrittenByManyThreads) {
  Journal journal = made(key_, header_);
  std::vector<std::thread> threads;
  for (std::uint64_t thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&journal, thread] {
      for (std::uint64_t i = 0; i < 200; ++i) {
        journal.complete(i * 4 + thread);
        if (i % 50 == 0) {
          journal.flush();
        }
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  journal.flush();
  EXPECT_EQ(journal.recorded(), 800U);
  for (std::uint64_t stripe = 0; stripe < 800; ++stripe) {
    EXPECT_TRUE(journal.is_complete(stripe));
  }
  EXPECT_FALSE(journal.is_complete(800));
}

TEST_F(JournalFile, ATornOrForgedRecordIsNone) {
  Journal journal = made(key_, header_);
  journal.complete(2);
  journal.flush();
  for (off_t at = record_at(2); at < record_at(3); ++at) {
    flip(at);
    EXPECT_FALSE(journal.is_complete(2)) << at;
    flip(at);
    EXPECT_TRUE(journal.is_complete(2));
  }
  for (off_t bytes = 0; bytes < record_at(3); ++bytes) {
    Contents whole = read_file(folder_ / "j");
    ASSERT_EQ(ftruncate(journal_.number(), bytes), 0);
    EXPECT_FALSE(journal.is_complete(2)) << bytes;
    write_file(folder_ / "j", whole);
    EXPECT_TRUE(journal.is_complete(2));
  }
}

TEST_F(JournalFile, ARecordIsOfOneStripeOneHeaderAndOneKey) {
  {
    Journal journal = made(key_, header_);
    journal.complete(2);
    journal.flush();
  }
  // To another stripe's place.
  JournalRecord record;
  ASSERT_EQ(pread(journal_.number(), record.data(), record.size(), record_at(2)), 16);
  ASSERT_EQ(pwrite(journal_.number(), record.data(), record.size(), record_at(5)), 16);
  EXPECT_FALSE(made(key_, header_).is_complete(5));
  // For another file under the same key.
  JournalFacts facts = sample_facts();
  facts.source.changed_ns += 1;
  EXPECT_FALSE(made(key_, key_.header(facts)).is_complete(2));
  // Under another key, or the same with another salt.
  const JournalKey foreign(random_buffer(32, 99), sample_salt);
  EXPECT_FALSE(made(foreign, header_).is_complete(2));
  const JournalKey salted(sample_input_key, random_buffer(24, 99));
  EXPECT_FALSE(made(salted, header_).is_complete(2));
  EXPECT_TRUE(made(key_, header_).is_complete(2));
}

TEST_F(JournalFile, TheSameFactsFit) {
  EXPECT_EQ(key_.difference(header_, sample_facts(), "s"), "");
  EXPECT_TRUE(claims_to_be_journal(header_));
  EXPECT_FALSE(claims_to_be_journal(Bytes(header_).first(7)));
}

TEST_F(JournalFile, EveryByteOfAHeaderCounts) {
  for (std::size_t at = 0; at < header_.size(); ++at) {
    for (const int bit : {0, 7}) {
      JournalHeader changed = header_;
      changed[at] = static_cast<std::uint8_t>(changed[at] ^ (1 << bit));
      EXPECT_EQ(key_.difference(changed, sample_facts(), "s"),
                "its journal is damaged or belongs to another file")
          << at;
      EXPECT_EQ(claims_to_be_journal(changed), at >= 8) << at;
    }
  }
}

TEST_F(JournalFile, AHeaderUnderAnotherKeyDoesNotFit) {
  const JournalKey foreign(random_buffer(32, 99), sample_salt);
  EXPECT_NE(key_.difference(foreign.header(sample_facts()), sample_facts(), "s"), "");
  const JournalKey salted(sample_input_key, random_buffer(24, 99));
  EXPECT_NE(key_.difference(salted.header(sample_facts()), sample_facts(), "s"), "");
}

TEST_F(JournalFile, EveryFactCounts) {
  const auto difference = [&](auto&& change) {
    JournalFacts facts = sample_facts();
    change(facts);
    return key_.difference(header_, facts, "s");
  };
  EXPECT_EQ(difference([](JournalFacts& f) { f.work = JournalKind::decrypt; }),
            "it is of other work or another version");
  EXPECT_EQ(difference([](JournalFacts& f) { ++f.text_bytes; }), "s has changed since");
  EXPECT_EQ(difference([](JournalFacts& f) { ++f.source.device; }), "s has changed since");
  EXPECT_EQ(difference([](JournalFacts& f) { ++f.source.inode; }), "s has changed since");
  EXPECT_EQ(difference([](JournalFacts& f) { ++f.source.bytes; }), "s has changed since");
  EXPECT_EQ(difference([](JournalFacts& f) { ++f.source.modified_s; }), "s has changed since");
  EXPECT_EQ(difference([](JournalFacts& f) { ++f.source.modified_ns; }), "s has changed since");
  EXPECT_EQ(difference([](JournalFacts& f) { ++f.source.changed_s; }), "s has changed since");
  EXPECT_EQ(difference([](JournalFacts& f) { ++f.source.changed_ns; }), "s has changed since");
  const Contents other = random_buffer(64, 98);
  EXPECT_EQ(difference([&](JournalFacts& f) { f.settings = other; }), "it is for other recipients");
  EXPECT_EQ(difference([&](JournalFacts& f) { f.head = other; }),
            "its beginning is not the one that the journal was made for");
}

// Chunks of 64 KiB, which an age file has, are marked in the header.
TEST_F(JournalFile, OfAnAgeFileCountsItsChunks) {
  JournalFacts facts = sample_facts();
  facts.chunking = age::chunking;
  JournalHeader header = key_.header(facts);
  EXPECT_EQ(test::to_hex(Bytes(header).subspan(journal_layout::chunk_size_at, 2)), "0040");
  EXPECT_EQ(key_.difference(header, facts, "s"), "");
  EXPECT_EQ(key_.difference(header, sample_facts(), "s"), "it is of other work or another version");
  auto claims = parse_claims(header);
  ASSERT_TRUE(claims);
  constexpr std::uint64_t stripe_bytes = std::uint64_t{16} << 20;
  EXPECT_EQ(claims->stripes(), 8U);  // 123,456,789 bytes
  // Records of the third stripe, of none, of the last one, and beyond.
  Contents records(5 * sizeof(JournalRecord));
  records[0] = records[2 * 16 + 15] = records[3 * 16] = records[4 * 16] = 1;
  claims->add_records(5, records);
  EXPECT_EQ(claims->complete_text_bytes, stripe_bytes + 123'456'789 % stripe_bytes);
  for (const auto& [high, low] : {std::pair{0, 63}, {0, 65}, {1, 64}, {0, 16}, {64, 0}}) {
    header[journal_layout::chunk_size_at] = static_cast<std::uint8_t>(high);
    header[journal_layout::chunk_size_at + 1] = static_cast<std::uint8_t>(low);
    EXPECT_FALSE(parse_claims(header)) << high << " " << low;
  }
}

TEST_F(JournalFile, ClaimsNoMoreTextThanAFormatHas) {
  const auto is_taken = [this](std::uint64_t text_bytes, const Chunking& chunking) {
    JournalFacts facts = sample_facts();
    facts.text_bytes = text_bytes;
    facts.chunking = chunking;
    return parse_claims(key_.header(facts)).has_value();
  };
  EXPECT_TRUE(is_taken(std::uint64_t{1} << 52, cobblestone::chunking));
  EXPECT_FALSE(is_taken((std::uint64_t{1} << 52) + 1, cobblestone::chunking));
  const std::uint64_t most = age::chunking.max_chunks * age::chunking.text_bytes;
  EXPECT_TRUE(is_taken(most, age::chunking));
  EXPECT_FALSE(is_taken(most + 1, age::chunking));
}

// What a failed sync lost is not known, so nothing may be recorded after it: not even by a sync
// that succeeds.
TEST_F(JournalFile, RecordsNothingAfterASyncThatFailed) {
  std::array<int, 2> ends = {};
  ASSERT_EQ(pipe(ends.data()), 0);
  const Descriptor data(ends[0]);  // a pipe cannot be synced
  const Descriptor other_end(ends[1]);
  Journal journal(key_, header_, journal_.number(), data.number(), "d");
  journal.complete(3);
  EXPECT_TRUE(std::string(error_of([&] { journal.flush(); }).what()).starts_with("d: "));
  ASSERT_EQ(dup2(data_.number(), data.number()), data.number());
  journal.complete(4);
  EXPECT_NO_THROW(journal.flush());
  EXPECT_FALSE(journal.is_complete(3));
  EXPECT_FALSE(journal.is_complete(4));
  EXPECT_EQ(journal.recorded(), 0U);
}

TEST_F(JournalFile, SaysWhatItCouldNotDo) {
  const auto why = [&](int journal_number) {
    Journal journal(key_, header_, journal_number, data_.number(), "d");
    journal.complete(3);
    const std::string what = error_of([&] { journal.flush(); }).what();
    EXPECT_EQ(journal.recorded(), 0U);
    journal.complete(4);
    EXPECT_NO_THROW(journal.flush());  // it has given up
    return what;
  };
  const Descriptor only_read(open((folder_ / "j").c_str(), O_RDONLY));
  EXPECT_TRUE(why(only_read.number()).starts_with("d: its journal could not be written"));
  // It takes what is written, and cannot be synced.
  const Descriptor null(open("/dev/null", O_RDWR));
  EXPECT_TRUE(why(null.number()).starts_with("d: its journal could not be synced"));
  Journal journal(key_, header_, only_read.number(), data_.number(), "d");
  journal.complete(3);
  EXPECT_NO_THROW(journal.keep());
}

}  // namespace
}  // namespace paes::stream
