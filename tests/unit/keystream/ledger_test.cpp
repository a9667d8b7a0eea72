// SPDX-License-Identifier: Apache-2.0
// No byte of keystream is used twice for encryption, however many clients try at the same time: an
// independent ledger of what was granted, a counter for each byte.
#include <atomic>
#include <random>

#include "keystream_subject.hpp"

namespace paes::test {
namespace {

struct Ledger {
  explicit Ledger(std::size_t bytes) : uses(bytes) {}

  void enter(std::uint64_t offset, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; ++i) {
      twice += uses[offset + i].fetch_add(1) == 0 ? 0 : 1;
    }
  }
  [[nodiscard]] bool has_any(std::uint64_t offset, std::size_t bytes) const {
    for (std::size_t i = 0; i < bytes; ++i) {
      if (uses[offset + i].load() != 0) {
        return true;
      }
    }
    return false;
  }

  std::vector<std::atomic<std::uint8_t>> uses;
  std::atomic<std::uint64_t> twice{0};
};

struct Attempt {
  std::uint64_t offset;
  std::size_t bytes;
};

void attack(unsigned workers, unsigned clients, std::size_t budget_bytes) {
  constexpr std::size_t space = std::size_t{1} << 20;
  KeystreamEngine engine({.workers = workers, .budget_bytes = budget_bytes, .chunk_bytes = 512});
  KeystreamContext context =
      engine.open(engine.bind("aes-128-ctr", key_for("aes-128-ctr"), {.kernel = "bitslice"}),
                  Buffer(16, 7), {.window_chunks = 16});
  Ledger ledger(space);
  std::vector<std::vector<Attempt>> refused(clients);
  std::atomic<std::uint64_t> shared_at{0};
  {
    std::vector<std::jthread> threads;
    for (unsigned client = 0; client < clients; ++client) {
      threads.emplace_back([&, client] {
        std::mt19937 random(client);
        Buffer text(2048);
        for (int i = 0; i < 3000; ++i) {
          // Half of the clients race through the same offsets, the others jump about.
          const std::size_t bytes = client % 2 == 0 ? 512 : 1 + random() % 2000;
          const std::uint64_t offset = client % 2 == 0 ? shared_at.fetch_add(256) % (space - 2048)
                                                       : random() % (space - bytes);
          try {
            const std::span<std::uint8_t> part(text.data(), bytes);
            context.encrypt(offset, part, part);
            ledger.enter(offset, bytes);
          } catch (const Error& error) {
            ASSERT_EQ(error.code, ErrorCode::usage) << error.what();
            refused[client].push_back({offset, bytes});
          }
          if (i % 16 == 0) {
            engine.idle(Clock::now() + std::chrono::microseconds(10));
          }
        }
      });
    }
  }
  EXPECT_EQ(ledger.twice.load(), 0U);
  std::size_t refusals = 0;
  for (const auto& attempts : refused) {
    for (const Attempt& attempt : attempts) {
      ASSERT_TRUE(ledger.has_any(attempt.offset, attempt.bytes)) << "refused without a reason";
      ++refusals;
    }
  }
  EXPECT_GT(refusals, 100U);
}

TEST(Ledger, OneClient) { attack(0, 1, std::size_t{16} << 20); }
TEST(Ledger, ManyClientsAndWorkers) { attack(2, 4, std::size_t{16} << 20); }
TEST(Ledger, ManyClientsThatIdleAlone) { attack(0, 4, std::size_t{16} << 20); }
TEST(Ledger, ManyClientsUnderPressure) { attack(1, 4, 250000); }

TEST(Ledger, ARefusalWritesNothing) {
  KeystreamEngine engine;
  KeystreamContext context = engine.open(
      engine.bind("aes-256-ctr", key_for("aes-256-ctr"), {.kernel = "bitslice"}), Buffer(16), {});
  Buffer text(5000, 1);
  Buffer out(5000, 2);
  engine.idle(later());
  context.encrypt(4096, std::span(text).first(10), std::span(out).first(10));
  std::fill(out.begin(), out.end(), std::uint8_t{2});
  EXPECT_EQ(code_of([&] { context.encrypt(0, text, out); }), ErrorCode::usage);
  EXPECT_EQ(out, Buffer(5000, 2));
  // And records nothing.
  context.encrypt(0, std::span(text).first(4096), std::span(out).first(4096));
}

TEST(Ledger, UsedIsUsedHoweverTheKeystreamWouldBeMade) {
  for (const unsigned window : {0U, 16U}) {
    for (const bool is_ready : {false, true}) {
      KeystreamEngine engine;
      KeystreamContext context =
          engine.open(engine.bind("aes-256-ctr", key_for("aes-256-ctr"), {.kernel = "bitslice"}),
                      Buffer(16), {.window_chunks = window});
      if (is_ready) {
        engine.idle(later());
      }
      Buffer text(4096);
      context.encrypt(0, text, text);
      context.prefetch(0);
      if (is_ready) {
        engine.idle(later());
      }
      EXPECT_EQ(code_of([&] { context.encrypt(0, text, text); }), ErrorCode::usage);
      EXPECT_EQ(code_of([&] { context.encrypt(4095, text, text); }), ErrorCode::usage);
      context.mark_used(3 * 4096, 1);
      EXPECT_EQ(code_of([&] { context.encrypt(3 * 4096, text, text); }), ErrorCode::usage);
      context.encrypt(2 * 4096, text, text);
    }
  }
}

}  // namespace
}  // namespace paes::test
