// A request to stop, which callers may leave out. Workers look at it before each buffer, and waits
// on pipes end at once, whichever thread a signal reached.
#pragma once

#include "paes/cancel.hpp"

namespace paes::stream {

// `cancel` may be null: such a caller never stops early.
inline void check(const Cancel* cancel) {
  if (cancel != nullptr) {
    cancel->check();
  }
}

}  // namespace paes::stream
