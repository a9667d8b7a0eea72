/* SPDX-License-Identifier: Apache-2.0 */
/* The keystream engine from C: NIST's example of AES-256 in counter mode (SP 800-38A, F.5.5),
 * blocks encrypted ahead and read back, an example of AES-GCM, every refusal that a C program has
 * to tell apart, and nonces. */
#include <stdio.h>
#include <string.h>

#include "paes/keystream.h"

static int failures = 0;

static void check(int is_so, const char* what) {
  if (!is_so) {
    printf("wrong: %s (%s)\n", what, paes_error_message());
    failures = 1;
  }
}

static const uint8_t key_bytes[32] = {
    0x60, 0x3d, 0xeb, 0x10, 0x15, 0xca, 0x71, 0xbe, 0x2b, 0x73, 0xae, 0xf0, 0x85, 0x7d, 0x77, 0x81,
    0x1f, 0x35, 0x2c, 0x07, 0x3b, 0x61, 0x08, 0xd7, 0x2d, 0x98, 0x10, 0xa3, 0x09, 0x14, 0xdf, 0xf4};
static const uint8_t counter[16] = {0xf0, 0xf1, 0xf2, 0xf3, 0xf4, 0xf5, 0xf6, 0xf7,
                                    0xf8, 0xf9, 0xfa, 0xfb, 0xfc, 0xfd, 0xfe, 0xff};
static const uint8_t text[32] = {0x6b, 0xc1, 0xbe, 0xe2, 0x2e, 0x40, 0x9f, 0x96, 0xe9, 0x3d, 0x7e,
                                 0x11, 0x73, 0x93, 0x17, 0x2a, 0xae, 0x2d, 0x8a, 0x57, 0x1e, 0x03,
                                 0xac, 0x9c, 0x9e, 0xb7, 0x6f, 0xac, 0x45, 0xaf, 0x8e, 0x51};
static const uint8_t sealed[32] = {0x60, 0x1e, 0xc3, 0x13, 0x77, 0x57, 0x89, 0xa5, 0xb7, 0xa7, 0xf5,
                                   0x04, 0xbb, 0xf3, 0xd2, 0x28, 0xf4, 0x43, 0xe3, 0xca, 0x4d, 0x62,
                                   0xb5, 0x9a, 0xca, 0x84, 0xe9, 0x90, 0xca, 0xca, 0xf5, 0xc5};

static void check_example(paes_keystream_engine* engine, const paes_keystream_key* key) {
  paes_keystream_context* context = NULL;
  paes_keystream_statistics statistics;
  uint8_t out[4096];
  uint8_t block[4096];
  memset(block, 7, sizeof block);
  check(paes_keystream_open(engine, key, counter, 16, NULL, &context) == PAES_OK, "open");
  while (paes_keystream_idle(engine, 1000000000U) != 0) {
  }
  check(paes_keystream_idle(engine, UINT64_MAX) == 0, "any length of time");
  check(paes_keystream_encrypt(context, 0, text, out, 32) == PAES_OK, "encrypt");
  check(memcmp(out, sealed, 32) == 0, "the example's ciphertext");
  check(paes_keystream_encrypt(context, 16, text, out, 32) == PAES_USAGE, "used before");
  check(strstr(paes_error_message(), "before") != NULL, "the reason");
  check(paes_keystream_decrypt(context, 0, sealed, out, 32) == PAES_OK, "decrypt");
  check(memcmp(out, text, 32) == 0, "the example's text");
  check(paes_keystream_encrypt(context, 4096, block, out, 4096) == PAES_OK, "a chunk");
  check(memcmp(out, block, 4096) != 0, "a chunk is encrypted");
  check(paes_keystream_decrypt(context, 4096, out, out, 4096) == PAES_OK, "a chunk in place");
  check(memcmp(out, block, 4096) == 0, "a chunk's text");
  check(paes_keystream_mark_used(context, 81920, 4096) == PAES_OK, "mark as used");
  check(paes_keystream_encrypt(context, 81920, block, out, 1) == PAES_USAGE, "marked");
  check(paes_keystream_prefetch(context, 409600) == PAES_OK, "prefetch");
  check(paes_keystream_get_statistics(engine, &statistics) == PAES_OK, "statistics");
  check(statistics.use.own >= 2 && statistics.memory_bytes > 4096, "what they say");
  paes_keystream_close(context);
}

