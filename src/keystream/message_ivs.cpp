// SPDX-License-Identifier: Apache-2.0
#include "keystream/message_ivs.hpp"

#include <cstring>

namespace paes::keystream {

namespace {

constexpr std::size_t counted_at = 4;  // in a nonce, after the fixed field

}  // namespace

void CountedIvs::make(std::uint64_t message, std::uint8_t* iv) const noexcept {
  std::memcpy(iv, first_.bytes, sizeof first_.bytes);
  store_be64(iv + counted_at, load_be64(iv + counted_at) + message);
}

EncryptedIvs::EncryptedIvs(Bytes key, const Kernel& kernel) : kernel_(kernel) {
  kernel_.prepare(key, *keys_);
}

EncryptedIvs::~EncryptedIvs() {
  if (kernel_.release != nullptr) {
    kernel_.release(*keys_);
  }
}

// Every kernel with GCM has counter mode, in which zeros become the encrypted counter.
void EncryptedIvs::make(std::uint64_t message, std::uint8_t* iv) const noexcept {
  CounterBlock number = {};
  store_be64(number.bytes + sizeof number.bytes - sizeof message, message);
  std::memset(iv, 0, block_bytes);
  kernel_.run(Operation::ctr)(
      *keys_, {.text = {iv, iv, block_bytes}, .counter = &number, .is_counter_public = true});
}

}  // namespace paes::keystream
