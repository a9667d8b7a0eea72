// SPDX-License-Identifier: Apache-2.0
// GCM on a warp. It takes a whole message, or a chunk of a part of one, encrypts or decrypts it in
// counter mode, and hashes the ciphertext, each lane every 32nd block. The grid adds up the lanes'
// hashes; everything else is here. The Core comes from mode_loop.hpp and encrypts one block at a
// time, or has no cipher if text is only hashed.
#pragma once

#include "cuda/ghash_tables.hpp"
#include "cuda/mode_loop.hpp"

namespace paes::cuda {
namespace {  // NOLINT

// What happens to the text between in and out.
enum class TextFlow : unsigned { encrypt, decrypt, hash };

// A warp's part of the job.
struct HashUnit {
  const std::uint8_t* in;
  std::uint8_t* out;
  std::uint64_t bytes;
  Counter counter;  // of its first block
  Words<16> pre_counter;
};

// A part's first chunk is the short one: all chunks end whole chunks before the part's end.
template <TextFlow Flow>
[[nodiscard]] PAES_DEVICE HashUnit hash_unit(const GcmJob& job, std::uint64_t index) {
  HashUnit unit = {};
  const bool is_message = takes_messages(job.operation);
  std::uint64_t first = 0;
  std::uint64_t before = 0;  // blocks from the job's counter to the first of this unit
  if (is_message) {
    unit.bytes = index + 1 == job.count ? job.last_text_bytes : job.text_bytes;
    before = 1;
  } else {
    const std::uint64_t blocks = (job.text_bytes + block_bytes - 1) / block_bytes;
    const std::uint32_t chunk = job.chunk_blocks;
    const std::uint64_t after = (hash_chunks(blocks, chunk) - index - 1) * chunk;
    const std::uint64_t end = blocks == 0 ? 0 : blocks - after;
    before = index == 0 ? 0 : end - chunk;
    first = before * block_bytes;
    unit.bytes = (end * block_bytes < job.text_bytes ? end * block_bytes : job.text_bytes) - first;
  }
  unit.in = static_cast<const std::uint8_t*>(job.in) + (is_message ? index * job.in_stride : first);
  // A job that only hashes has no `out`. The address is computed as a pointer: after a detour
  // through an integer, the compiler would no longer know that it is in global memory, and would
  // have to assume that a store there may change the tables in shared memory.
  if constexpr (Flow != TextFlow::hash) {
    unit.out = static_cast<std::uint8_t*>(job.out) + (is_message ? index * job.out_stride : first);
  }
  if (job.counters != nullptr) {
    unit.pre_counter = load_words<16>(job.counters + (is_message ? index : 0));
    unit.counter = counter_of(unit.pre_counter, true);
    unit.counter.low = (unit.counter.low & 0xffffffff00000000) | unit.counter.last_word(before);
  }
  return unit;
}

// The units of one warp. Consecutive units go to different thread blocks, so that even a few keep
// all multiprocessors busy.
struct GcmUnits {
  std::uint64_t at;
  std::uint64_t end;
  std::uint64_t stride;

  PAES_DEVICE GcmUnits(const GcmJob& job, const Thread& thread)
      : at(std::uint64_t{uniform(thread.index / warp_lanes)} * thread.blocks + thread.block),
        end(hash_units(job)),
        stride(std::uint64_t{thread.blocks} * (thread.threads / warp_lanes)) {}
  [[nodiscard]] PAES_DEVICE bool has_more() const { return at < end; }
  PAES_DEVICE void next() { at += stride; }
};

// `Tables` are those of the hash: NibbleTables, or ByteTables if shared memory has room for them.
template <class Core, class Tables = NibbleTables>
class GcmCore {
 public:
  static_assert(Core::blocks == 1 && Core::block_bytes == 16 && !Core::inverse);
  // Fewer than for the cipher alone, because the product needs registers.
  static constexpr unsigned threads = Core::threads < 640 ? Core::threads : 640;
  static constexpr unsigned shared_bytes = Core::shared_bytes + Tables::shared_bytes;
  // The cipher's memory comes first, and `fill` leaves no keys in it.
  static constexpr unsigned constant_bytes = Core::shared_bytes;
  struct Keys {
    typename Core::Keys cipher;
    const HashLevel* level;
  };

  PAES_DEVICE static void fill(std::uint8_t* shared, const Keys& keys, const Thread& thread) {
    Core::fill(shared, keys.cipher, thread);
    fill_keys(shared, keys, thread);
  }
  PAES_DEVICE static void fill_keys(std::uint8_t* shared, const Keys& keys, const Thread& thread) {
    Tables::fill(shared + Core::shared_bytes, *keys.level, thread.index, thread.threads);
  }

  // NOLINTNEXTLINE(readability-non-const-parameter): ciphers may write into it
  PAES_DEVICE GcmCore(std::uint8_t* shared, const Keys& keys, const Thread& thread)
      : cipher_(shared, keys.cipher, thread),
        hash_(shared + Core::shared_bytes, thread.lane()),
        lane_(thread.lane()) {}

