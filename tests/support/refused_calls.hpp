// SPDX-License-Identifier: Apache-2.0
// A file system that lacks some of the calls by which a new file is made and named.
#pragma once

#include <cerrno>

#include "core/new_name.hpp"

namespace paes::test {

class RefusedCalls : public NewFileCalls {
 public:
  struct Which {
    bool unnamed = false, noreplace = false, link = false;
  };
  explicit RefusedCalls(Which which) noexcept : which_(which) {}

  int open_unnamed(int folder, int flags, mode_t mode) const noexcept override {
    return which_.unnamed ? refuse(EOPNOTSUPP) : NewFileCalls::open_unnamed(folder, flags, mode);
  }
  int link(int folder, const char* from, int to_folder, const char* to,
           int flags) const noexcept override {
    return which_.link ? refuse(EPERM) : NewFileCalls::link(folder, from, to_folder, to, flags);
  }
  int rename_to_new(int folder, const char* from, const char* to) const noexcept override {
    return which_.noreplace ? refuse(EINVAL) : NewFileCalls::rename_to_new(folder, from, to);
  }

 private:
  static int refuse(int error) noexcept {
    errno = error;
    return -1;
  }

  Which which_;
};

// New files have a name from the start.
inline const RefusedCalls no_unnamed({.unnamed = true});

}  // namespace paes::test
