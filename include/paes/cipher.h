/* SPDX-License-Identifier: Apache-2.0 */
/* The raw modes of AES and 3DES for C: what paes/cipher.hpp says about names, keys, IVs and lengths
 * applies here, too. `threads` 0 differs: here it is the caller's thread alone, not every
 * processor. Nothing here is authenticated: anyone who can change a ciphertext can change the text
 * unnoticed. Use paes/gcm.h or paes/file.h unless a format requires these modes. */
#ifndef PAES_CIPHER_H
#define PAES_CIPHER_H

#include "paes/error.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* A key, bound to a mode and a kernel. */
typedef struct paes_cipher paes_cipher;

typedef struct paes_cipher_options {
  const char* kernel; /* a name that `paes devices` lists as available; null: the best */
  unsigned threads;   /* for a long message or a batch. 0: the caller's; or PAES_EVERY_PROCESSOR */
  size_t unit_bytes;  /* XTS's data unit, 16 bytes to 16 MiB; 0: each message is one */
} paes_cipher_options;

/* `name` is aes-128, aes-192 or aes-256 with -ecb, -cbc, -cfb, -ofb or -ctr, aes-128-xts or
 * aes-256-xts, or des-ede3 with -ecb, -cbc, -cfb, -ofb or -ctr. `key` has 16, 24 or 32 bytes for
 * AES, depending on the name, twice as many for XTS, and 24 for 3DES. PAES_USAGE for anything else.
 */
int paes_cipher_new(const char* name, const uint8_t* key, size_t key_bytes,
                    const paes_cipher_options* options, paes_cipher** cipher);
void paes_cipher_free(paes_cipher* cipher);

/* The chosen kernel's name. Valid for ever. Null for null. */
const char* paes_cipher_kernel(const paes_cipher* cipher);
/* 16 for AES, 8 for 3DES. 0 for null. */
size_t paes_cipher_block_bytes(const paes_cipher* cipher);
/* The length of an IV: a block, or 0 for ECB. 0 for null. */
size_t paes_cipher_iv_bytes(const paes_cipher* cipher);

/* Encrypt or decrypt one message of `bytes` bytes from `in` to `out`, which are the same memory or
 * share none. ECB and CBC take whole blocks, CFB, OFB and CTR any length, XTS 16 bytes or more.
 * `iv` may be null if it has 0 bytes. PAES_USAGE for impossible lengths, PAES_FAILURE if the
 * threads for a long message cannot start; nothing is written then. */
int paes_cipher_encrypt(const paes_cipher* cipher, const uint8_t* iv, size_t iv_bytes,
                        const uint8_t* in, uint8_t* out, size_t bytes);
int paes_cipher_decrypt(const paes_cipher* cipher, const uint8_t* iv, size_t iv_bytes,
                        const uint8_t* in, uint8_t* out, size_t bytes);

/* The length of a text's ciphertext with PKCS#7 padding, which only ECB and CBC have: the next
 * whole block. 0 for null. */
size_t paes_cipher_padded_bytes(const paes_cipher* cipher, size_t text_bytes);
/* Encrypts with padding. `ciphertext_bytes` must be paes_cipher_padded_bytes(cipher, text_bytes).
 * `ciphertext` may begin where `text` does. */
int paes_cipher_encrypt_padded(const paes_cipher* cipher, const uint8_t* iv, size_t iv_bytes,
                               const uint8_t* text, size_t text_bytes, uint8_t* ciphertext,
                               size_t ciphertext_bytes);
/* Decrypts and removes the padding. `text` has room for `ciphertext_bytes` bytes; `*text_bytes`
 * says how many of them are text, and the rest is zero. PAES_CORRUPT if the padding is wrong: all
 * of `text` is then zero, and `*text_bytes` is 0. An attacker who learns whether the padding of
 * chosen ciphertexts is wrong can decrypt with that alone, so authenticate before you decrypt. */
int paes_cipher_decrypt_padded(const paes_cipher* cipher, const uint8_t* iv, size_t iv_bytes,
                               const uint8_t* ciphertext, size_t ciphertext_bytes, uint8_t* text,
                               size_t* text_bytes);

/* One of several independent messages, with the rules of paes_cipher_encrypt. */
typedef struct paes_cipher_message {
  const uint8_t* iv;
  size_t iv_bytes;
  const uint8_t* in;
  uint8_t* out;
  size_t bytes;
} paes_cipher_message;

/* Process messages side by side; only this makes CBC and CFB encryption and OFB fast. Eight or more
 * messages per thread keep it busy. They return the codes of paes_cipher_encrypt; if one message is
 * refused, none is written. */
int paes_cipher_encrypt_batch(const paes_cipher* cipher, const paes_cipher_message* messages,
                              size_t count);
int paes_cipher_decrypt_batch(const paes_cipher* cipher, const paes_cipher_message* messages,
                              size_t count);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
