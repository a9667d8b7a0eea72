// SPDX-License-Identifier: Apache-2.0
// A kernel's AES-GCM operations by name, for tests that do the same with several.
#pragma once

#include "cipher/mode/gcm_blocks.hpp"
#include "kernel/kernel.hpp"

namespace paes::test {

inline void run_gcm(const Kernel& kernel, GcmOperation operation, const KernelKeys& keys,
                    const WholeMessage& message, Tag& tag) {
  const WholeMessageFunction run = operation == GcmOperation::seal   ? kernel.gcm.seal
                                   : operation == GcmOperation::open ? kernel.gcm.open
                                                                     : kernel.gcm.verify;
  run(keys, message, tag);
}

inline void run_gcm(const Kernel& kernel, GcmOperation operation, const KernelKeys& keys,
                    const GcmPiece& piece, HashValue& hash) {
  if (operation == GcmOperation::hash) {
    kernel.gcm.hash(keys, piece.text.in, piece.text.bytes, hash);
  } else {
    (operation == GcmOperation::encrypt ? kernel.gcm.encrypt : kernel.gcm.decrypt)(keys, piece,
                                                                                   hash);
  }
}

// A message without additional data, given only by its J0. That is enough for all kernels except
// those over libraries.
struct BareMessage {
  CounterBlock pre_counter;
  HashValue no_aad = {};

  [[nodiscard]] WholeMessage with(const Text& text) const {
    return {.text = text,
            .iv = Bytes(pre_counter.bytes).first(gcm::standard_iv_bytes),
            .pre_counter = &pre_counter,
            .aad = {},
            .aad_hash = &no_aad};
  }
};

}  // namespace paes::test
