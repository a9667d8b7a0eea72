// SPDX-License-Identifier: Apache-2.0
// Sealed contexts: their messages are AES-GCM's, whatever was computed ahead; forgeries get nothing
// out of them; no nonce is used twice; nothing is left in memory.
#include <atomic>

#include "found_residue.hpp"
#include "kernel/registry.hpp"
#include "keystream_subject.hpp"
#include "message/cipher_name.hpp"
#include "paes/gcm.hpp"
#include "paes/nonces.hpp"

namespace paes::test {
namespace {

constexpr std::size_t chunk = 4096;

// The nonce of a message, by another's arithmetic: byte by byte.
Buffer nonce_of(Buffer nonce, std::uint64_t message) {
  unsigned carry = 0;
  for (unsigned i = 0; i < 8; ++i) {
    const unsigned sum = nonce[11 - i] + static_cast<unsigned>(message >> (8 * i) & 0xff) + carry;
    nonce[11 - i] = static_cast<std::uint8_t>(sum);
    carry = sum >> 8;
  }
  return nonce;
}

struct Message {
  Buffer ciphertext;
  Buffer tag;
};

// By the project's ordinary class, over libcrypto.
Message expected(const Buffer& key, const Buffer& first_nonce, std::uint64_t number,
                 const Buffer& aad, const Buffer& text, std::size_t tag_bytes = 16) {
  Message message{Buffer(text.size()), Buffer(tag_bytes)};
  Gcm(key, {.kernel = "openssl"})
      .seal(nonce_of(first_nonce, number), aad, text, message.ciphertext, message.tag);
  return message;
}

struct Row {
  explicit Row(KeystreamEngine& of_engine, std::string_view cipher = "aes-256-gcm",
               const SealedOptions& options = {}, std::string_view kernel = "bitslice",
               Buffer first_nonce = varied_bytes(12, 3))
      : key(key_for(cipher)),
        nonce(std::move(first_nonce)),
        context(of_engine.open_sealed(of_engine.bind(cipher, key, {.kernel = kernel}), nonce,
                                      options)) {}

  Message seal(std::uint64_t number, const Buffer& aad, const Buffer& text,
               std::size_t tag_bytes = 16) {
    Message message{Buffer(text.size()), Buffer(tag_bytes)};
    context.seal(number, aad, text, message.ciphertext, message.tag);
    return message;
  }
  // Seals, compares with GCM, and opens again.
  void check(std::uint64_t number, const Buffer& aad, const Buffer& text,
             std::size_t tag_bytes = 16) {
    const Message sealed = seal(number, aad, text, tag_bytes);
    const Message right = expected(key, nonce, number, aad, text, tag_bytes);
    ASSERT_EQ(sealed.ciphertext, right.ciphertext) << number;
    ASSERT_EQ(sealed.tag, right.tag) << number;
    Buffer opened(text.size());
    ASSERT_TRUE(context.open(number, aad, sealed.ciphertext, opened, sealed.tag));
    ASSERT_EQ(opened, text);
  }

