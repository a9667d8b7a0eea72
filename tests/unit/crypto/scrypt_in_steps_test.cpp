// SPDX-License-Identifier: Apache-2.0
// scrypt against the vectors of RFC 7914, and how it is given up.
#include "crypto/scrypt_in_steps.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <array>
#include <stdexcept>

#include "crypto/libcrypto.hpp"
#include "hex.hpp"
#include "refusal.hpp"

namespace paes {
namespace {

using libcrypto::bytes_of;
using test::to_hex;

template <std::size_t bytes>
std::string derived(std::string_view passphrase, std::string_view salt, const ScryptShape& shape) {
  std::array<std::uint8_t, bytes> out{};
  scrypt_in_steps(bytes_of(passphrase), bytes_of(salt), shape, {}, out);
  return to_hex(out);
}

TEST(ScryptInSteps, VectorsOfRfc7914) {
  EXPECT_EQ(derived<64>("", "", {4, 1, 1}),  // section 12
            "77d6576238657b203b19ca42c18a0497f16b4844e3074ae8dfdffa3fede21442"
            "fcd0069ded0948f8326a753a0fc81f17e8d3e0fb2e0d3628cf35e20c38d18906");
  EXPECT_EQ(derived<64>("password", "NaCl", {10, 8, 16}),
            "fdbabe1c9d3472007856e7190d01e9fe7c6ad7cbc8237830e77376634b373162"
            "2eaf30d92e22a3886ff109279d9830dac727afb94a83ee6d8360cbdfa2cc0640");
  EXPECT_EQ(derived<64>("pleaseletmein", "SodiumChloride", {14, 8, 1}),
            "7023bdcb3afd7348461c06cd81fd38ebfda8fbba904f8e3ea9b543f6545da1f2"
            "d5432955613f0fcf62d49705242a9af9e61e85dc0d651e40dfcf017b45575887");
}

// The values are those of PyPI's cryptography 50.
TEST(ScryptInSteps, AnotherProgramsValue) {
  EXPECT_EQ(derived<32>("password", "salt", {15}),
            "4bc0fd507e93a600768021341ec726c57c00cb55a4702a1650131365500cf471");
}

std::string refused(const ScryptShape& shape) {
  std::array<std::uint8_t, 32> out{};
  return test::refusal(ErrorCode::failure,
                       [&] { scrypt_in_steps(bytes_of("x"), bytes_of("y"), shape, {}, out); });
}

// The last but one has a small table, and 2 GiB of blocks beside it.
TEST(ScryptInSteps, BeyondAnyMemoryFailsWithoutTrying) {
  for (const ScryptShape& shape : {ScryptShape{10, 1U << 17}, ScryptShape{10, 8, 1U << 26},
                                   ScryptShape{1, 1, 1U << 24}, ScryptShape{63}}) {
    EXPECT_EQ(refused(shape), "scrypt: the memory for work factor " + std::to_string(shape.log2_n) +
                                  " is not available");
  }
}

TEST(ScryptInSteps, NumbersThatAreNotAllowed) {
  EXPECT_EQ(refused({10, 0, 1}), "scrypt: its numbers are not allowed: N = 2^10, r = 0, p = 1");
  EXPECT_EQ(refused({10, 8, 0}), "scrypt: its numbers are not allowed: N = 2^10, r = 8, p = 0");
  EXPECT_EQ(refused({0}), "scrypt: its numbers are not allowed: N = 2^0, r = 8, p = 1");
  EXPECT_EQ(refused({16, 1}), "scrypt: its numbers are not allowed: N = 2^16, r = 1, p = 1");
  EXPECT_EQ(refused({10, 8, 1U << 28}),
            "scrypt: its numbers are not allowed: N = 2^10, r = 8, p = 268435456");
}

TEST(ScryptInSteps, MemoryThatTheSystemRefusesIsNamed) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_AS, &before), 0);
  const rlimit little{std::size_t{1} << 30, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_AS, &little), 0);
  const std::string why = refused({1, 1, (1U << 24) - 1});
  ASSERT_EQ(setrlimit(RLIMIT_AS, &before), 0);
  EXPECT_EQ(why, "scrypt: the memory for work factor 1 is not available");
}

// The table is small; what goes before it takes seconds.
TEST(ScryptInSteps, IsGivenUpBeforeTheTable) {
  std::array<std::uint8_t, 32> out{};
  int checks = 0;
  const auto gives_up = [&checks] {
    if (++checks == 3) {
      throw std::runtime_error("stop");
    }
  };
  EXPECT_THROW(scrypt_in_steps(bytes_of("x"), bytes_of("y"), {1, 1, 1U << 20}, gives_up, out),
               std::runtime_error);
  EXPECT_EQ(checks, 3);
}

// 1 MiB of table is a few steps; and no step is longer than that, while much more is filled.
TEST(ScryptInSteps, IsGivenUpAtItsNextStep) {
  std::array<std::uint8_t, 32> out{};
  int checks = 0;
  const auto gives_up = [&checks] {
    if (++checks == 3) {
      throw std::runtime_error("stop");
    }
  };
  EXPECT_THROW(scrypt_in_steps(bytes_of("x"), bytes_of("y"), {16}, gives_up, out),
               std::runtime_error);
  EXPECT_EQ(checks, 3);
  EXPECT_EQ(out, decltype(out){});
  checks = 0;
  scrypt_in_steps(
      bytes_of("x"), bytes_of("y"), {16}, [&checks] { ++checks; }, out);
  EXPECT_EQ(checks, 2 * 64);  // 64 MiB are written, and read again
}

}  // namespace
}  // namespace paes
