/* Encrypted files from C: every call of paes/file.h, what each must refuse, callbacks that fail or
 * read too little, work that is stopped, and threads. */
#define _POSIX_C_SOURCE 200809L

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

enum { chunk = PAES_FILE_CHUNK_BYTES, text_bytes = 20 * chunk + 77, store_bytes = 2 * text_bytes };

static uint8_t text[text_bytes];
static uint8_t out[text_bytes];
static char recipient[PAES_RECIPIENT_BYTES];
static paes_seal_for* seal_for;
static paes_open_with* open_with;
static paes_open_with* stranger;

/* A file in memory. */
typedef struct store {
  uint8_t bytes[store_bytes];
  size_t used_bytes;
  size_t longest_read; /* 0: any */
  size_t ends_at;      /* 0: nowhere before its end */
  long fails_at;       /* the call with this number, counted from 1; 0: none */
  long calls;
  long pause_ms;
} store;

static int64_t read_store(void* user, uint64_t offset, uint8_t* to, size_t to_bytes) {
  store* from = (store*)user;
  const size_t end = from->ends_at != 0 ? from->ends_at : from->used_bytes;
  size_t bytes = offset < end ? end - (size_t)offset : 0;
  if (from->fails_at != 0 &&
      __atomic_add_fetch(&from->calls, 1, __ATOMIC_RELAXED) >= from->fails_at) {
    return -5;
  }
  if (from->pause_ms != 0) {
    struct timespec pause = {0, 0};
    pause.tv_nsec = from->pause_ms * 1000000;
    (void)nanosleep(&pause, NULL);
  }
  bytes = bytes < to_bytes ? bytes : to_bytes;
  bytes = from->longest_read != 0 && from->longest_read < bytes ? from->longest_read : bytes;
  memcpy(to, from->bytes + offset, bytes);
  return (int64_t)bytes;
}

static int write_store(void* user, const uint8_t* bytes, size_t byte_count) {
  store* to = (store*)user;
  if (to->fails_at != 0 && ++to->calls >= to->fails_at) {
    return 7;
  }
  if (byte_count > store_bytes - to->used_bytes) {
    return 1;
  }
  memcpy(to->bytes + to->used_bytes, bytes, byte_count);
  to->used_bytes += byte_count;
  return 0;
}

static paes_source* source_of(store* from) {
  paes_source* source = NULL;
  OK(paes_source_callback(read_store, from, from->used_bytes, "a store", &source));
  return source;
}

/* An encrypted file in memory. */
static store* sealed_store(void) {
  store* made = (store*)calloc(1, sizeof(store));
  paes_writer* writer = NULL;
  uint64_t bytes = 0;
  size_t at = 0;
  OK(paes_writer_callback(write_store, made, seal_for, NULL, &writer));
  while (at < text_bytes) {
    const size_t part = at * 5 % 40001 + 1;
    const size_t now = part < text_bytes - at ? part : text_bytes - at;
    OK(paes_writer_write(writer, text + at, now));
    at += now;
  }
  OK(paes_writer_commit(writer, &bytes));
  CHECK(bytes == text_bytes);
  REFUSED(paes_writer_write(writer, text, 1));
  REFUSED(paes_writer_commit(writer, NULL));
  paes_writer_free(writer);
  return made;
}

static void write_file(const char* path, const void* bytes, size_t byte_count) {
  FILE* file = fopen(path, "wb");
  CHECK(file != NULL && fwrite(bytes, 1, byte_count, file) == byte_count);
  CHECK(file != NULL && fclose(file) == 0);
}

static int holds_text(const char* path) {
  FILE* file = fopen(path, "rb");
  const size_t bytes = file != NULL ? fread(out, 1, text_bytes, file) : 0;
  const int is_more = file != NULL && fgetc(file) != EOF;
  if (file != NULL) {
    (void)fclose(file);
  }
  return bytes == text_bytes && !is_more && memcmp(out, text, text_bytes) == 0;
}

static int exists(const char* path) { return access(path, F_OK) == 0; }

