/* SPDX-License-Identifier: Apache-2.0 */
/* The keystream engine for C: what paes/keystream.hpp and paes/nonces.hpp say applies here, too.
 * A function returns a code unless its comment says what else. */
#ifndef PAES_KEYSTREAM_H
#define PAES_KEYSTREAM_H

#include "paes/device.h"
#include "paes/error.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

typedef struct paes_keystream_engine paes_keystream_engine;
typedef struct paes_keystream_key paes_keystream_key;
typedef struct paes_keystream_context paes_keystream_context;
typedef struct paes_sealed_context paes_sealed_context;
typedef struct paes_nonce_allocator paes_nonce_allocator;

/* How the engine's own threads share the processor (paes::WorkerPriority). */
enum {
  PAES_WORKERS_IDLE = 0,    /* they run only when nothing else needs it */
  PAES_WORKERS_ORDINARY = 1 /* they compete for it, and paes_keystream_prefetch wakes one */
};

typedef struct paes_keystream_options {
  unsigned workers;    /* the engine's own threads. 0: paes_keystream_idle computes everything */
  size_t budget_bytes; /* for keystream, keys, contexts and records, together; 0: 64 MiB */
  size_t chunk_bytes;  /* what is computed and kept: a power of two, 512 to 65536; 0: 4096 */
  const paes_device* device; /* for counter mode, where it is faster; null: none. Needs a worker */
  unsigned worker_priority;  /* PAES_WORKERS_IDLE or PAES_WORKERS_ORDINARY */
  int always_ahead;          /* not 0: computes ahead even where computing directly is faster */
} paes_keystream_options;

/* The memory and the threads of the keystream engine. It lives on until its last context is closed.
 * PAES_USAGE for options that make no sense, PAES_FAILURE if the system gives no memory or threads.
 */
int paes_keystream_engine_new(const paes_keystream_options* options,
                              paes_keystream_engine** engine);
void paes_keystream_engine_free(paes_keystream_engine* engine);

/* `cipher` is "aes-128-ctr", "aes-192-ctr", "aes-256-ctr" or "des-ede3-ctr", or for sealed contexts
 * "aes-128-gcm", "aes-192-gcm" or "aes-256-gcm"; `kernel` is a name that `paes devices` lists
 * as available, or null for the best. Contexts that were opened with the key may outlive it. */
int paes_keystream_key_new(paes_keystream_engine* engine, const char* cipher, const uint8_t* key,
                           size_t key_bytes, const char* kernel, paes_keystream_key** bound);
void paes_keystream_key_free(paes_keystream_key* key);
/* The chosen kernel's name. Valid for ever. Null for null. */
const char* paes_keystream_key_kernel(const paes_keystream_key* key);
/* 16 for AES, 8 for 3DES. 0 for null. */
size_t paes_keystream_key_block_bytes(const paes_keystream_key* key);

/* The measured cost of a chunk in nanoseconds; 0 if it is not measured yet. */
typedef struct paes_keystream_costs {
  double direct_ns;
  double own_ns;   /* with keystream that the caller's thread has computed */
  double other_ns; /* with keystream that another thread has computed */
} paes_keystream_costs;
int paes_keystream_key_get_costs(const paes_keystream_key* key, paes_keystream_costs* costs);

/* For window_chunks and window_messages: no window, so everything is computed directly. */
#define PAES_NO_WINDOW ((unsigned)-1)

typedef struct paes_keystream_context_options {
  unsigned window_chunks; /* that are kept ready, up to 65536; 0: 16; or PAES_NO_WINDOW */
  uint64_t first_chunk;   /* where the window begins */
  int64_t stride;         /* from a chunk to the next one used; 0: 1 */
  int priority;           /* higher: computed first, and evicted last */
  uint64_t limit_bytes;   /* how many bytes the counters may encrypt; 0: no limit */
} paes_keystream_context_options;

/* `first_counter`, the counter block of byte 0, has 16 bytes for AES and 8 for 3DES. No two
 * contexts of a key may share counters, in this process or any other, unless all but one only
 * decrypt. */
int paes_keystream_open(paes_keystream_engine* engine, const paes_keystream_key* key,
                        const uint8_t* first_counter, size_t counter_bytes,
                        const paes_keystream_context_options* options,
                        paes_keystream_context** context);
/* Wipes what the context holds. Closing null does nothing. */
void paes_keystream_close(paes_keystream_context* context);

/* Encrypt or decrypt `bytes` bytes with the keystream from byte `offset` on; `in` and `out` are the
 * same memory or share none. Encryption returns PAES_USAGE if one of these bytes has been encrypted
 * in this context or marked as used, or lies beyond the limit, and PAES_FAILURE if the budget has
 * no room to record it, and in a forked child; nothing is written then. Decryption records nothing.
 */
int paes_keystream_encrypt(paes_keystream_context* context, uint64_t offset, const uint8_t* in,
                           uint8_t* out, size_t bytes);
int paes_keystream_decrypt(paes_keystream_context* context, uint64_t offset, const uint8_t* in,
                           uint8_t* out, size_t bytes);
/* Moves the window so that it begins at the chunk of `offset`. Returns at once. */
int paes_keystream_prefetch(paes_keystream_context* context, uint64_t offset);
/* Records bytes as encrypted elsewhere. Call it first if a context is opened on existing data. */
int paes_keystream_mark_used(paes_keystream_context* context, uint64_t offset, uint64_t bytes);

