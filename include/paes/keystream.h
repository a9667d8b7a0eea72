/* The keystream engine for C: what paes/keystream.hpp and paes/nonces.hpp say holds here as well.
 * Calls that can fail return PAES_OK or another code below, and paes_keystream_reason() explains
 * it; paes_keystream_idle() alone returns something else. No call ends the program or throws, even
 * when memory runs out or an argument is null (PAES_USAGE where null is not allowed). */
#ifndef PAES_KEYSTREAM_H
#define PAES_KEYSTREAM_H

#include <stddef.h> /* NOLINT: C has no cstddef */
#include <stdint.h> /* NOLINT: nor cstdint */

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* The numbers of paes::ErrorCode. */
enum {
  PAES_OK = 0,
  PAES_FAILURE = 1, /* no memory within the budget, no threads, files, or a forked child */
  PAES_USAGE = 2,   /* names and sizes that cannot be; bytes that have been encrypted before */
  PAES_CORRUPT = 3  /* a forged or damaged message; a damaged file of nonces, or another file */
};

/* Why the last failed call of this thread failed. Valid until the next failure. Never null. */
const char* paes_keystream_reason(void);

typedef struct paes_keystream_engine paes_keystream_engine;
typedef struct paes_keystream_key paes_keystream_key;
typedef struct paes_keystream_context paes_keystream_context;
typedef struct paes_sealed_context paes_sealed_context;
typedef struct paes_nonce_allocator paes_nonce_allocator;

/* 0 in budget_bytes or chunk_bytes means the default: 64 MiB or 4096 bytes. */
typedef struct paes_keystream_options {
  unsigned workers;
  size_t budget_bytes;
  size_t chunk_bytes;
} paes_keystream_options;

/* Null `options` means all defaults, and freeing null does nothing. An engine lives on until
 * its last context is closed. */
int paes_keystream_engine_new(const paes_keystream_options* options,
                              paes_keystream_engine** engine);
void paes_keystream_engine_free(paes_keystream_engine* engine);

/* `cipher` is "aes-128-ctr", "aes-192-ctr", "aes-256-ctr" or "des-ede3-ctr", or for sealed contexts
 * "aes-128-gcm", "aes-192-gcm" or "aes-256-gcm"; `kernel` is a name or null. Contexts that were
 * opened with the key may outlive it. */
int paes_keystream_key_new(paes_keystream_engine* engine, const char* cipher, const uint8_t* key,
                           size_t key_bytes, const char* kernel, paes_keystream_key** bound);
void paes_keystream_key_free(paes_keystream_key* key);

/* As paes::ContextOptions; paes_keystream_context_defaults() has its values. */
typedef struct paes_keystream_context_options {
  unsigned window_chunks;
  uint64_t first_chunk;
  int64_t stride;
  int priority;
  uint64_t limit_bytes;
} paes_keystream_context_options;
paes_keystream_context_options paes_keystream_context_defaults(void);

/* `first_counter` has 16 bytes for AES and 8 for 3DES. Null `options` means all defaults. */
int paes_keystream_open(paes_keystream_engine* engine, const paes_keystream_key* key,
                        const uint8_t* first_counter, size_t counter_bytes,
                        const paes_keystream_context_options* options,
                        paes_keystream_context** context);
/* Wipes what the context holds. Closing null does nothing. */
void paes_keystream_close(paes_keystream_context* context);

/* `in` and `out` are the same memory or share none. */
int paes_keystream_encrypt(paes_keystream_context* context, uint64_t offset, const uint8_t* in,
                           uint8_t* out, size_t bytes);
int paes_keystream_decrypt(paes_keystream_context* context, uint64_t offset, const uint8_t* in,
                           uint8_t* out, size_t bytes);
int paes_keystream_prefetch(paes_keystream_context* context, uint64_t offset);
int paes_keystream_mark_used(paes_keystream_context* context, uint64_t offset, uint64_t bytes);

/* As paes::SealedOptions; paes_sealed_context_defaults() has its values. */
typedef struct paes_sealed_context_options {
  unsigned window_messages;
  uint64_t first_message;
  int64_t stride;
  int priority;
  uint64_t limit_messages;
} paes_sealed_context_options;
paes_sealed_context_options paes_sealed_context_defaults(void);

/* Messages under AES-GCM, as paes::SealedContext. Null `options` means all defaults. */
int paes_sealed_open(paes_keystream_engine* engine, const paes_keystream_key* key,
                     const uint8_t first_nonce[12], const paes_sealed_context_options* options,
                     paes_sealed_context** context);
/* Wipes what the context holds. Closing null does nothing. */
void paes_sealed_close(paes_sealed_context* context);

/* `in` and `out` are the same memory or share none; `aad` may be null where it has 0 bytes. */
int paes_sealed_encrypt(paes_sealed_context* context, uint64_t message, const uint8_t* aad,
                        size_t aad_bytes, const uint8_t* in, uint8_t* out, size_t bytes,
                        uint8_t* tag, size_t tag_bytes);
/* PAES_CORRUPT, and `out` all zeros, when the tag does not match. */
int paes_sealed_decrypt(paes_sealed_context* context, uint64_t message, const uint8_t* aad,
                        size_t aad_bytes, const uint8_t* in, uint8_t* out, size_t bytes,
                        const uint8_t* tag, size_t tag_bytes);
int paes_sealed_prefetch(paes_sealed_context* context, uint64_t message);
int paes_sealed_mark_used(paes_sealed_context* context, uint64_t first, uint64_t messages);

/* Computes ahead in this thread for at most `nanoseconds`. Several calls complete a chunk that
 * takes longer. Returns 1 if something is left to do, else 0. */
int paes_keystream_idle(paes_keystream_engine* engine, uint64_t nanoseconds);

typedef struct paes_keystream_statistics {
  uint64_t own;    /* parts of requests that used keystream of the same thread, */
  uint64_t other;  /* of another thread, */
  uint64_t direct; /* and without any */
  uint64_t late;
  uint64_t bypassed;
  uint64_t filled_chunks;
  uint64_t evicted_chunks;
  size_t memory_bytes;
  size_t keystream_bytes;
  size_t unlocked_bytes; /* that the system refused to lock into memory */
} paes_keystream_statistics;
int paes_keystream_get_statistics(const paes_keystream_engine* engine,
                                  paes_keystream_statistics* statistics);

/* Nonces; paes/nonces.hpp says what restarts, copies and forks need. With a null `path` the
 * numbers are of this process alone, and only for AES. `is_3des` is 0 or 1. */
int paes_nonce_allocator_new(int is_3des, const char* path, paes_nonce_allocator** allocator);
void paes_nonce_allocator_free(paes_nonce_allocator* allocator);
/* The first counter block (16 bytes for AES, 8 for 3DES), and how much its counters may encrypt. */
int paes_nonce_allocate(paes_nonce_allocator* allocator, uint64_t bytes, uint8_t counter[16],
                        uint64_t* limit_bytes);

/* The first nonce of a row for so many messages under AES-GCM. */
int paes_nonce_allocate_messages(paes_nonce_allocator* allocator, uint64_t messages,
                                 uint8_t first_nonce[12]);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
