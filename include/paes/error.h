/* SPDX-License-Identifier: Apache-2.0 */
/* What every call of the C interface answers. A call returns PAES_OK or another code below, and
 * what went wrong stays with the thread that called. Calls that return something else say so.
 *
 *   if (paes_gcm_new(key, sizeof key, NULL, &gcm) != PAES_OK) {
 *     fprintf(stderr, "%s\n", paes_error_message());
 *   }
 *
 * This holds for all of the C interface:
 * - No call ends the program or throws, also when memory is out or an argument is null. PAES_USAGE
 *   answers a null that a call does not allow.
 * - What a call makes lands in its last argument, which is null after a failure. Each handle has a
 *   function that frees it, which wipes what the handle holds and does nothing with null. A handle
 *   may be freed before others that were made with it, unless its header says otherwise.
 * - Options whose members are all zero mean all defaults, and so does null instead of options.
 * - Any number of threads may use a handle at a time, unless its header says otherwise. No call may
 *   still run when its handle is freed, and no thread may be cancelled (pthread_cancel) in a call.
 * - Text is UTF-8 and ends with a zero byte; sizes and offsets are in bytes.
 * - A callback returns to its caller: it does not jump away (longjmp). It makes no call on the
 *   handle that called it. */
#ifndef PAES_ERROR_H
#define PAES_ERROR_H

#include <stddef.h> /* NOLINT: C has no cstddef */
#include <stdint.h> /* NOLINT: nor cstdint */

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* The numbers of paes::ErrorCode, and exit codes of the program paes. */
enum {
  PAES_OK = 0,
  PAES_FAILURE = 1,  /* files, memory, threads, a callback that failed, work that was stopped */
  PAES_USAGE = 2,    /* the request makes no sense: nulls, options, names, sizes */
  PAES_CORRUPT = 3,  /* what was read is damaged, forged or cut, or something else altogether */
  PAES_WRONG_KEY = 4 /* no identity and no passphrase that was given opens the file */
};

/* Why the last failed call of this thread failed: one line, "WHAT: WHY". What is longer than 1023
 * bytes is cut in its middle. Valid until the next failure. Never null; empty before the first
 * failure. */
const char* paes_error_message(void);
/* What can be done about that, or empty. Valid as long. Never null. */
const char* paes_error_hint(void);

/* The version of the library that runs, as "1.2.3". */
const char* paes_version(void);

/* For the member `threads` of options: as many as the machine has processors. */
#define PAES_EVERY_PROCESSOR ((unsigned)-1)

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
