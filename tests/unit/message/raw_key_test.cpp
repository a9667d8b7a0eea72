// SPDX-License-Identifier: Apache-2.0
// Messages in the raw modes against libcrypto: any length, in parts, in pieces on threads, many at
// once, for every kernel and both directions.
#include "message/raw_key.hpp"

#include <gtest/gtest.h>

#include "exec/thread_pool.hpp"
#include "kernel_cases.hpp"
#include "paes/error.hpp"
#include "reference.hpp"
#include "varied_bytes.hpp"

namespace paes {
namespace {

using test::varied_bytes;
using Buffer = std::vector<std::uint8_t>;

class RawModes : public KernelCase {
 protected:
  static bool is_aes() { return kernel().cipher == Cipher::aes; }
  static std::vector<std::size_t> key_sizes(Mode mode) {
    if (!is_aes()) {
      return {24};
    }
    return mode == Mode::xts ? std::vector<std::size_t>{32, 64}
                             : std::vector<std::size_t>{16, 24, 32};
  }
  // XTS is made for blocks of 128 bits. Every kernel has every other mode.
  static bool lacks(Mode mode) { return mode == Mode::xts && !is_aes(); }
  static Buffer expected(Mode mode, bool encrypt, Bytes key, Bytes iv, Bytes in) {
    return test::reference_raw(kernel().cipher, mode,
                               encrypt ? Direction::encrypt : Direction::decrypt, key, iv, in);
  }
};

constexpr Mode all_modes[] = {Mode::ecb, Mode::cbc, Mode::cfb, Mode::ofb, Mode::ctr, Mode::xts};

TEST_P(RawModes, AnyLengthInPartsAndPieces) {
  PAES_SKIP_IF_UNAVAILABLE();
  const auto threads = make_thread_pool(3);
  for (const Mode mode : all_modes) {
    if (lacks(mode)) {
      continue;
    }
    for (const std::size_t key_bytes : key_sizes(mode)) {
      const Buffer key = varied_bytes(key_bytes, 1);
      const RawKey raw(kernel().cipher, mode, key, kernel());
      Buffer iv = varied_bytes(raw.iv_bytes(), 2);
      if (mode == Mode::ctr) {  // a carry out of 64 bits, soon
        std::fill(iv.begin() + 1, iv.end(), std::uint8_t{0xff});
        iv.back() = 0xf3;
      }
      const std::size_t flight = std::size_t{kernel().lanes} * raw.block_size();
      for (const std::size_t length :
           {std::size_t{0}, std::size_t{1}, std::size_t{8}, std::size_t{15}, std::size_t{16},
            std::size_t{17}, std::size_t{31}, std::size_t{32}, std::size_t{33}, std::size_t{500},
            std::size_t{512}, flight, flight + 9, 3 * flight + 48}) {
        if (!raw.takes(length)) {
          continue;
        }
        const Buffer text = varied_bytes(length, 3);
        for (const Direction direction : {Direction::encrypt, Direction::decrypt}) {
          const bool encrypt = direction == Direction::encrypt;
          if (mode == Mode::xts && length == 0) {
            continue;
          }
          const Buffer want = expected(mode, encrypt, key, iv, text);
          for (const std::size_t piece : {std::size_t{40}, std::size_t{1} << 20}) {
            for (const bool in_place : {false, true}) {
              for (const std::size_t first_part : {std::size_t{0}, std::size_t{160}}) {
                if (first_part > length || (mode == Mode::xts && first_part != 0)) {
                  continue;
                }
                Buffer in = text;
                Buffer apart(length);
                Buffer& out = in_place ? in : apart;
                RawPosition position = raw.start(iv);
                raw.crypt(direction, position, Bytes(in).first(first_part),
                          MutableBytes(out).first(first_part), *threads, piece);
                raw.crypt(direction, position, Bytes(in).subspan(first_part),
                          MutableBytes(out).subspan(first_part), *threads, piece);
                ASSERT_TRUE(out == want)
                    << row_of(mode).name << (encrypt ? " encryption of " : " decryption of ")
                    << length << " bytes, key of " << key_bytes << ", piece " << piece;
              }
            }
          }
        }
      }
    }
  }
}

TEST_P(RawModes, ManyMessagesAtOnce) {
  PAES_SKIP_IF_UNAVAILABLE();
  const auto threads = make_thread_pool(2);
  for (const Mode mode : all_modes) {
    if (lacks(mode)) {
      continue;
    }
    const Buffer key = varied_bytes(key_sizes(mode).back(), 4);
    const RawKey raw(kernel().cipher, mode, key, kernel());
    for (const Direction direction : {Direction::encrypt, Direction::decrypt}) {
      std::vector<Buffer> ivs;
      std::vector<Buffer> texts;
      std::vector<Buffer> wants;
      std::vector<RawMessage> messages;
      for (std::size_t i = 0; i < 70; ++i) {
        const std::size_t length =
            row_of(mode).tail == Tail::any ? i * 5 : (i + 1) * raw.block_size();
        ivs.push_back(varied_bytes(raw.iv_bytes(), i));
        texts.push_back(varied_bytes(length, 100 + i));
        wants.push_back(
            expected(mode, direction == Direction::encrypt, key, ivs.back(), texts.back()));
      }
      for (std::size_t i = 0; i < texts.size(); ++i) {
        messages.push_back({ivs[i], texts[i], texts[i]});
      }
      raw.crypt_batch(direction, messages, *threads);
      EXPECT_EQ(texts, wants) << row_of(mode).name;
    }
  }
}

// Short data units, a last one that is partial, and numbers that carry.
TEST_P(RawModes, XtsUnitsCountUp) {
  PAES_SKIP_IF_UNAVAILABLE();
  if (lacks(Mode::xts)) {
    GTEST_SKIP() << "NOT RUN: " << test_name(kernel()) << ": 3DES has no XTS";
  }
  const auto threads = make_thread_pool(2);
  const Buffer key = varied_bytes(64, 5);
  for (const std::size_t unit : {std::size_t{16}, std::size_t{33}, std::size_t{512}}) {
    const RawKey raw(Cipher::aes, Mode::xts, key, kernel(), unit);
    Buffer number(16, 0xff);
    number[0] = 0xfd;
    number[15] = 0;
    const Buffer text = varied_bytes(unit * 9 + (unit == 16 ? 0 : 17), 6);
    Buffer want;
    Block next = {};
    std::copy(number.begin(), number.end(), next.bytes);
    for (std::size_t at = 0; at < text.size(); at += unit) {
      const Buffer part = expected(Mode::xts, true, key, {next.bytes, 16},
                                   Bytes(text).subspan(at, std::min(unit, text.size() - at)));
      want.insert(want.end(), part.begin(), part.end());
      for (unsigned i = 0; i < 16 && ++next.bytes[i] == 0; ++i) {
      }
    }
    ASSERT_TRUE(raw.takes(text.size()));
    Buffer out(text.size());
    RawPosition position = raw.start(number);
    const std::size_t part = 4 * unit;
    raw.crypt(Direction::encrypt, position, Bytes(text).first(part), MutableBytes(out).first(part),
              *threads, 64);
    raw.crypt(Direction::encrypt, position, Bytes(text).subspan(part),
              MutableBytes(out).subspan(part), *threads, 64);
    EXPECT_EQ(out, want) << unit;
    position = raw.start(number);
    raw.crypt(Direction::decrypt, position, out, out, *threads, 1 << 20);
    EXPECT_EQ(out, text) << unit;
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, RawModes, ::testing::ValuesIn(all_tested_kernels()),
                         [](const auto& row) { return test_name(*row.param); });

TEST(RawKeys, RefusesWhatAModeCannotTake) {
  const Kernel& kernel = find_kernel(Cipher::aes, "compute");
  const Buffer key(64);
  const auto code = [&](Mode mode, std::size_t bytes, std::size_t unit) {
    try {
      const RawKey raw(Cipher::aes, mode, Bytes(key).first(bytes), kernel, unit);
      return 0;
    } catch (const Error& error) {
      return static_cast<int>(error.code);
    }
  };
  constexpr int usage = static_cast<int>(ErrorCode::usage);
  EXPECT_EQ(code(Mode::cbc, 16, 0), 0);
  EXPECT_EQ(code(Mode::cbc, 17, 0), usage);
  EXPECT_EQ(code(Mode::cbc, 64, 0), usage);
  EXPECT_EQ(code(Mode::xts, 32, 0), 0);
  EXPECT_EQ(code(Mode::xts, 48, 0), usage);
  EXPECT_EQ(code(Mode::xts, 16, 0), usage);
  EXPECT_EQ(code(Mode::xts, 64, 15), usage);
  EXPECT_EQ(code(Mode::xts, 64, (1 << 24) + 1), usage);
  EXPECT_EQ(code(Mode::ctr, 16, 512), usage);
  const RawKey xts(Cipher::aes, Mode::xts, Bytes(key), kernel, 512);
  EXPECT_TRUE(xts.takes(1024 + 16));
  EXPECT_FALSE(xts.takes(1024 + 15));
  EXPECT_FALSE(RawKey(Cipher::aes, Mode::xts, Bytes(key), kernel).takes((1 << 24) + 16));
}

}  // namespace
}  // namespace paes
