// SPDX-License-Identifier: Apache-2.0
// Who takes privileges away from a file: set-user-ID bits go when somebody else writes to it. The
// system does that itself, but to find out whether it has to, it asks a mount for the file's
// capabilities before each write, and waits for the answer. It does not ask a mount that says that
// it takes the bits away (FUSE_HANDLE_KILLPRIV_V2). libfuse cannot say so before its version 3.17,
// so it is put into the answer to the first request here, and what the system says of later
// requests is read here, too. Linux has it since 5.11; older ones go on as before.
#pragma once

#include <cstddef>

struct iovec;

namespace paes::mount {

// The extended attribute in which the system keeps the capabilities of a program.
constexpr const char* capabilities_attribute = "security.capability";

// This thread has received a request, and answers it next.
void note_request(const void* request, std::size_t bytes) noexcept;
// Before the answer is sent: offers it in that to the first request, if the system knows it.
void offer_to_take_privileges(const iovec* parts, std::size_t count) noexcept;
// libfuse has offered it itself: where it sends its answers, too, they cannot be changed here.
void note_offer() noexcept;

// Whether the request that this thread answers takes the set-user-ID and set-group-ID bits away: it
// writes, or changes a length or an owner, for somebody who may not keep them.
[[nodiscard]] bool takes_privileges() noexcept;
// Whether the mount has to take them away where no request says so: for fallocate and
// copy_file_range.
[[nodiscard]] bool has_to_take_privileges() noexcept;

}  // namespace paes::mount
