// SPDX-License-Identifier: Apache-2.0
// The header of openssl's salted files: what is accepted is written again the same.
#include <algorithm>

#include "format/openssl_salted.hpp"
#include "fuzz/property.hpp"
#include "paes/error.hpp"

using paes::fuzz::require;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  const paes::Bytes input(data, bytes);
  try {
    const paes::openssl_salted::Salt salt = paes::openssl_salted::parse(input);
    const auto again = paes::openssl_salted::encode(salt);
    require(std::equal(again.begin(), again.end(), input.begin()), "the head comes back");
  } catch (const paes::Error& error) {
    require(error.code == paes::ErrorCode::corrupt, "a bad head is corrupt");
  }
  return 0;
}
