// SPDX-License-Identifier: Apache-2.0
// Whatever the engine precomputed, evicted, was late with or passed over: its output is counter
// mode.
#include <random>

#include "kernel/registry.hpp"
#include "keystream_subject.hpp"
#include "message/cipher_name.hpp"
#include "sanitized.hpp"

namespace paes::test {
namespace {

const char* const ciphers[] = {"aes-128-ctr", "aes-192-ctr", "aes-256-ctr", "des-ede3-ctr"};

std::size_t block_of(std::string_view cipher) { return cipher.substr(0, 3) == "aes" ? 16 : 8; }

// Encrypts requests of a stream and compares. With a kernel so slow that the engine finds keystream
// worth it on any machine, however busy.
struct Stream {
  Stream(KeystreamEngine& of_engine, std::string_view of_cipher, Buffer first_counter,
         const ContextOptions& options, std::string_view kernel = "bitslice")
      : engine(of_engine),
        cipher(of_cipher),
        key(key_for(cipher)),
        counter(std::move(first_counter)),
        context(engine.open(engine.bind(cipher, key, {.kernel = kernel}), counter, options)) {}

  void encrypt(std::uint64_t offset, std::size_t bytes) {
    const Buffer text = varied_bytes(bytes, offset);
    Buffer out(bytes);
    context.encrypt(offset, text, out);
    ASSERT_EQ(out, xor_of(text, stream_of(cipher, key, counter, offset, bytes)))
        << cipher << " at " << offset;
  }