  // Processes this lane's blocks and returns their part of the hash of the unit's ciphertext. A
  // message's hash starts from the hash of its additional data, a part's from zero.
  template <TextFlow Flow>
  PAES_DEVICE FieldWords lane_part(const GcmJob& job, const HashUnit& unit) const {
    FieldWords sum = {};
    const bool has_aad = takes_messages(job.operation) && job.aad_hash != nullptr;
    const std::uint64_t blocks = (unit.bytes + block_bytes - 1) / block_bytes;
    if (blocks == 0) {
      return has_aad && lane_ == 0 ? field_of(load_words<16>(job.aad_hash)) : sum;
    }
    // Rows are padded at the front, so that the last block is the last lane's.
    const std::uint64_t rows = (blocks + warp_lanes - 1) / warp_lanes;
    // The number of this lane's block. Padding before the text has numbers below zero, which wrap
    // to numbers above all blocks.
    std::uint64_t index = blocks - rows * warp_lanes + lane_;
    CounterBlocks counters(cipher_, unit.counter, index);
    if (index == 0 && has_aad) {
      sum = field_of(load_words<16>(job.aad_hash));
    }
    // All lanes go through all rows, without a branch that separates them, so that addresses that
    // are the same for all stay in uniform registers.
    const std::uint64_t whole = unit.bytes / block_bytes;
    PAES_KEEP_LOOP
    for (std::uint64_t row = 1;; ++row, index += warp_lanes) {
      sum = sum ^ field_of(text_block<Flow>(unit, index, whole, counters));
      if (row == rows) {
        break;
      }
      sum = hash_.times_horner(sum);
    }
    return hash_.times_join(sum);
  }

  // Turns the sum over the lanes into the result: the unit's hash, or the message's tag (section
  // 7.1, steps 5 and 6). Only the last lane's tag is right, because its power is H itself.
  PAES_DEVICE Words<16> result(const GcmJob& job, const HashUnit& unit,
                               const FieldWords& sum) const {
    if (!takes_messages(job.operation)) {
      return block_of(sum);
    }
    const std::uint64_t aad_bits = job.aad_bytes * 8;
    const std::uint64_t text_bits = unit.bytes * 8;
    const FieldWords lengths = {
        {static_cast<std::uint32_t>(aad_bits >> 32), static_cast<std::uint32_t>(aad_bits),
         static_cast<std::uint32_t>(text_bits >> 32), static_cast<std::uint32_t>(text_bits)}};
    Words<16> mask[1] = {unit.pre_counter};
    cipher_.crypt(mask);
    return mask[0] ^ block_of(hash_.times_join(sum ^ lengths));
  }

 private:
  // Keystream for the blocks that this lane goes through in order.
  class CounterBlocks {
   public:
    PAES_DEVICE CounterBlocks(const Core& cipher, const Counter& counter, std::uint64_t first)
        : cipher_(cipher), started_(~counter.last_word(first)) {}

    PAES_DEVICE Words<16> at(const Counter& counter, std::uint64_t index) {
      if constexpr (requires { typename Core::SharesCounters; }) {
        // A lane's counters advance by 32, so eight in a row differ only in their last byte.
        const std::uint32_t last = counter.last_word(index);
        if (((last ^ started_) & ~start_.varying_bits) != 0) {
          start_ = cipher_.template start_counter<15>(counter_block<16>(counter, index));
          started_ = last;
        }
        return cipher_.template crypt_counter<15>(start_, swap_bytes(last));
      } else {
        Words<16> state[1] = {counter_block<16>(counter, index)};
        cipher_.crypt(state);
        return state[0];
      }
    }

   private:
    template <class Cipher, bool Shares>
    struct StartOf {
      struct Type {};
    };
    template <class Cipher>
    struct StartOf<Cipher, true> {
      using Type = typename Cipher::template CounterStart<15>;
    };
    static constexpr bool shares = requires { typename Core::SharesCounters; };

    const Core& cipher_;
    typename StartOf<Core, shares>::Type start_ = {};
    std::uint32_t started_;  // the last word for which start_ was made
  };

  // Encrypts, decrypts or just reads a block. Returns its ciphertext, padded with zeros. `whole` is
  // how many blocks of the unit are whole; the next one may have fewer bytes, and later ones none.
  template <TextFlow Flow>
  PAES_DEVICE static Words<16> text_block(const HashUnit& unit, std::uint64_t index,
                                          std::uint64_t whole, CounterBlocks& counters) {
    // Signed, because there may be padding before the text, which has no bytes.
    const auto at = static_cast<std::ptrdiff_t>(index * block_bytes);
    const bool is_whole = index < whole;
    const unsigned bytes = index == whole ? static_cast<unsigned>(unit.bytes % block_bytes) : 0;
    Words<16> in;
    if (is_whole) {
      in = load_words<16>(unit.in + at);
    } else {
      in = load_partial<16>(unit.in + at, bytes);
    }
    if constexpr (Flow == TextFlow::hash) {
      return in;
    } else {
      Words<16> out = in ^ counters.at(unit.counter, index);
      if (is_whole) {
        store_words(unit.out + at, out);
      } else {
        store_partial(unit.out + at, out, bytes);
        out = first_bytes(out, bytes);
      }
      return Flow == TextFlow::encrypt ? out : in;
    }
  }

  Core cipher_;
  Tables hash_;
  unsigned lane_;
};

}  // namespace
}  // namespace paes::cuda