static int files_here(void) {
  DIR* folder = opendir(".");
  int count = 0;
  while (folder != NULL && readdir(folder) != NULL) {
    ++count;
  }
  (void)closedir(folder);
  return count - 2;
}

static void check_keys(void) {
  paes_identity* identity = NULL;
  paes_identity* again = NULL;
  char saved[512] = "";
  char* secret;
  FILE* file;
  OK(paes_identity_generate(&identity));
  OK(paes_identity_recipient(identity, recipient, sizeof recipient));
  CHECK(strncmp(recipient, "age1", 4) == 0 && strlen(recipient) == 62);
  REFUSED(paes_identity_recipient(identity, saved, sizeof recipient - 1));
  CHECK(strstr(paes_error_hint(), "PAES_RECIPIENT_BYTES") != NULL);
  OK(paes_identity_save(identity, "key.txt"));
  CHECK(paes_identity_save(identity, "key.txt") == PAES_FAILURE);
  file = fopen("key.txt", "rb");
  CHECK(file != NULL && fread(saved, 1, sizeof saved - 1, file) > 100 && fclose(file) == 0);
  CHECK(strstr(saved, recipient) != NULL);
  secret = strstr(saved, "AGE-SECRET-KEY-1");
  CHECK(secret != NULL);
  secret[strcspn(secret, "\n")] = 0;
  OK(paes_identity_parse(secret, &again));
  OK(paes_identity_recipient(again, saved, sizeof saved));
  CHECK(strcmp(saved, recipient) == 0);
  paes_identity_free(again);
  REFUSED(paes_identity_parse("AGE-SECRET-KEY-1QQ", &again));
  CHECK(again == NULL && strstr(paes_error_message(), "KEY-1QQ") == NULL);

  write_file("recipients.txt", "# nobody yet\n", 13);
  OK(paes_seal_for_new(&seal_for));
  CHECK(paes_seal_for_add_recipient_file(seal_for, "no-such-file") == PAES_FAILURE);
  REFUSED(paes_seal_for_add_recipient_file(seal_for, "recipients.txt"));
  REFUSED(paes_seal_for_add_recipient(seal_for, "age1q"));
  OK(paes_seal_for_add_recipient(seal_for, recipient));
  write_file("recipients.txt", recipient, strlen(recipient));
  OK(paes_seal_for_add_recipient_file(seal_for, "recipients.txt"));
  OK(paes_open_with_new(&open_with));
  OK(paes_open_with_add_identity_file(open_with, "key.txt"));
  CHECK(paes_open_with_add_identity_file(open_with, "no-such-file") == PAES_FAILURE);
  OK(paes_open_with_new(&stranger));
  paes_identity_free(identity);
  OK(paes_identity_generate(&identity));
  OK(paes_open_with_add_identity(stranger, identity));
  paes_identity_free(identity);
}

