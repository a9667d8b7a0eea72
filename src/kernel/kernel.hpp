// SPDX-License-Identifier: Apache-2.0
// A kernel is one row of functions: one cipher on one instruction set. Rows know keys and pieces.
// Their callers see to threads and files, and cut messages into pieces.
//
// A run is noexcept and cannot fail. Every run follows the same rules of memory: `in` and `out` are
// the same buffer or do not overlap, nothing is read or written beyond the given bytes, and neither
// needs to be aligned.
//
// The other headers of this folder put their code into unnamed namespaces: each kernel file
// compiles them for its own instruction set, and the linker must never merge the results.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "cipher/ghash.hpp"
#include "cipher/mode/mode.hpp"
#include "cipher/mode/mode_blocks.hpp"
#include "core/bytes.hpp"
#include "kernel/features.hpp"

namespace paes {

// What a kernel makes of a key (round keys, powers of H, tables), in a layout that only this kernel
// knows. The types of src/message bind it to its kernel once, so that no other kernel gets it by
// mistake.
struct alignas(64) KernelKeys {
  std::uint8_t bytes[12288];

  // Views the memory in the layout of the kernel that asks.
  template <class Layout>
  [[nodiscard, gnu::always_inline]] Layout& as() noexcept {
    static_assert(sizeof(Layout) <= sizeof bytes && alignof(Layout) <= 64);
    return *reinterpret_cast<Layout*>(bytes);
  }
  template <class Layout>
  [[nodiscard, gnu::always_inline]] const Layout& as() const noexcept {
    static_assert(sizeof(Layout) <= sizeof bytes && alignof(Layout) <= 64);
    return *reinterpret_cast<const Layout*>(bytes);
  }
};

// Where a kernel reads and writes.
struct Text {
  const std::uint8_t* in;
  std::uint8_t* out;
  std::size_t bytes;
};

// A contiguous part of a message in a parallel mode: whole blocks of text, and what else the mode's
// formula needs for the first of them. What the formula does not name is null.
struct Piece {
  Text text;
  const CounterBlock* counter = nullptr;  // the last 32 bits count on and wrap
  // One for each data unit of XTS in `text`, all of which have this length; 0: `text` is of one.
  const Tweak* tweak = nullptr;
  std::size_t unit_bytes = 0;
  // A copy outside the text: in place, the previous piece overwrites that block.
  const ChainBlock* before = nullptr;
  // A branch or an address may depend on the counter only if this is true. If the IV does not have
  // 96 bits, J0 is a hash under H, and its low bits, watched over many messages, would give H away.
  bool is_counter_public = false;
  // The output is larger than the caches and not read soon, so a kernel may store past them.
  bool bypasses_caches = false;
  Design design = Design::as_machine;  // only tests set this
};
using PieceFunction = void (*)(const KernelKeys&, const Piece&) noexcept;

// A message, or the next part of one, in a chained mode: a whole number of blocks.
struct Chain {
  Text text;
  ChainBlock feedback;  // the IV before the first block; replaced by what the next block needs
};
// Independent messages under one key, as many side by side as the kernel has room for.
using ChainFunction = void (*)(const KernelKeys&, std::span<Chain>) noexcept;

// A part of a message of AES-GCM: whole blocks, in counter mode (SP 800-38D, section 6.5).
// `counter` is that of the first block; the rules of Piece hold for it and for is_counter_public.
struct GcmPiece {
  Text text;
  const CounterBlock* counter;
  bool is_counter_public = false;
};
// `hash` is GHASH of the message up to the piece; the function continues it to the piece's end.
using GcmPieceFunction = void (*)(const KernelKeys&, const GcmPiece&, HashValue& hash) noexcept;
// Hashes whole blocks.
using HashFunction = void (*)(const KernelKeys&, const std::uint8_t* in, std::size_t bytes,
                              HashValue& hash) noexcept;

// A whole message of AES-GCM, of any length.
struct WholeMessage {
  Text text;  // `out` is null where nothing is to be written
  // The IV, for kernels over libraries, and for others J0, computed from it (section 7.1).
  Bytes iv;
  const CounterBlock* pre_counter;
  bool is_counter_public = false;
  // The additional data, and its GHASH.
  Bytes aad;
  const HashValue* aad_hash;
  // The tag that came with the message, for kernels over libraries that compare tags but never tell
  // the right one. They answer with this tag if it matches, else with another.
  Bytes claimed_tag = {};
};
using WholeMessageFunction = void (*)(const KernelKeys&, const WholeMessage&, Tag& tag) noexcept;

// A whole data unit of XTS: one block or more.
struct DataUnit {
  Text text;
  const UnitNumber* number;
};
using DataUnitFunction = void (*)(const KernelKeys&, const DataUnit&) noexcept;

// A row's raw modes, in two tables in the order of Operation; null where the kernel lacks a mode.
// Filled by name (ModeRuns{}.with(Operation::ctr, run)) or all at once by mode_runs.hpp.
struct ModeRuns {
  PieceFunction piece[operation_count] = {};  // of parallel formulas
  ChainFunction chain[operation_count] = {};  // of chained formulas

