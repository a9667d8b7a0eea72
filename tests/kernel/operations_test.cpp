// Every kernel's single operations against libcrypto's AES and the portable GHASH: positions far
// into a message, pieces in any order, hashes in parts. What `message` builds on.
#include <gtest/gtest.h>

#include <algorithm>

#include "cipher/ghash.hpp"
#include "core/secret.hpp"
#include "guarded_buffer.hpp"
#include "kernel_cases.hpp"
#include "mode/gcm.hpp"
#include "reference.hpp"
#include "varied_bytes.hpp"

namespace paes {
namespace {

using test::Guard;
using test::GuardedBuffer;
using test::varied_bytes;
using Buffer = std::vector<std::uint8_t>;

class PreparedKeys {
 public:
  PreparedKeys(const Kernel& kernel, Bytes key) : kernel_(kernel) { kernel.prepare(key, *keys_); }
  ~PreparedKeys() {
    if (kernel_.release != nullptr) {
      kernel_.release(*keys_);
    }
  }
  PreparedKeys(const PreparedKeys&) = delete;
  PreparedKeys& operator=(const PreparedKeys&) = delete;
  template <typename AnyOperation>
  void run(AnyOperation operation, const ModeState& state, const Piece& piece) const {
    kernel_.run(operation)(*keys_, state, piece);
  }

