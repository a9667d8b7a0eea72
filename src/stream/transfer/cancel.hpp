// SPDX-License-Identifier: Apache-2.0
// A request to stop, which is optional. Workers look at it before each buffer, and waits on pipes
// end at once, whichever thread received the signal.
#pragma once

#include "crypto/derivation.hpp"
#include "paes/cancel.hpp"

namespace paes::stream {

// If `cancel` is null, never stops early.
inline void check(const Cancel* cancel) {
  if (cancel != nullptr) {
    cancel->check();
  }
}

// How keys wait for a caller who may stop early: throws once `cancel` is requested. Empty if
// `cancel` is null; otherwise `cancel` must outlive it.
[[nodiscard]] WaitReady waiting(const Cancel* cancel);

}  // namespace paes::stream
