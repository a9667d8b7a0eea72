// SPDX-License-Identifier: Apache-2.0
// A value or the number of an error (errno.h), for calls on which a file system answers millions of
// times: a name that nothing has is no exception there.
#pragma once

#include <optional>
#include <utility>

namespace paes::volume {

// Why there is no value.
struct Failure {
  int error;  // errno
};

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}                // NOLINT: as std::optional
  Result(Failure failure) noexcept : error_(failure.error) {}  // NOLINT

  [[nodiscard]] explicit operator bool() const noexcept { return value_.has_value(); }
  [[nodiscard]] int error() const noexcept { return error_; }  // 0 if there is a value
  [[nodiscard]] T& operator*() noexcept { return *value_; }
  [[nodiscard]] const T& operator*() const noexcept { return *value_; }
  [[nodiscard]] T* operator->() noexcept { return &*value_; }
  [[nodiscard]] const T* operator->() const noexcept { return &*value_; }

 private:
  std::optional<T> value_;
  int error_ = 0;
};

}  // namespace paes::volume