  Buffer key;
  Buffer nonce;
  SealedContext context;
};

TEST(Seal, EveryKernelOfEveryLength) {
  for (const Kernel* kernel : all_kernels()) {
    if (!unavailable_reason(*kernel).empty()) {
      continue;
    }
    for (const char* const cipher : {"aes-128-gcm", "aes-192-gcm", "aes-256-gcm"}) {
      if (!has_cipher(*kernel, find_cipher_name(cipher))) {
        continue;
      }
      KeystreamEngine engine;
      Row row(engine, cipher, {}, kernel->name);
      std::uint64_t number = 0;
      for (const std::size_t bytes : {0U, 1U, 15U, 16U, 17U, 300U, 4095U, 4096U}) {
        for (const std::size_t aad_bytes : {0U, 13U, 32U}) {
          if (number % 3 != 2) {
            engine.idle(later());
          }
          row.check(number, varied_bytes(aad_bytes, number), varied_bytes(bytes, number + 1));
          ++number;
        }
      }
      EXPECT_GE(there(row.context.use()), 16U) << kernel->name;
    }
  }
}

// With keystream that is ready the ciphertext is there before the tag is made.
TEST(Seal, AssociatedDataMayLieInTheOutput) {
  KeystreamEngine engine;
  Row row(engine);
  for (std::uint64_t number = 0; number < 6; ++number) {
    if (number % 2 == 0) {
      engine.idle(later());
    }
    Buffer memory = varied_bytes(1000, number);
    const Message right = expected(row.key, row.nonce, number,
                                   Buffer(memory.begin() + 8, memory.begin() + 40), memory);
    Buffer tag(16);
    row.context.seal(number, std::span(memory).subspan(8, 32), memory, memory, tag);
    EXPECT_EQ(memory, right.ciphertext);
    EXPECT_EQ(tag, right.tag) << number;
  }
  EXPECT_GE(there(row.context.use()), 1U);
}

TEST(Seal, TagsOfEveryLengthAndNumbersThatWrap) {
  KeystreamEngine engine;
  for (const std::size_t ones : {4U, 8U, 12U}) {
    Buffer nonce(12, 0x17);
    std::fill(nonce.end() - static_cast<std::ptrdiff_t>(ones), nonce.end(), 0xff);
    nonce[11] = 0xfe;
    Row row(engine, "aes-256-gcm", {}, "bitslice", nonce);
    std::uint64_t number = 0;
    for (const std::size_t tag_bytes : {16U, 15U, 14U, 13U, 12U, 8U, 4U}) {
      engine.idle(later());
      row.check(number, {}, varied_bytes(100, number), tag_bytes);
      ++number;
    }
    EXPECT_EQ(there(row.context.use()), 7U);
  }
}

TEST(Seal, StridesWindowsAndPlaces) {
  KeystreamEngine engine({.chunk_bytes = 512});
  const std::uint64_t last = (std::uint64_t{1} << 61) - 2;
  Row row(engine, "aes-128-gcm", {.window_messages = 8, .first_message = last, .stride = -3});
  for (std::uint64_t i = 0; i < 20; ++i) {
    engine.idle(later());
    row.check(last - 3 * i, {}, varied_bytes(512, i));
  }
  EXPECT_EQ(there(row.context.use()), 20U);
  row.context.prefetch(1000);
  engine.idle(later());
  row.check(1000, {}, varied_bytes(512, 1));
  EXPECT_EQ(there(row.context.use()), 21U);
  EXPECT_EQ(code_of([&] { row.context.prefetch(last + 1); }), ErrorCode::usage);
}

TEST(Seal, InPlace) {
  KeystreamEngine engine;
  Row row(engine);
  for (const std::uint64_t number : {0U, 1U}) {
    if (number == 1) {
      engine.idle(later());
    }
    const Buffer text = varied_bytes(chunk, 8);
    Buffer memory = text;
    Buffer tag(16);
    row.context.seal(number, {}, memory, memory, tag);
    EXPECT_EQ(memory, expected(row.key, row.nonce, number, {}, text).ciphertext);
    ASSERT_TRUE(row.context.open(number, {}, memory, memory, tag));
    EXPECT_EQ(memory, text);
  }
}

// Each bit of tag and AAD and some of the ciphertext, with keystream and without. What is forged
// costs the true message nothing.
TEST(Seal, ForgeriesGetNothing) {
  KeystreamEngine engine;
  Row writer(engine);
  Row reader(engine);
  const Buffer aad = varied_bytes(5, 1);
  const Buffer text = varied_bytes(1000, 2);
  const Message sealed = writer.seal(0, aad, text);
  for (const bool is_ready : {false, true}) {
    if (is_ready) {
      reader.context.prefetch(0);
      engine.idle(later());
    }
    const std::uint64_t before = there(reader.context.use());
    const auto refused = [&](Message forged, const Buffer& with_aad, std::uint64_t number) {
      Buffer opened(text.size(), 0x55);
      EXPECT_FALSE(reader.context.open(number, with_aad, forged.ciphertext, opened, forged.tag));
      EXPECT_EQ(opened, Buffer(text.size()));
    };
    for (std::size_t bit = 0; bit < 128; ++bit) {
      Message forged = sealed;
      forged.tag[bit / 8] ^= static_cast<std::uint8_t>(1U << bit % 8);
      refused(forged, aad, 0);
    }
    for (std::size_t bit = 0; bit < 8 * text.size(); bit += 61) {
      Message forged = sealed;
      forged.ciphertext[bit / 8] ^= static_cast<std::uint8_t>(1U << bit % 8);
      refused(forged, aad, 0);
    }
    for (std::size_t bit = 0; bit < 8 * aad.size(); ++bit) {
      Buffer other = aad;
      other[bit / 8] ^= static_cast<std::uint8_t>(1U << bit % 8);
      refused(sealed, other, 0);
    }
    refused(sealed, {}, 0);
    refused(sealed, aad, 1);
    Buffer opened(text.size());
    ASSERT_TRUE(reader.context.open(0, aad, sealed.ciphertext, opened, sealed.tag));
    EXPECT_EQ(opened, text);
    if (is_ready) {
      EXPECT_GE(there(reader.context.use()), before + 32)
          << "with keystream, until one was computed to compare";
    }
  }
}

TEST(Seal, ANumberIsSealedOnce) {
  for (const unsigned window : {0U, 16U}) {
    KeystreamEngine engine;
    Row row(engine, "aes-256-gcm", {.window_messages = window});
    engine.idle(later());
    (void)row.seal(3, {}, Buffer(10));
    const auto again = [&](std::uint64_t number) {
      Buffer out(chunk, 2);
      Buffer tag(16, 2);
      const ErrorCode code =
          code_of([&] { row.context.seal(number, {}, Buffer(chunk), out, tag); });
      EXPECT_EQ(out, Buffer(chunk, 2));
      EXPECT_EQ(tag, Buffer(16, 2));
      return code;
    };
    EXPECT_EQ(again(3), ErrorCode::usage);
    row.context.prefetch(3);
    engine.idle(later());
    EXPECT_EQ(again(3), ErrorCode::usage);
    row.context.mark_used(10, 5);
    EXPECT_EQ(again(10), ErrorCode::usage);
    EXPECT_EQ(again(14), ErrorCode::usage);
    (void)row.seal(15, {}, Buffer(chunk));
    (void)row.seal(9, {}, Buffer(chunk));
  }
}

TEST(Seal, Refusals) {
  KeystreamEngine engine;
  const KeystreamKey gcm =
      engine.bind("aes-256-gcm", key_for("aes-256-gcm"), {.kernel = "bitslice"});
  const KeystreamKey ctr =
      engine.bind("aes-256-ctr", key_for("aes-256-ctr"), {.kernel = "bitslice"});
  const auto usage = ErrorCode::usage;
  EXPECT_EQ(code_of([&] { (void)engine.open_sealed(ctr, Buffer(12)); }), usage);
  EXPECT_EQ(code_of([&] { (void)engine.open(gcm, Buffer(16)); }), usage);
  EXPECT_EQ(code_of([&] { (void)engine.open_sealed(gcm, Buffer(16)); }), usage);
  EXPECT_EQ(code_of([&] { (void)engine.open_sealed(gcm, Buffer(12), {.stride = 0}); }), usage);
  EXPECT_EQ(code_of([&] { (void)engine.bind("aes-256-gcm", Buffer(16)); }), usage);
  SealedContext context = engine.open_sealed(gcm, Buffer(12), {.limit_messages = 10});
  Buffer text(chunk + 1);
  Buffer tag(16);
  const auto seal = [&](std::uint64_t number, std::size_t bytes, std::size_t tag_bytes) {
    return code_of([&] {
      context.seal(number, {}, std::span(text).first(bytes), std::span(text).first(bytes),
                   std::span(tag).first(tag_bytes));
    });
  };
  EXPECT_EQ(seal(0, chunk + 1, 16), usage);
  EXPECT_EQ(seal(0, chunk, 5), usage);
  EXPECT_EQ(seal(0, chunk, 0), usage);
  EXPECT_EQ(seal(10, chunk, 16), usage);
  EXPECT_EQ(code_of([&] { context.mark_used(8, 3); }), usage);
  EXPECT_EQ(seal(0, chunk, 16), ErrorCode{0}) << "what was refused was not recorded";
  EXPECT_EQ(seal(9, 0, 16), ErrorCode{0});
  context.close();
  EXPECT_EQ(seal(1, 1, 16), usage);
}

// Clients race for the same numbers while workers and idle() compute: each is sealed once, and
// right.
TEST(Seal, NoNonceTwiceUnderConcurrency) {
  constexpr std::uint64_t messages = 2000;
  constexpr unsigned clients = 4;
  KeystreamEngine engine({.workers = 2, .budget_bytes = 300000, .chunk_bytes = 512});
  Row row(engine, "aes-128-gcm");
  std::vector<std::atomic<unsigned>> sealed(messages);
  std::vector<Message> results(messages);
  std::atomic<std::uint64_t> refused{0};
  {
    std::vector<std::jthread> threads;
    for (unsigned client = 0; client < clients; ++client) {
      threads.emplace_back([&, client] {
        for (std::uint64_t i = 0; i < messages; ++i) {
          const std::uint64_t number = client % 2 == 0 ? i : (i * 7 + client) % messages;
          const Buffer text = varied_bytes(1 + number % 512, number);
          try {
            Message message = row.seal(number, {}, text);
            if (sealed[number].fetch_add(1) == 0) {
              results[number] = std::move(message);
            }
          } catch (const Error& error) {
            ASSERT_EQ(error.code, ErrorCode::usage) << error.what();
            ++refused;
          }
          if (i % 16 == 0) {
            engine.idle(Clock::now() + std::chrono::microseconds(20));
          }
        }
      });
    }
  }
  EXPECT_EQ(refused.load(), messages * (clients - 1));
  for (std::uint64_t number = 0; number < messages; ++number) {
    ASSERT_EQ(sealed[number].load(), 1U) << number;
    const Message right =
        expected(row.key, row.nonce, number, {}, varied_bytes(1 + number % 512, number));
    ASSERT_EQ(results[number].ciphertext, right.ciphertext) << number;
    ASSERT_EQ(results[number].tag, right.tag) << number;
  }
}

// The mask of the tag as well: whoever knows it and the key's hash forges.
TEST(Seal, UsedAndClosedKeystreamIsWiped) {
  if (!can_search_memory()) {
    GTEST_SKIP() << "sanitizers keep copies";
  }
  KeystreamEngine engine;
  Row row(engine);
  const auto hidden = [&](std::uint64_t number, std::size_t at, std::size_t bytes) {
    Buffer counter = nonce_of(row.nonce, number);
    counter.insert(counter.end(), {0, 0, 0, 1});
    Buffer stream = stream_of("aes-256-ctr", row.key, counter, at, bytes);
    Buffer inverse = inverted(stream);
    wipe(stream.data(), stream.size());
    return inverse;
  };
  engine.idle(later());
  const Buffer mask = hidden(0, 0, 16);
  const Buffer text = hidden(0, 16 + 64, 32);
  const Buffer rest = hidden(0, 16 + 2000, 32);
  const Buffer next = hidden(1, 0, 32);
  ASSERT_EQ(count_in_memory(mask), 1U);
  ASSERT_EQ(count_in_memory(text), 1U);
  ASSERT_EQ(count_in_memory(rest), 1U);
  ASSERT_EQ(count_in_memory(next), 1U);
  Buffer short_text(1000, 0x77);
  Buffer out(1000);
  Buffer tag(16);
  row.context.seal(0, Buffer(3), short_text, out, tag);
  EXPECT_EQ(row.context.use().own, 1U);
  EXPECT_EQ(count_in_memory(mask), 0U);
  EXPECT_EQ(count_in_memory(text), 0U);
  EXPECT_EQ(count_in_memory(rest), 0U) << "behind a short text";
  EXPECT_EQ(count_in_memory(next), 1U);
  row.context.close();
  EXPECT_EQ(count_in_memory(next), 0U);
}

TEST(Seal, RowsOfNoncesDoNotOverlap) {
  NonceAllocator nonces = NonceAllocator::in_process();
  const auto number = [](const std::uint8_t* nonce) {
    std::uint64_t value = 0;
    for (unsigned i = 4; i < 12; ++i) {
      value = value << 8 | nonce[i];
    }
    return value;
  };
  const NonceRow first = nonces.allocate_messages(1000);
  const NonceRow second = nonces.allocate_messages(std::uint64_t{1} << 40);
  const Nonce third = nonces.allocate();
  EXPECT_EQ(first.messages, 1000U);
  EXPECT_EQ(number(second.first) - number(first.first), 1000U);
  EXPECT_EQ(number(third.counter) - number(second.first), std::uint64_t{1} << 40);
  EXPECT_EQ(std::memcmp(first.first, third.counter, 4), 0);
  EXPECT_EQ(code_of([&] { (void)nonces.allocate_messages(0); }), ErrorCode::usage);
  EXPECT_EQ(code_of([&] { (void)nonces.allocate_messages(std::uint64_t{1} << 60); }),
            ErrorCode::usage);
}

}  // namespace
}  // namespace paes::test
