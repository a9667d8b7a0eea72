// SPDX-License-Identifier: Apache-2.0
// The budget, who is evicted, what is left in memory, and forked children.
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <random>
#include <string>
#include <thread>

#include "cipher/aes_key.hpp"
#include "core/residue.hpp"
#include "found_residue.hpp"
#include "keystream_subject.hpp"

namespace paes::test {
namespace {

constexpr std::size_t chunk = 4096;

Buffer counter_of(std::uint64_t number) {
  Buffer counter(16, 0);
  for (unsigned i = 0; i < 8; ++i) {
    counter[i] = static_cast<std::uint8_t>(number >> (8 * i));
  }
  return counter;
}

void encrypt_chunk(KeystreamContext& context, std::uint64_t at) {
  static const Buffer text(chunk, 1);
  Buffer out(chunk);
  context.encrypt(at * chunk, text, out);
}

TEST(Memory, TenThousandContextsStayWithinTheBudget) {
  constexpr std::size_t budget = std::size_t{32} << 20;
  KeystreamEngine engine({.workers = 1, .budget_bytes = budget});
  const KeystreamKey key =
      engine.bind("aes-256-ctr", key_for("aes-256-ctr"), {.kernel = "bitslice"});
  std::vector<KeystreamContext> contexts;
  for (std::uint64_t i = 0; i < 10000; ++i) {
    contexts.push_back(engine.open(key, counter_of(i), {}));
  }
  std::mt19937 random(1);
  std::vector<std::uint64_t> next(contexts.size());
  for (int round = 0; round < 10000; ++round) {
    const std::size_t which = random() % contexts.size();
    if (round % 4 == 0) {
      engine.idle(Clock::now() + std::chrono::microseconds(500));
    }
    encrypt_chunk(contexts[which], next[which]++);
    if (round % 100 == 0) {
      ASSERT_LE(engine.statistics().memory_bytes, budget);
    }
  }
  const KeystreamStatistics statistics = engine.statistics();
  EXPECT_LE(statistics.memory_bytes, budget);
  EXPECT_GT(statistics.keystream_bytes, budget / 4) << "what is left is for keystream";
  contexts.clear();
  EXPECT_LT(engine.statistics().memory_bytes, statistics.memory_bytes - 10000 * 500);
}

TEST(Memory, NothingIsLostAtTheEnd) {
  KeystreamEngine engine;
  const std::size_t before = engine.statistics().memory_bytes;
  {
    const KeystreamKey key =
        engine.bind("aes-256-ctr", key_for("aes-256-ctr"), {.kernel = "bitslice"});
    KeystreamContext context = engine.open(key, Buffer(16), {});
    engine.idle(later());
    for (std::uint64_t i = 0; i < 100; i += 2) {
      encrypt_chunk(context, i);
    }
    EXPECT_GT(engine.statistics().memory_bytes, before + chunk * 16);
  }
  EXPECT_EQ(engine.statistics().memory_bytes - engine.statistics().keystream_bytes, before);
}

TEST(Memory, KeystreamGivesWayToTheRecord) {
  constexpr std::size_t budget = std::size_t{1} << 20;
  KeystreamEngine engine({.budget_bytes = budget});
  const KeystreamKey key =
      engine.bind("aes-128-ctr", key_for("aes-128-ctr"), {.kernel = "bitslice"});
  KeystreamContext reader = engine.open(key, counter_of(1), {.window_chunks = 1024});
  engine.idle(later());
  EXPECT_GT(engine.statistics().keystream_bytes, budget / 2);
  KeystreamContext writer = engine.open(key, counter_of(2), {.window_chunks = 0});
  // Single bytes far from each other, until there is no room for another.
  Buffer byte(1);
  std::uint64_t written = 0;
  ErrorCode code = {};
  while (code == ErrorCode{0}) {
    code = code_of([&] { writer.encrypt(written * 100, byte, byte); });
    written += code == ErrorCode{0} ? 1U : 0U;
  }
  EXPECT_EQ(code, ErrorCode::failure);
  EXPECT_GT(written * 64, budget / 2);
  EXPECT_EQ(engine.statistics().keystream_bytes, 0U);
  EXPECT_LE(engine.statistics().memory_bytes, budget);
  // What was refused was not recorded, and what was recorded still is.
  EXPECT_EQ(code_of([&] { writer.encrypt(0, byte, byte); }), ErrorCode::usage);
  reader.close();
  EXPECT_EQ(code_of([&] { writer.encrypt(written * 100, byte, byte); }), ErrorCode{0});
}

TEST(Memory, NoRoomForKeysAndContextsIsAnError) {
  KeystreamEngine engine({.budget_bytes = 120000});
  std::vector<KeystreamKey> keys;
  EXPECT_EQ(code_of([&] {
              for (int i = 0; i < 10; ++i) {
                keys.push_back(
                    engine.bind("aes-128-ctr", key_for("aes-128-ctr"), {.kernel = "bitslice"}));
              }
            }),
            ErrorCode::failure);
  std::vector<KeystreamContext> contexts;
  EXPECT_EQ(code_of([&] {
              for (std::uint64_t i = 0; i < 200; ++i) {
                contexts.push_back(engine.open(keys[0], counter_of(i), {}));
              }
            }),
            ErrorCode::failure);
  EXPECT_GT(contexts.size(), 10U);
  EXPECT_LE(engine.statistics().memory_bytes, 120000U);
}

struct Rivals {
  // Room for about one window of 64 chunks.
  KeystreamEngine engine{{.budget_bytes = 450000}};
  KeystreamKey key = engine.bind("aes-128-ctr", key_for("aes-128-ctr"), {.kernel = "bitslice"});

