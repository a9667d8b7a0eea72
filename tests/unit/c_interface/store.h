/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of files in C share: a text, who may open it, and files in memory and in a folder
 * of the test's own. */
#ifndef PAES_TESTS_C_INTERFACE_STORE_H
#define PAES_TESTS_C_INTERFACE_STORE_H

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

enum { chunk = PAES_FILE_CHUNK_BYTES, text_bytes = 20 * chunk + 77, store_bytes = 2 * text_bytes };

static uint8_t text[text_bytes];
static uint8_t out[text_bytes];
static paes_seal_for* seal_for;
static paes_open_with* open_with;
static paes_open_with* stranger; /* who may not open it */

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

/* Goes to a new folder, and makes the text. */
static int begin(char* folder) {
  size_t i;
  for (i = 0; i < text_bytes; ++i) {
    text[i] = (uint8_t)(i * 7 + i / 251);
  }
  if (mkdtemp(folder) == NULL || chdir(folder) != 0) {
    perror(folder);
    return 0;
  }
  return 1;
}

/* Removes the folder. The exit code of the test. */
static int end(const char* folder) {
  char command[64];
  paes_open_with_free(stranger);
  paes_open_with_free(open_with);
  paes_seal_for_free(seal_for);
  (void)snprintf(command, sizeof command, "rm -rf %s", folder);
  return chdir("/") != 0 || system(command) != 0 || failures != 0;
}

#endif