static void check_paths(void) {
  paes_file_options options = {0};
  paes_source* from = NULL;
  paes_file_info info;
  paes_stanza stanzas[3];
  paes_verification verification;
  uint64_t bytes = 0;
  int descriptor;
  options.threads = 2;
  options.kernel = "bitslice";
  write_file("text", text, text_bytes);
  OK(paes_source_open("text", &from));
  OK(paes_encrypt_file(from, "text.paes", seal_for, &options, &bytes));
  CHECK(bytes == text_bytes);
  CHECK(paes_encrypt_file(from, "text.paes", seal_for, NULL, NULL) == PAES_FAILURE);
  options.overwrite = 1;
  OK(paes_encrypt_file(from, "text.paes", seal_for, &options, NULL));
  paes_source_free(from);

  OK(paes_source_open("text.paes", &from));
  OK(paes_decrypt_file(from, "again", open_with, NULL, &bytes));
  CHECK(bytes == text_bytes && holds_text("again"));
  CHECK(paes_decrypt_file(from, "never", stranger, NULL, NULL) == PAES_WRONG_KEY);
  CHECK(!exists("never"));
  OK(paes_verify_file(from, open_with, NULL, &verification));
  CHECK(verification.is_authentic == 1 && verification.text_bytes == text_bytes);
  CHECK(verification.damaged_count == 0 && verification.more_damaged_chunks == 0);
  CHECK(paes_verify_file(from, stranger, NULL, &verification) == PAES_WRONG_KEY);
  CHECK(verification.is_authentic == 0 && verification.text_bytes == 0);
  memset(stanzas, 1, sizeof stanzas);
  OK(paes_inspect_file(from, &info, stanzas, 1));
  CHECK(info.key_bits == 256 && info.text_bytes == text_bytes && info.stanza_count >= 2);
  CHECK(strcmp(stanzas[0].type, "X25519") == 0 && stanzas[0].work_factor == 0);
  CHECK(stanzas[1].type[0] == 1);
  OK(paes_inspect_file(from, &info, NULL, 0));
  paes_source_free(from);

  descriptor = open("text.paes", O_RDONLY);
  OK(paes_source_descriptor(descriptor, "a descriptor", &from));
  OK(paes_decrypt_file(from, "by-descriptor", open_with, NULL, NULL));
  CHECK(holds_text("by-descriptor"));
  paes_source_free(from);
  CHECK(close(descriptor) == 0);
  CHECK(paes_source_descriptor(-1, "none", &from) == PAES_FAILURE && from == NULL);
  CHECK(paes_source_open("no-such-file", &from) == PAES_FAILURE && from == NULL);
  CHECK(strstr(paes_error_message(), "no-such-file") != NULL);
  OK(paes_source_open("text", &from));
  CHECK(paes_inspect_file(from, &info, NULL, 0) == PAES_CORRUPT);
  CHECK(paes_decrypt_file(from, "never", open_with, NULL, NULL) == PAES_CORRUPT);
  paes_source_free(from);
}

/* A path that no system takes, and what its message keeps. */
static void check_long_message(void) {
  static char path[6000];
  paes_source* from = NULL;
  memset(path, 'x', sizeof path - 1);
  memcpy(path, "first", 5);
  CHECK(paes_source_open(path, &from) == PAES_FAILURE);
  CHECK(strlen(paes_error_message()) == 1023);
  CHECK(strncmp(paes_error_message(), "firstxxx", 8) == 0);
  CHECK(strstr(paes_error_message(), "x ... x") != NULL);
  CHECK(strstr(paes_error_message(), "File name too long") != NULL);
}

