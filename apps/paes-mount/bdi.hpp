// SPDX-License-Identifier: Apache-2.0
// What the system decides for each mount about its cache, in /sys/class/bdi (sysfs-class-bdi in the
// system's documentation). Only root may change it.
#pragma once

#include <sys/types.h>

namespace paes::mount {

// Reads further ahead. If the mount can be written to, it may also fill as much of the memory for
// what is not written yet as any other file system may. Without it all is slower and nothing else,
// so that nothing is said where it cannot be changed.
void tune_cache(dev_t device, bool is_writable) noexcept;

}  // namespace paes::mount