/* How often each way was taken, counted in parts of requests that lie within one chunk. */
typedef struct paes_keystream_use {
  uint64_t own;      /* keystream that the caller's thread had computed */
  uint64_t other;    /* keystream that another thread had computed */
  uint64_t direct;   /* no keystream was there; of these: */
  uint64_t late;     /* it was being computed, or only its beginning was there */
  uint64_t bypassed; /* it was there but not used */
} paes_keystream_use;
int paes_keystream_get_use(const paes_keystream_context* context, paes_keystream_use* use);

/* The options of a context for messages of AES-GCM, one per chunk. */
typedef struct paes_sealed_context_options {
  unsigned window_messages; /* that are kept ready, up to 65536; 0: 16; or PAES_NO_WINDOW */
  uint64_t first_message;
  int64_t stride; /* 0: 1 */
  int priority;
  uint64_t limit_messages; /* how many nonces belong to this context; 0: 2^61 - 1 */
} paes_sealed_context_options;

/* Opens a row of numbered messages. `first_nonce` is the nonce of message 0; a message's own number
 * is added to its last 8 bytes, one big-endian number. No two contexts of a key may share nonces,
 * in this process or any other, unless all but one only decrypt. */
int paes_sealed_open(paes_keystream_engine* engine, const paes_keystream_key* key,
                     const uint8_t first_nonce[12], const paes_sealed_context_options* options,
                     paes_sealed_context** context);
/* Wipes what the context holds. Closing null does nothing. */
void paes_sealed_close(paes_sealed_context* context);

/* Encrypts a message of at most the engine's chunk_bytes. `in` and `out` are the same memory or
 * share none; `aad` may be anywhere, and null if it has 0 bytes. For `tag_bytes` see paes_gcm_seal.
 * PAES_USAGE if a length is out of bounds, or if this message's number has been sealed in this
 * context or marked as used. PAES_FAILURE if the budget has no room to record it, and in a forked
 * child. Nothing is written then. */
int paes_sealed_encrypt(paes_sealed_context* context, uint64_t message, const uint8_t* aad,
                        size_t aad_bytes, const uint8_t* in, uint8_t* out, size_t bytes,
                        uint8_t* tag, size_t tag_bytes);
/* Decrypts a message, and records nothing. PAES_CORRUPT if the tag does not match; `out` is then
 * all zeros. Pass only tags of the length that you always use: a shorter one is easier to forge.
 * Until it returns, nobody may change the memory that it was given (see paes_gcm_open).
 */
int paes_sealed_decrypt(paes_sealed_context* context, uint64_t message, const uint8_t* aad,
                        size_t aad_bytes, const uint8_t* in, uint8_t* out, size_t bytes,
                        const uint8_t* tag, size_t tag_bytes);
/* These do what the calls of paes_keystream_context do, but count messages. */
int paes_sealed_prefetch(paes_sealed_context* context, uint64_t message);
int paes_sealed_mark_used(paes_sealed_context* context, uint64_t first, uint64_t messages);
int paes_sealed_get_use(const paes_sealed_context* context, paes_keystream_use* use);

/* Computes ahead in this thread for at most `nanoseconds`. If one call is too short for a chunk,
 * several complete it. Returns 1 if work is left, else 0. */
int paes_keystream_idle(paes_keystream_engine* engine, uint64_t nanoseconds);

typedef struct paes_keystream_statistics {
  paes_keystream_use use; /* of all contexts, including closed ones */
  uint64_t filled_chunks;
  uint64_t device_chunks;   /* of those: by the device */
  uint64_t evicted_chunks;  /* taken from a context before it used them */
  size_t memory_bytes;      /* of the budget */
  size_t keystream_bytes;   /* of those: for keystream */
  size_t unlocked_bytes;    /* of those: what the system refused to lock */
  int is_wiped_in_children; /* 0: the system does not wipe memory in a forked child */
} paes_keystream_statistics;
int paes_keystream_get_statistics(const paes_keystream_engine* engine,
                                  paes_keystream_statistics* statistics);

/* Makes an allocator of nonces; paes/nonces.hpp says what restarts, copies and forks require. If
 * `path` is null, the numbers are for this process alone, and only for AES. `is_3des` is 0 or 1.
 * PAES_FAILURE if the file cannot be used, PAES_CORRUPT if it is damaged or something else. */
int paes_nonce_allocator_new(int is_3des, const char* path, paes_nonce_allocator** allocator);
void paes_nonce_allocator_free(paes_nonce_allocator* allocator);
/* The first counter block (16 bytes for AES, 8 for 3DES) of a nonce for `bytes` bytes, at least 1,
 * and how much its counters may encrypt. PAES_USAGE for more than a nonce can have. PAES_FAILURE if
 * the file cannot be written, if all nonces have been used, and in a forked child. */
int paes_nonce_allocate(paes_nonce_allocator* allocator, uint64_t bytes, uint8_t counter[16],
                        uint64_t* limit_bytes);

/* The first nonce of a row for `messages` messages under AES-GCM, 1 to 2^48. */
int paes_nonce_allocate_messages(paes_nonce_allocator* allocator, uint64_t messages,
                                 uint8_t first_nonce[12]);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
