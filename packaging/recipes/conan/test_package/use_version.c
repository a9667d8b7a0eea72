/* SPDX-License-Identifier: Apache-2.0 */
/* The C interface: headers, and the library that they belong to. */
#include <paes/paes.h>

#include <stdio.h>

int main(void) { return puts(paes_version()) < 0; }
