// SPDX-License-Identifier: Apache-2.0
// Ways to divide AES-128-ECB encryption into parallel work other than by pieces of the message;
// `paes-bench threads` compares them with the program's own way. They compute each step of FIPS
// 197, like the kernel `compute`, and exist only to be measured.
#pragma once

#include "core/bytes.hpp"
#include "exec/executor.hpp"

namespace paes::cli {

enum class Split {
  pieces,  // the program's: pieces go to threads, a kernel computes each
  blocks,  // threads get runs of blocks, and compute each block alone
  inside,  // block after block; SubBytes and ShiftRows of each are separate parallel regions
  nested,  // both: threads get runs of blocks, and each opens those regions
};

// `key` has 16 bytes, `in` whole blocks. A thread gets `run_blocks` blocks at a time. Not for
// `pieces`.
void encrypt_split(Split split, Bytes key, Bytes in, MutableBytes out, const Executor& executor,
                   std::size_t run_blocks);

}  // namespace paes::cli
