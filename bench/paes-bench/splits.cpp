// SPDX-License-Identifier: Apache-2.0
#include "paes-bench/splits.hpp"

#include <algorithm>
#include <cstring>

#include "cipher/aes_compute.hpp"

namespace paes::cli {

namespace {

// FIPS 197, section 5.1, with one thread per byte of SubBytes and per row of ShiftRows.
void encrypt_inside(const RoundKeys& keys, Block& state, const Executor& executor) {
  const auto sub_bytes = [&] {
    executor.for_each(block_bytes, [&](std::size_t i) {
      state.bytes[i] = aes_compute::sbox.image[state.bytes[i]];
    });
  };
  const auto shift_rows = [&] {
    const Block before = state;
    executor.for_each(4, [&](std::size_t row) {
      for (std::size_t column = 0; column < 4; ++column) {
        state.bytes[row + 4 * column] = before.bytes[row + 4 * ((column + row) % 4)];
      }
    });
  };
  aes_compute::add_round_key(state, keys.key[0]);
  for (unsigned round = 1; round < keys.rounds; ++round) {
    sub_bytes();
    shift_rows();
    aes_compute::mix_columns(state);
    aes_compute::add_round_key(state, keys.key[round]);
  }
  sub_bytes();
  shift_rows();
  aes_compute::add_round_key(state, keys.key[keys.rounds]);
}

template <class Encrypt>
void for_blocks(Bytes in, MutableBytes out, std::size_t first, std::size_t count,
                const Encrypt& encrypt) {
  for (std::size_t at = first * block_bytes; at < (first + count) * block_bytes;
       at += block_bytes) {
    Block state;
    std::memcpy(state.bytes, in.data() + at, block_bytes);
    encrypt(state);
    std::memcpy(out.data() + at, state.bytes, block_bytes);
  }
}

}  // namespace

void encrypt_split(Split split, Bytes key, Bytes in, MutableBytes out, const Executor& executor,
                   std::size_t run_blocks) {
  RoundKeys keys;
  expand_key(key, keys);
  const auto alone = [&](Block& state) { aes_compute::encrypt_block(keys, state); };
  const auto together = [&](Block& state) { encrypt_inside(keys, state, executor); };
  const std::size_t blocks = in.size() / block_bytes;
  if (split == Split::inside) {
    for_blocks(in, out, 0, blocks, together);
    return;
  }
  executor.for_each((blocks + run_blocks - 1) / run_blocks, [&](std::size_t run) {
    const std::size_t first = run * run_blocks;
    const std::size_t count = std::min(run_blocks, blocks - first);
    if (split == Split::nested) {
      for_blocks(in, out, first, count, together);
    } else {
      for_blocks(in, out, first, count, alone);
    }
  });
}

}  // namespace paes::cli
