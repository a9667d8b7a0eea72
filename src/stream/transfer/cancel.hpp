// SPDX-License-Identifier: Apache-2.0
// A request to stop, which callers may leave out. Workers look at it before each buffer, and waits
// on pipes end at once, whichever thread a signal reached.
#pragma once

#include "crypto/derivation.hpp"
#include "paes/cancel.hpp"

namespace paes::stream {

// `cancel` may be null: such a caller never stops early.
inline void check(const Cancel* cancel) {
  if (cancel != nullptr) {
    cancel->check();
  }
}

// How keys wait, for a caller who may stop early: throws once `cancel` is requested. Empty if
// `cancel` is null, which must outlive it otherwise.
[[nodiscard]] WaitReady waiting(const Cancel* cancel);

}  // namespace paes::stream
