/* SPDX-License-Identifier: Apache-2.0 */
/* Encrypts a file in C, reads a range of it, and shows the progress of an encryption.
 *
 *   whole_file FOLDER */
#include <paes/paes.h>

#include <inttypes.h>
#include <stdio.h>

enum { TEXT_BYTES = 1000000, PART_BYTES = 4096 };

static int fail(const char* what) {
  fprintf(stderr, "%s: %s\n", what, paes_error_message());
  return 1;
}

static int show(void* user, uint64_t done_bytes, uint64_t total_bytes) {
  (void)user;
  printf("%" PRIu64 " of %" PRIu64 " bytes\n", done_bytes, total_bytes);
  return 0; /* anything else would stop it */
}

static int encrypt(const char* text, const char* sealed, const paes_identity* identity) {
  char recipient[PAES_RECIPIENT_BYTES];
  paes_seal_for* seal_for = NULL;
  paes_source* from = NULL;
  const paes_file_options options = {.overwrite = 1, .progress = show};
  const int code = paes_identity_recipient(identity, recipient, sizeof recipient) == PAES_OK &&
                           paes_seal_for_new(&seal_for) == PAES_OK &&
                           paes_seal_for_add_recipient(seal_for, recipient) == PAES_OK &&
                           paes_source_open(text, &from) == PAES_OK &&
                           paes_encrypt_file(from, sealed, seal_for, &options, NULL) == PAES_OK
                       ? 0
                       : fail("encrypt");
  paes_source_free(from);
  paes_seal_for_free(seal_for);
  return code;
}

static int read_part(const char* sealed, const paes_identity* identity, uint64_t offset,
                     uint8_t part[PART_BYTES]) {
  paes_open_with* open_with = NULL;
  paes_source* from = NULL;
  paes_reader* reader = NULL;
  size_t read_bytes = 0;
  const int code =
      paes_open_with_new(&open_with) == PAES_OK &&
              paes_open_with_add_identity(open_with, identity) == PAES_OK &&
              paes_source_open(sealed, &from) == PAES_OK &&
              paes_reader_open(from, open_with, NULL, &reader) == PAES_OK &&
              paes_reader_read_at(reader, offset, part, PART_BYTES, &read_bytes) == PAES_OK &&
              read_bytes == PART_BYTES
          ? 0
          : fail("read");
  paes_reader_close(reader);
  paes_source_free(from);
  paes_open_with_free(open_with);
  return code;
}

int main(int argc, char** argv) {
  char text[4096];
  char sealed[4096];
  (void)snprintf(text, sizeof text, "%s/whole_file.text", argc > 1 ? argv[1] : ".");
  (void)snprintf(sealed, sizeof sealed, "%s/whole_file.paes", argc > 1 ? argv[1] : ".");
  FILE* file = fopen(text, "wb");
  if (file == NULL) {
    perror(text);
    return 1;
  }
  for (int i = 0; i < TEXT_BYTES; ++i) {
    (void)fputc(i % 251, file);
  }
  if (fclose(file) != 0) {
    perror(text);
    return 1;
  }

  paes_identity* identity = NULL;
  uint8_t part[PART_BYTES] = {0};
  const uint64_t offset = 500000;
  int code = paes_identity_generate(&identity) == PAES_OK ? 0 : fail("identity");
  code = code == 0 ? encrypt(text, sealed, identity) : code;
  code = code == 0 ? read_part(sealed, identity, offset, part) : code;
  for (unsigned i = 0; code == 0 && i < PART_BYTES; ++i) {
    if (part[i] != (offset + i) % 251) {
      fputs("wrong text\n", stderr);
      code = 1;
    }
  }
  paes_identity_free(identity);
  (void)remove(text);
  (void)remove(sealed);
  return code;
}
