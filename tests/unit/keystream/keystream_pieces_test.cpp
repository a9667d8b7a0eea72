// SPDX-License-Identifier: Apache-2.0
// Chunks that are computed piece by piece: what is begun is used, completed or wiped, by whomever.
#include <random>

#include "found_residue.hpp"
#include "keystream/engine.hpp"
#include "keystream_subject.hpp"
#include "paes/gcm.hpp"

namespace paes::test {
namespace {

using keystream::Candidate;
using keystream::Fill;
using keystream::Share;

constexpr std::size_t chunk = 4096;

// A context whose entries have their memory, and no keystream, so that pieces can be asked for
// without a clock. Its next chunk is `at`.
struct Driven {
  explicit Driven(std::string_view of_cipher, unsigned workers = 0)
      : cipher(of_cipher),
        engine(keystream::KeystreamService::make({.workers = workers})),
        key_bytes(key_for(cipher)),
        counter(cipher == "des-ede3-ctr" ? 8 : 16, 0x11),
        key(engine->bind(cipher, key_bytes, "bitslice")) {
    open();
    if (workers == 0) {
      for (; at < 32; ++at) {  // twice around the window
        engine->idle(later());
        encrypt(at * chunk, chunk);
      }
      while (candidate().fill_again({}) != 0) {
      }
      for (; at < 46; ++at) {
        encrypt(at * chunk, chunk);
      }
    }
  }
  ~Driven() { engine->close(context); }
  Driven(const Driven&) = delete;
  Driven& operator=(const Driven&) = delete;

  void open() {
    CounterBlock first = {};
    std::memcpy(first.bytes, counter.data(), counter.size());
    context = engine->open(key, first, ContextOptions{});
  }
  void encrypt(std::uint64_t offset, std::size_t bytes) const {
    const Buffer text = varied_bytes(bytes, offset);
    Buffer out(bytes);
    context->crypt(Direction::encrypt, offset, text, out);
    ASSERT_EQ(out, xor_of(text, stream_of(cipher, key_bytes, counter, offset, bytes)))
        << cipher << " at " << offset;
  }
  [[nodiscard]] Candidate& candidate() const { return *context; }
  // Bytes from the place where all kernels can go on.
  [[nodiscard]] Share share(std::size_t passes, std::int64_t first_step = 0) const {
    return {.bytes = passes * candidate().pass_bytes(), .first_step = first_step};
  }
  [[nodiscard]] std::uint64_t filled() const { return engine->statistics().filled_chunks; }
  // What lies in memory of a chunk's keystream, inverted.
  [[nodiscard]] Buffer hidden(std::uint64_t of_chunk, std::size_t within) const {
    Buffer bytes = stream_of(cipher, key_bytes, counter, of_chunk * chunk + within, 32);
    Buffer answer = inverted(bytes);
    wipe(bytes.data(), bytes.size());
    return answer;
  }