  [[nodiscard]] constexpr ModeRuns with(Operation which, PieceFunction run) const {
    ModeRuns more = *this;
    more.piece[place(which, false)] = run;
    return more;
  }
  [[nodiscard]] constexpr ModeRuns with(Operation which, ChainFunction run) const {
    ModeRuns more = *this;
    more.chain[place(which, true)] = run;
    return more;
  }

  // Tables are constants, so a function of the wrong kind does not compile.
  static constexpr unsigned place(Operation which, bool is_chained) {
    return formula_of(which).is_chained() == is_chained ? static_cast<unsigned>(which)
                                                        : throw which;
  }
};

// A row's functions for AES-GCM; null where the kernel lacks one. Counter mode is Operation::ctr.
struct GcmRuns {
  HashFunction hash = nullptr;         // section 6.4
  GcmPieceFunction encrypt = nullptr;  // and hashes what it wrote
  GcmPieceFunction decrypt = nullptr;  // and hashes what it read
  WholeMessageFunction seal = nullptr;
  WholeMessageFunction open = nullptr;    // computes the tag and decrypts; the caller compares
  WholeMessageFunction verify = nullptr;  // only computes the tag
};

// XTS of a row over a library that itself encrypts the units' numbers.
struct DataUnitRuns {
  void (*prepare)(Bytes both_keys, KernelKeys& keys) = nullptr;  // otherwise as Kernel::prepare
  DataUnitFunction encrypt = nullptr;
  DataUnitFunction decrypt = nullptr;
};

enum class Cipher : unsigned { aes, des_ede3 };

[[nodiscard]] constexpr std::size_t block_bytes_of(Cipher cipher) noexcept {
  return cipher == Cipher::aes ? 16 : 8;
}

enum class Use : unsigned {
  automatic,  // dispatch may choose it
  by_name,    // runs when named, with its warning
};

struct Kernel {
  const char* name;
  Cipher cipher;
  Use use;
  const char* summary;            // one line for `paes devices`
  const char* warning = nullptr;  // printed whenever it is used
  CpuFeatures needs = {};
  bool wants_512_bit = false;  // chosen automatically only where 512-bit registers pay
  unsigned lanes;              // blocks in flight; tests choose their sizes by it
  // Returns why the kernel cannot run here although no feature is missing, or null.
  const char* (*unavailable)() = nullptr;
  // Fills `keys` from a key whose length the cipher has. Throws only if the kernel owns resources
  // (`release` is then not null). AES rows take prepare_aes.
  void (*prepare)(Bytes key, KernelKeys& keys);
  // Null if keys are nothing but memory, which its owner wipes.
  void (*release)(KernelKeys& keys) noexcept = nullptr;
  ModeRuns modes;
  GcmRuns gcm = {};         // AES only
  DataUnitRuns units = {};  // null: the row takes pieces of XTS like those of any other mode

  [[nodiscard]] PieceFunction run(Operation which) const noexcept {
    return modes.piece[static_cast<unsigned>(which)];
  }
  [[nodiscard]] ChainFunction run_chains(Operation which) const noexcept {
    return modes.chain[static_cast<unsigned>(which)];
  }
  [[nodiscard]] bool has(Operation which) const noexcept {
    return run(which) != nullptr || run_chains(which) != nullptr;
  }
  [[nodiscard]] constexpr bool takes_whole_units() const noexcept {
    return units.prepare != nullptr;
  }
};

}  // namespace paes