/* A passphrase, a key of the caller's own, and what does not go together. */
static void check_other_keys(void) {
  static const uint8_t own[32] = {3, 1, 4, 1, 5};
  paes_seal_for* other = NULL;
  paes_open_with* opens = NULL;
  paes_source* source = NULL;
  paes_file_info info;
  paes_stanza stanza;
  store* small = (store*)calloc(1, sizeof(store));
  paes_writer* writer = NULL;
  paes_reader* reader = NULL;
  OK(paes_seal_for_new(&other));
  OK(paes_open_with_new(&opens));
  REFUSED(paes_writer_callback(write_store, small, other, NULL, &writer));
  CHECK(writer == NULL);
  OK(paes_seal_for_set_key_bits(other, 128));
  OK(paes_seal_for_set_passphrase(other, "correct horse", 13));
  OK(paes_writer_callback(write_store, small, other, NULL, &writer));
  OK(paes_writer_write(writer, text, 5));
  OK(paes_writer_commit(writer, NULL));
  paes_writer_free(writer);
  source = source_of(small);
  OK(paes_inspect_file(source, &info, &stanza, 1));
  CHECK(info.key_bits == 128 && strcmp(stanza.type, "scrypt") == 0 && stanza.work_factor >= 10);
  REFUSED(paes_reader_open(source, opens, NULL, &reader));
  OK(paes_open_with_set_passphrase(opens, "correct horse", 13));
  OK(paes_open_with_set_max_work_factor(opens, 1));
  CHECK(paes_reader_open(source, opens, NULL, &reader) != PAES_OK && reader == NULL);
  OK(paes_open_with_set_max_work_factor(opens, 31));
  REFUSED(paes_reader_open(source, opens, NULL, &reader));
  OK(paes_open_with_set_max_work_factor(opens, 20));
  OK(paes_reader_open(source, opens, NULL, &reader));
  CHECK(paes_reader_size(reader) == 5);
  paes_reader_close(reader);
  paes_source_free(source);
  REFUSED(paes_seal_for_set_passphrase(other, "", 0));

  OK(paes_seal_for_set_key(other, own, 32, own, 3));
  REFUSED(paes_writer_callback(write_store, small, other, NULL, &writer));
  paes_seal_for_free(other);
  OK(paes_seal_for_new(&other));
  REFUSED(paes_seal_for_set_key(other, own, 31, NULL, 0));
  OK(paes_seal_for_set_key(other, own, 32, own, 3));
  small->used_bytes = 0;
  OK(paes_writer_callback(write_store, small, other, NULL, &writer));
  OK(paes_writer_write(writer, text, 5));
  OK(paes_writer_commit(writer, NULL));
  paes_writer_free(writer);
  source = source_of(small);
  REFUSED(paes_open_with_set_key(opens, own, 0, NULL, 0));
  OK(paes_open_with_set_key(opens, own, 32, own, 3));
  REFUSED(paes_reader_open(source, opens, NULL, &reader));
  paes_open_with_free(opens);
  OK(paes_open_with_new(&opens));
  OK(paes_open_with_set_key(opens, own, 32, own, 4));
  CHECK(paes_reader_open(source, opens, NULL, &reader) != PAES_OK && reader == NULL);
  OK(paes_open_with_set_key(opens, own, 32, own, 3));
  OK(paes_reader_open(source, opens, NULL, &reader));
  paes_reader_close(reader);
  paes_source_free(source);
  paes_open_with_free(opens);
  paes_seal_for_free(other);
  free(small);
}

typedef struct reading {
  const paes_reader* reader;
  unsigned seed;
  int is_right;
} reading;

static void* read_parts(void* user) {
  reading* mine = (reading*)user;
  uint8_t part[3 * chunk];
  unsigned state = mine->seed;
  int i;
  mine->is_right = *paes_error_message() == 0;
  for (i = 0; i < 20; ++i) {
    size_t offset;
    size_t bytes;
    size_t got = 0;
    state = state * 1103515245U + 12345U;
    offset = (state >> 8) % text_bytes;
    bytes = (state >> 4) % sizeof part;
    bytes = bytes < text_bytes - offset ? bytes : text_bytes - offset;
    if (paes_reader_read_at(mine->reader, offset, part, bytes, &got) != PAES_OK || got != bytes ||
        memcmp(part, text + offset, bytes) != 0) {
      mine->is_right = 0;
    }
  }
  return NULL;
}