static void check_refusals(paes_keystream_engine* engine, const paes_keystream_key* key) {
  paes_keystream_key* none = NULL;
  paes_keystream_context* context = NULL;
  paes_keystream_context_options options = {0};
  uint8_t byte = 0;
  check(paes_keystream_key_new(engine, "aes-256-cbc", key_bytes, 32, NULL, &none) == PAES_USAGE,
        "a mode that is none");
  check(paes_keystream_key_new(engine, "aes-256-ctr", key_bytes, 31, NULL, &none) == PAES_USAGE,
        "a short key");
  check(none == NULL, "nothing is made");
  check(paes_keystream_open(engine, key, counter, 8, NULL, &context) == PAES_USAGE,
        "a short counter");
  options.limit_bytes = 10;
  check(paes_keystream_open(engine, key, counter, 16, &options, &context) == PAES_OK, "a limit");
  check(paes_keystream_encrypt(context, 10, &byte, &byte, 1) == PAES_USAGE, "beyond it");
  check(paes_keystream_encrypt(context, 9, &byte, &byte, 1) == PAES_OK, "within it");
  paes_keystream_close(context);
}

/* Zero is the default, which is a window of 16 chunks; and a context can have none. */
static void check_windows(void) {
  static const unsigned windows[] = {0, 32, PAES_NO_WINDOW};
  static const uint64_t filled[] = {14, 28, 0}; /* an eighth is kept for clients that fall behind */
  int i;
  for (i = 0; i < 3; ++i) {
    paes_keystream_engine* engine = NULL;
    paes_keystream_key* key = NULL;
    paes_keystream_context* context = NULL;
    paes_keystream_context_options options = {0};
    paes_keystream_statistics statistics;
    paes_keystream_use use;
    paes_keystream_costs costs = {0, 0, 0};
    uint8_t out[32];
    options.window_chunks = windows[i];
    check(paes_keystream_engine_new(NULL, &engine) == PAES_OK, "an engine");
    check(paes_keystream_key_new(engine, "aes-256-ctr", key_bytes, 32, "bitslice", &key) == PAES_OK,
          "a key");
    check(strcmp(paes_keystream_key_kernel(key), "bitslice") == 0, "its kernel");
    check(paes_keystream_key_block_bytes(key) == 16, "its block");
    check(paes_keystream_key_get_costs(key, &costs) == PAES_OK && costs.direct_ns > 0, "its costs");
    check(paes_keystream_open(engine, key, counter, 16, &options, &context) == PAES_OK, "open");
    while (paes_keystream_idle(engine, 1000000000U) != 0) {
    }
    check(paes_keystream_get_statistics(engine, &statistics) == PAES_OK, "statistics");
    check(statistics.filled_chunks == filled[i], "what the window takes");
    check(statistics.device_chunks == 0, "no device");
    check(paes_keystream_encrypt(context, 0, text, out, 32) == PAES_OK, "encrypt");
    check(memcmp(out, sealed, 32) == 0, "the example's ciphertext");
    check(paes_keystream_get_use(context, &use) == PAES_OK, "its use");
    check(use.own + use.direct == 1 && (use.own == 0 || windows[i] != PAES_NO_WINDOW), "one part");
    paes_keystream_close(context);
    paes_keystream_key_free(key);
    paes_keystream_engine_free(engine);
  }
}

