/* SPDX-License-Identifier: Apache-2.0 */
/* A GPU for C, for options that can name one: what paes/device.hpp says applies here, too. */
#ifndef PAES_DEVICE_H
#define PAES_DEVICE_H

#include "paes/error.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

typedef struct paes_device paes_device;

/* Opens all GPUs of this machine that CUDA offers, together. PAES_FAILURE if there is none, if it
 * has no memory left, or if this process already uses all of its eight slots; the message says so.
 * Loads the driver, which is not needed to build or to start a program. */
int paes_device_open(paes_device** device);
/* Whatever was made with the device keeps it open. */
void paes_device_close(paes_device* device);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
