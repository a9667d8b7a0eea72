/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests in C share: how they say what is wrong. */
#ifndef PAES_TESTS_C_INTERFACE_CHECK_H
#define PAES_TESTS_C_INTERFACE_CHECK_H

#include <stdio.h>

#include "paes/paes.h"

static int failures = 0;

static void check_at(int is_so, const char* what, int line) {
  if (!is_so) {
    printf("line %d, wrong: %s (%s)\n", line, what, paes_error_message());
    failures = 1;
  }
}

#define CHECK(is_so) check_at((is_so), #is_so, __LINE__)
#define OK(call) check_at((call) == PAES_OK, #call, __LINE__)
/* A call that a null or a size makes impossible. */
#define REFUSED(call) check_at((call) == PAES_USAGE && *paes_error_message() != 0, #call, __LINE__)

#endif