/* Workers of ordinary priority, which is one of two, and keystream that is always used. */
static void check_priorities(void) {
  static const unsigned priorities[] = {PAES_WORKERS_IDLE, PAES_WORKERS_ORDINARY, 2};
  int i;
  for (i = 0; i < 3; ++i) {
    paes_keystream_engine* engine = NULL;
    paes_keystream_key* key = NULL;
    paes_keystream_context* context = NULL;
    paes_keystream_options options = {0};
    uint8_t out[32];
    options.workers = 1;
    options.worker_priority = priorities[i];
    options.always_ahead = 1;
    check(paes_keystream_engine_new(&options, &engine) == (i == 2 ? PAES_USAGE : PAES_OK),
          "workers of a priority");
    if (i == 2) {
      check(engine == NULL && strstr(paes_error_message(), "ordinary") != NULL, "of no other");
      continue;
    }
    check(paes_keystream_key_new(engine, "aes-256-ctr", key_bytes, 32, NULL, &key) == PAES_OK,
          "a key for them");
    check(paes_keystream_open(engine, key, counter, 16, NULL, &context) == PAES_OK, "open");
    check(paes_keystream_prefetch(context, 0) == PAES_OK, "prefetch");
    check(paes_keystream_encrypt(context, 0, text, out, 32) == PAES_OK, "encrypt");
    check(memcmp(out, sealed, 32) == 0, "the example's ciphertext");
    paes_keystream_close(context);
    paes_keystream_key_free(key);
    paes_keystream_engine_free(engine);
  }
}

/* The engine takes always_ahead over: what nobody needs to measure is used from the first chunk on. */
static void check_always_ahead(void) {
  paes_keystream_engine* engine = NULL;
  paes_keystream_key* key = NULL;
  paes_keystream_context* context = NULL;
  paes_keystream_options options = {0};
  paes_keystream_use use;
  static uint8_t block[4096];
  uint64_t at;
  options.always_ahead = 1;
  check(paes_keystream_engine_new(&options, &engine) == PAES_OK, "an engine");
  check(paes_keystream_key_new(engine, "aes-256-ctr", key_bytes, 32, NULL, &key) == PAES_OK, "key");
  check(paes_keystream_open(engine, key, counter, 16, NULL, &context) == PAES_OK, "open");
  for (at = 0; at < 600; ++at) {
    while (paes_keystream_idle(engine, 1000000000U) != 0) {
    }
    check(paes_keystream_encrypt(context, at * 4096, block, block, 4096) == PAES_OK, "encrypt");
  }
  check(paes_keystream_get_use(context, &use) == PAES_OK, "its use");
  check(use.own == 600 && use.bypassed == 0, "all of it, and none computed for comparison");
  paes_keystream_close(context);
  paes_keystream_key_free(key);
  paes_keystream_engine_free(engine);
}

/* Test Case 16 of McGrew and Viega, "The Galois/Counter Mode of Operation (GCM)", 2005: nonce
 * cafebabefacedbaddecaf888, here message 8 of a row that begins at ...880. */
