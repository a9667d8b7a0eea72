// SPDX-License-Identifier: Apache-2.0
// What libfuse calls for operations that change something.
#pragma once

#include "paes-mount/mounted_vault.hpp"

namespace paes::mount {

struct MountedVault::Changes {
  static void add_to(fuse_lowlevel_ops& calls) noexcept;
};

}  // namespace paes::mount
