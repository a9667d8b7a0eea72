// SPDX-License-Identifier: Apache-2.0
// Turns any 16 bytes into the start of a message in a raw mode.
#pragma once

#include <bit>

#include "message/device.hpp"

namespace paes::test {

inline RawStart raw_start(Mode mode, const Block& block) {
  const ModeRow& row = row_of(mode);
  if (row.has_units) {
    return std::bit_cast<UnitNumber>(block);
  }
  if (formula_of(row.decrypt).has_counter()) {
    return std::bit_cast<CounterBlock>(block);
  }
  return row.has_iv ? RawStart(std::bit_cast<ChainBlock>(block)) : RawStart();
}

}  // namespace paes::test
