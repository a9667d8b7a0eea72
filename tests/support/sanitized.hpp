// SPDX-License-Identifier: Apache-2.0
// Whether this build has a sanitizer. It keeps its own shadow memory and stacks, so some tests
// learn nothing. It is also ten times slower, so other tests do less.
#pragma once

namespace paes::test {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)  // GCC's names for it
inline constexpr bool is_sanitized = true;
#elif defined(__has_feature)
inline constexpr bool is_sanitized =
    __has_feature(address_sanitizer) != 0 || __has_feature(thread_sanitizer) != 0;
#else
inline constexpr bool is_sanitized = false;
#endif

}  // namespace paes::test
