// SPDX-License-Identifier: Apache-2.0
// A call of Python that may end its thread. Before 3.14, Python does that with pthread_exit to a
// thread that asks for the GIL while the interpreter ends. What pthread_exit does to C++ on its way
// up the stack depends on the C library and on the C++ library; a handler of C runs before that
// with any of them.
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

// Calls `call`. If the thread is ended in there, calls `stopped`, which must not return, while
// nothing above it on the stack has been unwound. So `call` must have no objects with destructors.
void paes_call_or_stop(void (*call)(void* argument), void* argument,
                       void (*stopped)(void* stopping), void* stopping);

#ifdef __cplusplus
}
#endif
