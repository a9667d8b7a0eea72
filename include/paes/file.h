/* SPDX-License-Identifier: Apache-2.0 */
/* Encrypted files for C: authenticated, seekable, on all cores. They are the files of `paes
 * encrypt`. What paes/file.hpp, paes/keys.hpp and paes/cancel.hpp say applies here, too.
 *
 *   paes_seal_for_new(&seal_for);
 *   paes_seal_for_add_recipient(seal_for, "age1...");
 *   paes_source_open("disk.img", &from);
 *   paes_encrypt_file(from, "disk.img.paes", seal_for, NULL, NULL);
 *
 * A process that writes to pipes, or near the limit of file sizes, should ignore SIGPIPE and
 * SIGXFSZ, which then become PAES_FAILURE; the library does not change how signals are handled. */
#ifndef PAES_FILE_H
#define PAES_FILE_H

#include "paes/device.h"
#include "paes/error.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

enum {
  PAES_FILE_CHUNK_BYTES = 16384, /* the text of a file is sealed in chunks of this size */
  PAES_RECIPIENT_BYTES = 63,     /* "age1..." and its zero byte */
  PAES_MAX_DAMAGED = 100
};

/* Keys. */

/* A secret key of age. */
typedef struct paes_identity paes_identity;

/* Makes a new key from the system's random bytes. */
int paes_identity_generate(paes_identity** identity);
/* Parses "AGE-SECRET-KEY-1...". PAES_USAGE says what is wrong but never repeats the text. */
int paes_identity_parse(const char* text, paes_identity** identity);
void paes_identity_free(paes_identity* identity);
/* Writes a new file with the secret key and, as a comment, its public key. Only its owner can read
 * it. PAES_FAILURE if something has that name, or if its file system keeps no permissions. */
int paes_identity_save(const paes_identity* identity, const char* path);
/* The public key, "age1...". `text` has room for at least PAES_RECIPIENT_BYTES; PAES_USAGE for
 * less, and for a plugin's identity, whose public key only the plugin knows. */
int paes_identity_recipient(const paes_identity* identity, char* text, size_t text_bytes);

/* The keys to encrypt for: recipients, or a passphrase, or the caller's own key. If none or several
 * of the three are given, the call that encrypts returns PAES_USAGE. Only one thread at a time may
 * call the functions that add to it, and not while another call uses it. */
typedef struct paes_seal_for paes_seal_for;

int paes_seal_for_new(paes_seal_for** seal_for);
void paes_seal_for_free(paes_seal_for* seal_for);
/* "age1...", or one of SSH's ("ssh-ed25519 AAAA..." or "ssh-rsa AAAA..."). PAES_USAGE says what is
 * wrong but never repeats the text, which may be a secret key by mistake. */
int paes_seal_for_add_recipient(paes_seal_for* seal_for, const char* text);
/* Adds all recipients of a file with one a line; empty lines and lines that begin with # are
 * skipped. */
int paes_seal_for_add_recipient_file(paes_seal_for* seal_for, const char* path);
/* Any bytes, at least 1. */
int paes_seal_for_set_passphrase(paes_seal_for* seal_for, const char* passphrase,
                                 size_t passphrase_bytes);
/* Sets a key that the caller keeps elsewhere. The file is then only a payload (C2SP
 * chunked-encryption v1, Cobblestone-128 or Cobblestone-256). `key` has 16 or 32 bytes and must be
 * random, because nothing slows guesses down. `context` is not in the file, and another context
 * does not open it; it may be null if it has 0 bytes. */
int paes_seal_for_set_key(paes_seal_for* seal_for, const uint8_t* key, size_t key_bytes,
                          const uint8_t* context, size_t context_bytes);
/* The length of AES's key in the payload: 128 or 256, which is the default. The length of the
 * caller's own key decides instead. The call that encrypts returns PAES_USAGE for other numbers. */
int paes_seal_for_set_key_bits(paes_seal_for* seal_for, unsigned key_bits);

/* What may open a file: identities, a passphrase or both, or only the caller's own key. Only one
 * thread at a time may call the functions that add to it, and not while another call uses it. */
typedef struct paes_open_with paes_open_with;

int paes_open_with_new(paes_open_with** open_with);
void paes_open_with_free(paes_open_with* open_with);
int paes_open_with_add_identity(paes_open_with* open_with, const paes_identity* identity);
/* Adds all identities of a file that paes_identity_save, `paes keygen` or age-keygen wrote, or an
 * SSH private key. */
int paes_open_with_add_identity_file(paes_open_with* open_with, const char* path);
/* Adds all identities of a file that may be encrypted under a passphrase: a list by `paes keygen
 * -p` or `age -p`, or an SSH key. */
int paes_open_with_add_encrypted_identity_file(paes_open_with* open_with, const char* path,
                                               const char* passphrase, size_t passphrase_bytes);
