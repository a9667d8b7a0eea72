/* SPDX-License-Identifier: Apache-2.0 */
/* What every call of the C interface returns: PAES_OK or another code below. The calling thread
 * keeps what went wrong. Calls that return something else say so.
 *
 *   if (paes_gcm_new(key, sizeof key, NULL, &gcm) != PAES_OK) {
 *     fprintf(stderr, "%s\n", paes_error_message());
 *   }
 *
 * This holds for all of the C interface:
 * - No call ends the program or throws, even if memory is out or an argument is null. A null that a
 *   call does not allow gives PAES_USAGE.
 * - A call returns what it makes in its last argument, which is null after a failure. Each handle
 *   has a function that frees it, which wipes what the handle holds and ignores null. A handle may
 *   be freed before others that were made with it, unless its header says otherwise.
 * - Options whose members are all zero, or null instead of options, mean all defaults.
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
  PAES_CORRUPT = 3,  /* the input is damaged, forged or cut, or something else altogether */
  PAES_WRONG_KEY = 4 /* nothing given opens the file: identities, passphrase, own key and context */
};

/* Why this thread's last failed call failed: one line, "WHAT: WHY". A text of more than 1023 bytes
 * is cut in its middle. Valid until the next failure. Never null; empty before the first failure.
 */
const char* paes_error_message(void);
/* What can be done about the last failure, or empty. Valid until the next failure. Never null. */
const char* paes_error_hint(void);

/* The version of the running library, such as "1.2.3". */
const char* paes_version(void);

/* For the member `threads` of options: as many as the machine has processors. */
#define PAES_EVERY_PROCESSOR ((unsigned)-1)

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