  KeystreamContext open(int priority, std::uint64_t number) {
    return engine.open(key, counter_of(number), {.window_chunks = 64, .priority = priority});
  }
  static std::uint64_t hits(KeystreamContext& context) {
    const std::uint64_t before = there(context.use());
    for (std::uint64_t at = 0; at < 56; ++at) {
      encrypt_chunk(context, at);
    }
    return there(context.use()) - before;
  }
};

TEST(Memory, TheHigherPriorityEvicts) {
  Rivals rivals;
  KeystreamContext low = rivals.open(1, 1);
  rivals.engine.idle(later());
  KeystreamContext high = rivals.open(2, 2);
  rivals.engine.idle(later());
  EXPECT_GT(rivals.engine.statistics().evicted_chunks, 40U);
  EXPECT_EQ(Rivals::hits(high), 56U);
  EXPECT_EQ(Rivals::hits(low), 0U);
}

TEST(Memory, TheLowerPriorityDoesNot) {
  Rivals rivals;
  KeystreamContext high = rivals.open(2, 1);
  rivals.engine.idle(later());
  KeystreamContext low = rivals.open(1, 2);
  rivals.engine.idle(later());
  EXPECT_EQ(Rivals::hits(high), 56U);
  EXPECT_LT(Rivals::hits(low), 50U);
  EXPECT_EQ(rivals.engine.statistics().evicted_chunks, 0U);
}

TEST(Memory, AmongEqualsTheLeastRecentlyUsedLoses) {
  Rivals rivals;
  KeystreamContext old = rivals.open(1, 1);
  rivals.engine.idle(later());
  KeystreamContext hungry = rivals.open(1, 2);
  rivals.engine.idle(later());  // in vain, which is when time goes on
  encrypt_chunk(hungry, 0);
  const std::uint64_t evicted = rivals.engine.statistics().evicted_chunks;
  rivals.engine.idle(later());
  EXPECT_GT(rivals.engine.statistics().evicted_chunks, evicted + 40);
  encrypt_chunk(old, 0);
  EXPECT_EQ(old.use().own, 0U);
}

TEST(Memory, UsedAndClosedKeystreamIsWiped) {
  if (!can_search_memory()) {
    GTEST_SKIP() << "sanitizers keep copies";
  }
  const Buffer key_bytes = key_for("aes-256-ctr", 5);
  const auto keystream = [&](std::uint64_t at) {
    Buffer bytes = stream_of("aes-256-ctr", key_bytes, Buffer(16, 9), at * chunk + 1024, 32);
    Buffer hidden = inverted(bytes);
    wipe(bytes.data(), bytes.size());
    return hidden;
  };
  const Buffer first = keystream(0);
  const Buffer third = keystream(2);
  const Buffer fourth = keystream(3);
  const Buffer secret = inverted(key_bytes);
  KeystreamEngine engine({.workers = 1});
  {
    KeystreamContext context = engine.open(
        engine.bind("aes-256-ctr", key_bytes, {.kernel = "bitslice"}), Buffer(16, 9), {});
    // The worker and this thread fill in no agreed order.
    ASSERT_TRUE(wait_until([&] {
      engine.idle(later());
      return count_in_memory(first) == 1 && count_in_memory(third) == 1 &&
             count_in_memory(fourth) == 1;
    })) << "this test sees nothing";
    Buffer zeros(chunk);
    Buffer out(chunk);
    std::fill(zeros.begin(), zeros.end(), std::uint8_t{0x77});
    context.encrypt(0, zeros, out);
    EXPECT_EQ(count_in_memory(first), 0U) << "used";
    EXPECT_EQ(count_in_memory(third), 1U);
    // A part of a chunk: that part.
    context.encrypt(2 * chunk, std::span(zeros).first(2048), std::span(out).first(2048));
    EXPECT_EQ(count_in_memory(third), 0U) << "used in part";
    ASSERT_EQ(count_in_memory(fourth), 1U);
    // Passed over by a prefetch, and evicted.
    context.prefetch(1000 * chunk);
    engine.idle(later());
    ASSERT_TRUE(wait_until([&] {
      engine.idle(later());
      return count_in_memory(keystream(1000)) == 1;
    }));
    context.close();
    EXPECT_EQ(count_in_memory(fourth), 0U) << "closed";
    EXPECT_EQ(count_in_memory(keystream(1000)), 0U) << "closed";
  }
}

// Also those of earlier tests, which may take long to end on a busy machine.
bool has_workers() {
  const std::filesystem::directory_iterator all("/proc/self/task");
  return std::any_of(begin(all), end(all), [](const auto& thread) {
    return sched_getscheduler(std::stoi(thread.path().filename().string())) == SCHED_IDLE;
  });
}

// Kernels leave some on the stack of the worker, which stays in memory for another thread.
TEST(Memory, NoRoundKeyIsLeftByAWorkerThatHasEnded) {
  if (!can_search_memory()) {
    GTEST_SKIP() << "sanitizers keep copies";
  }
  std::vector<Buffer> hidden;
  std::thread client([&] {
    const WipeResidueOnExit wiped;
    Buffer key_bytes = key_for("aes-256-ctr", 6);
    const WipeOnExit wiped_key(key_bytes);
    RoundKeys round_keys;
    expand_key(key_bytes, round_keys);
    for (const Block& one : round_keys.key) {
      hidden.push_back(inverted({std::begin(one.bytes), std::end(one.bytes)}));
    }
    wipe(&round_keys, sizeof round_keys);
    KeystreamEngine engine({.workers = 1});
    const KeystreamContext context =
        engine.open(engine.bind("aes-256-ctr", key_bytes, {}), Buffer(16, 9), {});
    ASSERT_TRUE(wait_until([&] { return engine.statistics().keystream_bytes >= 8 * chunk; }));
  });
  client.join();
  ASSERT_TRUE(wait_until([] { return !has_workers(); }));
  for (const Buffer& one : hidden) {
    EXPECT_EQ(count_in_memory(one), 0U) << "round " << &one - hidden.data();
  }
}

// A child has its parent's counters: whatever it encrypted, the parent would encrypt under the same
// keystream. Exit codes say what went wrong in it.
TEST(Fork, ChildrenFailClosed) {
  KeystreamEngine engine({.workers = 1});
  const KeystreamKey key =
      engine.bind("aes-256-ctr", key_for("aes-256-ctr"), {.kernel = "bitslice"});
  KeystreamContext context = engine.open(key, Buffer(16, 9), {});
  Buffer text(chunk, 1);
  Buffer out(chunk, 2);
  context.encrypt(0, text, out);
  const Buffer kept =
      inverted(stream_of("aes-256-ctr", key_for("aes-256-ctr"), Buffer(16, 9), 3 * chunk + 64, 32));
  const bool is_wiped = can_search_memory() && engine.statistics().is_wiped_in_children;
  ASSERT_TRUE(wait_until([&] {
    engine.idle(later());  // which does not wait for what the worker is at
    return !is_wiped || count_in_memory(kept) == 1;
  }));
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    Buffer untouched(chunk, 2);
    int wrong = 0;
    wrong |=
        code_of([&] { context.encrypt(chunk, text, untouched); }) != ErrorCode::failure ? 1 : 0;
    wrong |=
        code_of([&] { context.decrypt(chunk, text, untouched); }) != ErrorCode::failure ? 2 : 0;
    wrong |= untouched != Buffer(chunk, 2) ? 4 : 0;
    wrong |= engine.idle(later()) ? 8 : 0;
    wrong |=
        code_of([&] { (void)engine.open(key, Buffer(16), {}); }) != ErrorCode::failure ? 16 : 0;
    wrong |= is_wiped && count_in_memory(kept) != 0 ? 32 : 0;
    wrong |= code_of([&] { context.prefetch(chunk); }) != ErrorCode::failure ? 64 : 0;
    wrong |=
        code_of([&] { (void)engine.statistics(); }) != ErrorCode::failure ||
                code_of([&] {
                  (void)engine.bind("aes-256-ctr", key_for("aes-256-ctr"), {.kernel = "bitslice"});
                }) != ErrorCode::failure
            ? 64
            : 0;
    context.close();  // none of these waits for threads that are not there
    { const KeystreamEngine gone = std::move(engine); }
    // An engine of its own works.
    KeystreamEngine own;
    KeystreamContext fresh = own.open(
        own.bind("aes-256-ctr", key_for("aes-256-ctr"), {.kernel = "bitslice"}), Buffer(16, 1), {});
    wrong |= code_of([&] { fresh.encrypt(0, text, out); }) != ErrorCode{0} ? 128 : 0;
    _exit(wrong);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  context.encrypt(chunk, text, out);
  EXPECT_EQ(out, xor_of(text, stream_of("aes-256-ctr", key_for("aes-256-ctr"), Buffer(16, 9), chunk,
                                        chunk)));
}

}  // namespace
}  // namespace paes::test
