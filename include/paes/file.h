/* SPDX-License-Identifier: Apache-2.0 */
/* Encrypted files for C: authenticated, seekable, on all cores. They are the files of `paes
 * encrypt`. What paes/file.hpp, paes/keys.hpp and paes/cancel.hpp say holds here as well.
 *
 *   paes_seal_for_new(&seal_for);
 *   paes_seal_for_add_recipient(seal_for, "age1...");
 *   paes_source_open("disk.img", &from);
 *   paes_encrypt_file(from, "disk.img.paes", seal_for, NULL, NULL);
 *
 * A process that writes to pipes, or near the limit of file sizes, should ignore SIGPIPE and
 * SIGXFSZ, so that both come as PAES_FAILURE; the library changes no signal. */
#ifndef PAES_FILE_H
#define PAES_FILE_H

#include "paes/device.h"
#include "paes/error.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

enum {
  PAES_FILE_CHUNK_BYTES = 16384, /* the text of a file is sealed in chunks of so many bytes */
  PAES_RECIPIENT_BYTES = 63,     /* "age1..." and its zero byte */
  PAES_MAX_DAMAGED = 100
};

/* Keys. */

/* A secret key of age. */
typedef struct paes_identity paes_identity;

/* A new one, from the system's random bytes. */
int paes_identity_generate(paes_identity** identity);
/* From "AGE-SECRET-KEY-1...". PAES_USAGE says what is wrong, and never repeats the text. */
int paes_identity_parse(const char* text, paes_identity** identity);
void paes_identity_free(paes_identity* identity);
/* Writes a new file that holds the secret key and, as a comment, its public key. Only its owner can
 * read it. PAES_FAILURE if something has that name, or if its file system keeps no permissions. */
int paes_identity_save(const paes_identity* identity, const char* path);
/* The public key, "age1...". `text` has room for at least PAES_RECIPIENT_BYTES; PAES_USAGE for
 * less, and for a plugin's identity, whose public key only the plugin knows. */
int paes_identity_recipient(const paes_identity* identity, char* text, size_t text_bytes);

/* For whom to encrypt: recipients, or a passphrase, or a key of the caller's own; PAES_USAGE of the
 * call that encrypts where none or several of the three are given. The calls that add to it are not
 * for several threads at a time, nor while another call uses it. */
typedef struct paes_seal_for paes_seal_for;

int paes_seal_for_new(paes_seal_for** seal_for);
void paes_seal_for_free(paes_seal_for* seal_for);
/* "age1...", or one of SSH's, "ssh-ed25519 AAAA..." or "ssh-rsa AAAA...". PAES_USAGE says what is
 * wrong, and never repeats the text, which may be a secret key by mistake. */
int paes_seal_for_add_recipient(paes_seal_for* seal_for, const char* text);
/* All of a file with one a line; empty lines and lines that begin with # are skipped. */
int paes_seal_for_add_recipient_file(paes_seal_for* seal_for, const char* path);
/* Any bytes, at least 1. */
int paes_seal_for_set_passphrase(paes_seal_for* seal_for, const char* passphrase,
                                 size_t passphrase_bytes);
/* A key that the caller keeps elsewhere: the file then is a payload alone (C2SP chunked-encryption
 * v1, Cobblestone-128 or Cobblestone-256). `key` has 16 or 32 bytes and must
 * be random, because nothing makes a guess at it slow. `context` is not in the file,
 * and another context does not open it; it may be null where it has 0 bytes. */
int paes_seal_for_set_key(paes_seal_for* seal_for, const uint8_t* key, size_t key_bytes,
                          const uint8_t* context, size_t context_bytes);
/* AES's key in the payload: 128 or 256, which is the default. A key of the caller's own says it by
 * its length. The call that encrypts answers PAES_USAGE for other numbers. */
int paes_seal_for_set_key_bits(paes_seal_for* seal_for, unsigned key_bits);

/* What may open a file: identities, a passphrase or both, or a key of the caller's own, alone. For
 * threads as paes_seal_for. */
typedef struct paes_open_with paes_open_with;

int paes_open_with_new(paes_open_with** open_with);
void paes_open_with_free(paes_open_with* open_with);
int paes_open_with_add_identity(paes_open_with* open_with, const paes_identity* identity);
/* All of a file, as paes_identity_save, `paes keygen` and age-keygen write it, or an SSH private
 * key. */
int paes_open_with_add_identity_file(paes_open_with* open_with, const char* path);
/* The same for a file that a passphrase may encrypt: a list by `paes keygen -p` or `age -p`, or an
 * SSH key. */
