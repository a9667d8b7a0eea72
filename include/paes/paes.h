/* SPDX-License-Identifier: Apache-2.0 */
/* All of the C interface. paes/error.h says what holds for every call. */
#ifndef PAES_PAES_H
#define PAES_PAES_H

#include "paes/cipher.h"
#include "paes/device.h"
#include "paes/error.h"
#include "paes/file.h"
#include "paes/gcm.h"
#include "paes/keystream.h"

#endif
