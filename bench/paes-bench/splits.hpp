// SPDX-License-Identifier: Apache-2.0
// Ways to cut AES-128-ECB encryption into parallel work, other than into pieces of the message:
// what `paes-bench threads` compares with the program's own way. They compute each step of FIPS
// 197, as the kernel `compute` does, and exist to be measured.
#pragma once

#include "core/bytes.hpp"
#include "exec/executor.hpp"

namespace paes::cli {

enum class Split {
  pieces,  // the program's: pieces go to threads, a kernel computes each
  blocks,  // runs of blocks go to threads, each block is computed by its thread alone
  inside,  // block after block; SubBytes and ShiftRows of each are parallel regions of their own
  nested,  // both: runs of blocks go to threads, and each opens those regions
};

// `key` has 16 bytes, `in` whole blocks; `run_blocks` is how many blocks go to a thread at a time.
// Not for `pieces`.
void encrypt_split(Split split, Bytes key, Bytes in, MutableBytes out, const Executor& executor,
                   std::size_t run_blocks);

}  // namespace paes::cli
