// SPDX-License-Identifier: Apache-2.0
// Every kernel's modes against libcrypto: all lengths around its flight, any start, in place, with
// forbidden pages on both sides; and chained messages of unequal lengths side by side.
#include <gtest/gtest.h>

#include <algorithm>

#include "guarded_buffer.hpp"
#include "kernel_cases.hpp"
#include "reference.hpp"
#include "varied_bytes.hpp"

namespace paes {
namespace {

using test::Guard;
using test::GuardedBuffer;
using test::PreparedKeys;
using test::reference_crypt;
using test::varied_bytes;
using Buffer = std::vector<std::uint8_t>;

class Modes : public KernelCase {
 protected:
  static bool is_aes() { return kernel().cipher == Cipher::aes; }
  static std::size_t block_size() { return block_bytes_of(kernel().cipher); }
  static std::vector<std::size_t> key_sizes() {
    return is_aes() ? std::vector<std::size_t>{16, 24, 32} : std::vector<std::size_t>{24};
  }
  // Two flights and a few blocks more; every count below 70, then those around multiples of eight.
  // An emulated device computes a whole grid for one block, so there only the boundaries count.
  static std::vector<std::size_t> block_counts() {
    const std::size_t lanes = kernel().lanes;
    const std::size_t most = 2 * lanes + 5;
    const auto is_beside_boundary = [&](std::size_t blocks) {
      return blocks < 4 || blocks % 32 == 31 || blocks % 32 == 1 || blocks == lanes ||
             blocks == 2 * lanes || blocks == most;
    };
    std::vector<std::size_t> counts;
    for (std::size_t blocks = 0; blocks <= most; ++blocks) {
      if (test::is_emulated(kernel())
              ? is_beside_boundary(blocks) && (blocks < 140 || blocks % lanes < 40)
              : blocks < 70 || blocks % 8 == 1 || blocks % 8 == 7 || blocks + 10 > most) {
        counts.push_back(blocks);
      }
    }
    return counts;
  }
  static std::string name(std::size_t key_bytes, const char* mode) {
    return test::reference_name(is_aes(), key_bytes, mode);
  }
  template <typename AnyBlock>
  static AnyBlock block_of(Bytes bytes) {
    AnyBlock block = {};
    std::copy(bytes.begin(), bytes.end(), block.bytes);
    return block;
  }
};

struct PieceMode {
  Operation operation;
  const char* mode;
  bool encrypt;
  bool has_before;
};
constexpr PieceMode piece_modes[] = {{Operation::ecb_encrypt, "ECB", true, false},
                                     {Operation::ecb_decrypt, "ECB", false, false},
                                     {Operation::cbc_decrypt, "CBC", false, true},
                                     {Operation::cfb_decrypt, "CFB", false, true}};

TEST_P(Modes, PiecesAreTheReferences) {
  PAES_SKIP_IF_UNAVAILABLE();
  for (const auto& [operation, mode, encrypt, has_before] : piece_modes) {
    const PieceFunction run = kernel().run(operation);
    ASSERT_NE(run, nullptr) << mode;
    for (const std::size_t key_bytes : key_sizes()) {
      const Buffer key = varied_bytes(key_bytes, 1);
      const PreparedKeys keys(kernel(), key);
      const std::vector<std::size_t> counts = block_counts();
      const Buffer text = varied_bytes(counts.back() * block_size(), 2);
      const Buffer iv = has_before ? varied_bytes(block_size(), 3) : Buffer();
      const auto before = block_of<ChainBlock>(iv);
      const GuardedBuffer in(text.size());
      const GuardedBuffer out(text.size());
      for (const std::size_t blocks : counts) {
        const Bytes plain(text.data(), blocks * block_size());
        const Buffer expected = reference_crypt(name(key_bytes, mode), encrypt, key, iv, plain);
        for (const Guard side : {Guard::before, Guard::behind}) {
          for (const bool in_place : {false, true}) {
            const MutableBytes from = in.filled(plain, side);
            const MutableBytes to = in_place ? from : out.view(from.size(), side);
            run(*keys, {.text = {from.data(), to.data(), from.size()},
                        .before = has_before ? &before : nullptr});
            ASSERT_TRUE(std::equal(to.begin(), to.end(), expected.begin()))
                << mode << (encrypt ? " encryption, " : " decryption, ") << key_bytes
                << " bytes of key, " << blocks << " blocks" << (in_place ? " in place" : "");
          }
        }
      }
    }
  }
}

// XTS with the tweak given; what E(unit number) is, is its owner's business.
TEST_P(Modes, XtsFromAGivenTweak) {
  PAES_SKIP_IF_UNAVAILABLE();
  if (!is_aes()) {
    EXPECT_EQ(kernel().run(Operation::xts_encrypt), nullptr);
    return;
  }
  if (kernel().takes_whole_units()) {
    GTEST_SKIP() << "NOT RUN: " << kernel().name << ": takes whole data units only";
  }
  for (const std::size_t key_bytes : {std::size_t{16}, std::size_t{32}}) {
    const Buffer key = varied_bytes(key_bytes, 4);
    const PreparedKeys keys(kernel(), key);
    const std::vector<std::size_t> counts = block_counts();
    const Buffer text = varied_bytes(counts.back() * 16, 5);
    const GuardedBuffer in(text.size());
    const GuardedBuffer out(text.size());
    for (const std::uint64_t seed : {6U, 7U}) {  // tweaks with and without a carry at once
      const auto tweak = block_of<Tweak>(varied_bytes(16, seed));
      Buffer tweaks(text.size());
      for (std::size_t at = 0, bit = 0; at < tweaks.size(); at += 16) {
        // Bit by bit, so that an error in next_tweak would show.
        if (at == 0) {
          std::copy_n(tweak.bytes, 16, tweaks.begin());
          continue;
        }
        unsigned carry = 0;
        for (bit = 0; bit < 16; ++bit) {
          const unsigned byte = tweaks[at - 16 + bit];
          tweaks[at + bit] = static_cast<std::uint8_t>((byte << 1) | carry);
          carry = byte >> 7;
        }
        if (carry != 0) {
          tweaks[at] ^= 0x87;
        }
      }
      for (const std::size_t blocks : counts) {
        for (const bool encrypt : {true, false}) {
          const Bytes plain(text.data(), blocks * 16);
          Buffer expected(plain.begin(), plain.end());
          const auto add_tweaks = [&] {
            for (std::size_t i = 0; i < expected.size(); ++i) {
              expected[i] ^= tweaks[i];
            }
          };
          add_tweaks();
          expected = reference_crypt(name(key_bytes, "ECB"), encrypt, key, {}, expected);
          add_tweaks();
          const PieceFunction run =
              kernel().run(encrypt ? Operation::xts_encrypt : Operation::xts_decrypt);
          ASSERT_NE(run, nullptr) << "XTS";
          for (const Guard side : {Guard::before, Guard::behind}) {
            for (const bool in_place : {false, true}) {
              const MutableBytes from = in.filled(plain, side);
              const MutableBytes to = in_place ? from : out.view(from.size(), side);
              // Both designs' ways of multiplying tweaks; each with every other number of blocks.
              const Design design = (blocks + seed) % 2 == 0 ? Design::intel : Design::other;
              run(*keys, {.text = {from.data(), to.data(), from.size()},
                          .tweak = &tweak,
                          .design = design});
              ASSERT_TRUE(std::equal(to.begin(), to.end(), expected.begin()))
                  << (encrypt ? "encryption, " : "decryption, ") << key_bytes << " bytes of key, "
                  << blocks << " blocks" << (in_place ? " in place" : "");
            }
          }
        }
      }
    }
  }
}

// Several data units in one call come out as each of them does alone.
TEST_P(Modes, XtsTakesSeveralUnits) {
  PAES_SKIP_IF_UNAVAILABLE();
  if (kernel().run(Operation::xts_encrypt) == nullptr) {
    GTEST_SKIP() << "NOT RUN: " << kernel().name << ": no pieces of XTS";
  }
  constexpr std::size_t units = 5;
  const PreparedKeys keys(kernel(), varied_bytes(32, 8));
  std::vector<Tweak> tweaks;
  for (std::size_t i = 0; i < units; ++i) {
    tweaks.push_back(block_of<Tweak>(varied_bytes(16, 20 + i)));
  }
  for (const std::size_t unit_bytes : {16U, 48U, 512U, 528U, 1040U, 4096U}) {
    const Buffer text = varied_bytes(units * unit_bytes, 9);
    for (const Operation operation : {Operation::xts_encrypt, Operation::xts_decrypt}) {
      Buffer expected(text.size());
      for (std::size_t i = 0; i < units; ++i) {
        kernel().run(operation)(*keys, {.text = {text.data() + i * unit_bytes,
                                                 expected.data() + i * unit_bytes, unit_bytes},
                                        .tweak = &tweaks[i]});
      }
      Buffer in_place = text;
      kernel().run(operation)(*keys, {.text = {in_place.data(), in_place.data(), in_place.size()},
                                      .tweak = tweaks.data(),
                                      .unit_bytes = unit_bytes});
      ASSERT_EQ(in_place, expected) << unit_bytes << " bytes";
    }
  }
}

// The counter's last 32 bits wrap without a carry; DES has them in a block of 8 bytes.
TEST_P(Modes, CounterModeWraps) {
  PAES_SKIP_IF_UNAVAILABLE();
  const PieceFunction run = kernel().run(Operation::ctr);
  ASSERT_NE(run, nullptr);
  for (const std::size_t key_bytes : key_sizes()) {
    const Buffer key = varied_bytes(key_bytes, 8);
    const PreparedKeys keys(kernel(), key);
    for (const std::uint32_t count : {0U, 1U, 0xfffffffdU, 0xffffff80U}) {
      auto counter = block_of<CounterBlock>(varied_bytes(block_size(), 9));
      store_be32(counter.bytes + block_size() - 4, count + 3);
      for (const std::size_t blocks : block_counts()) {
        Buffer counters(blocks * block_size());
        for (std::size_t i = 0; i < blocks; ++i) {
          std::copy_n(counter.bytes, block_size() - 4, counters.data() + i * block_size());
          store_be32(counters.data() + (i + 1) * block_size() - 4,
                     static_cast<std::uint32_t>(count + 3 + i));
        }
        const Buffer in = varied_bytes(counters.size(), 10);
        Buffer expected = reference_crypt(name(key_bytes, "ECB"), true, key, {}, counters);
        for (std::size_t i = 0; i < in.size(); ++i) {
          expected[i] ^= in[i];
        }
        Buffer out(in.size());
        run(*keys, {.text = {in.data(), out.data(), in.size()},
                    .counter = &counter,
                    .is_counter_public = true});
        ASSERT_TRUE(out == expected) << blocks << " blocks from count " << count;
      }
    }
  }
}

// Long enough for flights that share their first round, which start a few blocks in.
TEST_P(Modes, LongCounterModeWraps) {
  PAES_SKIP_IF_UNAVAILABLE();
  const PieceFunction run = kernel().run(Operation::ctr);
  ASSERT_NE(run, nullptr);
  const Buffer key = varied_bytes(key_sizes().front(), 12);
  const PreparedKeys keys(kernel(), key);
  const std::size_t blocks = 20 * std::size_t{kernel().lanes} + 5;
  const Buffer in = varied_bytes(blocks * block_size(), 13);
  for (const std::uint32_t count : {0U, 1U, 2U, 3U, 0xf3U, 0xfffffef1U, 0xffffffffU}) {
    auto counter = block_of<CounterBlock>(varied_bytes(block_size(), 14));
    store_be32(counter.bytes + block_size() - 4, count);
    Buffer counters(in.size());
    for (std::size_t i = 0; i < blocks; ++i) {
      std::copy_n(counter.bytes, block_size() - 4, counters.data() + i * block_size());
      store_be32(counters.data() + (i + 1) * block_size() - 4,
                 static_cast<std::uint32_t>(count + i));
    }
    Buffer expected = reference_crypt(name(key.size(), "ECB"), true, key, {}, counters);
    for (std::size_t i = 0; i < in.size(); ++i) {
      expected[i] ^= in[i];
    }
    Buffer out(in.size());
    run(*keys, {.text = {in.data(), out.data(), in.size()},
                .counter = &counter,
                .is_counter_public = true});
    ASSERT_TRUE(out == expected) << "from count " << count;
  }
}

// Stores past the caches change where the flights start, never the output; nor does the way they
// prefetch, whichever this machine prefers.
TEST_P(Modes, BypassingCachesChangesNothing) {
  PAES_SKIP_IF_UNAVAILABLE();
  const Buffer key = varied_bytes(key_sizes().front(), 15);
  const PreparedKeys keys(kernel(), key);
  const std::size_t most = (6 * std::size_t{kernel().lanes} + 5) * block_size();
  const Buffer text = varied_bytes(most, 16);
  const auto before = block_of<ChainBlock>(varied_bytes(block_size(), 17));
  const auto tweak = block_of<Tweak>(varied_bytes(block_size(), 17));
  const auto counter = block_of<CounterBlock>(varied_bytes(block_size(), 18));
  for (unsigned index = 0; index < operation_count; ++index) {
    const PieceFunction run = kernel().run(static_cast<Operation>(index));
    if (run == nullptr) {
      continue;
    }
    for (std::size_t offset = 0; offset < 64; offset += offset == 0 ? 1 : 5) {
      for (const std::size_t shift : {offset, offset / 16 * 16}) {
        const std::size_t bytes = most - offset / 16 * block_size();
        Buffer expected(bytes);
        Piece piece{.text = {text.data(), expected.data(), bytes},
                    .counter = &counter,
                    .tweak = &tweak,
                    .before = &before,
                    .is_counter_public = true};
        run(*keys, piece);
        piece.bypasses_caches = true;
        for (const Design design : {Design::as_machine, Design::intel, Design::other}) {
          piece.design = design;
          Buffer room(most + 192, 0xa5);
          std::uint8_t* const aligned =
              room.data() + 64 - reinterpret_cast<std::uintptr_t>(room.data()) % 64;
          piece.text.out = aligned + shift;
          run(*keys, piece);
          ASSERT_TRUE(std::equal(expected.begin(), expected.end(), aligned + shift))
              << "operation " << index << " at " << shift << ", design "
              << static_cast<int>(design);
          ASSERT_TRUE(std::all_of(aligned + shift + bytes, room.data() + room.size(),
                                  [](std::uint8_t byte) { return byte == 0xa5; }));
        }
      }
    }
  }
}

struct ChainMode {
  Operation operation;
  const char* mode;
};
constexpr ChainMode chain_modes[] = {
    {Operation::cbc_encrypt, "CBC"}, {Operation::cfb_encrypt, "CFB"}, {Operation::ofb, "OFB"}};

// So many messages of so unequal lengths that lanes are refilled, some empty; each in two parts, so
// that the feedback is carried on; and in place.
TEST_P(Modes, ChainsSideBySide) {
  PAES_SKIP_IF_UNAVAILABLE();
  for (const auto& [operation, mode] : chain_modes) {
    const ChainFunction run = kernel().run_chains(operation);
    if (run == nullptr && test::is_emulated(kernel())) {
      continue;  // no device's work
    }
    ASSERT_NE(run, nullptr) << mode;
    for (const std::size_t key_bytes : key_sizes()) {
      const Buffer key = varied_bytes(key_bytes, 11);
      const PreparedKeys keys(kernel(), key);
      for (const std::size_t messages :
           {std::size_t{1}, std::size_t{2}, std::size_t{7}, std::size_t{kernel().lanes},
            2 * std::size_t{kernel().lanes} + 3}) {
        std::vector<Buffer> text;
        std::vector<Buffer> expected;
        std::vector<Chain> chains;
        for (std::size_t i = 0; i < messages; ++i) {
          const std::size_t blocks = messages == 1 ? 37 : (i * 7 + i / 5) % 23;
          text.push_back(varied_bytes(blocks * block_size(), 100 + i));
          const Buffer iv = varied_bytes(block_size(), 200 + i);
          expected.push_back(reference_crypt(name(key_bytes, mode), true, key, iv, text.back()));
          chains.push_back({{}, block_of<ChainBlock>(iv)});
        }
        for (const bool is_second : {false, true}) {
          for (std::size_t i = 0; i < messages; ++i) {
            const std::size_t first = text[i].size() / block_size() / 2 * block_size();
            std::uint8_t* const at = text[i].data() + (is_second ? first : 0);
            chains[i].text = {at, at, is_second ? text[i].size() - first : first};
          }
          run(*keys, chains);
        }
        for (std::size_t i = 0; i < messages; ++i) {
          ASSERT_TRUE(text[i] == expected[i])
              << mode << ", message " << i << " of " << messages << ", " << key_bytes;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, Modes, ::testing::ValuesIn(all_tested_kernels()),
                         [](const auto& row) { return test_name(*row.param); });

}  // namespace
}  // namespace paes
