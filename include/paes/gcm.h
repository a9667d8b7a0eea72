/* SPDX-License-Identifier: Apache-2.0 */
/* AES-GCM (FIPS 197, SP 800-38D) for C: what paes/gcm.hpp says applies here, too, except that
 * `threads` 0 is the caller's thread alone, not every processor.
 *
 *   paes_gcm* gcm = NULL;
 *   paes_gcm_new(key, 32, NULL, &gcm);
 *   paes_gcm_seal(gcm, iv, 12, NULL, 0, text, ciphertext, text_bytes, tag, 16);
 *   paes_gcm_free(gcm);
 *
 * Never use the same IV twice under one key. */
#ifndef PAES_GCM_H
#define PAES_GCM_H

#include "paes/error.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* A key, bound to a kernel. */
typedef struct paes_gcm paes_gcm;

typedef struct paes_gcm_options {
  const char* kernel; /* a name that `paes devices` lists as available; null: the best */
  unsigned threads;   /* for one long message. 0: the caller's alone; or PAES_EVERY_PROCESSOR */
} paes_gcm_options;

/* `key` has 16, 24 or 32 bytes. PAES_USAGE for another length, and for a kernel that does not run
 * here. */
int paes_gcm_new(const uint8_t* key, size_t key_bytes, const paes_gcm_options* options,
                 paes_gcm** gcm);
void paes_gcm_free(paes_gcm* gcm);

/* The chosen kernel's name. Valid for ever. Null for null. */
const char* paes_gcm_kernel(const paes_gcm* gcm);

/* Encrypts `text_bytes` bytes, at most 2^36 - 32, from `text` to `ciphertext`, which are the same
 * memory or share none, and writes the tag. `tag_bytes` is 16, 15, 14, 13 or 12, or 8 or 4 if you
 * follow SP 800-38D, appendix C. `iv` has 1 to 2^61 - 1 bytes; 12 is best. `aad` is authenticated
 * but not encrypted. A pointer to 0 bytes may be null. PAES_USAGE if a length is out of bounds,
 * PAES_FAILURE if the threads for a long message cannot start; nothing is written then. */
int paes_gcm_seal(const paes_gcm* gcm, const uint8_t* iv, size_t iv_bytes, const uint8_t* aad,
                  size_t aad_bytes, const uint8_t* text, uint8_t* ciphertext, size_t text_bytes,
                  uint8_t* tag, size_t tag_bytes);

/* Decrypts. PAES_CORRUPT if the tag does not match; `text` is then all zeros. Pass only tags of the
 * length that you always use: a shorter one is easier to forge. Otherwise the rules and codes of
 * paes_gcm_seal apply. Until the call returns, nobody may change the memory that it was given.
 * Ciphertext may be read twice, to authenticate it and to decrypt it: if another thread or process
 * writes there meanwhile, text that was never sealed may come out. Copy ciphertext out of shared
 * memory first. */
int paes_gcm_open(const paes_gcm* gcm, const uint8_t* iv, size_t iv_bytes, const uint8_t* aad,
                  size_t aad_bytes, const uint8_t* ciphertext, uint8_t* text, size_t text_bytes,
                  const uint8_t* tag, size_t tag_bytes);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
