// SPDX-License-Identifier: Apache-2.0
// Calls of the system, made again until no signal interrupts them, with a Result in place of errno.
#pragma once

#include <cerrno>

#include "core/descriptor.hpp"
#include "core/result.hpp"

namespace paes::volume {

// `call` answers below 0 where it fails.
template <typename Call>
[[nodiscard]] auto try_call(const Call& call) noexcept -> Result<decltype(call())> {
  auto answer = call();
  while (answer < 0 && errno == EINTR) {
    answer = call();
  }
  return answer < 0 ? Errno(errno) : Result<decltype(call())>(answer);
}

// For a call that answers nothing else than whether it was done.
template <typename Call>
[[nodiscard]] Result<void> try_to(const Call& call) noexcept {
  return Result<void>(try_call(call));
}

// For a call that answers a new descriptor.
template <typename Call>
[[nodiscard]] Result<Descriptor> try_open(const Call& call) noexcept {
  const Result<int> number = try_call(call);
  return number ? Result<Descriptor>(Descriptor(*number)) : number.error();
}

}  // namespace paes::volume