static void check_reader(void) {
  store* sealed = sealed_store();
  paes_source* source;
  paes_reader* reader = NULL;
  pthread_t threads[4];
  reading readings[4];
  size_t got = 1;
  int i;
  sealed->longest_read = 1000;
  source = source_of(sealed);
  CHECK(paes_reader_open(source, stranger, NULL, &reader) == PAES_WRONG_KEY && reader == NULL);
  CHECK(paes_reader_open(source, open_with, NULL, &reader) == PAES_OK);
  paes_source_free(source);
  CHECK(paes_reader_size(reader) == text_bytes);
  OK(paes_reader_read_at(reader, 0, out, text_bytes, &got));
  CHECK(got == text_bytes && memcmp(out, text, text_bytes) == 0);
  OK(paes_reader_read_at(reader, text_bytes - 10, out, 100, &got));
  CHECK(got == 10 && memcmp(out, text + text_bytes - 10, 10) == 0);
  OK(paes_reader_read_at(reader, UINT64_MAX, out, 100, &got));
  CHECK(got == 0);
  OK(paes_reader_read_at(reader, 5, NULL, 0, &got));
  sealed->longest_read = 0;
  for (i = 0; i < 4; ++i) {
    readings[i].reader = reader;
    readings[i].seed = (unsigned)i;
    CHECK(pthread_create(&threads[i], NULL, read_parts, &readings[i]) == 0);
  }
  for (i = 0; i < 4; ++i) {
    CHECK(pthread_join(threads[i], NULL) == 0 && readings[i].is_right);
  }
  sealed->calls = 0;
  sealed->fails_at = 1;
  memset(out, 1, 2 * chunk);
  CHECK(paes_reader_read_at(reader, 3 * chunk, out, 2 * chunk, &got) == PAES_FAILURE);
  CHECK(strstr(paes_error_message(), "a store") != NULL);
  CHECK(strstr(paes_error_message(), "-5") != NULL);
  CHECK(got == 0 && out[0] == 0 && memcmp(out, out + 1, 2 * chunk - 1) == 0);
  sealed->fails_at = 0;
  OK(paes_reader_read_at(reader, 3 * chunk, out, 2 * chunk, &got));
  sealed->ends_at = 9000;
  CHECK(paes_reader_read_at(reader, 3 * chunk, out, 2 * chunk, &got) == PAES_FAILURE);
  paes_reader_close(reader);
  free(sealed);
}

static void check_damage(void) {
  store* sealed = sealed_store();
  paes_source* source = source_of(sealed);
  paes_file_info info;
  paes_verification found;
  paes_reader* reader = NULL;
  size_t got = 1;
  OK(paes_inspect_file(source, &info, NULL, 0));
  /* In the fourth chunk and in the eighth; before the first are a salt and a commitment. */
  sealed->bytes[info.payload_offset + 56 + 3 * (chunk + 16) + 5] ^= 1;
  sealed->bytes[info.payload_offset + 56 + 7 * (chunk + 16) + 5] ^= 1;
  memset(&found, 1, sizeof found);
  CHECK(paes_verify_file(source, open_with, NULL, &found) == PAES_CORRUPT);
  CHECK(found.is_authentic == 0 && found.text_bytes == text_bytes && found.damaged_count == 2);
  CHECK(found.damaged[0].first == 3 * chunk && found.damaged[0].end == 4 * chunk);
  CHECK(found.damaged[1].first == 7 * chunk && found.damaged[1].end == 8 * chunk);
  CHECK(found.more_damaged_chunks == 0 && found.damaged[2].end == 0);
  CHECK(paes_verify_file(source, open_with, NULL, NULL) == PAES_CORRUPT);
  CHECK(paes_decrypt_file(source, "never", open_with, NULL, NULL) == PAES_CORRUPT);
  CHECK(!exists("never"));
  OK(paes_reader_open(source, open_with, NULL, &reader));
  OK(paes_reader_read_at(reader, 0, out, 3 * chunk, &got));
  memset(out, 1, text_bytes);
  CHECK(paes_reader_read_at(reader, 2 * chunk, out, text_bytes, &got) == PAES_CORRUPT);
  CHECK(got == 0 && out[0] == 0 && memcmp(out, out + 1, text_bytes - 1) == 0);
  paes_reader_close(reader);
  paes_source_free(source);

  sealed->used_bytes -= chunk;
  source = source_of(sealed);
  CHECK(paes_reader_open(source, open_with, NULL, &reader) == PAES_CORRUPT && reader == NULL);
  memset(&found, 1, sizeof found);
  (void)paes_verify_file(source, open_with, NULL, &found);
  CHECK(found.is_authentic == 0);
  paes_source_free(source);
  free(sealed);
}

typedef struct writing {
  paes_writer* writer;
  int first_chunk;
  int code;
} writing;

static void* write_parts(void* user) {
  writing* mine = (writing*)user;
  int i;
  for (i = mine->first_chunk; i <= 20 && mine->code == PAES_OK; i += 3) {
    mine->code = paes_writer_write_at(mine->writer, (uint64_t)i * chunk, text + i * chunk,
                                      i == 20 ? text_bytes - 20 * chunk : chunk);
  }
  return NULL;
}

