/* SPDX-License-Identifier: Apache-2.0 */
/* AES-GCM and the raw modes from C: published examples, every way to call them, and every refusal
 * that a C program has to tell apart. */
#include <string.h>

#include "check.h"

/* SP 800-38A, F.1: the text of all its examples. */
static const uint8_t text[64] = {
    0x6b, 0xc1, 0xbe, 0xe2, 0x2e, 0x40, 0x9f, 0x96, 0xe9, 0x3d, 0x7e, 0x11, 0x73, 0x93, 0x17, 0x2a,
    0xae, 0x2d, 0x8a, 0x57, 0x1e, 0x03, 0xac, 0x9c, 0x9e, 0xb7, 0x6f, 0xac, 0x45, 0xaf, 0x8e, 0x51,
    0x30, 0xc8, 0x1c, 0x46, 0xa3, 0x5c, 0xe4, 0x11, 0xe5, 0xfb, 0xc1, 0x19, 0x1a, 0x0a, 0x52, 0xef,
    0xf6, 0x9f, 0x24, 0x45, 0xdf, 0x4f, 0x9b, 0x17, 0xad, 0x2b, 0x41, 0x7b, 0xe6, 0x6c, 0x37, 0x10};
static const uint8_t key[16] = {0x2b, 0x7e, 0x15, 0x16, 0x28, 0xae, 0xd2, 0xa6,
                                0xab, 0xf7, 0x15, 0x88, 0x09, 0xcf, 0x4f, 0x3c};
