// SPDX-License-Identifier: Apache-2.0
// Makes a kernel's table of modes from a template that turns each row of cipher/mode/mode.hpp into
// code. `Modes` supplies `block_size`, run<Operation> for parallel rows and run_chains<Operation>
// for chained ones.
#pragma once

#include <utility>

#include "kernel/kernel.hpp"

namespace paes {
namespace {  // NOLINT: see kernel.hpp

// A row that has tweaks takes several data units in one call, which wipes the stack only once.
template <class Modes, Operation Which>
void run_units(const KernelKeys& keys, const Piece& piece) noexcept {
  if (piece.unit_bytes == 0) {
    return Modes::template run<Which>(keys, piece);
  }
  Piece unit = piece;
  unit.unit_bytes = 0;
  unit.text.bytes = piece.unit_bytes;
  for (std::size_t at = 0; at < piece.text.bytes; at += piece.unit_bytes) {
    Modes::template run<Which>(keys, unit);
    unit.text.in += piece.unit_bytes;
    unit.text.out += piece.unit_bytes;
    ++unit.tweak;
  }
}

template <class Modes, Operation Which>
consteval PieceFunction piece_run() noexcept {
  // XTS is a mode of 128-bit blocks (IEEE 1619, section 1).
  constexpr bool fits = Modes::block_size == 16 || !formula_of(Which).has_tweak();
  if constexpr (!fits || formula_of(Which).is_chained()) {
    return nullptr;
  } else if constexpr (formula_of(Which).has_tweak()) {
    return run_units<Modes, Which>;
  } else {
    return Modes::template run<Which>;
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