  std::string cipher;
  std::shared_ptr<keystream::KeystreamService> engine;
  Buffer key_bytes;
  Buffer counter;
  std::shared_ptr<keystream::BoundKey> key;
  std::shared_ptr<keystream::CtrContext> context;
  std::uint64_t at = 0;
};

TEST(Pieces, MakeAWholeChunk) {
  for (const char* const cipher : {"aes-128-ctr", "aes-256-ctr", "des-ede3-ctr"}) {
    for (const std::size_t passes : {1U, 3U}) {
      Driven driven(cipher);
      const std::uint64_t before = driven.filled();
      const std::uint64_t hits = there(driven.context->use());
      const std::size_t piece = driven.share(passes).bytes;
      ASSERT_LE(2 * piece, chunk) << "this test sees nothing";
      for (std::size_t done = 0; done < chunk; done += piece) {
        EXPECT_EQ(driven.filled(), before) << cipher << " at " << done;
        EXPECT_NE(driven.candidate().fill_again(driven.share(passes)), 0U);
      }
      EXPECT_EQ(driven.filled(), before + 1);
      driven.encrypt(driven.at * chunk, chunk);
      EXPECT_EQ(there(driven.context->use()), hits + 1);
    }
  }
}

// What is there is used and the rest computed, and neither counts as what it is not.
TEST(Pieces, AreUsedBeforeTheChunkIsWhole) {
  for (const char* const cipher : {"aes-256-ctr", "des-ede3-ctr"}) {
    Driven driven(cipher);
    const keystream::Costs& costs = driven.key->costs();
    const std::uint64_t filled = driven.filled();
    for (int i = 0; i < 40; ++i, ++driven.at) {
      ASSERT_NE(driven.candidate().fill_again(driven.share(2)), 0U);
      const KeystreamUse before = driven.context->use();
      const double own_ns = costs.ns(keystream::Way::own);
      driven.encrypt(driven.at * chunk, chunk);
      const KeystreamUse after = driven.context->use();
      EXPECT_EQ(there(after), there(before));
      EXPECT_EQ(after.direct, before.direct + 1);
      EXPECT_EQ(after.late, before.late + 1);
      EXPECT_EQ(costs.ns(keystream::Way::own), own_ns);
      EXPECT_EQ(driven.filled(), filled);
    }
  }
}

TEST(Pieces, GoOnBehindWhatIsUsed) {
  for (const char* const cipher : {"aes-256-ctr", "des-ede3-ctr"}) {
    Driven driven(cipher);
    driven.encrypt(driven.at * chunk, chunk);  // so that the next uses are no comparisons
    const std::uint64_t start = ++driven.at * chunk;
    ASSERT_NE(driven.candidate().fill_again({.bytes = 1024}), 0U);
    const KeystreamUse before = driven.context->use();
    driven.encrypt(start, 700);
    EXPECT_EQ(driven.context->use().own, before.own + 1) << "all that was wanted was there";
    driven.context->prefetch(start);
    ASSERT_NE(driven.candidate().fill_again({.bytes = 1024}), 0U);
    driven.encrypt(start + 700, 1000);
    EXPECT_EQ(driven.context->use().own, before.own + 2);
    driven.encrypt(start + 1700, 1000);  // more than is there
    EXPECT_EQ(driven.context->use().late, before.late + 1);
    driven.encrypt(start + 2700, chunk - 2700);
    EXPECT_EQ(driven.context->use().direct, before.direct + 2);
    EXPECT_EQ(code_of([&] { driven.encrypt(start + 1023, 1); }), ErrorCode::usage);
  }
}

// A share of three quarters of a chunk before each request: three of four find theirs whole.
TEST(Pieces, BegunAheadMostAreWholeInTime) {
  for (const char* const cipher : {"aes-128-ctr", "des-ede3-ctr"}) {
    Driven driven(cipher);
    const std::size_t passes = chunk / driven.candidate().pass_bytes();
    const std::uint64_t before = there(driven.context->use());
    for (int i = 0; i < 80; ++i, ++driven.at) {
      for (std::size_t pass = 0; pass < passes * 3 / 4; ++pass) {
        ASSERT_NE(driven.candidate().fill_again(driven.share(1, 1)), 0U);
      }
      driven.encrypt(driven.at * chunk, chunk);
    }
    EXPECT_GE(there(driven.context->use()) - before, 58U) << cipher;
  }
}

TEST(Pieces, WhatWasLeftOutIsMadeInTheEnd) {
  for (const std::int64_t first_step : {1, 5, 1000}) {
    for (const bool has_time_at_last : {false, true}) {
      Driven driven("aes-128-ctr");
      const std::uint64_t before = driven.filled();
      unsigned calls = 0;
      while (driven.candidate().fill_again(driven.share(5, first_step)) != 0) {
        ASSERT_LT(++calls, 1000U);
        if (has_time_at_last && calls == 6) {
          while (driven.candidate().fill_again({}) != 0) {
          }
        }
      }
      EXPECT_EQ(driven.filled(), before + 14) << first_step;
    }
  }
}

// Through the clock: each call has time for less than half of a chunk.
TEST(Pieces, OfShortCallsOfIdle) {
  KeystreamEngine engine({.chunk_bytes = 65536});
  const Buffer key_bytes = key_for("des-ede3-ctr");
  const KeystreamKey key = engine.bind("des-ede3-ctr", key_bytes, {.kernel = "bitslice"});
  KeystreamContext context = engine.open(key, Buffer(8, 3), {.window_chunks = 4});
  ASSERT_TRUE(wait_until([&] {
    for (int i = 0; i < 10; ++i) {
      engine.idle(Clock::now() +
                  std::chrono::nanoseconds(static_cast<std::int64_t>(key.costs().direct_ns * 0.4)));
    }
    return engine.statistics().filled_chunks >= 4;
  }));
  for (std::uint64_t at = 0; at < 4; ++at) {
    const Buffer text = varied_bytes(65536, at);
    Buffer out(text.size());
    context.encrypt(at * 65536, text, out);
    EXPECT_EQ(out,
              xor_of(text, stream_of("des-ede3-ctr", key_bytes, Buffer(8, 3), at * 65536, 65536)));
  }
  EXPECT_EQ(there(context.use()), 4U);
}

TEST(Pieces, PassedOverEvictedUsedAndClosedAreWiped) {
  if (!can_search_memory()) {
    GTEST_SKIP() << "sanitizers keep copies";
  }
  Driven driven("aes-256-ctr");
  const auto begin = [&](std::uint64_t at) {
    driven.context->prefetch(at * chunk);
    ASSERT_NE(driven.candidate().fill_again(driven.share(4)), 0U);
    EXPECT_EQ(count_in_memory(driven.hidden(at, 960)), 1U) << "this test sees nothing";
    EXPECT_EQ(count_in_memory(driven.hidden(at, 1024)), 0U) << "more than was asked for";
  };
  begin(100);
  begin(116);  // has the same place
  EXPECT_EQ(count_in_memory(driven.hidden(100, 960)), 0U) << "passed over";
  const Buffer used = varied_bytes(512, 1);
  Buffer out(used.size());
  driven.context->crypt(Direction::encrypt, 116 * chunk + 900, used, out);
  EXPECT_EQ(count_in_memory(driven.hidden(116, 0)), 0U) << "not used from its beginning on";
  EXPECT_EQ(count_in_memory(driven.hidden(116, 960)), 0U);
  begin(200);
  driven.context->crypt(Direction::encrypt, 200 * chunk, used, out);
  EXPECT_EQ(count_in_memory(driven.hidden(200, 480)), 0U) << "used";
  EXPECT_EQ(count_in_memory(driven.hidden(200, 512)), 1U);
  ASSERT_TRUE(driven.engine->precomputer().make_room());
  EXPECT_EQ(count_in_memory(driven.hidden(200, 512)), 0U) << "evicted";
  driven.engine->idle(later());
  for (std::uint64_t at = 201; at < 220; ++at) {
    driven.context->crypt(Direction::encrypt, at * chunk, used, out);
  }
  begin(300);
  driven.engine->close(driven.context);
  EXPECT_EQ(count_in_memory(driven.hidden(300, 960)), 0U) << "closed";
  driven.open();
}

// A used chunk that is given up while a piece of it is computed.
TEST(Pieces, OfAChunkThatIsUsedMeanwhile) {
  Driven driven("aes-256-ctr");
  ASSERT_NE(driven.candidate().fill_again(driven.share(4)), 0U);
  const Fill fill = driven.candidate().window().next_fill(driven.share(4));
  ASSERT_EQ(fill.chunk, driven.at);
  driven.encrypt(driven.at * chunk, chunk);
  driven.candidate().compute(fill, driven.share(4));
  EXPECT_EQ(Buffer(fill.entry->slot, fill.entry->slot + chunk), Buffer(chunk));
  EXPECT_NE(driven.candidate().fill_again({}), 0U);
  driven.encrypt((driven.at + 1) * chunk, chunk);
}

// Used keystream does not come back from a device.
TEST(Pieces, ADeviceBringsWhatIsMissing) {
  Driven driven("aes-256-ctr");
  ASSERT_NE(driven.candidate().fill_again({.bytes = 1024}), 0U);
  driven.encrypt(driven.at * chunk, 512);
  driven.context->prefetch(driven.at * chunk);
  const Fill fill = driven.candidate().window().next_fill({});
  ASSERT_EQ(fill.chunk, driven.at);
  driven.candidate().deliver(
      fill, stream_of(driven.cipher, driven.key_bytes, driven.counter, driven.at * chunk, chunk));
  EXPECT_EQ(Buffer(fill.entry->slot, fill.entry->slot + 512), Buffer(512));
  driven.encrypt(driven.at * chunk + 512, chunk - 512);
  EXPECT_EQ(driven.context->use().late, 0U);
}

TEST(Pieces, OfMessagesOfGcm) {
  const auto engine = keystream::KeystreamService::make({});
  const Buffer key_bytes = key_for("aes-128-gcm");
  const auto key = engine->bind("aes-128-gcm", key_bytes, "bitslice");
  const auto context = engine->open(
      key, std::make_unique<keystream::CountedIvs>(keystream::MessageNonce{}), SealedOptions{});
  const Gcm gcm(key_bytes);
  const Buffer aad = varied_bytes(20, 1);
  std::uint64_t message = 0;
  const auto check = [&](std::size_t bytes) {
    Buffer nonce(12);
    nonce[11] = static_cast<std::uint8_t>(message);
    const Buffer text = varied_bytes(bytes, message);
    Buffer expected(bytes);
    Buffer out(bytes);
    Buffer expected_tag(16);
    Buffer tag(16);
    gcm.seal(nonce, aad, text, expected, expected_tag);
    tag = expected_tag;
    tag[3] ^= 1;
    EXPECT_FALSE(context->open(message, aad, expected, out, tag));
    context->prefetch(message);
    context->seal(message++, aad, text, out, tag);
    EXPECT_EQ(out, expected);
    EXPECT_EQ(tag, expected_tag);
  };
  while (message < 32) {  // twice around the window, for its memory
    engine->idle(later());
    check(chunk);
  }
  while (message < 46) {
    check(chunk);
  }
  const std::uint64_t late = context->use().late;
  for (const std::size_t bytes : {1000U, 1025U, 2048U, 0U, 4096U}) {
    ASSERT_NE(context->fill_again({.bytes = 1024}), 0U);
    check(bytes);
  }
  // Three were longer than what was there, which the forgery's opening has thrown away.
  EXPECT_EQ(context->use().late - late, 3U);
  const std::uint64_t hits = there(context->use());
  for (int i = 0; i < 4; ++i) {
    ASSERT_NE(context->fill_again({.bytes = 1024}), 0U);
  }
  check(chunk);
  EXPECT_GE(there(context->use()) - hits, 1U);
  EXPECT_EQ(context->use().late - late, 3U);
  engine->close(context);
}

// It may be wanted at once, or after several calls; nobody has said that others follow.
TEST(Pieces, WhatWasAskedForByNameComesFirst) {
  Driven driven("aes-256-ctr");
  constexpr std::uint64_t there_now = 200;
  driven.context->prefetch(there_now * chunk);
  for (int piece = 0; piece < 2; ++piece) {
    const Fill fill = driven.candidate().window().next_fill(driven.share(1, 2));
    ASSERT_EQ(fill.chunk, there_now);
    driven.candidate().compute(fill, driven.share(1, 2));
  }
  driven.encrypt(there_now * chunk, chunk);
  driven.encrypt((there_now + 1) * chunk, chunk);
  const Fill fill = driven.candidate().window().next_fill(driven.share(1, 2));
  EXPECT_EQ(fill.chunk, there_now + 4) << "two more are wanted before it can be whole";
  driven.candidate().compute(fill, driven.share(1, 2));
}

TEST(Pieces, OfTwoThreadsAreBothCompleted) {
  Driven driven("aes-256-ctr");
  const std::uint64_t before = driven.filled();
  const Fill first = driven.candidate().window().next_fill(driven.share(1));
  const Fill second = driven.candidate().window().next_fill(driven.share(1));
  ASSERT_EQ(second.chunk, first.chunk + 1);
  driven.candidate().compute(first, driven.share(1));
  driven.candidate().compute(second, driven.share(1));
  while (driven.candidate().fill_again({}) != 0) {
  }
  EXPECT_EQ(driven.filled(), before + 14);
}

TEST(Pieces, WhatIsEvictedMeanwhileIsMadeAgain) {
  Driven driven("aes-256-ctr");
  for (int i = 0; i < 5; ++i) {
    ASSERT_NE(driven.candidate().fill_again({}), 0U);
  }
  const Fill fill = driven.candidate().window().next_fill(driven.share(1));
  // All but what is being computed, which keeps its memory from being given back.
  (void)driven.engine->precomputer().make_room();
  ASSERT_GE(driven.engine->statistics().evicted_chunks, 5U);
  const std::uint64_t before = driven.filled();
  driven.candidate().compute(fill, driven.share(1));
  driven.engine->idle(later());
  EXPECT_EQ(driven.filled(), before + 14);
}

// Clients that share a context, fill it by pieces of any size and use it in parts, beside workers.
TEST(Pieces, ByManyThreads) {
  for (const unsigned workers : {0U, 1U}) {
    const Driven driven("des-ede3-ctr", workers);
    std::atomic<std::uint64_t> next{driven.at};
    std::atomic<std::uint64_t> pieces{0};
    {
      std::vector<std::jthread> threads;
      for (unsigned client = 0; client < 3; ++client) {
        threads.emplace_back([&, client] {
          std::mt19937 random(client);
          for (int i = 0; i < 150; ++i) {
            for (auto calls = random() % 12; calls != 0; --calls) {
              const Share share =
                  driven.share(1 + random() % 3, static_cast<std::int64_t>(random() % 3));
              pieces += driven.candidate().fill_again(share) != 0 ? 1U : 0U;
            }
            const std::uint64_t offset = next.fetch_add(1) * chunk;
            const std::size_t first = 1 + random() % chunk;
            driven.encrypt(offset, first);
            if (first != chunk) {
              driven.encrypt(offset + first, chunk - first);
            }
            if (i % 16 == 0) {
              driven.engine->idle(Clock::now() + std::chrono::microseconds(20));
            }
          }
        });
      }
    }
    if (workers == 0) {  // else the worker may have been set aside, and no entry has its memory
      EXPECT_GT(pieces.load(), 500U);
    }
  }
}

}  // namespace
}  // namespace paes::test
