// SPDX-License-Identifier: Apache-2.0
// paes/error.h: the texts of each thread's last failure.
#include <algorithm>
#include <cstring>

#include "library/c/calls.hpp"
#include "paes/error.h"

static_assert(PAES_FAILURE == static_cast<int>(paes::ErrorCode::failure));
static_assert(PAES_USAGE == static_cast<int>(paes::ErrorCode::usage));
static_assert(PAES_CORRUPT == static_cast<int>(paes::ErrorCode::corrupt));
static_assert(PAES_WRONG_KEY == static_cast<int>(paes::ErrorCode::wrong_key));

namespace {

// It has a fixed size, because what failed may have been an allocation.
struct Reason {
  char message[1024];
  char hint[256];
};
thread_local Reason reason = {};

// A long text loses its middle: what failed is at its beginning, and why at its end.
template <std::size_t room>
void keep(char (&to)[room], const char* text) noexcept {
  const std::size_t bytes = std::strlen(text);
  std::memcpy(to, text, std::min(bytes + 1, room));
  if (bytes >= room) {
    constexpr char gap[] = " ... ";
    constexpr std::size_t gap_bytes = sizeof gap - 1;
    constexpr std::size_t half = (room - gap_bytes) / 2;
    std::memcpy(to + half, gap, gap_bytes);
    const std::size_t rest = room - half - gap_bytes;
    std::memcpy(to + room - rest, text + bytes + 1 - rest, rest);
  }
}

}  // namespace

void paes::c::keep_reason(const char* message, const char* hint) noexcept {
  keep(reason.message, message);
  keep(reason.hint, hint);
}

const char* paes_error_message(void) { return reason.message; }
const char* paes_error_hint(void) { return reason.hint; }
const char* paes_version(void) { return PAES_VERSION; }
