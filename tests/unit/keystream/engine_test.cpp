// SPDX-License-Identifier: Apache-2.0
// The engine's own rules: where keystream comes from and when it is not worth it, limits, and what
// a caller gets wrong.
#include "keystream/engine.hpp"

#include "kernel/registry.hpp"
#include "keystream_subject.hpp"

namespace paes::test {
namespace {

constexpr std::size_t chunk = 4096;

KeystreamContext open_file(KeystreamEngine& engine, const ContextOptions& options = {}) {
  return engine.open(engine.bind("aes-256-ctr", key_for("aes-256-ctr"), {.kernel = "bitslice"}),
                     Buffer(16, 1), options);
}

void encrypt_chunk(KeystreamContext& context, std::uint64_t at) {
  const Buffer text(chunk, 1);
  Buffer out(chunk);
  context.encrypt(at * chunk, text, out);
}

TEST(Sources, OfAWorkerAreAnothersAndOfIdleOnesOwn) {
  KeystreamEngine engine({.workers = 2});
  KeystreamContext context = open_file(engine);
  ASSERT_TRUE(wait_until([&] { return engine.statistics().filled_chunks >= 14; }));
  encrypt_chunk(context, 0);
  EXPECT_EQ(context.use().other, 1U);

  KeystreamEngine lonely;
  KeystreamContext own = open_file(lonely);
  EXPECT_FALSE(lonely.idle(later())) << "all is done";
  encrypt_chunk(own, 0);
  EXPECT_EQ(own.use().own, 1U);
  EXPECT_EQ(own.use().direct, 0U);
}

TEST(Sources, WithoutTimeNothingIsComputed) {
  KeystreamEngine engine;
  KeystreamContext context = open_file(engine);
  EXPECT_TRUE(engine.idle(Clock::now()));
  encrypt_chunk(context, 0);
  EXPECT_EQ(context.use().direct, 1U);
  EXPECT_EQ(engine.statistics().filled_chunks, 0U);
}

TEST(Sources, IdleKeepsItsDeadline) {
  KeystreamEngine engine;
  const KeystreamKey key =
      engine.bind("des-ede3-ctr", key_for("des-ede3-ctr"), {.kernel = "bitslice"});
  KeystreamContext context = engine.open(key, Buffer(8, 1), {.window_chunks = 65536});
  const Clock::time_point start = Clock::now();
  EXPECT_TRUE(engine.idle(start + std::chrono::milliseconds(5)));
  // Generous, because others want the processor as well: all of it would take two seconds.
  EXPECT_LT(Clock::now() - start, std::chrono::milliseconds(1000));
  EXPECT_GT(engine.statistics().filled_chunks, 0U);
}

TEST(Sources, AThreadThatHasNoContextsComputesForOthers) {
  KeystreamEngine engine;
  KeystreamContext context = open_file(engine);
  std::thread([&] { EXPECT_FALSE(engine.idle(later())); }).join();
  EXPECT_EQ(engine.statistics().filled_chunks, 14U);
  encrypt_chunk(context, 0);
  EXPECT_EQ(context.use().other, 1U);
}

// With measurements that say so, keystream that is there is not used, and none is computed.
TEST(Decision, SlowerIsNotUsed) {
  const KeystreamOptions options{};
  const auto engine = keystream::KeystreamService::make(options);
  const auto key = engine->bind("aes-256-ctr", key_for("aes-256-ctr"), "bitslice");
  const auto context = engine->open(key, CounterBlock{}, {});
  engine->idle(later());
  Buffer text(chunk, 1);
  Buffer out(chunk);
  std::uint64_t at = 0;
  const auto use_some = [&](int count) {
    for (int i = 0; i < count; ++i) {
      engine->idle(later());
      context->crypt(Direction::encrypt, at++ * chunk, text, out);
    }
    return context->use();
  };
  // One's first uses are for learning.
  const KeystreamUse learnt = use_some(33);  // and for comparing: every eighth
  EXPECT_EQ(learnt.own, 29U);
  EXPECT_EQ(learnt.bypassed, 4U);
  keystream::Costs& costs = key->costs();
  const auto pretend = [&](double direct, double own) {
    for (int i = 0; i < 2000; ++i) {
      costs.add(keystream::Way::direct, direct);
      costs.add(keystream::Way::own, own);
    }
  };
  pretend(100, 1e6);
  const KeystreamUse bypassed = use_some(10);
  EXPECT_EQ(bypassed.own, learnt.own);
  EXPECT_EQ(bypassed.bypassed, 14U);
  pretend(100, 1e6);
  const KeystreamUse direct = use_some(500);
  EXPECT_LT(direct.bypassed, 100U) << "none is computed any more";
  EXPECT_GT(direct.direct, 400U);
  // It is tried again from time to time, and found out when it has become worth it.
  pretend(1e6, 100);
  const KeystreamUse again = use_some(6000);
  EXPECT_GT(again.own, direct.own + 1000);
  engine->close(context);
}

// Who wants keystream always ahead gets all of it, whatever the measurements say.
TEST(Decision, SlowerIsUsedIfAlwaysAhead) {
  const auto engine = keystream::KeystreamService::make({.always_ahead = true});
  const auto key = engine->bind("aes-256-ctr", key_for("aes-256-ctr"), "bitslice");
  const auto context = engine->open(key, CounterBlock{}, {});
  Buffer text(chunk);
  constexpr std::uint64_t uses = 1000;
  for (std::uint64_t at = 0; at < uses; ++at) {
    key->costs().add(keystream::Way::direct, 100);
    key->costs().add(keystream::Way::own, 1e6);
    engine->idle(later());
    context->crypt(Direction::encrypt, at * chunk, text, text);
  }
  EXPECT_EQ(context->use().own, uses);
  engine->close(context);
}

// A worker that sleeps looks four times a second. A try takes 32 requests, here some milliseconds.
TEST(Decision, ATryWakesAWorker) {
  const auto engine = keystream::KeystreamService::make({.workers = 1});
  const auto key = engine->bind("aes-256-ctr", key_for("aes-256-ctr"), "bitslice");
  Buffer text(chunk);
  int tries_with_keystream = 0;
  for (std::uint8_t file = 0; file < 30 && tries_with_keystream < 3; ++file) {
    CounterBlock counter = {};
    counter.bytes[0] = file;
    const std::uint64_t filled = engine->statistics().filled_chunks;
    const auto context = engine->open(key, counter, {});
    ASSERT_TRUE(wait_until([&] { return engine->statistics().filled_chunks >= filled + 14; }));
    // The worker's pauses have doubled: the present one lasts from 0.78 to 1.03 s after its work.
    std::this_thread::sleep_for(std::chrono::milliseconds(850));
    for (int i = 0; i < 2000; ++i) {
      key->costs().add(keystream::Way::direct, 100);
      key->costs().add(keystream::Way::other, 1e6);
    }
    std::uint64_t at = 0;
    const auto use_until = [&](std::uint64_t end, std::chrono::microseconds pause) {
      for (; at < end; ++at) {
        context->crypt(Direction::encrypt, at * chunk, text, text);
        if (pause.count() != 0) {  // asleep, or a busy machine has no core for the worker
          std::this_thread::sleep_for(pause);
        }
      }
      return there(context->use());
    };
    // What was ready is used up, and more is asked for. Then precomputing is given up.
    const std::uint64_t before = use_until(4096, {});
    tries_with_keystream += use_until(4096 + 128, std::chrono::microseconds(200)) != before ? 1 : 0;
    engine->close(context);
  }
  EXPECT_EQ(tries_with_keystream, 3);
}

TEST(Decision, AMedianForgetsAnInterrupt) {
  keystream::Cost cost;
  for (int i = 0; i < 100; ++i) {
    cost.add(200);
  }
  cost.add(100000);
  EXPECT_LT(cost.ns(), 215);
  for (int i = 0; i < 60; ++i) {
    cost.add(400);
  }
  EXPECT_GT(cost.ns(), 390);
}

TEST(Limits, OfTheContext) {
  KeystreamEngine engine;
  KeystreamContext context = open_file(engine, {.limit_bytes = 3 * chunk + 5});
  engine.idle(later());
  EXPECT_EQ(engine.statistics().filled_chunks, 4U);
  Buffer text(chunk);
  EXPECT_EQ(code_of([&] { context.encrypt(3 * chunk, text, text); }), ErrorCode::usage);
  context.encrypt(3 * chunk, std::span(text).first(5), std::span(text).first(5));
  EXPECT_EQ(code_of([&] { context.prefetch(3 * chunk + 5); }), ErrorCode::usage);
  EXPECT_EQ(code_of([&] { context.mark_used(0, 4 * chunk); }), ErrorCode::usage);
  encrypt_chunk(context, 0);
}

TEST(Limits, OfABundleOf3Des) {
  KeystreamEngine engine;
  const KeystreamKey key = engine.bind("des-ede3-ctr", key_for("des-ede3-ctr"));
  KeystreamContext one = engine.open(key, Buffer(8, 1), {.window_chunks = 0});
  KeystreamContext other = engine.open(key, Buffer(8, 9), {.window_chunks = 0});
  Buffer half((std::size_t{1} << 19) * 8);
  one.encrypt(0, half, half);
  other.encrypt(0, std::span(half).first(half.size() - 8), std::span(half).first(half.size() - 8));
  Buffer two(9);
  EXPECT_EQ(code_of([&] { other.encrypt(half.size(), two, two); }), ErrorCode::usage);
  other.encrypt(half.size() * 2, std::span(two).first(8), std::span(two).first(8));
  EXPECT_EQ(code_of([&] { one.encrypt(half.size() * 2, two, two); }), ErrorCode::usage);
  one.decrypt(0, half, half);
}

// What is refused counts nothing and records nothing; what was encrypted before a restart counts.
TEST(Limits, OfABundleAreCountedOnce) {
  KeystreamEngine engine;
  const std::size_t all = (std::size_t{1} << 20) * 8;
  const KeystreamKey key = engine.bind("des-ede3-ctr", key_for("des-ede3-ctr"));
  KeystreamContext context = engine.open(key, Buffer(8, 1), {.window_chunks = 0});
  context.mark_used(0, all - 16);
  Buffer three(24);
  EXPECT_EQ(code_of([&] { context.encrypt(all, three, three); }), ErrorCode::usage);
  EXPECT_EQ(
      code_of([&] { context.encrypt(0, std::span(three).first(8), std::span(three).first(8)); }),
      ErrorCode::usage);
  context.encrypt(all, std::span(three).first(16), std::span(three).first(16));
  EXPECT_EQ(code_of([&] { context.mark_used(2 * all, 8); }), ErrorCode::usage);
}

// A first sample with faults in it, and contexts too short to try again by themselves.
TEST(Decision, ShortContextsSpeculateAfterAColdFirstOne) {
  const auto engine = keystream::KeystreamService::make({});
  const auto key = engine->bind("aes-256-ctr", key_for("aes-256-ctr"), "bitslice");
  key->costs().add(keystream::Way::own, 1e7);
  EXPECT_TRUE(key->costs().pays(keystream::Way::own)) << "one sample is none";
  for (int i = 0; i < 10; ++i) {
    key->costs().add(keystream::Way::own, 1e7);
  }
  EXPECT_FALSE(key->costs().pays(keystream::Way::own));
  Buffer text(chunk);
  std::uint64_t found = 0;
  for (std::uint8_t file = 0; file < 200; ++file) {
    CounterBlock counter = {};
    counter.bytes[0] = file;
    const auto context = engine->open(key, counter, ContextOptions{});
    for (std::uint64_t at = 0; at < 20; ++at) {
      engine->idle(later());
      context->crypt(Direction::encrypt, at * chunk, text, text);
    }
    found += there(context->use());
    engine->close(context);
  }
  EXPECT_GT(found, 1000U);
}

// Whatever else waits, a thread's idle() finds the context that it uses.
TEST(Sources, IdleFindsItsContextAmongMany) {
  KeystreamEngine engine({.budget_bytes = std::size_t{256} << 20});
  const KeystreamKey key =
      engine.bind("aes-256-ctr", key_for("aes-256-ctr"), {.kernel = "bitslice"});
  std::vector<KeystreamContext> contexts;
  for (std::uint8_t i = 0; i < 200; ++i) {
    contexts.push_back(engine.open(key, Buffer(16, i)));
  }
  std::thread([&] {
    for (std::uint64_t at = 0; at < 30; ++at) {
      encrypt_chunk(contexts[10], at);
      engine.idle(later());
    }
  }).join();
  EXPECT_GT(there(contexts[10].use()), 20U);
}

TEST(Sources, IdleHeedsPriorities) {
  KeystreamEngine engine;
  const KeystreamKey key =
      engine.bind("aes-256-ctr", key_for("aes-256-ctr"), {.kernel = "bitslice"});
  KeystreamContext high = engine.open(key, Buffer(16, 1), {.priority = 100});
  KeystreamContext low = engine.open(key, Buffer(16, 2));
  for (std::uint64_t at = 0; at < 300; ++at) {
    encrypt_chunk(low, at);
    if (at % 5 == 0) {
      encrypt_chunk(high, at / 5);
    }
    encrypt_chunk(low, 1000 + at);
    // Time for a chunk or two.
    engine.idle(Clock::now() +
                std::chrono::nanoseconds(static_cast<std::int64_t>(key.costs().direct_ns * 2.5)));
  }
  EXPECT_GT(there(high.use()), 30U);
}

TEST(Decryption, RecordsNothingAndTakesKeystream) {
  KeystreamEngine engine;
  KeystreamContext writer = open_file(engine);
  KeystreamContext reader = open_file(engine);
  const Buffer text = varied_bytes(10 * chunk, 4);
  Buffer sealed(text.size());
  writer.encrypt(0, text, sealed);
  engine.idle(later());
  Buffer opened(text.size());
  reader.decrypt(0, sealed, opened);
  EXPECT_EQ(opened, text);
  EXPECT_EQ(there(reader.use()), 10U);
  reader.decrypt(0, sealed, opened);
  EXPECT_EQ(opened, text);
}

TEST(Usage, Refusals) {
  KeystreamEngine engine;
  const KeystreamKey key =
      engine.bind("aes-256-ctr", key_for("aes-256-ctr"), {.kernel = "bitslice"});
  const auto usage = ErrorCode::usage;
  EXPECT_EQ(code_of([] { const KeystreamEngine e({.chunk_bytes = 3000}); }), usage);
  EXPECT_EQ(code_of([] { const KeystreamEngine e({.chunk_bytes = 256}); }), usage);
  EXPECT_EQ(code_of([] { const KeystreamEngine e({.workers = 5000}); }), usage);
  constexpr auto no_priority = static_cast<WorkerPriority>(2);
  EXPECT_EQ(code_of([&] { const KeystreamEngine e({.worker_priority = no_priority}); }), usage);
  EXPECT_EQ(code_of([&] { (void)engine.bind("aes-256-xts", Buffer(64)); }), usage);
  EXPECT_EQ(code_of([&] { (void)engine.bind("aes-256-cbc", Buffer(32)); }), usage);
  EXPECT_EQ(code_of([&] { (void)engine.bind("aes-256-ctr", Buffer(16)); }), usage);
  EXPECT_EQ(code_of([&] { (void)engine.bind("aes-256-ctr", Buffer(32), {.kernel = "nosuch"}); }),
            usage);
  EXPECT_EQ(code_of([&] { (void)engine.open(key, Buffer(8), {}); }), usage);
  EXPECT_EQ(code_of([&] { (void)engine.open(key, Buffer(16), {.stride = 0}); }), usage);
  EXPECT_EQ(code_of([&] { (void)engine.open(key, Buffer(16), {.window_chunks = 70000}); }), usage);
  KeystreamContext context = engine.open(key, Buffer(16), {});
  Buffer text(10);
  EXPECT_EQ(code_of([&] { context.encrypt(0, text, std::span(text).first(9)); }), usage);
  context.encrypt(0, {}, {});
  context.close();
  context.close();
  EXPECT_EQ(code_of([&] { context.encrypt(0, text, text); }), usage);
  EXPECT_EQ(code_of([&] { context.prefetch(0); }), usage);
}

TEST(Usage, AnotherEnginesKey) {
  KeystreamEngine engine;
  KeystreamEngine other;
  const KeystreamKey key =
      other.bind("aes-256-ctr", key_for("aes-256-ctr"), {.kernel = "bitslice"});
  EXPECT_EQ(code_of([&] { (void)engine.open(key, Buffer(16)); }), ErrorCode::usage);
}

TEST(Usage, StridesAndPlacesOfAnySize) {
  constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();
  for (const std::int64_t stride : {least, least + 1, -(least + 1), std::int64_t{-1}}) {
    for (const std::uint64_t first : {std::uint64_t{0}, std::uint64_t{1} << 51}) {
      KeystreamEngine engine;
      KeystreamContext context = open_file(engine, {.first_chunk = first, .stride = stride});
      EXPECT_FALSE(engine.idle(later())) << "all is done";
      encrypt_chunk(context, first);
      encrypt_chunk(context, 77);
      EXPECT_FALSE(engine.idle(later())) << "all is done";
    }
  }
}

TEST(Usage, AContextKeepsItsEngine) {
  auto engine = std::make_unique<KeystreamEngine>(KeystreamOptions{.workers = 1});
  KeystreamContext context = open_file(*engine);
  engine.reset();
  encrypt_chunk(context, 0);
  KeystreamContext moved = std::move(context);
  encrypt_chunk(moved, 1);
}

// Contexts come and go while workers compute and other threads idle.
TEST(Threads, OpenAndCloseUnderWork) {
  KeystreamEngine engine({.workers = 2, .budget_bytes = 1 << 20});
  const KeystreamKey key =
      engine.bind("aes-128-ctr", key_for("aes-128-ctr"), {.kernel = "bitslice"});
  std::atomic<std::uint64_t> encrypted{0};
  {
    std::vector<std::jthread> threads;
    for (unsigned client = 0; client < 3; ++client) {
      threads.emplace_back([&, client] {
        for (unsigned i = 0; i < 60; ++i) {
          Buffer counter(16, static_cast<std::uint8_t>(client));
          counter[0] = static_cast<std::uint8_t>(i);
          KeystreamContext context =
              engine.open(key, counter, {.priority = static_cast<int>(i % 3)});
          for (std::uint64_t at = 0; at < i % 7; ++at) {
            encrypt_chunk(context, at);
            ++encrypted;
            engine.idle(Clock::now() + std::chrono::microseconds(30));
          }
          if (i % 5 == 0) {
            context.prefetch(i * chunk);
          }
        }
      });
    }
  }
  const KeystreamUse use = engine.statistics().use;
  EXPECT_EQ(use.own + use.other + use.direct + use.bypassed, encrypted.load());
}

}  // namespace
}  // namespace paes::test