static const uint8_t iv[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
/* F.2.1, CBC-AES128.Encrypt, the first block. */
static const uint8_t cbc_block[16] = {0x76, 0x49, 0xab, 0xac, 0x81, 0x19, 0xb2, 0x46,
                                      0xce, 0xe9, 0x8e, 0x9b, 0x12, 0xe9, 0x19, 0x7d};
/* F.1.1, ECB-AES128.Encrypt, the first block. */
static const uint8_t ecb_block[16] = {0x3a, 0xd7, 0x7b, 0xb4, 0x0d, 0x7a, 0x36, 0x60,
                                      0xa8, 0x9e, 0xca, 0xf3, 0x24, 0x66, 0xef, 0x97};

static int is_zero(const uint8_t* bytes, size_t count) {
  size_t i;
  for (i = 0; i < count; ++i) {
    if (bytes[i] != 0) {
      return 0;
    }
  }
  return 1;
}

/* Test Case 2 of McGrew and Viega, "The Galois/Counter Mode of Operation (GCM)", 2005: all zeros.
 */
static void check_gcm(void) {
  static const uint8_t zeros[16] = {0};
  static const uint8_t expected[16] = {0x03, 0x88, 0xda, 0xce, 0x60, 0xb6, 0xa3, 0x92,
                                       0xf3, 0x28, 0xc2, 0xb9, 0x71, 0xb2, 0xfe, 0x78};
  static const uint8_t expected_tag[16] = {0xab, 0x6e, 0x47, 0xd4, 0x2c, 0xec, 0x13, 0xbd,
                                           0xf5, 0x3a, 0x67, 0xb2, 0x12, 0x57, 0xbd, 0xdf};
  paes_gcm_options options = {0};
  paes_gcm* gcm = NULL;
  uint8_t out[64];
  uint8_t tag[16];
  OK(paes_gcm_new(zeros, 16, NULL, &gcm));
  CHECK(*paes_gcm_kernel(gcm) != 0);
  OK(paes_gcm_seal(gcm, zeros, 12, NULL, 0, zeros, out, 16, tag, 16));
  CHECK(memcmp(out, expected, 16) == 0 && memcmp(tag, expected_tag, 16) == 0);
  OK(paes_gcm_open(gcm, zeros, 12, NULL, 0, out, out, 16, tag, 16));
  CHECK(is_zero(out, 16));
  paes_gcm_free(gcm);

  options.kernel = "bitslice";
  options.threads = PAES_EVERY_PROCESSOR;
  OK(paes_gcm_new(key, 16, &options, &gcm));
  CHECK(strcmp(paes_gcm_kernel(gcm), "bitslice") == 0);
  OK(paes_gcm_seal(gcm, iv, 16, key, 16, text, out, 64, tag, 12));
  OK(paes_gcm_open(gcm, iv, 16, key, 16, out, out, 64, tag, 12));
  CHECK(memcmp(out, text, 64) == 0);
  OK(paes_gcm_seal(gcm, iv, 12, NULL, 0, NULL, NULL, 0, tag, 16));
  OK(paes_gcm_open(gcm, iv, 12, NULL, 0, NULL, NULL, 0, tag, 16));
  OK(paes_gcm_seal(gcm, iv, 12, key, 16, text, out, 64, tag, 16));
  CHECK(paes_gcm_open(gcm, iv, 12, key, 15, out, out, 64, tag, 16) == PAES_CORRUPT);
  CHECK(is_zero(out, 64));
  REFUSED(paes_gcm_seal(gcm, iv, 12, NULL, 0, text, out, 64, tag, 11));
  REFUSED(paes_gcm_seal(gcm, NULL, 0, NULL, 0, text, out, 64, tag, 16));

  REFUSED(paes_gcm_seal(NULL, iv, 12, NULL, 0, text, out, 64, tag, 16));
  REFUSED(paes_gcm_seal(gcm, NULL, 12, NULL, 0, text, out, 64, tag, 16));
  REFUSED(paes_gcm_seal(gcm, iv, 12, NULL, 1, text, out, 64, tag, 16));
  REFUSED(paes_gcm_seal(gcm, iv, 12, NULL, 0, NULL, out, 64, tag, 16));
  REFUSED(paes_gcm_seal(gcm, iv, 12, NULL, 0, text, NULL, 64, tag, 16));
  REFUSED(paes_gcm_seal(gcm, iv, 12, NULL, 0, text, out, 64, NULL, 16));
  REFUSED(paes_gcm_open(NULL, iv, 12, NULL, 0, text, out, 64, tag, 16));
  REFUSED(paes_gcm_open(gcm, NULL, 12, NULL, 0, text, out, 64, tag, 16));
  REFUSED(paes_gcm_open(gcm, iv, 12, NULL, 1, text, out, 64, tag, 16));
  REFUSED(paes_gcm_open(gcm, iv, 12, NULL, 0, NULL, out, 64, tag, 16));
  REFUSED(paes_gcm_open(gcm, iv, 12, NULL, 0, text, NULL, 64, tag, 16));
  REFUSED(paes_gcm_open(gcm, iv, 12, NULL, 0, text, out, 64, NULL, 16));
  paes_gcm_free(gcm);
  paes_gcm_free(NULL);
  CHECK(paes_gcm_kernel(NULL) == NULL);

  REFUSED(paes_gcm_new(key, 15, NULL, &gcm));
  CHECK(gcm == NULL);
  REFUSED(paes_gcm_new(NULL, 16, NULL, &gcm));
  REFUSED(paes_gcm_new(key, 16, NULL, NULL));
  options.kernel = "no such kernel";
  REFUSED(paes_gcm_new(key, 16, &options, &gcm));
  CHECK(strstr(paes_error_message(), "no such kernel") != NULL);
}

static void check_padding(void) {
  paes_cipher* cipher = NULL;
  uint8_t out[64];
  size_t bytes = 1;
  OK(paes_cipher_new("aes-128-cbc", key, 16, NULL, &cipher));
  CHECK(paes_cipher_padded_bytes(cipher, 31) == 32 && paes_cipher_padded_bytes(cipher, 32) == 48);
  OK(paes_cipher_encrypt_padded(cipher, iv, 16, text, 31, out, 32));
  CHECK(memcmp(out, cbc_block, 16) == 0);
  OK(paes_cipher_decrypt_padded(cipher, iv, 16, out, 32, out, &bytes));
  CHECK(bytes == 31 && memcmp(out, text, 31) == 0 && out[31] == 0);
  CHECK(paes_cipher_decrypt_padded(cipher, iv, 16, text, 32, out, &bytes) == PAES_CORRUPT);
  CHECK(bytes == 0 && is_zero(out, 32));
  bytes = 1;
  REFUSED(paes_cipher_decrypt_padded(cipher, iv, 16, text, 31, out, &bytes));
  CHECK(bytes == 0);
  REFUSED(paes_cipher_encrypt_padded(cipher, iv, 16, text, 31, out, 31));
  REFUSED(paes_cipher_encrypt_padded(NULL, iv, 16, text, 31, out, 32));
  REFUSED(paes_cipher_encrypt_padded(cipher, NULL, 16, text, 31, out, 32));
  REFUSED(paes_cipher_encrypt_padded(cipher, iv, 16, NULL, 31, out, 32));
  REFUSED(paes_cipher_encrypt_padded(cipher, iv, 16, text, 31, NULL, 32));
  REFUSED(paes_cipher_decrypt_padded(NULL, iv, 16, text, 32, out, &bytes));
  REFUSED(paes_cipher_decrypt_padded(cipher, NULL, 16, text, 32, out, &bytes));
  REFUSED(paes_cipher_decrypt_padded(cipher, iv, 16, NULL, 32, out, &bytes));
  REFUSED(paes_cipher_decrypt_padded(cipher, iv, 16, text, 32, NULL, &bytes));
  REFUSED(paes_cipher_decrypt_padded(cipher, iv, 16, text, 32, out, NULL));
  paes_cipher_free(cipher);
}

static void check_batch(void) {
  paes_cipher_options options = {0};
  paes_cipher_message messages[20];
  paes_cipher* cipher = NULL;
  uint8_t out[20][64];
  size_t i;
  options.threads = 2;
  OK(paes_cipher_new("aes-128-cbc", key, 16, &options, &cipher));
  for (i = 0; i < 20; ++i) {
    messages[i].iv = iv;
    messages[i].iv_bytes = 16;
    messages[i].in = text;
    messages[i].out = out[i];
    messages[i].bytes = 64;
  }
  OK(paes_cipher_encrypt_batch(cipher, messages, 20));
  for (i = 0; i < 20; ++i) {
    CHECK(memcmp(out[i], cbc_block, 16) == 0);
    messages[i].in = out[i];
  }
  messages[7].bytes = 63;
  REFUSED(paes_cipher_decrypt_batch(cipher, messages, 20));
  CHECK(memcmp(out[0], cbc_block, 16) == 0);
  messages[7].bytes = 64;
  messages[7].in = NULL;
  REFUSED(paes_cipher_decrypt_batch(cipher, messages, 20));
  messages[7].in = out[7];
  OK(paes_cipher_decrypt_batch(cipher, messages, 20));
  for (i = 0; i < 20; ++i) {
    CHECK(memcmp(out[i], text, 64) == 0);
  }
  OK(paes_cipher_encrypt_batch(cipher, NULL, 0));
  REFUSED(paes_cipher_encrypt_batch(cipher, NULL, 1));
  REFUSED(paes_cipher_encrypt_batch(NULL, messages, 1));
  REFUSED(paes_cipher_decrypt_batch(cipher, NULL, 1));
  REFUSED(paes_cipher_decrypt_batch(NULL, messages, 1));
  paes_cipher_free(cipher);
}

static void check_cipher(void) {
  paes_cipher_options options = {0};
  paes_cipher* cipher = NULL;
  uint8_t two_keys[32];
  uint8_t out[64];
  uint8_t units[64];
  memcpy(two_keys, key, 16);
  memcpy(two_keys + 16, iv, 16);
  OK(paes_cipher_new("aes-128-ecb", key, 16, NULL, &cipher));
  CHECK(paes_cipher_block_bytes(cipher) == 16 && paes_cipher_iv_bytes(cipher) == 0);
  OK(paes_cipher_encrypt(cipher, NULL, 0, text, out, 64));
  CHECK(memcmp(out, ecb_block, 16) == 0);
  OK(paes_cipher_decrypt(cipher, NULL, 0, out, out, 64));
  CHECK(memcmp(out, text, 64) == 0);
  REFUSED(paes_cipher_encrypt(cipher, NULL, 0, text, out, 63));
  REFUSED(paes_cipher_encrypt(cipher, iv, 16, text, out, 64));
  REFUSED(paes_cipher_encrypt(NULL, NULL, 0, text, out, 64));
  REFUSED(paes_cipher_encrypt(cipher, NULL, 0, NULL, out, 64));
  REFUSED(paes_cipher_encrypt(cipher, NULL, 0, text, NULL, 64));
  REFUSED(paes_cipher_decrypt(NULL, NULL, 0, text, out, 64));
  REFUSED(paes_cipher_decrypt(cipher, NULL, 0, NULL, out, 64));
  REFUSED(paes_cipher_decrypt(cipher, NULL, 0, text, NULL, 64));
  paes_cipher_free(cipher);

  /* The second data unit alone is what it is as a part of both. */
  options.unit_bytes = 32;
  options.kernel = "bitslice";
  OK(paes_cipher_new("aes-128-xts", two_keys, 32, &options, &cipher));
  CHECK(strcmp(paes_cipher_kernel(cipher), "bitslice") == 0);
  OK(paes_cipher_encrypt(cipher, iv, 16, text, units, 64));
  memcpy(two_keys, iv, 16);
  ++two_keys[0];
  OK(paes_cipher_encrypt(cipher, two_keys, 16, text + 32, out, 32));
  CHECK(memcmp(out, units + 32, 32) == 0);
  REFUSED(paes_cipher_encrypt(cipher, NULL, 16, text, out, 64));
  paes_cipher_free(cipher);

  OK(paes_cipher_new("des-ede3-ctr", text, 24, NULL, &cipher));
  CHECK(paes_cipher_block_bytes(cipher) == 8 && paes_cipher_iv_bytes(cipher) == 8);
  paes_cipher_free(cipher);
  paes_cipher_free(NULL);
  CHECK(paes_cipher_kernel(NULL) == NULL && paes_cipher_block_bytes(NULL) == 0);
  CHECK(paes_cipher_iv_bytes(NULL) == 0 && paes_cipher_padded_bytes(NULL, 5) == 0);
  REFUSED(paes_cipher_new("aes-128-gcm", key, 16, NULL, &cipher));
  CHECK(cipher == NULL);
  REFUSED(paes_cipher_new(NULL, key, 16, NULL, &cipher));
  REFUSED(paes_cipher_new("aes-128-ecb", NULL, 16, NULL, &cipher));
  REFUSED(paes_cipher_new("aes-128-ecb", key, 16, NULL, NULL));
}

int main(void) {
  CHECK(*paes_error_message() == 0 && *paes_error_hint() == 0);
  CHECK(strcmp(paes_version(), PAES_TEST_VERSION) == 0);
  /* Programs are compiled with these numbers. */
  CHECK(PAES_OK == 0 && PAES_FAILURE == 1 && PAES_USAGE == 2 && PAES_CORRUPT == 3);
  CHECK(PAES_WRONG_KEY == 4);
  check_gcm();
  check_cipher();
  check_padding();
  check_batch();
  return failures;
}
