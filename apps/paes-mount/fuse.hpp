// SPDX-License-Identifier: Apache-2.0
// libfuse's low-level interface, of the version that Debian 12 has (3.14), included alike
// everywhere.
#pragma once

#define FUSE_USE_VERSION 314
#include <fuse3/fuse_lowlevel.h>
