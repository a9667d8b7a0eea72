// SPDX-License-Identifier: Apache-2.0
// Writes of messages and results to descriptors that this process did not open.
#pragma once

#include "core/bytes.hpp"

namespace paes {

// Writes all of the bytes, in order. Waits for a descriptor that takes none at the moment, also for
// one that others made non-blocking: they may share it with this process, and a reader that is slow
// is no error. Once the descriptor `stop` is readable, which may be -1, a reader who takes nothing
// has a fifth of a second. That holds for descriptors that block, too. False: errno says why not,
// EINTR if the end was asked for or a signal came.
[[nodiscard]] bool write_all(int descriptor, Bytes bytes, int stop) noexcept;

}  // namespace paes