static void check_sealed(paes_keystream_engine* engine) {
  static const uint8_t gcm_key[32] = {0xfe, 0xff, 0xe9, 0x92, 0x86, 0x65, 0x73, 0x1c,
                                      0x6d, 0x6a, 0x8f, 0x94, 0x67, 0x30, 0x83, 0x08,
                                      0xfe, 0xff, 0xe9, 0x92, 0x86, 0x65, 0x73, 0x1c,
                                      0x6d, 0x6a, 0x8f, 0x94, 0x67, 0x30, 0x83, 0x08};
  static const uint8_t first[12] = {0xca, 0xfe, 0xba, 0xbe, 0xfa, 0xce,
                                    0xdb, 0xad, 0xde, 0xca, 0xf8, 0x80};
  static const uint8_t aad[20] = {0xfe, 0xed, 0xfa, 0xce, 0xde, 0xad, 0xbe, 0xef, 0xfe, 0xed,
                                  0xfa, 0xce, 0xde, 0xad, 0xbe, 0xef, 0xab, 0xad, 0xda, 0xd2};
  static const uint8_t plain[60] = {
      0xd9, 0x31, 0x32, 0x25, 0xf8, 0x84, 0x06, 0xe5, 0xa5, 0x59, 0x09, 0xc5, 0xaf, 0xf5, 0x26,
      0x9a, 0x86, 0xa7, 0xa9, 0x53, 0x15, 0x34, 0xf7, 0xda, 0x2e, 0x4c, 0x30, 0x3d, 0x8a, 0x31,
      0x8a, 0x72, 0x1c, 0x3c, 0x0c, 0x95, 0x95, 0x68, 0x09, 0x53, 0x2f, 0xcf, 0x0e, 0x24, 0x49,
      0xa6, 0xb5, 0x25, 0xb1, 0x6a, 0xed, 0xf5, 0xaa, 0x0d, 0xe6, 0x57, 0xba, 0x63, 0x7b, 0x39};
  static const uint8_t expected_tag[16] = {0x76, 0xfc, 0x6e, 0xce, 0x0f, 0x4e, 0x17, 0x68,
                                           0xcd, 0xdf, 0x88, 0x53, 0xbb, 0x2d, 0x55, 0x1b};
  static const uint8_t first_bytes[8] = {0x52, 0x2d, 0xc1, 0xf0, 0x99, 0x56, 0x7d, 0x07};
  paes_keystream_key* key = NULL;
  paes_sealed_context* context = NULL;
  paes_sealed_context_options options = {0};
  uint8_t out[60];
  uint8_t tag[16];
  int i;
  check(paes_keystream_key_new(engine, "aes-256-gcm", gcm_key, 32, NULL, &key) == PAES_OK,
        "a key of GCM");
  options.limit_messages = 100;
  check(paes_sealed_open(engine, key, first, &options, &context) == PAES_OK, "a sealed context");
  while (paes_keystream_idle(engine, 1000000000U) != 0) {
  }
  check(paes_sealed_encrypt(context, 8, aad, 20, plain, out, 60, tag, 16) == PAES_OK, "seal");
  check(memcmp(out, first_bytes, 8) == 0 && memcmp(tag, expected_tag, 16) == 0, "case 16");
  check(paes_sealed_encrypt(context, 8, aad, 20, plain, out, 60, tag, 16) == PAES_USAGE,
        "the same message again");
  check(paes_sealed_decrypt(context, 8, aad, 20, out, out, 60, tag, 16) == PAES_OK, "open");
  check(memcmp(out, plain, 60) == 0, "what was sealed");
  check(paes_sealed_prefetch(context, 50) == PAES_OK, "prefetch of messages");
  check(paes_sealed_encrypt(context, 50, NULL, 0, plain, out, 60, tag, 12) == PAES_OK, "no AAD");
  tag[3] ^= 1;
  check(paes_sealed_decrypt(context, 50, NULL, 0, out, out, 60, tag, 12) == PAES_CORRUPT,
        "a forged tag");
  for (i = 0; i < 60; ++i) {
    check(out[i] == 0, "zeros instead of a forgery's text");
  }
  check(paes_sealed_mark_used(context, 60, 2) == PAES_OK, "mark messages");
  check(paes_sealed_encrypt(context, 61, NULL, 0, plain, out, 60, tag, 16) == PAES_USAGE, "used");
  check(paes_sealed_encrypt(context, 100, NULL, 0, plain, out, 60, tag, 16) == PAES_USAGE,
        "beyond the limit");
  paes_sealed_close(context);
  paes_sealed_close(NULL);
  paes_keystream_key_free(key);
}

