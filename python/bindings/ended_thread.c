/* SPDX-License-Identifier: Apache-2.0 */
/* In C without exceptions, because there the system's macros jump back into this function. In C++
   they make an object, whose destructor is reached by the unwinding that must not begin. */
#include "ended_thread.h"

#include <pthread.h>

#ifdef __EXCEPTIONS
#error "compile this file without -fexceptions"
#endif

void paes_call_or_stop(void (*call)(void* argument), void* argument,
                       void (*stopped)(void* stopping), void* stopping) {
  pthread_cleanup_push(stopped, stopping);
  call(argument);
  pthread_cleanup_pop(0);
}
