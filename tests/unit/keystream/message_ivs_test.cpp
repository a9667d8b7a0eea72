// SPDX-License-Identifier: Apache-2.0
// IVs that are functions of a message's number, and sealed contexts with IVs of 16 bytes: equal to
// GCM whatever was computed ahead, no IV twice, nothing left in memory.
#include "keystream/message_ivs.hpp"

#include <algorithm>
#include <set>

#include "found_residue.hpp"
#include "kernel/registry.hpp"
#include "keystream/engine.hpp"
#include "keystream_subject.hpp"
#include "message/cipher_name.hpp"
#include "paes/gcm.hpp"

namespace paes::test {
namespace {

using keystream::EncryptedIvs;
using keystream::KeystreamService;
using keystream::SealContext;

constexpr std::size_t chunk = 4096;
constexpr std::size_t iv_bytes = 16;

Buffer iv_of(const keystream::MessageIvs& ivs, std::uint64_t number) {
  Buffer iv(ivs.bytes(), 0x55);
  ivs.make(number, iv.data());
  return iv;
}

// The number as a block, encrypted by the project's ordinary class.
Buffer expected_iv(const Buffer& key, std::uint64_t number) {
  Buffer block(iv_bytes);
  for (std::size_t i = 0; i < sizeof number; ++i) {
    block[iv_bytes - 1 - i] = static_cast<std::uint8_t>(number >> (8 * i));
  }
  RawCipher("aes-256-ecb", key).encrypt({}, block, block);
  return block;
}

TEST(MessageIvs, AreEncryptedNumbersOnEveryKernel) {
  const Buffer key = key_for("aes-256", 9);
  for (const Kernel* kernel : all_kernels()) {
    if (!unavailable_reason(*kernel).empty() ||
        !has_cipher(*kernel, find_cipher_name("aes-256-gcm"))) {
      continue;
    }
    const EncryptedIvs ivs(key, *kernel);
    ASSERT_EQ(ivs.bytes(), iv_bytes);
    for (const std::uint64_t number :
         {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{255}, std::uint64_t{1} << 32,
          (std::uint64_t{1} << 61) - 2, ~std::uint64_t{0}}) {
      EXPECT_EQ(iv_of(ivs, number), expected_iv(key, number)) << kernel->name << " " << number;
    }
  }
}

TEST(MessageIvs, DifferByNumberAndByKey) {
  const Kernel& kernel = best_kernel(Cipher::aes);
  const EncryptedIvs one(key_for("aes-256", 1), kernel);
  const EncryptedIvs other(key_for("aes-256", 2), kernel);
  constexpr std::uint64_t numbers = 20000;
  std::set<Buffer> seen;
  for (std::uint64_t number = 0; number < numbers; ++number) {
    seen.insert(iv_of(one, number));
    seen.insert(iv_of(other, number));
  }
  EXPECT_EQ(seen.size(), 2 * numbers);
}

// A context whose IVs have 16 bytes.
struct LongIvRow {
  explicit LongIvRow(const std::shared_ptr<KeystreamService>& service, std::string_view kernel,
                     unsigned window = 16)
      : context(keystream::closing_itself(
            service,
            service->open(service->bind("aes-256-gcm", key, kernel),
                          std::make_unique<EncryptedIvs>(iv_key, find_kernel(Cipher::aes, kernel)),
                          {.window_messages = window}))) {}

  void check(std::uint64_t number, const Buffer& aad, const Buffer& text) {
    Buffer iv(iv_bytes);
    Buffer tag(16);
    Buffer ciphertext(text.size());
    context->seal(number, aad, text, ciphertext, tag, iv);
    ASSERT_EQ(iv, expected_iv(iv_key, number));
    Buffer right(text.size());
    Buffer right_tag(16);
    Gcm(key, {.kernel = "openssl"}).seal(iv, aad, text, right, right_tag);
    ASSERT_EQ(ciphertext, right) << number;
    ASSERT_EQ(tag, right_tag) << number;
    Buffer opened(text.size());
    ASSERT_TRUE(context->open(number, aad, ciphertext, opened, tag));
    ASSERT_EQ(opened, text);
  }

