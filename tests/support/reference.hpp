// SPDX-License-Identifier: Apache-2.0
// What kernels' outputs are compared with: the modes of SP 800-38A, XTS and AES-GCM by somebody
// else. That is libcrypto, called directly (reference/by_libcrypto.cpp). Builds without libcrypto
// use the plain implementation of reference/by_tables.cpp, which other builds compare with
// libcrypto.
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "core/bytes.hpp"
#include "kernel/kernel.hpp"

namespace paes::test {

// Transforms a whole message in one call, without padding. `name` is libcrypto's, such as
// "AES-256-CBC" or "DES-EDE3-CFB". `iv` is empty if the mode takes none. For XTS, `key` has both
// keys, and `iv` the data unit's number in 16 bytes. Throws std::runtime_error for what the
// reference refuses.
[[nodiscard]] std::vector<std::uint8_t> reference_crypt(const std::string& name, bool encrypt,
                                                        Bytes key, Bytes iv, Bytes in);

// Transforms a message in parts of whole blocks: each call takes the next part.
using ReferenceStream = std::function<std::vector<std::uint8_t>(Bytes in)>;
[[nodiscard]] ReferenceStream reference_stream(const std::string& name, bool encrypt, Bytes key,
                                               Bytes iv);

struct Sealed {
  std::vector<std::uint8_t> ciphertext;
  std::vector<std::uint8_t> tag;  // all 16 bytes
};
[[nodiscard]] Sealed reference_seal(Bytes key, Bytes iv, Bytes aad, Bytes plaintext);

// "AES-128", "AES-192", "AES-256" or "DES-EDE3": for AES, the key's length decides.
inline std::string reference_name(bool is_aes, std::size_t key_bytes, const std::string& mode) {
  return (is_aes ? "AES-" + std::to_string(key_bytes * 8) : std::string("DES-EDE3")) + "-" + mode;
}

// "CBC" for Mode::cbc.
inline std::string reference_mode(Mode mode) {
  std::string name = row_of(mode).name;
  for (char& letter : name) {
    letter = static_cast<char>(letter - 'a' + 'A');
  }
  return name;
}

// E(block) for each whole block of AES.
inline std::vector<std::uint8_t> reference_ecb(Bytes key, Bytes blocks) {
  return reference_crypt(reference_name(true, key.size(), "ECB"), true, key, {}, blocks);
}

// A whole message in a raw mode. libcrypto has no counter mode for 3DES, so there counters go
// through ECB. In XTS with data units, the units' numbers count up, least significant byte first.
inline std::vector<std::uint8_t> reference_raw(Cipher cipher, Mode mode, Direction direction,
                                               Bytes key, Bytes iv, Bytes in,
                                               std::size_t unit_bytes = 0) {
  const bool is_aes = cipher == Cipher::aes;
  if (!is_aes && mode == Mode::ctr) {
    std::vector<std::uint8_t> counters((in.size() + 7) / 8 * 8);
    for (std::size_t at = 0; at < counters.size(); at += 8) {
      store_be64(counters.data() + at, load_be64(iv.data()) + at / 8);
    }
    std::vector<std::uint8_t> out = reference_crypt("DES-EDE3-ECB", true, key, {}, counters);
    out.resize(in.size());
    for (std::size_t i = 0; i < in.size(); ++i) {
      out[i] ^= in[i];
    }
    return out;
  }
  const std::size_t key_bytes = mode == Mode::xts ? key.size() / 2 : key.size();
  const std::string name = reference_name(is_aes, key_bytes, reference_mode(mode));
  const bool encrypt = direction == Direction::encrypt;
  if (mode != Mode::xts || unit_bytes == 0) {
    return reference_crypt(name, encrypt, key, iv, in);
  }
  std::vector<std::uint8_t> out;
  std::vector<std::uint8_t> number(iv.begin(), iv.end());
  for (std::size_t at = 0; at < in.size(); at += unit_bytes) {
    const std::vector<std::uint8_t> unit = reference_crypt(
        name, encrypt, key, number, in.subspan(at, std::min(unit_bytes, in.size() - at)));
    out.insert(out.end(), unit.begin(), unit.end());
    for (std::size_t i = 0; i < number.size() && ++number[i] == 0; ++i) {
    }
  }
  return out;
}

}  // namespace paes::test