int paes_open_with_add_encrypted_identity_file(paes_open_with* open_with, const char* path,
                                               const char* passphrase, size_t passphrase_bytes);
int paes_open_with_set_passphrase(paes_open_with* open_with, const char* passphrase,
                                  size_t passphrase_bytes);
int paes_open_with_set_key(paes_open_with* open_with, const uint8_t* key, size_t key_bytes,
                           const uint8_t* context, size_t context_bytes);
/* A file whose passphrase costs more than scrypt with N = 2^this is refused before that is paid,
 * with PAES_FAILURE. 1 to 30; the default, 20, takes about a gigabyte. The call that opens a file
 * answers PAES_USAGE for other numbers. */
int paes_open_with_set_max_work_factor(paes_open_with* open_with, unsigned max_work_factor);

/* How calls work. */

/* A request to stop work that takes long. */
typedef struct paes_cancel paes_cancel;

int paes_cancel_new(paes_cancel** cancel);
/* What was made with it keeps it. */
void paes_cancel_free(paes_cancel* cancel);
/* From any thread or signal handler. The work that names it answers PAES_FAILURE soon and leaves
 * nothing, and so does all that begins later. Does nothing with null. */
void paes_cancel_request(paes_cancel* cancel);
/* 1 or 0. 0 for null. */
int paes_cancel_is_requested(const paes_cancel* cancel);

/* Like paes_open_with_add_encrypted_identity_file, and answers PAES_FAILURE soon once `cancel`,
 * which may be null, is requested: an encrypted list takes a second, or more if its writer wished
 * so, and a FIFO waits for its writer. An encrypted SSH key is opened by the call that opens a
 * file, which has a cancel of its own. */
int paes_open_with_add_encrypted_identity_file_cancellable(paes_open_with* open_with,
                                                           const char* path, const char* passphrase,
                                                           size_t passphrase_bytes,
                                                           const paes_cancel* cancel);

/* Called now and then with the bytes of text that are done and their number in all (0: not known),
 * from a thread of the library's, never twice at a time. 0 goes on; anything else stops the work,
 * which then answers PAES_FAILURE and leaves nothing. The last call of work that succeeds comes
 * when the output has its name: its answer changes nothing. */
typedef int (*paes_progress)(void* user, uint64_t done_bytes, uint64_t total_bytes);

/* Told in one line what may go wrong with an output before it is written (little room), what is not
 * as it should be with one that is complete (its mode), and what is left of one that could not be
 * removed: for a writer by paes_writer_free. The text is valid during the call. */
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

/* Fills `to` with at most `to_bytes` bytes from `offset` on and returns how many came. Fewer than
 * asked for are asked for again. 0 means that the source ends there, which is an error. A negative
 * number is an error of the caller's own: the call that reads answers PAES_FAILURE with the number
 * in its message. Called from several threads at a time. */
typedef int64_t (*paes_read_at)(void* user, uint64_t offset, uint8_t* to, size_t to_bytes);

/* Where an encrypted file comes from, or a text to encrypt. Not for several calls for whole files
 * at a time; any number of readers may share it. */
typedef struct paes_source paes_source;

/* PAES_FAILURE where the file cannot be opened. */
int paes_source_open(const char* path, paes_source** source);
/* From where the descriptor stands; it stays the caller's, and open as long as the source or a
 * reader of it is used. `name` is for errors. */
int paes_source_descriptor(int descriptor, const char* name, paes_source** source);
/* `bytes` long, whose first 8 KiB are read now. `user` is the callback's, and valid as long as the
 * source or a reader of it. `name` is for errors. */
int paes_source_callback(paes_read_at read_at, void* user, uint64_t bytes, const char* name,
                         paes_source** source);
/* A reader of it keeps it. */
void paes_source_free(paes_source* source);

/* Whole files. */

/* Encrypts into a new file, which gets its name when it is complete and synced. `text_bytes` gets
 * the bytes of text, and may be null. After a failure nothing is left. */
int paes_encrypt_file(const paes_source* from, const char* to, const paes_seal_for* seal_for,
                      const paes_file_options* options, uint64_t* text_bytes);
/* The same in the other direction. PAES_WRONG_KEY when nothing given opens the file, PAES_CORRUPT
 * when it is damaged, forged or cut. */
int paes_decrypt_file(const paes_source* from, const char* to, const paes_open_with* open_with,
                      const paes_file_options* options, uint64_t* text_bytes);

/* The bytes [first, end) of a text. */
typedef struct paes_text_range {
  uint64_t first;
  uint64_t end;
} paes_text_range;

