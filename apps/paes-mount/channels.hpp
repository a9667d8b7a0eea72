// SPDX-License-Identifier: Apache-2.0
// The channels of a mount: /dev/fuse, opened once for each thread that receives requests through
// it. How libfuse reads requests and writes answers.
#pragma once

#include "core/descriptor.hpp"
#include "paes-mount/fuse.hpp"

namespace paes::mount {

// What libfuse calls to read and to write. Answers to requests of a ring go there instead.
[[nodiscard]] fuse_custom_io channel_calls() noexcept;

// Another channel of the mount with this one, or this one itself if the system gives no other. Then
// threads share it, and are slower.
[[nodiscard]] Descriptor new_channel(int mounted);

// The channel of this thread. One that has none writes notices on the mount's first one.
void take_channel(int channel) noexcept;
[[nodiscard]] int own_channel() noexcept;

// Before this thread answers the first request: whether the answer shall name rings.
void name_rings(bool shall) noexcept;
// Afterwards, once: whether it has.
[[nodiscard]] bool has_named_rings() noexcept;

// Whether the mount is still there for the system.
[[nodiscard]] bool is_connected(int channel) noexcept;

}  // namespace paes::mount
