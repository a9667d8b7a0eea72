// SPDX-License-Identifier: Apache-2.0
// Names of a vault's backing tree: what is decoded is encoded again the same, and what is encoded
// is decoded again. The first byte chooses how the volume names things; the rest is a stored name,
// the ciphertext of one, a padded name, or a name.
#include <array>
#include <string>
#include <vector>

#include "crypto/libcrypto.hpp"
#include "encoding/encodings.hpp"
#include "fuzz/property.hpp"
#include "kernel/registry.hpp"
#include "vault/names.hpp"

using paes::fuzz::require;
using paes::vault::Features;
using paes::vault::FolderIv;
using paes::vault::NameCipher;

namespace {

constexpr std::array<std::uint8_t, 32> key = {1, 2, 3};
constexpr FolderIv iv = {4, 5, 6};
constexpr std::array<std::uint8_t, 16> attribute_tweak = {'x', 'a', 't', 't', 'r', '_', 'n', 'a',
                                                          'm', 'e', '_', 'i', 'v', '_', 'x', 'x'};

NameCipher cipher_of(bool is_plain, bool is_raw) {
  Features features;
  features.has_raw_base64 = is_raw;
  if (is_plain) {
    features.has_plaintext_names = true;
    features.has_directory_ivs = features.has_long_names = false;
  }
  return {key, features, paes::best_kernel(paes::Cipher::aes)};
}

void check(const NameCipher& cipher, const std::string& stored) {
  (void)cipher.kind_of(stored);
  if (const auto name = cipher.decode(stored, iv)) {
    require(paes::vault::is_file_name(*name), "a file can have the name");
    require(cipher.encode(*name, iv) == stored, "the stored name comes back");
  }
  for (const std::string& attribute : {stored, "user.gocryptfs." + stored}) {
    if (const auto name = cipher.decode_attribute(attribute)) {
      require(cipher.encode_attribute(*name) == attribute, "the stored attribute comes back");
    }
  }
}

// Every text of whole blocks can be decrypted, so that this reaches what comes after.
void check_blocks(const NameCipher& cipher, paes::Bytes text) {
  const paes::base64::Form form = {paes::base64::Alphabet::url, !cipher.features().has_raw_base64};
  std::string ciphertext;
  paes::base64::append_public(text, ciphertext, form);
  check(cipher, ciphertext);
  static const paes::vault::Eme eme(key, paes::best_kernel(paes::Cipher::aes));
  const paes::Bytes whole = text.first(text.size() / 16 * 16);
  if (whole.empty() || whole.size() > paes::vault::eme_max_bytes) {
    return;
  }
  for (const paes::Bytes tweak : {paes::Bytes(iv), paes::Bytes(attribute_tweak)}) {
    std::vector<std::uint8_t> encrypted(whole.begin(), whole.end());
    eme.encrypt(tweak, encrypted);
    std::string encoded;
    paes::base64::append_public(encrypted, encoded, form);
    check(cipher, encoded);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const NameCipher ciphers[] = {cipher_of(false, true), cipher_of(false, false),
                                       cipher_of(true, false)};
  if (size == 0) {
    return 0;
  }
  const NameCipher& cipher = ciphers[data[0] % std::size(ciphers)];
  const paes::Bytes input(data + 1, size - 1);
  const std::string text(paes::libcrypto::text_of(input));
  check(cipher, text);
  check_blocks(cipher, input);
  if (paes::vault::is_file_name(text)) {
    const std::string encoded = cipher.encode(text, iv);
    require(cipher.decode(encoded, iv) == text, "the name comes back");
    require(!cipher.is_long(encoded) || cipher.hashed(encoded).size() <= 63, "hashes are short");
    require(cipher.decode_attribute(cipher.encode_attribute(text)) == text,
            "the attribute comes back");
  }
  return 0;
}
