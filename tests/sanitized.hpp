// Whether a sanitizer is in this build: it keeps shadows of memory and stacks of its own, and is
// ten times slower, so that some tests have nothing to learn there, and others enough from less.
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