static void check_writer(void) {
  store* sealed = (store*)calloc(1, sizeof(store));
  paes_writer* writer = NULL;
  paes_source* source = NULL;
  pthread_t threads[3];
  writing writings[3];
  uint64_t bytes = 0;
  const int files = files_here();
  int i;
  OK(paes_writer_create("abandoned", seal_for, NULL, &writer));
  OK(paes_writer_write_at(writer, chunk, text, chunk));
  REFUSED(paes_writer_write_at(writer, chunk, text, chunk));
  REFUSED(paes_writer_write_at(writer, 1, text, chunk));
  REFUSED(paes_writer_write(writer, text, 1));
  REFUSED(paes_writer_commit(writer, &bytes));
  paes_writer_free(writer);
  CHECK(files_here() == files);

  OK(paes_writer_create("in-parts", seal_for, NULL, &writer));
  for (i = 0; i < 3; ++i) {
    writings[i].writer = writer;
    writings[i].first_chunk = i;
    writings[i].code = PAES_OK;
    CHECK(pthread_create(&threads[i], NULL, write_parts, &writings[i]) == 0);
  }
  for (i = 0; i < 3; ++i) {
    CHECK(pthread_join(threads[i], NULL) == 0 && writings[i].code == PAES_OK);
  }
  CHECK(!exists("in-parts"));
  OK(paes_writer_commit(writer, &bytes));
  CHECK(bytes == text_bytes && exists("in-parts"));
  paes_writer_free(writer);
  OK(paes_source_open("in-parts", &source));
  OK(paes_decrypt_file(source, "from-parts", open_with, NULL, NULL));
  CHECK(holds_text("from-parts"));
  paes_source_free(source);
  CHECK(paes_writer_create("in-parts", seal_for, NULL, &writer) == PAES_FAILURE && writer == NULL);

  sealed->fails_at = 1;
  CHECK(paes_writer_callback(write_store, sealed, seal_for, NULL, &writer) == PAES_FAILURE);
  CHECK(strstr(paes_error_message(), "with 7") != NULL && writer == NULL);
  sealed->calls = 0;
  sealed->fails_at = 2;
  OK(paes_writer_callback(write_store, sealed, seal_for, NULL, &writer));
  REFUSED(paes_writer_write_at(writer, 0, text, chunk));
  CHECK(paes_writer_write(writer, text, chunk) == PAES_FAILURE);
  CHECK(strstr(paes_error_message(), "with 7") != NULL);
  sealed->fails_at = 0;
  CHECK(paes_writer_commit(writer, NULL) != PAES_OK);
  paes_writer_free(writer);
  free(sealed);
}

typedef struct stop {
  paes_cancel* cancel; /* null: stop by the answer */
  int calls;
} stop;

static int stop_soon(void* user, uint64_t done_bytes, uint64_t total_bytes) {
  stop* how = (stop*)user;
  ++how->calls;
  CHECK(done_bytes <= total_bytes && total_bytes == text_bytes);
  paes_cancel_request(how->cancel);
  return how->cancel == NULL ? 3 : 0;
}

static void check_stops(void) {
  store* slow = (store*)calloc(1, sizeof(store));
  paes_file_options options = {0};
  paes_source* source;
  paes_writer* writer = NULL;
  paes_cancel* cancel = NULL;
  stop how = {NULL, 0};
  const int files = files_here();
  memcpy(slow->bytes, text, text_bytes);
  slow->used_bytes = text_bytes;
  source = source_of(slow);
  slow->pause_ms = 50; /* 21 reads, at most two at a time: half a second or more */
  options.threads = 2;
  options.piece_bytes = chunk;
  options.progress = stop_soon;
  options.progress_user = &how;
  CHECK(paes_encrypt_file(source, "never", seal_for, &options, NULL) == PAES_FAILURE);
  CHECK(how.calls == 1 && strstr(paes_error_message(), "progress") != NULL);
  CHECK(files_here() == files);

  OK(paes_cancel_new(&cancel));
  CHECK(paes_cancel_is_requested(cancel) == 0);
  how.cancel = cancel;
  options.cancel = cancel;
  OK(paes_writer_create("stopped", seal_for, &options, &writer));
  CHECK(paes_encrypt_file(source, "never", seal_for, &options, NULL) == PAES_FAILURE);
  CHECK(how.calls >= 2 && strstr(paes_error_message(), "interrupted") != NULL);
  CHECK(paes_cancel_is_requested(cancel) == 1);
  paes_cancel_free(cancel); /* the writer has it */
  CHECK(paes_writer_write(writer, text, text_bytes) == PAES_FAILURE);
  paes_writer_free(writer);
  CHECK(files_here() == files);
  paes_source_free(source);
  free(slow);
}

