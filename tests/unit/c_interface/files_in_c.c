/* SPDX-License-Identifier: Apache-2.0 */
/* Whole encrypted files and keys from C: every call for them, and what each must refuse. */
#define _GNU_SOURCE

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "store.h"

static char recipient[PAES_RECIPIENT_BYTES];

static void write_file(const char* path, const void* bytes, size_t byte_count) {
  FILE* file = fopen(path, "wb");
  CHECK(file != NULL && fwrite(bytes, 1, byte_count, file) == byte_count);
  CHECK(file != NULL && fclose(file) == 0);
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
  CHECK(paes_open_with_add_encrypted_identity_file(open_with, "no-such-file", "p", 1) ==
        PAES_FAILURE);
  REFUSED(paes_open_with_add_encrypted_identity_file(open_with, "key.txt", "", 0));
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

static int has_no_modes = 0;

/* The library calls this one. It may be that of a file system where all may write every file. */
int fchmod(int descriptor, mode_t mode) {
  const long code = syscall(SYS_fchmod, descriptor, has_no_modes ? 0666 : mode);
  if (has_no_modes) {
    errno = EPERM;
    return -1;
  }
  return (int)code;
}

static void count_warning(void* user, const char* what_why) {
  ++*(int*)user;
  CHECK(strstr(what_why, "access") != NULL && strstr(what_why, "open-to-all") != NULL);
}

static void check_warning(void) {
  paes_file_options options = {0};
  paes_source* from = NULL;
  int warnings = 0;
  options.warning = count_warning;
  options.warning_user = &warnings;
  OK(paes_source_open("text", &from));
  OK(paes_encrypt_file(from, "as-it-should-be", seal_for, &options, NULL));
  CHECK(warnings == 0);
  has_no_modes = 1;
  OK(paes_encrypt_file(from, "open-to-all", seal_for, &options, NULL));
  has_no_modes = 0;
  CHECK(warnings == 1);
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
  REFUSED(paes_open_with_add_encrypted_identity_file(NULL, "key.txt", "p", 1));
  REFUSED(paes_open_with_add_encrypted_identity_file(open_with, NULL, "p", 1));
  REFUSED(paes_open_with_add_encrypted_identity_file(open_with, "key.txt", NULL, 1));
  REFUSED(paes_open_with_add_encrypted_identity_file_cancellable(NULL, "key.txt", "p", 1, NULL));
  REFUSED(paes_open_with_add_encrypted_identity_file_cancellable(open_with, NULL, "p", 1, NULL));
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
  REFUSED(paes_source_open("text.paes", NULL));
  REFUSED(paes_source_descriptor(0, NULL, &source));
  REFUSED(paes_source_descriptor(0, "name", NULL));
  REFUSED(paes_source_callback(NULL, NULL, 0, "name", &source));
  REFUSED(paes_source_callback(read_store, NULL, 0, NULL, &source));
  REFUSED(paes_source_callback(read_store, NULL, 0, "name", NULL));
  OK(paes_source_open("text.paes", &source));
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

static void* request_soon(void* cancel) {
  (void)usleep(300000);
  paes_cancel_request(cancel);
  return NULL;
}

/* No passphrase opens this list, and to find that takes a gigabyte and seconds. */
static void check_cancelled_identity_file(void) {
  const char costly[] =
      "age-encryption.org/v1\n-> scrypt AAAAAAAAAAAAAAAAAAAAAA 20\n"
      "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\n"
      "--- AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\n"
      "A nonce and the tag of no text.";
  paes_open_with* opener = NULL;
  paes_cancel* cancel = NULL;
  pthread_t thread;
  write_file("costly", costly, sizeof costly);
  OK(paes_open_with_new(&opener));
  OK(paes_cancel_new(&cancel));
  OK(paes_open_with_add_encrypted_identity_file_cancellable(opener, "key.txt", "p", 1, cancel));
  OK(paes_open_with_add_encrypted_identity_file_cancellable(opener, "key.txt", "p", 1, NULL));
  CHECK(pthread_create(&thread, NULL, request_soon, cancel) == 0);
  CHECK(paes_open_with_add_encrypted_identity_file_cancellable(opener, "costly", "p", 1, cancel) ==
        PAES_FAILURE);
  CHECK(paes_cancel_is_requested(cancel) == 1);
  CHECK(strstr(paes_error_message(), "interrupted") != NULL);
  CHECK(pthread_join(thread, NULL) == 0);
  CHECK(paes_open_with_add_encrypted_identity_file_cancellable(opener, "key.txt", "p", 1, cancel) ==
        PAES_FAILURE);
  paes_cancel_free(cancel);
  paes_open_with_free(opener);
}

int main(void) {
  char folder[] = "/tmp/paes-files-in-c-XXXXXX";
  (void)umask(022);
  if (!begin(folder)) {
    return 1;
  }
  check_keys();
  check_cancelled_identity_file();
  check_paths();
  check_warning();
  check_long_message();
  check_other_keys();
  check_key_nulls();
  check_nulls();
  return end(folder);
}
