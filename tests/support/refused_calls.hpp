// SPDX-License-Identifier: Apache-2.0
// A file system that lacks some of the calls by which a new file is made and named.
#pragma once

#include <cerrno>

#include "core/new_name.hpp"

namespace paes::test {

struct RefusedCalls {
  bool unnamed = false, rename = false, link = false;
};

template <int Error, typename... Arguments>
int refuse(Arguments... /*ignored*/) noexcept {
  errno = Error;
  return -1;
}

inline int refuse_open(int /*folder*/, const char* /*name*/, int /*flags*/, ...) {
  return refuse<EOPNOTSUPP>();
}

constexpr NewFileCalls calls_without(RefusedCalls refused) noexcept {
  NewFileCalls calls;
  if (refused.unnamed) {
    calls.open_unnamed = refuse_open;
  }
  if (refused.rename) {
    calls.rename = refuse<EINVAL>;
  }
  if (refused.link) {
    calls.link = refuse<EPERM>;
  }
  return calls;
}

// New files have a name from the start.
inline constexpr NewFileCalls no_unnamed = calls_without({.unnamed = true});

}  // namespace paes::test
