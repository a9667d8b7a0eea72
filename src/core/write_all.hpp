// SPDX-License-Identifier: Apache-2.0
// Writes messages and results to descriptors that this process did not open.
#pragma once

#include "core/bytes.hpp"

namespace paes {

// Writes all bytes, in order. If the descriptor takes none at the moment, waits until it does, even
// if others who share it have made it non-blocking: a slow reader is no error. Once the descriptor
// `stop` (-1 for none) is readable, a reader who takes nothing has a fifth of a second left, also
// on a descriptor that blocks. On failure, returns false, and errno is EINTR if the end was asked
// for or a signal came.
[[nodiscard]] bool write_all(int descriptor, Bytes bytes, int stop) noexcept;

}  // namespace paes
