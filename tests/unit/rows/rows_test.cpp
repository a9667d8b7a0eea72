// SPDX-License-Identifier: Apache-2.0
// The rows that exist only for measurements do what they claim, no more: `copy` copies, `vaes_loop`
// is CTR without a tag, `ipsec_mb` is GCM. A row that cannot run here is reported as not run.
#include "rows/rows.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "compiled_for.hpp"
#include "exec/thread_pool.hpp"
#include "kernel/registry.hpp"
#include "message/cipher_name.hpp"
#include "message/gcm.hpp"
#include "message/raw_key.hpp"
#include "paes/error.hpp"
#include "raw_claims.hpp"
#include "reference.hpp"
#include "varied_bytes.hpp"

namespace paes {
namespace {

using test::varied_bytes;
using Text = std::vector<std::uint8_t>;

constexpr std::size_t key_sizes[] = {16, 24, 32};
// Around one and two blocks, one register, one and two groups of eight registers.
constexpr std::size_t sizes[] = {0,   1,   15,  16,  17,   63,   64,   65,   127,  255,
                                 256, 511, 512, 513, 1023, 1024, 1025, 4097, 16400};

const Kernel* row(const char* name) {
  for (const Kernel* kernel : bench::rows()) {
    if (std::string_view(kernel->name) == name) {
      return kernel;
    }
  }
  return nullptr;
}

#define PAES_ROW_OR_SKIP(name)                                                    \
  const Kernel* const kernel = row(name);                                         \
  if (kernel == nullptr) {                                                        \
    GTEST_SKIP() << "NOT RUN: " << (name) << ": not compiled for this processor"; \
  }                                                                               \
  if (const std::string reason = unavailable_reason(*kernel); !reason.empty()) {  \
    GTEST_SKIP() << "NOT RUN: " << (name) << ": " << reason;                      \
  }                                                                               \
  static_assert(true)

struct Sealed {
  Text text;
  Text tag = Text(16, 0xee);
};

Sealed seal(const Kernel& kernel, const Text& key, const Text& iv, const Text& aad,
            const Text& plain) {
  Sealed sealed{Text(plain.size()), Text(16)};
  GcmKey(key, kernel).seal(iv, aad, plain, sealed.text, sealed.tag);
  return sealed;
}

const Kernel& reference() { return find_kernel(Cipher::aes, "compute"); }

TEST(BenchRows, AreNeverChosenAndFoundOnlyAmongThemselves) {
  ASSERT_FALSE(bench::rows().empty());
  for (const Kernel* kernel : bench::rows()) {
    EXPECT_EQ(kernel->use, Use::by_name);
    EXPECT_NE(&best_kernel(Cipher::aes), kernel);
    EXPECT_THROW((void)find_kernel(Cipher::aes, kernel->name), Error);
    if (unavailable_reason(*kernel).empty()) {
      EXPECT_EQ(&find_kernel(Cipher::aes, kernel->name, bench::kernels_and_rows()), kernel);
    }
  }
  EXPECT_EQ(bench::kernels_and_rows().size(), all_kernels().size() + bench::rows().size());
}

TEST(BenchRows, NeedWhatTheirFilesAreCompiledFor) {
#define PAES_KERNEL(name, condition, flags) {#name, flags},
  constexpr test::CompiledRow rows[] = {
#include "rows/compiled_rows.def"
  };
#undef PAES_KERNEL
  test::expect_needs_of_flags(rows, bench::rows());
}

TEST(BenchRows, HaveTheCiphersThatTheyTakeAKeyFor) {
  test::expect_has_cipher_is_what_raw_key_accepts(bench::rows());
}

TEST(BenchRows, CopyCopies) {
  PAES_ROW_OR_SKIP("copy");
  for (const std::size_t size : sizes) {
    const Text plain = varied_bytes(size, size);
    const Sealed sealed = seal(*kernel, Text(16, 1), Text(12, 2), {}, plain);
    EXPECT_EQ(sealed.text, plain);
    EXPECT_EQ(sealed.tag, Text(16, 0));
  }
}

class VaesLoops : public ::testing::TestWithParam<const char*> {};

TEST_P(VaesLoops, AreCtrWithoutTag) {
  PAES_ROW_OR_SKIP(GetParam());
  for (const std::size_t key_bytes : key_sizes) {
    const Text key = varied_bytes(key_bytes, 3);
    for (const std::size_t size : sizes) {
      SCOPED_TRACE(size);
      const Text iv = varied_bytes(12, size);
      Text plain = varied_bytes(size, size + 1);
      const Text expected = seal(reference(), key, iv, {}, plain).text;
      const Sealed sealed = seal(*kernel, key, iv, {}, plain);
      EXPECT_EQ(sealed.text, expected);
      EXPECT_EQ(sealed.tag, Text(16, 0));
      Text tag(16);
      GcmKey(key, *kernel).seal(iv, {}, plain, plain, tag);  // in place
      EXPECT_EQ(plain, expected);
    }
  }
}

// The counter's last 32 bits wrap without a carry, in the group loop and in the rest.
TEST_P(VaesLoops, CountersWrap) {
  PAES_ROW_OR_SKIP(GetParam());
  const Text key(32, 9);
  for (const std::uint32_t before_wrap : {1U, 3U, 31U, 33U, 65U}) {
    SCOPED_TRACE(before_wrap);
    CounterBlock counter;
    std::fill_n(counter.bytes, 16, std::uint8_t{0xff});
    store_be32(counter.bytes + 12, 0U - before_wrap);
    const Text in = varied_bytes(1104, before_wrap);
    Text out[2] = {Text(in.size()), Text(in.size())};
    const Kernel* const both[2] = {kernel, &reference()};
    for (unsigned i = 0; i < 2; ++i) {
      KernelKeys keys;
      both[i]->prepare(key, keys);
      both[i]->run(Operation::ctr)(
          keys, {.text = {in.data(), out[i].data(), in.size()}, .counter = &counter});
    }
    EXPECT_EQ(out[0], out[1]);
  }
}

TEST_P(VaesLoops, EcbIsTheReferences) {
  PAES_ROW_OR_SKIP(GetParam());
  for (const std::size_t key_bytes : key_sizes) {
    const Text key = varied_bytes(key_bytes, 4);
    KernelKeys keys[2];
    kernel->prepare(key, keys[0]);
    reference().prepare(key, keys[1]);
    for (const Operation operation : {Operation::ecb_encrypt, Operation::ecb_decrypt}) {
      const Text in = varied_bytes(1104, key_bytes);
      Text out[2] = {Text(in.size()), Text(in.size())};
      kernel->run(operation)(keys[0], {.text = {in.data(), out[0].data(), in.size()}});
      reference().run(operation)(keys[1], {.text = {in.data(), out[1].data(), in.size()}});
      EXPECT_EQ(out[0], out[1]);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Widths, VaesLoops, ::testing::Values("vaes_loop", "vaes_loop256"));

TEST(BenchRows, IpsecMbIsGcm) {
  PAES_ROW_OR_SKIP("ipsec_mb");
  for (const std::size_t key_bytes : key_sizes) {
    const Text key = varied_bytes(key_bytes, 5);
    const GcmKey gcm(key, *kernel);
    for (const std::size_t size : sizes) {
      for (const std::size_t iv_bytes : {12U, 8U, 60U}) {
        SCOPED_TRACE(testing::Message() << size << " bytes, IV of " << iv_bytes);
        const Text iv = varied_bytes(iv_bytes, size);
        const Text aad = varied_bytes(size % 40, 6);
        const Text plain = varied_bytes(size, 7);
        const Sealed expected = seal(reference(), key, iv, aad, plain);
        const Sealed sealed = seal(*kernel, key, iv, aad, plain);
        EXPECT_EQ(sealed.text, expected.text);
        EXPECT_EQ(sealed.tag, expected.tag);
        Text opened(size);
        EXPECT_TRUE(gcm.open(iv, aad, sealed.text, opened, sealed.tag));
        EXPECT_EQ(opened, plain);
        Text forged = sealed.tag;
        forged[0] ^= 1;
        EXPECT_FALSE(gcm.open(iv, aad, sealed.text, opened, forged));
      }
    }
  }
}

// The modes that the library has: messages of any length, more than one job long, and batches.
TEST(BenchRows, IpsecMbIsLibcryptoInRawModes) {
  PAES_ROW_OR_SKIP("ipsec_mb");
  const auto threads = make_thread_pool(2);
  unsigned modes_run = 0;
  for (const CipherName& name : all_cipher_names()) {
    if (name.is_gcm() || !has_cipher(*kernel, name)) {
      continue;
    }
    ++modes_run;
    const Text key = varied_bytes(name.key_bytes, 8);
    const RawKey raw(name.cipher, *name.mode, key, *kernel);
    const std::string libcryptos =
        test::reference_name(true, name.key_bytes, row_of(*name.mode).name);
    for (const Direction direction : {Direction::encrypt, Direction::decrypt}) {
      std::vector<Text> ivs;
      std::vector<Text> texts;
      std::vector<Text> expected;
      std::vector<RawMessage> batch;
      for (const std::size_t size : {16U, 48U, 256U, 4096U, 16400U, 65520U, 65536U, 150000U}) {
        Text iv = varied_bytes(raw.iv_bytes(), size);
        if (*name.mode == Mode::ctr) {  // carries into the second half, and wraps 32 bits, soon
          std::fill(iv.begin() + 4, iv.end(), std::uint8_t{0xff});
          iv.back() = 0xfd;
        }
        ivs.push_back(iv);
        texts.push_back(varied_bytes(size, size + 1));
        expected.push_back(test::reference_crypt(libcryptos, direction == Direction::encrypt, key,
                                                 iv, texts.back()));
      }
      for (std::size_t i = 0; i < texts.size(); ++i) {
        Text out(texts[i].size());
        RawPosition position = raw.start(ivs[i]);
        raw.crypt(direction, position, texts[i], out, *threads, 4096);
        EXPECT_TRUE(out == expected[i]) << name.name << ", " << out.size() << " bytes";
        batch.push_back({ivs[i], texts[i], texts[i]});
      }
      raw.crypt_batch(direction, batch, *threads);
      EXPECT_TRUE(texts == expected) << name.name << " in a batch";
      // A quarter of them at once, which is more than one burst takes.
      std::vector<Text> copies(600, varied_bytes(48, 9));
      batch.clear();
      for (Text& copy : copies) {
        batch.push_back({ivs[0], copy, copy});
      }
      const Text once = test::reference_crypt(libcryptos, direction == Direction::encrypt, key,
                                              ivs[0], copies[0]);
      raw.crypt_batch(direction, batch, serial_executor());
      EXPECT_EQ(std::count(copies.begin(), copies.end(), once), 600) << name.name;
    }
  }
  EXPECT_EQ(modes_run, 9U) << "ECB, CBC and CTR with each key";
}

}  // namespace
}  // namespace paes
