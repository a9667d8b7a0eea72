/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of encrypted files from C: readers and writers on several threads, callbacks that fail or
 * read too little, damage, and work that is stopped. */
#define _POSIX_C_SOURCE 200809L

#include <dirent.h>
#include <pthread.h>

#include "store.h"

static int files_here(void) {
  DIR* folder = opendir(".");
  int count = 0;
  while (folder != NULL && readdir(folder) != NULL) {
    ++count;
  }
  (void)closedir(folder);
  return count - 2;
}

static void make_keys(void) {
  paes_identity* identity = NULL;
  char recipient[PAES_RECIPIENT_BYTES];
  OK(paes_identity_generate(&identity));
  OK(paes_identity_recipient(identity, recipient, sizeof recipient));
  OK(paes_seal_for_new(&seal_for));
  OK(paes_seal_for_add_recipient(seal_for, recipient));
  OK(paes_open_with_new(&open_with));
  OK(paes_open_with_add_identity(open_with, identity));
  paes_identity_free(identity);
  OK(paes_identity_generate(&identity));
  OK(paes_open_with_new(&stranger));
  OK(paes_open_with_add_identity(stranger, identity));
  paes_identity_free(identity);
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

int main(void) {
  char folder[] = "/tmp/paes-parts-in-c-XXXXXX";
  if (!begin(folder)) {
    return 1;
  }
  make_keys();
  check_reader();
  check_damage();
  check_writer();
  check_stops();
  return end(folder);
}