int paes_open_with_set_passphrase(paes_open_with* open_with, const char* passphrase,
                                  size_t passphrase_bytes);
int paes_open_with_set_key(paes_open_with* open_with, const uint8_t* key, size_t key_bytes,
                           const uint8_t* context, size_t context_bytes);
/* A file whose passphrase costs more than scrypt with N = 2^this is refused with PAES_FAILURE
 * before any work. 1 to 30; the default, 20, takes about a gigabyte. The call that opens a file
 * returns PAES_USAGE for other numbers. */
int paes_open_with_set_max_work_factor(paes_open_with* open_with, unsigned max_work_factor);

/* How calls work. */

/* A request to stop long work. */
typedef struct paes_cancel paes_cancel;

int paes_cancel_new(paes_cancel** cancel);
/* Whatever was made with it keeps it. */
void paes_cancel_free(paes_cancel* cancel);
/* Call it from any thread or signal handler. Work that uses it soon returns PAES_FAILURE and leaves
 * nothing behind, and so does all work that begins later. Ignores null. */
void paes_cancel_request(paes_cancel* cancel);
/* 1 or 0. 0 for null. */
int paes_cancel_is_requested(const paes_cancel* cancel);

/* Adds all identities of a file that may be encrypted under a passphrase, and soon returns
 * PAES_FAILURE once `cancel`, which may be null, is requested: an encrypted list takes a second, or
 * more if its writer chose so, and a FIFO waits for its writer. An encrypted SSH key is opened by
 * the call that opens a file, which has its own cancel. */
int paes_open_with_add_encrypted_identity_file_cancellable(paes_open_with* open_with,
                                                           const char* path, const char* passphrase,
                                                           size_t passphrase_bytes,
                                                           const paes_cancel* cancel);

/* Called now and then with the bytes of text that are done and their total (0: not known), from a
 * thread of the library's, never twice at a time. 0 continues; anything else stops the work, which
 * then returns PAES_FAILURE and leaves nothing behind. The last call comes when the output has its
 * name; what that one returns changes nothing. */
typedef int (*paes_progress)(void* user, uint64_t done_bytes, uint64_t total_bytes);

/* Told in one line what may go wrong with an output (little room), what is wrong with a complete
 * one (its mode), and what is left of one that could not be removed; paes_writer_free may call it,
 * too. The text is valid during the call. */
typedef void (*paes_warning)(void* user, const char* what_why);

typedef struct paes_file_options {
  unsigned threads;          /* 0: every processor */
  const char* kernel;        /* a name that `paes devices` lists as available; null: the best */
  const paes_device* device; /* what it does not take, the kernel computes; null: none */
  size_t piece_bytes;        /* what a thread reads and computes at a time; 0: 256 KiB */
  int overwrite;             /* 1: an output may replace a file that has its name */
  const paes_cancel* cancel; /* null: nothing stops the work */
  paes_progress progress;    /* null: none. Not for readers and writers, whose callers know */
  void* progress_user;       /* its first argument */
  paes_warning warning;      /* null: nobody is told */
  void* warning_user;        /* its first argument */
} paes_file_options;

/* Fills `to` with at most `to_bytes` bytes from `offset` on and returns how many came. If fewer
 * came, it is called again for the rest. 0 means that the source ends there, which is an error. A
 * negative number is the caller's own error: the call that reads returns PAES_FAILURE with the
 * number in its message. Several threads may call it at a time. */
typedef int64_t (*paes_read_at)(void* user, uint64_t offset, uint8_t* to, size_t to_bytes);

/* An encrypted file to read, or a text to encrypt. Only one call for a whole file may use it at a
 * time; any number of readers may share it. */
typedef struct paes_source paes_source;

/* Opens a file. PAES_FAILURE if that fails. */
int paes_source_open(const char* path, paes_source** source);
/* Reads from where the descriptor stands. The caller keeps the descriptor, and keeps it open as
 * long as the source or a reader of it is used. `name` is for errors. */
int paes_source_descriptor(int descriptor, const char* name, paes_source** source);
/* A source of `bytes` bytes, whose first 8 KiB are read at once. `user` is passed to the callback,
 * and must be valid as long as the source or a reader of it. `name` is for errors. */
int paes_source_callback(paes_read_at read_at, void* user, uint64_t bytes, const char* name,
                         paes_source** source);
/* A reader of the source keeps it. */
void paes_source_free(paes_source* source);

/* Whole files. */

/* Encrypts into a new file, which gets its name once it is complete and synced. `text_bytes`
 * receives the length of the text, and may be null. After a failure nothing is left. */
int paes_encrypt_file(const paes_source* from, const char* to, const paes_seal_for* seal_for,
                      const paes_file_options* options, uint64_t* text_bytes);
/* Decrypts into a new file, which gets its name once it is complete and synced. `text_bytes`
 * receives the length of the text, and may be null. PAES_WRONG_KEY if nothing given opens the file,
 * PAES_CORRUPT if it is damaged, forged or cut. */