static void check_key_nulls(void) {
  char room[PAES_RECIPIENT_BYTES];
  paes_identity* identity = NULL;
  REFUSED(paes_identity_generate(NULL));
  REFUSED(paes_identity_parse(NULL, &identity));
  REFUSED(paes_identity_parse("", NULL));
  OK(paes_identity_generate(&identity));
  REFUSED(paes_identity_save(NULL, "never"));
  REFUSED(paes_identity_save(identity, NULL));
  REFUSED(paes_identity_recipient(NULL, room, sizeof room));
  REFUSED(paes_identity_recipient(identity, NULL, sizeof room));
  REFUSED(paes_seal_for_new(NULL));
  REFUSED(paes_seal_for_add_recipient(NULL, recipient));
  REFUSED(paes_seal_for_add_recipient(seal_for, NULL));
  REFUSED(paes_seal_for_add_recipient_file(NULL, "recipients.txt"));
  REFUSED(paes_seal_for_add_recipient_file(seal_for, NULL));
  REFUSED(paes_seal_for_set_passphrase(NULL, "p", 1));
  REFUSED(paes_seal_for_set_passphrase(seal_for, NULL, 1));
  REFUSED(paes_seal_for_set_key(NULL, text, 16, NULL, 0));
  REFUSED(paes_seal_for_set_key(seal_for, NULL, 16, NULL, 0));
  REFUSED(paes_seal_for_set_key(seal_for, text, 16, NULL, 1));
  REFUSED(paes_seal_for_set_key_bits(NULL, 128));
  REFUSED(paes_open_with_new(NULL));
  REFUSED(paes_open_with_add_identity(NULL, identity));
  REFUSED(paes_open_with_add_identity(open_with, NULL));
  REFUSED(paes_open_with_add_identity_file(NULL, "key.txt"));
  REFUSED(paes_open_with_add_identity_file(open_with, NULL));
  REFUSED(paes_open_with_set_passphrase(NULL, "p", 1));
  REFUSED(paes_open_with_set_passphrase(open_with, NULL, 1));
  REFUSED(paes_open_with_set_key(NULL, text, 16, NULL, 0));
  REFUSED(paes_open_with_set_key(open_with, NULL, 16, NULL, 0));
  REFUSED(paes_open_with_set_key(open_with, text, 16, NULL, 1));
  REFUSED(paes_open_with_set_max_work_factor(NULL, 20));
  paes_identity_free(identity);
  paes_identity_free(NULL);
  paes_seal_for_free(NULL);
  paes_open_with_free(NULL);
}

