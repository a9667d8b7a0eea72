// SPDX-License-Identifier: Apache-2.0
// Tests compare a Result with an errno, or with 0 if it succeeds, and print it as that.
#pragma once

#include <ostream>

#include "core/result.hpp"

namespace paes {

template <typename T>
[[nodiscard]] int errno_of(const Result<T>& result) {
  return result ? 0 : result.error().number();
}
[[nodiscard]] inline Result<void> result_of(int number) {
  return number == 0 ? Result<void>() : Errno(number);
}

template <typename T>
bool operator==(const Result<T>& result, int number) {
  return errno_of(result) == number;
}
template <typename T>
void PrintTo(const Result<T>& result, std::ostream* out) {
  *out << errno_of(result);
}
inline std::ostream& operator<<(std::ostream& out, Errno error) { return out << error.number(); }

}  // namespace paes
