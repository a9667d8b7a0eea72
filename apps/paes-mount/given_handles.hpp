// SPDX-License-Identifier: Apache-2.0
// The handle that the system gets with a file or a folder that it opens, and names in each request
// that is about it.
#pragma once

#include <bit>
#include <cstdint>
#include <memory>
#include <utility>

#include "paes-mount/mount_context.hpp"

namespace paes::mount {

// `Handle` is what the file or folder was given.
template <typename Handle>
[[nodiscard]] Handle* handle_of(const fuse_file_info& file) noexcept {
  return std::bit_cast<Handle*>(file.fh);
}

// The system uses it no more.
template <typename Handle>
void close_handle(Mount& mount, const fuse_file_info& file) noexcept {
  const std::unique_ptr<Handle> closed(handle_of<Handle>(file));
  mount.note_handle_closed();
}

// Gives the handle to the system, or closes it if nobody waits for it any more. `reply` is the
// answer to the request, 0 if it arrived. Whether it did.
template <typename Handle, typename Reply>
[[nodiscard]] bool give_handle(Mount& mount, std::unique_ptr<Handle> handle, fuse_file_info& file,
                               const Reply& reply) {
  file.fh = reinterpret_cast<std::uint64_t>(handle.release());
  mount.note_handle_opened();
  if (reply() == 0) {
    return true;
  }
  close_handle<Handle>(mount, file);
  return false;
}

template <typename Handle>
void reply_open(Mount& mount, fuse_req_t request, std::unique_ptr<Handle> handle,
                fuse_file_info& file) {
  (void)give_handle(mount, std::move(handle), file,
                    [&] { return fuse_reply_open(request, &file); });
}

}  // namespace paes::mount
