// SPDX-License-Identifier: Apache-2.0
// paes/cipher.h on top of paes/cipher.hpp.
#include <vector>

#include "library/c/calls.hpp"
#include "paes/cipher.h"
#include "paes/cipher.hpp"

using paes::c::bytes_at;
using paes::c::code_of;
using paes::c::given;

struct paes_cipher : paes::RawCipher {};

namespace {

std::vector<paes::RawCipher::Message> messages_at(const paes_cipher_message* messages,
                                                  size_t count) {
  std::vector<paes::RawCipher::Message> all;
  for (const paes_cipher_message& one : bytes_at(messages, count, "messages")) {
    all.push_back({bytes_at(one.iv, one.iv_bytes, "iv"), bytes_at(one.in, one.bytes, "in"),
                   bytes_at(one.out, one.bytes, "out")});
  }
  return all;
}

}  // namespace

int paes_cipher_new(const char* name, const uint8_t* key, size_t key_bytes,
                    const paes_cipher_options* options, paes_cipher** cipher) {
  return paes::c::make_handle(cipher, "cipher", [&] {
    paes::RawCipherOptions wanted;
    if (options != nullptr) {
      wanted = {.kernel = paes::c::kernel_of(options->kernel),
                .threads = paes::c::threads_of(options->threads),
                .unit_bytes = options->unit_bytes};
    }
    return paes::RawCipher(given(name, "name"), bytes_at(key, key_bytes, "key"), wanted);
  });
}

void paes_cipher_free(paes_cipher* cipher) { delete cipher; }

const char* paes_cipher_kernel(const paes_cipher* cipher) {
  return cipher != nullptr ? cipher->kernel().data() : nullptr;
}

size_t paes_cipher_block_bytes(const paes_cipher* cipher) {
  return cipher != nullptr ? cipher->block_bytes() : 0;
}

size_t paes_cipher_iv_bytes(const paes_cipher* cipher) {
  return cipher != nullptr ? cipher->iv_bytes() : 0;
}

int paes_cipher_encrypt(const paes_cipher* cipher, const uint8_t* iv, size_t iv_bytes,
                        const uint8_t* in, uint8_t* out, size_t bytes) {
  return code_of([&] {
    given(cipher, "cipher")
        ->encrypt(bytes_at(iv, iv_bytes, "iv"), bytes_at(in, bytes, "in"),
                  bytes_at(out, bytes, "out"));
  });
}

int paes_cipher_decrypt(const paes_cipher* cipher, const uint8_t* iv, size_t iv_bytes,
                        const uint8_t* in, uint8_t* out, size_t bytes) {
  return code_of([&] {
    given(cipher, "cipher")
        ->decrypt(bytes_at(iv, iv_bytes, "iv"), bytes_at(in, bytes, "in"),
                  bytes_at(out, bytes, "out"));
  });
}

size_t paes_cipher_padded_bytes(const paes_cipher* cipher, size_t text_bytes) {
  return cipher != nullptr ? cipher->padded_bytes(text_bytes) : 0;
}

int paes_cipher_encrypt_padded(const paes_cipher* cipher, const uint8_t* iv, size_t iv_bytes,
                               const uint8_t* text, size_t text_bytes, uint8_t* ciphertext,
                               size_t ciphertext_bytes) {
  return code_of([&] {
    given(cipher, "cipher")
        ->encrypt_padded(bytes_at(iv, iv_bytes, "iv"), bytes_at(text, text_bytes, "text"),
                         bytes_at(ciphertext, ciphertext_bytes, "ciphertext"));
  });
}

int paes_cipher_decrypt_padded(const paes_cipher* cipher, const uint8_t* iv, size_t iv_bytes,
                               const uint8_t* ciphertext, size_t ciphertext_bytes, uint8_t* text,
                               size_t* text_bytes) {
  return code_of([&] {
    *given(text_bytes, "text_bytes") = 0;
    const std::optional<size_t> found =
        given(cipher, "cipher")
            ->decrypt_padded(bytes_at(iv, iv_bytes, "iv"),
                             bytes_at(ciphertext, ciphertext_bytes, "ciphertext"),
                             bytes_at(text, ciphertext_bytes, "text"));
    if (!found) {
      throw paes::Error(paes::ErrorCode::corrupt, "padding: is wrong");
    }
    *text_bytes = *found;
  });
}

int paes_cipher_encrypt_batch(const paes_cipher* cipher, const paes_cipher_message* messages,
                              size_t count) {
  return code_of([&] { given(cipher, "cipher")->encrypt_batch(messages_at(messages, count)); });
}

int paes_cipher_decrypt_batch(const paes_cipher* cipher, const paes_cipher_message* messages,
                              size_t count) {
  return code_of([&] { given(cipher, "cipher")->decrypt_batch(messages_at(messages, count)); });
}
