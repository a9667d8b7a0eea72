/* SPDX-License-Identifier: Apache-2.0 */
/* A program that was not linked with libpaes.so and loads it: finds each function that is named,
 * under its version, uses some of them with threads, and unloads the library.
 * Usage: loaded_in_c LIBRARY NAME... */
#define _GNU_SOURCE

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "paes/paes.h"

/* C has no cast from an object's address to a function's, but POSIX says that the bytes are one. */
#define FIND(function)                                                \
  do {                                                                \
    void* const found = dlvsym(library, "paes_" #function, "PAES_0"); \
    memcpy(&function, &found, sizeof found);                          \
    if (found == NULL) {                                              \
      return 1;                                                       \
    }                                                                 \
  } while (0)

static int use(void* library) {
  int (*cipher_new)(const char*, const uint8_t*, size_t, const paes_cipher_options*, paes_cipher**);
  int (*cipher_encrypt)(const paes_cipher*, const uint8_t*, size_t, const uint8_t*, uint8_t*,
                        size_t);
  int (*cipher_decrypt)(const paes_cipher*, const uint8_t*, size_t, const uint8_t*, uint8_t*,
                        size_t);
  void (*cipher_free)(paes_cipher*);
  const char* (*error_message)(void);
  enum { bytes = 8 << 20 };
  const uint8_t key[16] = {1};
  paes_cipher_options options = {0};
  paes_cipher* cipher = NULL;
  uint8_t* text = (uint8_t*)calloc(bytes, 1);
  int is_right = 0;
  FIND(cipher_new);
  FIND(cipher_encrypt);
  FIND(cipher_decrypt);
  FIND(cipher_free);
  FIND(error_message);
  options.threads = 2;
  is_right = cipher_new("aes-128-ctr", key, 16, &options, &cipher) == PAES_OK &&
             cipher_encrypt(cipher, key, 16, text, text, bytes) == PAES_OK && text[5] != 0 &&
             cipher_decrypt(cipher, key, 16, text, text, bytes) == PAES_OK && text[5] == 0 &&
             text[bytes - 1] == 0 && cipher_encrypt(NULL, key, 16, text, text, 5) == PAES_USAGE &&
             strstr(error_message(), "cipher") != NULL;
  cipher_free(cipher);
  free(text);
  return is_right ? 0 : 1;
}

int main(int argc, char** argv) {
  int missing = 0;
  int i;
  int round;
  for (round = 0; round < 3; ++round) {
    void* const library = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    if (library == NULL) {
      printf("%s\n", argc > 1 ? dlerror() : "usage: loaded_in_c LIBRARY NAME...");
      return 2;
    }
    for (i = 2; i < argc && round == 0; ++i) {
      if (dlvsym(library, argv[i], "PAES_0") == NULL) {
        printf("%s is not there under PAES_0\n", argv[i]);
        missing = 1;
      }
    }
    if (use(library) != 0) {
      printf("what was found does not work\n");
      return 1;
    }
    if (dlclose(library) != 0) {
      printf("%s\n", dlerror());
      return 1;
    }
  }
  return missing;
}