 private:
  const Kernel& kernel_;
  Secret<KernelKeys> keys_;
};

Block block_of(const Buffer& bytes) {
  Block block;
  std::memcpy(block.bytes, bytes.data(), block_bytes);
  return block;
}

Buffer expected_gctr(Bytes key, const Block& counter, std::uint64_t first_block, Bytes in) {
  Buffer counters(in.size());
  for (std::size_t at = 0; at < in.size(); at += block_bytes) {
    Block block = counter;
    // Written out here, so that an error in gcm::add_counter would show.
    const std::uint64_t sum = load_be32(counter.bytes + 12) + first_block + at / block_bytes;
    for (unsigned i = 0; i < 4; ++i) {
      block.bytes[15 - i] = static_cast<std::uint8_t>(sum >> (8 * i));
    }
    std::memcpy(counters.data() + at, block.bytes, block_bytes);
  }
  Buffer out = test::reference_ecb(key, counters);
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = static_cast<std::uint8_t>(out[i] ^ in[i]);
  }
  return out;
}

Block hash_key(Bytes key) { return block_of(test::reference_ecb(key, Buffer(block_bytes))); }

class Operations : public KernelCase {
 protected:
  static std::size_t many_blocks() { return 4 * std::size_t{kernel().lanes} + 7; }
};

TEST_P(Operations, CounterModeAtAnyPosition) {
  PAES_SKIP_IF_UNAVAILABLE();
  const Buffer text = varied_bytes(many_blocks() * block_bytes, 1);
  for (const std::size_t key_length : {std::size_t{16}, std::size_t{24}, std::size_t{32}}) {
    const Buffer key = varied_bytes(key_length, 2);
    const PreparedKeys keys(kernel(), key);
    const ModeState state{block_of(varied_bytes(block_bytes, 3)), nullptr, 0, nullptr, 0};
    // 2^28 blocks are 4 GiB, 2^32 blocks wrap the counter.
    for (const std::uint64_t first :
         {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{255}, (std::uint64_t{1} << 28) - 3,
          (std::uint64_t{1} << 31) - 1, (std::uint64_t{1} << 32) - 5}) {
      for (std::size_t blocks = 0; blocks <= many_blocks(); ++blocks) {
        const Bytes in(text.data(), blocks * block_bytes);
        Buffer out(in.size());
        keys.run(Operation::ctr, state, Piece{first, in.data(), out.data(), in.size(), nullptr});
        ASSERT_TRUE(out == expected_gctr(key, state.counter, first, in))
            << key_length << " bytes of key, " << blocks << " blocks from " << first;
      }
    }
  }
}

// A kernel may take a shorter way where the counter is public and lies well; it must know when the
// carry leaves the last byte, and when the count wraps.
TEST_P(Operations, PublicCountersAcrossCarries) {
  PAES_SKIP_IF_UNAVAILABLE();
  constexpr std::size_t most_blocks = 600;  // two carries out of the last byte
  const Buffer text = varied_bytes(most_blocks * block_bytes, 10);
  for (const std::size_t key_length : {std::size_t{16}, std::size_t{24}, std::size_t{32}}) {
    const Buffer key = varied_bytes(key_length, 11);
    const PreparedKeys keys(kernel(), key);
    for (const std::uint32_t count : {0U, 1U, 2U, 3U, 18U, 34U, 226U, 242U, 250U, 0xfffffee2U,
                                      0xffffff02U, 0xffffffe2U, 0xfffffff2U}) {
      ModeState state = {};
      state.counter = block_of(varied_bytes(block_bytes, 12));
      store_be32(state.counter.bytes + 12, count);
      state.is_counter_public = true;
      for (const std::size_t blocks :
           {std::size_t{1}, std::size_t{kernel().lanes}, std::size_t{kernel().lanes} + 1,
            std::size_t{254}, std::size_t{258}, most_blocks}) {
        const Bytes in(text.data(), blocks * block_bytes);
        Buffer out(in.size());
        keys.run(Operation::ctr, state, Piece{0, in.data(), out.data(), in.size(), nullptr});
        ASSERT_TRUE(out == expected_gctr(key, state.counter, 0, in))
            << key_length << " bytes of key, " << blocks << " blocks from count " << count;
      }
    }
  }
}

TEST_P(Operations, HashesAndGoesOn) {
  PAES_SKIP_IF_UNAVAILABLE();
  const Buffer key = varied_bytes(16, 4);
  const PreparedKeys keys(kernel(), key);
  const Block h = hash_key(key);
  const Buffer text = varied_bytes(2 * many_blocks() * block_bytes, 5);
  const ModeState unused = {};
  for (std::size_t blocks = 0; blocks <= many_blocks(); ++blocks) {
    Block value = block_of(varied_bytes(block_bytes, blocks));
    Block expected = value;
    const std::size_t bytes = blocks * block_bytes;
    keys.run(GcmOperation::hash, unused, Piece{0, text.data(), nullptr, bytes, &value});
    keys.run(GcmOperation::hash, unused, Piece{0, text.data() + bytes, nullptr, bytes, &value});
    ghash_update(h, expected, text.data(), 2 * blocks);
    ASSERT_EQ(std::memcmp(value.bytes, expected.bytes, block_bytes), 0) << blocks;
  }
}

// The fused operations are gctr and ghash of the ciphertext, in place or not, with nothing touched
// beyond the piece.
TEST_P(Operations, FusedPiecesAreTheirParts) {
  PAES_SKIP_IF_UNAVAILABLE();
  const std::size_t longest = many_blocks() * block_bytes;
  const Buffer text = varied_bytes(longest, 6);
  const GuardedBuffer in(longest);
  const GuardedBuffer out(longest);
  for (const std::size_t key_length : {std::size_t{16}, std::size_t{24}, std::size_t{32}}) {
    const Buffer key = varied_bytes(key_length, 7);
    const PreparedKeys keys(kernel(), key);
    const Block h = hash_key(key);
    const ModeState state{block_of(varied_bytes(block_bytes, 8)), nullptr, 0, nullptr, 0};
    const Block before = block_of(varied_bytes(block_bytes, 9));
    constexpr std::uint64_t first = 77;
    for (std::size_t blocks = 0; blocks <= many_blocks(); ++blocks) {
      const Bytes plaintext(text.data(), blocks * block_bytes);
      const Buffer ciphertext = expected_gctr(key, state.counter, first, plaintext);
      Block hash = before;
      ghash_update(h, hash, ciphertext.data(), blocks);
      for (const Guard side : {Guard::before, Guard::behind}) {
        for (const bool in_place : {false, true}) {
          const MutableBytes from = in.filled(plaintext, side);
          const MutableBytes to = in_place ? from : out.view(from.size(), side);
          Block value = before;
          keys.run(GcmOperation::encrypt, state,
                   Piece{first, from.data(), to.data(), from.size(), &value});
          ASSERT_TRUE(std::equal(to.begin(), to.end(), ciphertext.begin())) << blocks;
          ASSERT_EQ(std::memcmp(value.bytes, hash.bytes, block_bytes), 0) << blocks;

          in.filled(ciphertext, side);
          value = before;
          keys.run(GcmOperation::decrypt, state,
                   Piece{first, from.data(), to.data(), from.size(), &value});
          ASSERT_TRUE(std::equal(to.begin(), to.end(), plaintext.begin())) << blocks;
          ASSERT_EQ(std::memcmp(value.bytes, hash.bytes, block_bytes), 0) << blocks;
        }
      }
    }
  }
}

PAES_FOR_ALL_KERNELS(Operations);

}  // namespace
}  // namespace paes
