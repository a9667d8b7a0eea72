// SPDX-License-Identifier: Apache-2.0
// What libfuse calls for each request of the system.
#pragma once

#include "paes-mount/fuse.hpp"

namespace paes::mount {

// The operations of a mount. Their user data is a Mount. Each request is answered by the thread
// that received it. In a mount that is only read, whatever would change something is answered with
// EROFS.
[[nodiscard]] fuse_lowlevel_ops operations_for(bool can_write) noexcept;

}  // namespace paes::mount
