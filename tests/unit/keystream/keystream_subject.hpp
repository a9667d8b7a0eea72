// SPDX-License-Identifier: Apache-2.0
// What the tests of the keystream engine share: keys, the stream that a context must be equal to,
// and waiting for workers, which run only when nothing else wants the processor.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

#include "paes/cipher.hpp"
#include "paes/keystream.hpp"
#include "varied_bytes.hpp"

namespace paes::test {

using Buffer = std::vector<std::uint8_t>;
using Clock = std::chrono::steady_clock;

inline Buffer key_for(std::string_view cipher, std::uint64_t seed = 1) {
  const bool is_short = cipher.find("128") != std::string_view::npos;
  return varied_bytes(is_short ? 16 : cipher.find("256") != std::string_view::npos ? 32 : 24, seed);
}

// The keystream of bytes [offset, offset + bytes) of a stream, by the project's ordinary class.
inline Buffer stream_of(std::string_view cipher, const Buffer& key, const Buffer& first_counter,
                        std::uint64_t offset, std::size_t bytes) {
  const RawCipher raw(cipher, key);
  const std::size_t block = raw.block_bytes();
  Buffer counter = first_counter;
  std::uint64_t carry = offset / block;
  for (std::size_t i = block; i-- > 0;) {
    carry += counter[i];
    counter[i] = static_cast<std::uint8_t>(carry);
    carry >>= 8;
  }
  Buffer stream(offset % block + bytes);
  raw.encrypt(counter, stream, stream);
  stream.erase(stream.begin(), stream.begin() + static_cast<std::ptrdiff_t>(offset % block));
  return stream;
}

inline Buffer xor_of(const Buffer& a, std::span<const std::uint8_t> b) {
  Buffer sum(a.size());
  for (std::size_t i = 0; i < sum.size(); ++i) {
    sum[i] = static_cast<std::uint8_t>(a[i] ^ b[i]);
  }
  return sum;
}

// Parts of requests whose keystream was there. The engine computes some of them nevertheless, to
// compare, and all where fetching was slower.
inline std::uint64_t there(const KeystreamUse& use) { return use.own + use.other + use.bypassed; }

// Long enough for a busy machine.
inline bool wait_until(const std::function<bool()>& is_so) {
  const auto end = Clock::now() + std::chrono::seconds(60);
  while (!is_so()) {
    if (Clock::now() > end) {
      return false;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

inline Clock::time_point later(std::chrono::milliseconds time = std::chrono::seconds(60)) {
  return Clock::now() + time;
}

template <typename Call>
ErrorCode code_of(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.code;
  }
  return ErrorCode{0};
}

}  // namespace paes::test