static void check_nonces(void) {
  paes_nonce_allocator* allocator = NULL;
  uint8_t first[16];
  uint8_t second[16];
  uint64_t limit = 0;
  check(paes_nonce_allocator_new(1, NULL, &allocator) == PAES_USAGE, "3DES without a file");
  check(paes_nonce_allocator_new(0, "/no/such/folder", &allocator) == PAES_FAILURE, "no file");
  check(paes_nonce_allocator_new(0, NULL, &allocator) == PAES_OK, "an allocator");
  check(paes_nonce_allocate(allocator, 1, first, &limit) == PAES_OK, "a nonce");
  check(paes_nonce_allocate(allocator, 1, second, &limit) == PAES_OK, "another");
  check(memcmp(first, second, 12) != 0 && limit == (uint64_t)1 << 36, "they differ");
  check(paes_nonce_allocate_messages(allocator, 1000, first) == PAES_OK, "a row");
  check(paes_nonce_allocate_messages(allocator, 0, first) == PAES_USAGE, "a row of none");
  paes_nonce_allocator_free(allocator);
}

/* Whatever is left out is an error of the call and says so. */
static void check_nulls(paes_keystream_engine* engine, const paes_keystream_key* key) {
  static const uint8_t nonce[12] = {1};
  paes_keystream_key* bound = NULL;
  paes_keystream_key* gcm = NULL;
  paes_keystream_context* context = NULL;
  paes_sealed_context* sealed_context = NULL;
  paes_keystream_statistics statistics;
  paes_keystream_use use;
  paes_keystream_costs costs;
  paes_nonce_allocator* allocator = NULL;
  uint8_t out[16];
  uint8_t tag[16];
  uint64_t limit = 0;
#define REFUSED(call)                 \
  check((call) == PAES_USAGE, #call); \
  check(strstr(paes_error_message(), "is null") != NULL, "the reason of " #call)
  REFUSED(paes_keystream_engine_new(NULL, NULL));
  REFUSED(paes_keystream_key_new(NULL, "aes-256-ctr", key_bytes, 32, NULL, &bound));
  REFUSED(paes_keystream_key_new(engine, NULL, key_bytes, 32, NULL, &bound));
  REFUSED(paes_keystream_key_new(engine, "aes-256-ctr", NULL, 32, NULL, &bound));
  REFUSED(paes_keystream_key_new(engine, "aes-256-ctr", key_bytes, 32, NULL, NULL));
  check(paes_keystream_key_new(engine, "aes-256-ctr", NULL, 0, NULL, &bound) == PAES_USAGE,
        "no key at all");
  REFUSED(paes_keystream_open(NULL, key, counter, 16, NULL, &context));
  REFUSED(paes_keystream_open(engine, NULL, counter, 16, NULL, &context));
  REFUSED(paes_keystream_open(engine, key, NULL, 16, NULL, &context));
  REFUSED(paes_keystream_open(engine, key, counter, 16, NULL, NULL));
  REFUSED(paes_keystream_encrypt(NULL, 0, text, out, 16));
  REFUSED(paes_keystream_decrypt(NULL, 0, text, out, 16));
  REFUSED(paes_keystream_prefetch(NULL, 0));
  REFUSED(paes_keystream_mark_used(NULL, 0, 1));
  check(paes_keystream_open(engine, key, counter, 16, NULL, &context) == PAES_OK, "open");
  REFUSED(paes_keystream_encrypt(context, 0, NULL, out, 16));
  REFUSED(paes_keystream_encrypt(context, 0, text, NULL, 16));
  REFUSED(paes_keystream_decrypt(context, 0, NULL, out, 16));
  REFUSED(paes_keystream_decrypt(context, 0, text, NULL, 16));
  check(paes_keystream_encrypt(context, 0, NULL, NULL, 0) == PAES_OK, "nothing from nowhere");
  check(paes_keystream_encrypt(context, 0, text, out, 16) == PAES_OK, "refusals record nothing");
  paes_keystream_close(context);
  check(paes_keystream_key_new(engine, "aes-256-gcm", key_bytes, 32, NULL, &gcm) == PAES_OK, "key");
  REFUSED(paes_sealed_open(NULL, gcm, nonce, NULL, &sealed_context));
  REFUSED(paes_sealed_open(engine, NULL, nonce, NULL, &sealed_context));
  REFUSED(paes_sealed_open(engine, gcm, NULL, NULL, &sealed_context));
  REFUSED(paes_sealed_open(engine, gcm, nonce, NULL, NULL));
  REFUSED(paes_sealed_encrypt(NULL, 0, NULL, 0, text, out, 16, tag, 16));
  REFUSED(paes_sealed_decrypt(NULL, 0, NULL, 0, text, out, 16, tag, 16));
  REFUSED(paes_sealed_prefetch(NULL, 0));
  REFUSED(paes_sealed_mark_used(NULL, 0, 1));
  check(paes_sealed_open(engine, gcm, nonce, NULL, &sealed_context) == PAES_OK, "a sealed context");
  REFUSED(paes_sealed_encrypt(sealed_context, 0, NULL, 1, text, out, 16, tag, 16));
  REFUSED(paes_sealed_encrypt(sealed_context, 0, NULL, 0, NULL, out, 16, tag, 16));
  REFUSED(paes_sealed_encrypt(sealed_context, 0, NULL, 0, text, NULL, 16, tag, 16));
  REFUSED(paes_sealed_encrypt(sealed_context, 0, NULL, 0, text, out, 16, NULL, 16));
  REFUSED(paes_sealed_decrypt(sealed_context, 0, NULL, 1, text, out, 16, tag, 16));
  REFUSED(paes_sealed_decrypt(sealed_context, 0, NULL, 0, NULL, out, 16, tag, 16));
  REFUSED(paes_sealed_decrypt(sealed_context, 0, NULL, 0, text, NULL, 16, tag, 16));
  REFUSED(paes_sealed_decrypt(sealed_context, 0, NULL, 0, text, out, 16, NULL, 16));
  check(paes_sealed_encrypt(sealed_context, 0, NULL, 0, text, out, 16, tag, 16) == PAES_OK,
        "refusals record no message");
  paes_sealed_close(sealed_context);
  paes_keystream_key_free(gcm);
  check(paes_keystream_idle(NULL, 1000) == 0, "nothing is left to do for no engine");
  REFUSED(paes_keystream_get_statistics(NULL, &statistics));
  REFUSED(paes_keystream_get_statistics(engine, NULL));
  REFUSED(paes_keystream_get_use(NULL, &use));
  REFUSED(paes_sealed_get_use(NULL, &use));
  REFUSED(paes_keystream_key_get_costs(NULL, &costs));
  REFUSED(paes_keystream_key_get_costs(key, NULL));
  check(paes_keystream_key_kernel(NULL) == NULL && paes_keystream_key_block_bytes(NULL) == 0,
        "a key that is none");
  REFUSED(paes_nonce_allocator_new(0, NULL, NULL));
  REFUSED(paes_nonce_allocate(NULL, 1, out, &limit));
  REFUSED(paes_nonce_allocate_messages(NULL, 1, out));
  check(paes_nonce_allocator_new(0, NULL, &allocator) == PAES_OK, "an allocator");
  REFUSED(paes_nonce_allocate(allocator, 1, NULL, &limit));
  REFUSED(paes_nonce_allocate(allocator, 1, out, NULL));
  REFUSED(paes_nonce_allocate_messages(allocator, 1, NULL));
  paes_nonce_allocator_free(allocator);
  paes_nonce_allocator_free(NULL);
  paes_keystream_key_free(NULL);
  paes_keystream_close(NULL);
#undef REFUSED
}

int main(void) {
  paes_keystream_engine* engine = NULL;
  paes_keystream_key* key = NULL;
  check(paes_keystream_engine_new(NULL, &engine) == PAES_OK, "an engine");
  check(paes_keystream_key_new(engine, "aes-256-ctr", key_bytes, 32, NULL, &key) == PAES_OK,
        "a key");
  check_example(engine, key);
  check_refusals(engine, key);
  check_sealed(engine);
  check_nonces();
  check_windows();
  check_priorities();
  check_always_ahead();
  check_nulls(engine, key);
  paes_keystream_key_free(key);
  paes_keystream_engine_free(engine);
  paes_keystream_engine_free(NULL);
  return failures;
}
