// SPDX-License-Identifier: Apache-2.0
// Keystream that is computed before the data is there: encrypting a block of a file takes only an
// XOR.
#include <array>
#include <chrono>
#include <cstdio>
#include <paes/keystream.hpp>
#include <paes/nonces.hpp>
#include <vector>

int main() {
  paes::KeystreamEngine engine({.workers = 1});
  const std::vector<std::uint8_t> key(32, 7);
  const paes::KeystreamKey bound = engine.bind("aes-256-ctr", key);
  paes::NonceAllocator nonces = paes::NonceAllocator::in_process();
  const paes::Nonce nonce = nonces.allocate();
  paes::KeystreamContext file =
      engine.open(bound, nonce.first_counter(), {.limit_bytes = nonce.limit_bytes});

  std::array<std::uint8_t, 4096> block = {};
  std::array<std::uint8_t, 4096> back = {};
  for (std::uint64_t offset = 0; offset < 64 * block.size(); offset += block.size()) {
    file.encrypt(offset, block, back);
    file.decrypt(offset, back, back);
    if (back != block) {
      std::puts("wrong text");
      return 1;
    }
  }
  std::printf("64 blocks on the kernel %s\n", std::string(bound.kernel()).c_str());
  return 0;
}
