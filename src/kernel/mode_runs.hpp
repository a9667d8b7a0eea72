// SPDX-License-Identifier: Apache-2.0
// Makes a kernel's table of modes from a template that turns each row of cipher/mode/mode.hpp into
// code. `Modes` supplies `block_size`, run<Operation> for parallel rows and run_chains<Operation>
// for chained ones.
#pragma once

#include <utility>

#include "kernel/kernel.hpp"

namespace paes {
namespace {  // NOLINT: see kernel.hpp

template <class Modes, Operation Which>
consteval PieceFunction piece_run() noexcept {
  // XTS is a mode of 128-bit blocks (IEEE 1619, section 1).
  constexpr bool fits = Modes::block_size == 16 || !formula_of(Which).has_tweak();
  if constexpr (fits && !formula_of(Which).is_chained()) {
    return Modes::template run<Which>;
  } else {
    return nullptr;
  }
}

template <class Modes, Operation Which>
consteval ChainFunction chain_run() noexcept {
  if constexpr (formula_of(Which).is_chained()) {
    return Modes::template run_chains<Which>;
  } else {
    return nullptr;
  }
}

template <class Modes>
consteval ModeRuns mode_runs() noexcept {
  return []<unsigned... Index>(std::integer_sequence<unsigned, Index...>) consteval {
    return ModeRuns{{piece_run<Modes, static_cast<Operation>(Index)>()...},
                    {chain_run<Modes, static_cast<Operation>(Index)>()...}};
  }
  (std::make_integer_sequence<unsigned, operation_count>());
}

}  // namespace
}  // namespace paes
