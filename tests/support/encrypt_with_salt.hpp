// SPDX-License-Identifier: Apache-2.0
// A container with a chosen input key and salt, for tests that compare bytes. No library offers
// this: a salt used twice with one input key reuses nonces.
#pragma once

#include <utility>

#include "stream/container/chunk_cipher.hpp"
#include "stream/container/container_file.hpp"

namespace paes::stream {

inline Totals encrypt_with_salt(Source& input, Output& output, container::Suite suite,
                                Bytes envelope, Bytes input_key, Bytes salt, const Work& work) {
  const container::Header header = container::layout({suite}, envelope.size());
  auto cipher = std::make_unique<ChunkCipher>(suite, input_key, container::context(suite), salt,
                                              work.kernel, work.device_use);
  std::vector<std::uint8_t> head = encode_head(header, envelope, salt, cipher->commitment());
  return encrypt_file(input, output, {header.payload_offset(), std::move(head), std::move(cipher)},
                      work);
}

}  // namespace paes::stream