/* What paes_verify_file has found. */
typedef struct paes_verification {
  int is_authentic; /* 1: all of it */
  uint64_t text_bytes;
  size_t damaged_count;                      /* how many of `damaged` there are */
  uint64_t more_damaged_chunks;              /* in none of these */
  paes_text_range damaged[PAES_MAX_DAMAGED]; /* texts of damaged or forged chunks, in order */
} paes_verification;

/* Authenticates all of a file, and goes on where it is damaged. PAES_OK if all is authentic, and
 * PAES_CORRUPT if not; `result`, which may be null, then says where. All of it is 0 where the call
 * could not begin, for which it answers as paes_decrypt_file. */
int paes_verify_file(const paes_source* from, const paes_open_with* open_with,
                     const paes_file_options* options, paes_verification* result);

/* How an envelope can be opened. */
typedef struct paes_stanza {
  char type[32];        /* "X25519", "scrypt" or what else age has, cut after 31 bytes */
  unsigned work_factor; /* of scrypt: log2 N; else 0 */
} paes_stanza;

/* What a file says of itself without a key. None of it is authenticated. */
typedef struct paes_file_info {
  unsigned key_bits;
  uint64_t text_bytes;
  uint64_t payload_offset; /* where the salt begins */
  size_t stanza_count;
} paes_file_info;

/* Writes the first `max_stanzas` stanzas, too; `stanzas` may be null where that is 0. PAES_CORRUPT
 * for what is not a file of paes or has been cut, PAES_USAGE for a pipe. */
int paes_inspect_file(const paes_source* from, paes_file_info* info, paes_stanza* stanzas,
                      size_t max_stanzas);

/* Parts of files. */

/* Reads an encrypted file at any place. */
typedef struct paes_reader paes_reader;

/* Answers as paes_decrypt_file, and PAES_USAGE for a pipe. The last chunk is authenticated here, so
 * that a file which was cut or extended does not open. */
int paes_reader_open(const paes_source* from, const paes_open_with* open_with,
                     const paes_file_options* options, paes_reader** reader);
void paes_reader_close(paes_reader* reader);
/* The bytes of text. 0 for null. */
uint64_t paes_reader_size(const paes_reader* reader);
/* Fills `to` with the text from `offset` on. `*read_bytes` says how many bytes came: fewer than
 * asked for only at the end of the text. Only authentic text comes out: PAES_CORRUPT where a chunk
 * is not. After any failure `to` is all zeros and `*read_bytes` is 0. */
int paes_reader_read_at(const paes_reader* reader, uint64_t offset, uint8_t* to, size_t to_bytes,
                        size_t* read_bytes);

/* Takes bytes of the encrypted file, in order and in one call at a time. 0 goes on; anything else
 * is an error of the caller's own: the call that writes answers PAES_FAILURE with the number in its
 * message. */
typedef int (*paes_write)(void* user, const uint8_t* bytes, size_t byte_count);

/* Writes an encrypted file, in order or in any order. It has no name before it is committed. */
typedef struct paes_writer paes_writer;

/* Answers as paes_encrypt_file. */
int paes_writer_create(const char* path, const paes_seal_for* seal_for,
                       const paes_file_options* options, paes_writer** writer);
/* Hands the file to the callback. Bytes already handed over cannot be taken back. `user`, and what
 * the options name, are used until the writer is freed. */
int paes_writer_callback(paes_write write, void* user, const paes_seal_for* seal_for,
                         const paes_file_options* options, paes_writer** writer);
/* Without a commit nothing is left of the file. */
void paes_writer_free(paes_writer* writer);
/* The next bytes of the text. Bytes that do not yet fill a chunk are kept. Not for several threads
 * at a time. */
int paes_writer_write(paes_writer* writer, const uint8_t* text, size_t text_bytes);
/* Whole chunks of the text, from a multiple of PAES_FILE_CHUNK_BYTES on; only the text's end may be
 * a part of a chunk. Each chunk is sealed once: PAES_USAGE where one of these has been written
 * already, and where the text has ended before them or goes on after their end. Not for a writer
 * with a callback, nor together with paes_writer_write. */
int paes_writer_write_at(paes_writer* writer, uint64_t offset, const uint8_t* text,
                         size_t text_bytes);
/* Seals what is left, syncs the file and gives it its name. `text_bytes` gets the bytes of text,
 * and may be null. PAES_USAGE if a chunk is missing or another call is still writing; commit can be
 * called again then. After anything else only paes_writer_free may follow. */
int paes_writer_commit(paes_writer* writer, uint64_t* text_bytes);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