  const Buffer key = key_for("aes-256");
  const Buffer iv_key = key_for("aes-256", 9);
  std::shared_ptr<SealContext> context;
};

std::shared_ptr<KeystreamService> service_of(std::size_t chunk_bytes = chunk) {
  return KeystreamService::make({.chunk_bytes = chunk_bytes});
}

TEST(MessageIvs, MessagesAreThoseOfGcmOnEveryKernel) {
  for (const Kernel* kernel : all_kernels()) {
    if (!unavailable_reason(*kernel).empty() ||
        !has_cipher(*kernel, find_cipher_name("aes-256-gcm"))) {
      continue;
    }
    const auto service = service_of();
    LongIvRow row(service, kernel->name);
    std::uint64_t number = 0;
    for (const std::size_t bytes : {1U, 15U, 16U, 17U, 300U, 4095U, 4096U, 4096U}) {
      for (const std::size_t aad_bytes : {8U, 24U}) {
        if (number % 3 != 2) {
          service->idle(later());
        }
        row.check(number, varied_bytes(aad_bytes, number), varied_bytes(bytes, number + 1));
        ++number;
      }
    }
    EXPECT_GE(there(row.context->use()), 10U) << kernel->name;
  }
}

// Chunks that one call of idle() is too short for, so that what is there begins with the IV that an
// earlier call has made.
TEST(MessageIvs, KeystreamThatIsMadeInParts) {
  constexpr std::size_t long_chunk = 65536;
  const auto service = service_of(long_chunk);
  LongIvRow row(service, "bitslice", 4);
  for (std::uint64_t number = 0; number < 6; ++number) {
    for (unsigned call = 0; call < 2000; ++call) {
      (void)service->idle(Clock::now() + std::chrono::microseconds(30));
    }
    row.check(number, Buffer(8), varied_bytes(long_chunk, number));
  }
  EXPECT_GE(there(row.context->use()), 6U);
}

TEST(MessageIvs, UsedAndClosedKeystreamIsWiped) {
  if (!can_search_memory()) {
    GTEST_SKIP() << "sanitizers keep copies";
  }
  const auto service = service_of();
  LongIvRow row(service, "bitslice");
  // Zeros sealed by the ordinary class are the keystream.
  const auto hidden = [&](std::uint64_t number, std::size_t at) {
    Buffer stream(chunk);
    Buffer tag(16);
    Gcm(row.key).seal(expected_iv(row.iv_key, number), {}, stream, stream, tag);
    Buffer part(stream.begin() + static_cast<std::ptrdiff_t>(at),
                stream.begin() + static_cast<std::ptrdiff_t>(at) + 32);
    wipe(stream);
    return inverted(std::move(part));
  };
  service->idle(later());
  const Buffer first = hidden(0, 64);
  const Buffer rest = hidden(0, 2000);
  const Buffer next = hidden(1, 64);
  ASSERT_EQ(count_in_memory(first), 1U);
  ASSERT_EQ(count_in_memory(rest), 1U);
  ASSERT_EQ(count_in_memory(next), 1U);
  const Buffer text(1000, 0x77);
  Buffer out(1000);
  Buffer tag(16);
  Buffer iv(iv_bytes);
  row.context->seal(0, {}, text, out, tag, iv);
  EXPECT_EQ(row.context->use().own, 1U);
  EXPECT_EQ(count_in_memory(first), 0U);
  EXPECT_EQ(count_in_memory(rest), 0U) << "behind a short text";
  EXPECT_EQ(count_in_memory(next), 1U);
  row.context.reset();
  EXPECT_EQ(count_in_memory(next), 0U);
}

}  // namespace
}  // namespace paes::test