  KeystreamEngine& engine;
  std::string cipher;
  Buffer key;
  Buffer counter;
  KeystreamContext context;
};

TEST(Equality, EveryKernelInTurn) {
  for (const Kernel* kernel : all_kernels()) {
    if (!unavailable_reason(*kernel).empty()) {
      continue;
    }
    for (const char* const cipher : ciphers) {
      if (!has_cipher(*kernel, find_cipher_name(cipher))) {
        continue;
      }
      KeystreamEngine engine;
      Stream stream(engine, cipher, Buffer(block_of(cipher), 0xfe), {.window_chunks = 4},
                    kernel->name);
      for (std::uint64_t chunk = 0; chunk < 12; ++chunk) {
        if (chunk % 4 != 3) {
          engine.idle(later());
        }
        stream.encrypt(chunk * 4096, 4096);
      }
      const KeystreamUse use = stream.context.use();
      EXPECT_EQ(use.own + use.other + use.direct + use.bypassed, 12U);
      EXPECT_GE(there(use), 8U) << kernel->name;
    }
  }
}

// Whole chunks, parts of chunks in order, parts out of order, requests over several chunks.
TEST(Equality, RequestsOfAnyShape) {
  for (const char* const cipher : ciphers) {
    KeystreamEngine engine({.chunk_bytes = 512});
    Stream stream(engine, cipher, varied_bytes(block_of(cipher), 9), {.window_chunks = 8});
    std::mt19937 random(7);
    std::uint64_t at = 0;
    for (int i = 0; i < 400; ++i) {
      if (random() % 2 == 0) {
        engine.idle(later());
      }
      const std::size_t bytes = 1 + random() % (i % 5 == 0 ? 3000 : 300);
      if (random() % 4 == 0) {
        at += random() % 700;  // a gap
      }
      if (random() % 10 == 0 && bytes > 2) {  // the second half first
        stream.encrypt(at + bytes / 2, bytes - bytes / 2);
        stream.encrypt(at, bytes / 2);
      } else {
        stream.encrypt(at, bytes);
      }
      at += bytes;
    }
    EXPECT_GT(there(stream.context.use()), 200U);
  }
}

TEST(Equality, InPlaceAndUnaligned) {
  KeystreamEngine engine;
  Stream stream(engine, "aes-256-ctr", Buffer(16, 3), {});
  engine.idle(later());
  Buffer memory = varied_bytes(4096 + 7, 4);
  const Buffer text(memory.begin() + 7, memory.end());
  stream.context.encrypt(0, std::span(memory).subspan(7), std::span(memory).subspan(7));
  EXPECT_EQ(Buffer(memory.begin() + 7, memory.end()),
            xor_of(text, stream_of("aes-256-ctr", stream.key, stream.counter, 0, 4096)));
  EXPECT_EQ(stream.context.use().own, 1U);
}

// Counters that carry out of 32 and 64 bits, and wrap, in the middle of a chunk and of a block run.
TEST(Equality, CountersAcrossEveryBoundary) {
  for (const char* const cipher : ciphers) {
    const std::size_t block = block_of(cipher);
    for (const std::size_t ones : {std::size_t{4}, std::size_t{8}, block}) {
      for (const unsigned distance : {1U, 3U, 200U, 256U, 700U}) {
        Buffer counter(block, 0x5a);
        std::fill(counter.end() - static_cast<std::ptrdiff_t>(ones), counter.end(), 0xff);
        counter[block - 1] = static_cast<std::uint8_t>(0xff - distance % 256);
        counter[block - 2] = static_cast<std::uint8_t>(0xff - distance / 256);
        KeystreamEngine engine;
        Stream stream(engine, cipher, counter, {.window_chunks = 4});
        for (std::uint64_t chunk = 0; chunk < 5; ++chunk) {
          engine.idle(later());
          stream.encrypt(chunk * 4096, 4096);
        }
        EXPECT_EQ(there(stream.context.use()), 5U);
        stream.encrypt(5 * 4096 + 5, 4096);  // computed directly
      }
    }
  }
}

TEST(Equality, FarOffsets) {
  KeystreamEngine engine;
  const std::uint64_t last_chunk = std::numeric_limits<std::uint64_t>::max() / 4096;
  Stream stream(engine, "aes-256-ctr", Buffer(16, 0xff), {.first_chunk = last_chunk - 2});
  engine.idle(later());
  stream.encrypt((last_chunk - 2) * 4096, 4096);
  stream.encrypt((last_chunk - 1) * 4096, 4096);
  stream.encrypt(last_chunk * 4096, 4095);
  EXPECT_EQ(there(stream.context.use()), 3U);
  Buffer one(1);
  EXPECT_EQ(code_of([&] { stream.context.encrypt(last_chunk * 4096 + 4095, one, one); }),
            ErrorCode::usage);
}

TEST(Equality, StridesInBothDirections) {
  for (const std::int64_t stride : {-1, 3, -5, 7}) {
    KeystreamEngine engine;
    const std::uint64_t first = stride < 0 ? 200 : 0;
    Stream stream(engine, "aes-128-ctr", Buffer(16, 1),
                  {.window_chunks = 8, .first_chunk = first, .stride = stride});
    for (int i = 0; i < 30; ++i) {
      engine.idle(later());
      const std::uint64_t chunk = first + static_cast<std::uint64_t>(i * stride);
      stream.encrypt(chunk * 4096, 4096);
    }
    EXPECT_EQ(there(stream.context.use()), 30U) << stride;
  }
}

TEST(Equality, APrefetchMovesTheWindow) {
  KeystreamEngine engine;
  Stream stream(engine, "aes-256-ctr", Buffer(16, 1), {});
  for (const std::uint64_t chunk : {1000U, 17U, 400U}) {
    stream.context.prefetch(chunk * 4096 + 5);
    engine.idle(later());
    const std::uint64_t before = there(stream.context.use());
    for (std::uint64_t i = 0; i < 10; ++i) {
      stream.encrypt((chunk + i) * 4096, 4096);
    }
    EXPECT_EQ(there(stream.context.use()), before + 10);
  }
}

TEST(Equality, TwoInARowElsewhereMoveTheWindowAndOneDoesNot) {
  KeystreamEngine engine;
  Stream stream(engine, "aes-256-ctr", Buffer(16, 1), {});
  engine.idle(later());
  stream.encrypt(5000 * 4096, 4096);
  engine.idle(later());
  stream.encrypt(0, 4096);
  EXPECT_EQ(stream.context.use().own, 1U);
  stream.encrypt(7000 * 4096, 4096);
  stream.encrypt(7001 * 4096, 4096);
  engine.idle(later());
  stream.encrypt(7002 * 4096, 4096);
  EXPECT_EQ(there(stream.context.use()), 2U);
}

// A million operations at random places, of clients that share a context with workers and idle()
// beside them. What is refused has been encrypted before; what is not is right.
TEST(Equality, AMillionRandomOperations) {
  constexpr std::size_t space = std::size_t{48} << 20;
  constexpr unsigned clients = 4;
  constexpr unsigned operations = test::is_sanitized ? 100000 : 1000000;
  KeystreamEngine engine({.workers = 2, .budget_bytes = std::size_t{64} << 20});
  const Buffer key = key_for("aes-128-ctr");
  const Buffer counter(16, 0xff);
  const Buffer stream = stream_of("aes-128-ctr", key, counter, 0, space);
  KeystreamContext context = engine.open(engine.bind("aes-128-ctr", key, {.kernel = "bitslice"}),
                                         counter, {.window_chunks = 32});
  std::atomic<std::uint64_t> encrypted{0};
  std::atomic<std::uint64_t> refused{0};
  const auto work = [&](unsigned client) {
    std::mt19937_64 random(client);
    Buffer text(4096);
    Buffer out(4096);
    std::uint64_t at = 0;
    for (unsigned i = 0; i < operations / clients; ++i) {
      // Mostly a few bytes anywhere, sometimes the next chunk of a row, sometimes the way back.
      std::size_t bytes = 1 + random() % 40;
      at = random() % (space - 4096);
      if (i % 64 == 0) {
        at = std::min<std::uint64_t>((i / 64 * clients + client) * 4096, space - 4096);
        bytes = 4096;
      }
      for (std::size_t byte = 0; byte < bytes; ++byte) {
        text[byte] = static_cast<std::uint8_t>(at + byte * 3);
      }
      const std::span<const std::uint8_t> in(text.data(), bytes);
      const std::span<std::uint8_t> to(out.data(), bytes);
      if (i % 4 == 3) {
        context.decrypt(at, in, to);
      } else {
        try {
          context.encrypt(at, in, to);
          ++encrypted;
        } catch (const Error& error) {
          ASSERT_EQ(error.code, ErrorCode::usage) << error.what();
          ++refused;
          continue;
        }
      }
      for (std::size_t byte = 0; byte < bytes; ++byte) {
        ASSERT_EQ(to[byte], in[byte] ^ stream[at + byte]) << "at " << at + byte;
      }
      if (i % 256 == 0) {
        engine.idle(Clock::now() + std::chrono::microseconds(20));
      }
    }
  };
  {
    std::vector<std::jthread> threads;
    for (unsigned client = 0; client < clients; ++client) {
      threads.emplace_back(work, client);
    }
  }
  EXPECT_GT(encrypted.load(), operations / 8);
  EXPECT_GT(refused.load(), 0U);
}

}  // namespace
}  // namespace paes::test
