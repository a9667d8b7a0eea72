// SPDX-License-Identifier: Apache-2.0
#include "paes-bench/evp_reference.hpp"

#include <openssl/evp.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cipher/mode/gcm_blocks.hpp"
#include "paes/error.hpp"

namespace paes::cli {

namespace {

using CipherContext = std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)>;
using FetchedCipher = std::unique_ptr<EVP_CIPHER, decltype(&EVP_CIPHER_free)>;

void require(bool done) {
  if (!done) {
    throw Error(ErrorCode::failure, "reference output: libcrypto failed");
  }
}

// `name` is libcrypto's, such as "AES-128-CTR". No padding.
CipherContext start(const std::string& name, Bytes key, const std::uint8_t* iv) {
  const FetchedCipher cipher(EVP_CIPHER_fetch(nullptr, name.c_str(), nullptr), EVP_CIPHER_free);
  CipherContext context(EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free);
  require(cipher && context &&
          EVP_EncryptInit_ex2(context.get(), cipher.get(), key.data(), iv, nullptr) == 1 &&
          EVP_CIPHER_CTX_set_padding(context.get(), 0) == 1);
  return context;
}

std::string aes_name(std::size_t key_bytes, const char* mode) {
  return "AES-" + std::to_string(key_bytes * 8) + "-" + mode;
}

// EVP counts in int, so long messages go in parts.
void update(EVP_CIPHER_CTX* context, Bytes in, MutableBytes out) {
  constexpr std::size_t part_bytes = std::size_t{1} << 30;
  for (std::size_t at = 0; at < in.size(); at += part_bytes) {
    int written = 0;
    const auto bytes = static_cast<int>(std::min(part_bytes, in.size() - at));
    require(EVP_EncryptUpdate(context, out.data() + at, &written, in.data() + at, bytes) == 1 &&
            written == bytes);
  }
}

void encrypt_ctr(Bytes key, Bytes iv, Bytes in, MutableBytes out) {
  CounterBlock counter = {};
  std::copy(iv.begin(), iv.end(), counter.bytes);
  counter.bytes[15] = 2;  // GCM's first block of text; no message reaches EVP's carry
  update(start(aes_name(key.size(), "CTR"), key, counter.bytes).get(), in, out);
}

void encrypt_gcm(Bytes key, Bytes iv, Bytes in, MutableBytes out, Tag& tag) {
  const CipherContext context = start(aes_name(key.size(), "GCM"), key, iv.data());
  update(context.get(), in, out);
  int written = 0;
  require(EVP_EncryptFinal_ex(context.get(), out.data() + in.size(), &written) == 1);
  require(EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_AEAD_GET_TAG, sizeof tag.bytes, tag.bytes) ==
          1);
}

// libcrypto has no counter mode for 3DES, so counters of 64 bits go through ECB.
void encrypt_des_ctr(Bytes key, Bytes iv, Bytes in, MutableBytes out) {
  const CipherContext context = start("DES-EDE3-ECB", key, nullptr);
  std::vector<std::uint8_t> counters(std::size_t{1} << 16);
  for (std::size_t at = 0; at < in.size(); at += counters.size()) {
    const std::size_t bytes = std::min(counters.size(), in.size() - at);
    for (std::size_t i = 0; i < counters.size(); i += 8) {
      store_be64(counters.data() + i, load_be64(iv.data()) + (at + i) / 8);
    }
    update(context.get(), counters, counters);
    for (std::size_t i = 0; i < bytes; ++i) {
      out[at + i] = static_cast<std::uint8_t>(in[at + i] ^ counters[i]);
    }
  }
}

}  // namespace

void encrypt_raw(const CipherName& cipher, Bytes key, Bytes iv, Bytes in, MutableBytes out) {
  const bool is_aes = cipher.cipher == Cipher::aes;
  if (!is_aes && *cipher.mode == Mode::ctr) {
    encrypt_des_ctr(key, iv, in, out);
    return;
  }
  // `key` holds both keys of XTS; its IV is the data unit's number.
  const std::size_t key_bytes = row_of(*cipher.mode).has_units ? key.size() / 2 : key.size();
  const char* const mode = row_of(*cipher.mode).name;  // libcrypto accepts lower case
  const std::string name = is_aes ? aes_name(key_bytes, mode) : std::string("DES-EDE3-") + mode;
  update(start(name, key, iv.empty() ? nullptr : iv.data()).get(), in, out);
}

void encrypt_as_claimed(const Kernel& kernel, Bytes key, Bytes iv, Bytes in, MutableBytes out,
                        Tag& tag) {
  tag = {};
  const std::string_view name = kernel.name;
  if (name == "copy") {
    std::copy(in.begin(), in.end(), out.begin());
  } else if (name.starts_with("vaes_loop")) {
    encrypt_ctr(key, iv, in, out);
  } else {
    encrypt_gcm(key, iv, in, out, tag);
  }
}

}  // namespace paes::cli
