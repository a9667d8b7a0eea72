/* SPDX-License-Identifier: Apache-2.0 */
/* A GPU for C, for options that can name one: what paes/device.hpp says holds here as well. */
#ifndef PAES_DEVICE_H
#define PAES_DEVICE_H

#include "paes/error.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

typedef struct paes_device paes_device;

/* All GPUs of this machine that CUDA has, together. PAES_FAILURE if there is none, if it has no
 * memory left, or if this process uses all of its eight slots already; the message says so. This
 * loads the driver, which is not needed to build or to start a program. */
int paes_device_open(paes_device** device);
/* What was made with the device keeps it. */
void paes_device_close(paes_device* device);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