int paes_decrypt_file(const paes_source* from, const char* to, const paes_open_with* open_with,
                      const paes_file_options* options, uint64_t* text_bytes);

/* The bytes [first, end) of a text. */
typedef struct paes_text_range {
  uint64_t first;
  uint64_t end;
} paes_text_range;

/* The result of paes_verify_file. */
typedef struct paes_verification {
  int is_authentic; /* 1: all of it */
  uint64_t text_bytes;
  size_t damaged_count;                      /* how many of `damaged` there are */
  uint64_t more_damaged_chunks;              /* in none of these */
  paes_text_range damaged[PAES_MAX_DAMAGED]; /* texts of damaged or forged chunks, in order */
} paes_verification;

/* Authenticates the whole file, and continues after damage. PAES_OK if all is authentic, and
 * PAES_CORRUPT if not; `result`, which may be null, then says where. If the call cannot begin, it
 * returns the codes of paes_decrypt_file, and `result` is all 0. */
int paes_verify_file(const paes_source* from, const paes_open_with* open_with,
                     const paes_file_options* options, paes_verification* result);

/* A way to open an envelope. */
typedef struct paes_stanza {
  char type[32];        /* "X25519", "scrypt" or another type of age's, cut after 31 bytes */
  unsigned work_factor; /* log2 N of scrypt; else 0 */
} paes_stanza;

/* What a file says about itself without a key. None of it is authenticated. */
typedef struct paes_file_info {
  unsigned key_bits;
  uint64_t text_bytes;
  uint64_t payload_offset; /* where the salt begins */
  size_t stanza_count;
} paes_file_info;

/* Also writes the first `max_stanzas` stanzas; `stanzas` may be null if that is 0. PAES_CORRUPT if
 * it is not a file of paes or age, or has been cut, PAES_USAGE for a pipe. */
int paes_inspect_file(const paes_source* from, paes_file_info* info, paes_stanza* stanzas,
                      size_t max_stanzas);

/* Parts of files. */

/* Reads an encrypted file at any place. */
typedef struct paes_reader paes_reader;

/* Returns the codes of paes_decrypt_file, and PAES_USAGE for a pipe. Authenticates the last chunk,
 * so that a file that was cut or extended does not open. */
int paes_reader_open(const paes_source* from, const paes_open_with* open_with,
                     const paes_file_options* options, paes_reader** reader);
void paes_reader_close(paes_reader* reader);
/* The length of the text. 0 for null. */
uint64_t paes_reader_size(const paes_reader* reader);
/* Fills `to` with the text from `offset` on. `*read_bytes` says how many bytes came; fewer come
 * only at the end of the text. Only authentic text comes out: PAES_CORRUPT if a chunk is not
 * authentic. After any failure `to` is all zeros and `*read_bytes` is 0. */
int paes_reader_read_at(const paes_reader* reader, uint64_t offset, uint8_t* to, size_t to_bytes,
                        size_t* read_bytes);

/* Takes bytes of the encrypted file, in order and in one call at a time. 0 continues; anything else
 * is the caller's own error: the call that writes returns PAES_FAILURE with the number in its
 * message. */
typedef int (*paes_write)(void* user, const uint8_t* bytes, size_t byte_count);

/* Writes an encrypted file, in order or in any order. It has no name before it is committed. */
typedef struct paes_writer paes_writer;

/* Returns the codes of paes_encrypt_file. */
int paes_writer_create(const char* path, const paes_seal_for* seal_for,
                       const paes_file_options* options, paes_writer** writer);
/* Passes the file to the callback. Bytes that have been passed cannot be taken back. `user`, and
 * what the options name, are used until the writer is freed. */
int paes_writer_callback(paes_write write, void* user, const paes_seal_for* seal_for,
                         const paes_file_options* options, paes_writer** writer);
/* If it was not committed, nothing is left of the file. */
void paes_writer_free(paes_writer* writer);
/* Adds the next bytes of the text. Bytes that do not yet fill a chunk are kept. Only one thread at
 * a time may call it. */
int paes_writer_write(paes_writer* writer, const uint8_t* text, size_t text_bytes);
/* Writes whole chunks of the text, starting at a multiple of PAES_FILE_CHUNK_BYTES; only the text's
 * end may be part of a chunk. Each chunk is sealed once: PAES_USAGE if one of these has been
 * written already, and if the text has ended before them or goes on after their end. Not for a
 * writer with a callback, nor together with paes_writer_write. */
int paes_writer_write_at(paes_writer* writer, uint64_t offset, const uint8_t* text,
                         size_t text_bytes);
/* Seals what is left, syncs the file and gives it its name. `text_bytes` receives the length of the
 * text, and may be null. PAES_USAGE if a chunk is missing or another call is still writing; commit
 * may then be called again. After anything else, only paes_writer_free may follow. */
int paes_writer_commit(paes_writer* writer, uint64_t* text_bytes);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
