// SPDX-License-Identifier: Apache-2.0
// bcrypt_pbkdf against the vectors of OpenBSD (regress/lib/libutil/bcrypt_pbkdf).
#include "crypto/bcrypt_pbkdf.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

#include "crypto/libcrypto.hpp"
#include "hex.hpp"

namespace paes::age {
namespace {

using namespace std::literals;

std::string derived(std::string_view passphrase, std::string_view salt, std::uint32_t rounds,
                    std::size_t bytes) {
  std::vector<std::uint8_t> out(bytes);
  bcrypt_pbkdf(libcrypto::bytes_of(passphrase), libcrypto::bytes_of(salt), rounds, {}, out);
  return test::to_hex(out);
}

TEST(BcryptPbkdf, OpenBsdsVectors) {
  EXPECT_EQ(derived("password", "salt", 4, 32),
            "5bbf0cc293587f1c3635555c27796598d47e579071bf427e9d8fbe842aba34d9");
  EXPECT_EQ(derived("password", "\0"sv, 4, 16), "c12b566235eee04c212598970a579a67");
  EXPECT_EQ(derived("\0"sv, "salt", 4, 16), "6051be18c2f4f82cbf0efee5471b4bb9");
  EXPECT_EQ(derived("password", "salt", 8, 64),
            "e1367ec5151a33faac4cc1c144cd23fa15d5548493ecc99b9b5d9c0d3b27bec7"
            "6227ea66088b849b20ab7aa478010246e74bba51723fefa9f9474d6508845e8d");
  EXPECT_EQ(derived("password", "salt", 42, 16), "833cf0dcf56db65608e8f0dc0ce882bd");
}

// The blocks' bytes take turns, so that a length between two multiples of 32 is another layout.
TEST(BcryptPbkdf, LengthsThatAreNotWholeBlocks) {
  const std::string two = derived("password", "salt", 1, 64);
  const std::string odd = derived("password", "salt", 1, 33);
  EXPECT_EQ(odd, two.substr(0, 66));
  EXPECT_NE(derived("password", "salt", 1, 32), two.substr(0, 64));
}

TEST(BcryptPbkdf, IsGivenUpAtItsNextRound) {
  std::vector<std::uint8_t> out(32);
  int checks = 0;
  const auto gives_up = [&checks] {
    if (++checks == 2) {
      throw std::runtime_error("stop");
    }
  };
  EXPECT_THROW(
      bcrypt_pbkdf(libcrypto::bytes_of("a"), libcrypto::bytes_of("b"), 1000, gives_up, out),
      std::runtime_error);
  EXPECT_EQ(checks, 2);
}

}  // namespace
}  // namespace paes::age