static void check_nulls(void) {
  paes_source* source = NULL;
  paes_reader* reader = NULL;
  paes_writer* writer = NULL;
  paes_file_info info;
  paes_verification verification;
  size_t got;
  REFUSED(paes_device_open(NULL));
  paes_device_close(NULL);
  REFUSED(paes_cancel_new(NULL));
  paes_cancel_request(NULL);
  paes_cancel_free(NULL);
  CHECK(paes_cancel_is_requested(NULL) == 0);
  REFUSED(paes_source_open(NULL, &source));
  REFUSED(paes_source_open("in-parts", NULL));
  REFUSED(paes_source_descriptor(0, NULL, &source));
  REFUSED(paes_source_descriptor(0, "name", NULL));
  REFUSED(paes_source_callback(NULL, NULL, 0, "name", &source));
  REFUSED(paes_source_callback(read_store, NULL, 0, NULL, &source));
  REFUSED(paes_source_callback(read_store, NULL, 0, "name", NULL));
  OK(paes_source_open("in-parts", &source));
  REFUSED(paes_encrypt_file(NULL, "never", seal_for, NULL, NULL));
  REFUSED(paes_encrypt_file(source, NULL, seal_for, NULL, NULL));
  REFUSED(paes_encrypt_file(source, "never", NULL, NULL, NULL));
  REFUSED(paes_decrypt_file(NULL, "never", open_with, NULL, NULL));
  REFUSED(paes_decrypt_file(source, NULL, open_with, NULL, NULL));
  REFUSED(paes_decrypt_file(source, "never", NULL, NULL, NULL));
  REFUSED(paes_verify_file(NULL, open_with, NULL, &verification));
  REFUSED(paes_verify_file(source, NULL, NULL, &verification));
  REFUSED(paes_inspect_file(NULL, &info, NULL, 0));
  REFUSED(paes_inspect_file(source, NULL, NULL, 0));
  REFUSED(paes_inspect_file(source, &info, NULL, 1));
  REFUSED(paes_reader_open(NULL, open_with, NULL, &reader));
  REFUSED(paes_reader_open(source, NULL, NULL, &reader));
  REFUSED(paes_reader_open(source, open_with, NULL, NULL));
  OK(paes_reader_open(source, open_with, NULL, &reader));
  REFUSED(paes_reader_read_at(NULL, 0, out, 1, &got));
  REFUSED(paes_reader_read_at(reader, 0, NULL, 1, &got));
  REFUSED(paes_reader_read_at(reader, 0, out, 1, NULL));
  CHECK(paes_reader_size(NULL) == 0);
  paes_reader_close(reader);
  paes_reader_close(NULL);
  REFUSED(paes_writer_create(NULL, seal_for, NULL, &writer));
  REFUSED(paes_writer_create("never", NULL, NULL, &writer));
  REFUSED(paes_writer_create("never", seal_for, NULL, NULL));
  REFUSED(paes_writer_callback(NULL, NULL, seal_for, NULL, &writer));
  REFUSED(paes_writer_callback(write_store, NULL, NULL, NULL, &writer));
  REFUSED(paes_writer_callback(write_store, NULL, seal_for, NULL, NULL));
  OK(paes_writer_create("never", seal_for, NULL, &writer));
  REFUSED(paes_writer_write(NULL, text, 1));
  REFUSED(paes_writer_write(writer, NULL, 1));
  OK(paes_writer_write(writer, NULL, 0));
  REFUSED(paes_writer_write_at(NULL, 0, text, 1));
  REFUSED(paes_writer_commit(NULL, NULL));
  paes_writer_free(writer);
  OK(paes_writer_create("never", seal_for, NULL, &writer));
  REFUSED(paes_writer_write_at(writer, 0, NULL, 1));
  paes_writer_free(writer);
  paes_writer_free(NULL);
  paes_source_free(source);
  paes_source_free(NULL);
  CHECK(!exists("never"));
}

int main(void) {
  char folder[] = "/tmp/paes-files-in-c-XXXXXX";
  size_t i;
  char command[64];
  for (i = 0; i < text_bytes; ++i) {
    text[i] = (uint8_t)(i * 7 + i / 251);
  }
  if (mkdtemp(folder) == NULL || chdir(folder) != 0) {
    perror(folder);
    return 1;
  }
  check_keys();
  check_paths();
  check_long_message();
  check_other_keys();
  check_reader();
  check_damage();
  check_writer();
  check_stops();
  check_key_nulls();
  check_nulls();
  paes_open_with_free(stranger);
  paes_open_with_free(open_with);
  paes_seal_for_free(seal_for);
  (void)snprintf(command, sizeof command, "rm -rf %s", folder);
  return chdir("/") != 0 || system(command) != 0 || failures != 0;
}
