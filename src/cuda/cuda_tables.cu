// SPDX-License-Identifier: Apache-2.0
// The device kernel `cuda_tables`, the fast one for AES: T-tables (cipher/aes_tables.hpp says what
// they are) in shared memory, 32 copies of each. Entry b of a table is a row of 32 equal words, one
// in each bank, and a lane reads only the word in its own bank. So look-ups never conflict,
// whatever the data, and their time does not depend on it. A row has 128 bytes, so that an address
// (byte << 7 | lane << 2) is one sum of products of bytes.
//
// If shared memory has room, there are four tables. Look-ups then take longest, so the last round,
// whose look-ups would bring one byte each, is done by logic instead (aes_logic.hpp). Otherwise
// there is one table, a rotation replaces each of the other three, and the last round of decryption
// has a table of its own.
//
// Round keys come from constant memory, where each slot has its own part. A launch first copies
// them there, on its stream, from the key's image in device memory.
#include <cstring>

#include "cipher/aes_tables.hpp"
#include "cuda/aes_logic.hpp"
#include "cuda/gcm_runs.hpp"
#include "cuda/grid.hpp"

namespace paes::cuda {
namespace {

struct AesTableEntries {
  std::uint32_t forward[256];
  std::uint32_t inverse[256];
  std::uint32_t inverse_last[256];  // the inverse S-box in all four bytes
};

constexpr AesTableEntries make_aes_table_entries() {
  AesTableEntries entries = {};
  const aes_tables::Tables forward = aes_tables::make_tables(aes_compute::sbox, {2, 1, 1, 3});
  const aes_tables::Tables inverse =
      aes_tables::make_tables(aes_compute::inverse_sbox, {14, 9, 13, 11});
  for (unsigned b = 0; b < 256; ++b) {
    entries.forward[b] = forward.entry[0][b];
    entries.inverse[b] = inverse.entry[0][b];
    entries.inverse_last[b] = aes_compute::inverse_sbox.image[b] * 0x01010101U;
  }
  return entries;
}

PAES_DEVICE_TABLE AesTableEntries aes_table_entries = make_aes_table_entries();

// Round keys in the order of use.
struct AesKeyColumns {
  std::uint32_t word[4 * (RoundKeys::max_rounds + 1)];
};

// In constant memory, from which an instruction can take an operand.
PAES_CONSTANT_KEYS(AesKeyColumns, aes_key_columns);

struct AesTablesKeys {
  const AesKeyColumns* columns;  // where the emulation reads them
  unsigned slot;                 // where the device reads them
  unsigned rounds;

  PAES_DEVICE const std::uint32_t* in_slot() const {
#if defined(__CUDA_ARCH__)
    return aes_key_columns[slot].keys.word;
#else
    return columns->word;
#endif
  }
};

template <unsigned Tables, bool Inverse, unsigned Rounds>
class AesTablesCore {
 public:
  static constexpr unsigned block_bytes = 16;
  static constexpr unsigned blocks = 1;
  static constexpr bool inverse = Inverse;
  using Keys = AesTablesKeys;
  static constexpr unsigned threads = Tables == 4 ? 1024 : 512;
  static constexpr unsigned table_bytes = Tables * 32768;
  static constexpr bool looks_up_last = Tables == 1;  // in the last round
  static constexpr unsigned shared_bytes = table_bytes + (looks_up_last && Inverse ? 32768 : 0);
  using FillsNoKeys = void;
  // The keys of more rounds do not fit the 63 uniform registers, which instructions read at no
  // cost. Those beyond would be moved for each block.
  static constexpr unsigned most_unrolled_rounds = 12;

  PAES_DEVICE static void fill(std::uint8_t* shared, const Keys& /*keys*/, const Thread& thread) {
    auto* const words = reinterpret_cast<std::uint32_t*>(shared);
    for (unsigned at = thread.index; at < table_bytes / 4; at += thread.threads) {
      const unsigned table = at >> 13;
      const unsigned byte = (at >> 5) & 255;
      const std::uint32_t entry =
          Inverse ? aes_table_entries.inverse[byte] : aes_table_entries.forward[byte];
      words[at] = shift_left(entry, entry, 8 * table);
    }
    if constexpr (looks_up_last && Inverse) {
      for (unsigned at = thread.index; at < 8192; at += thread.threads) {
        words[table_bytes / 4 + at] = aes_table_entries.inverse_last[at >> 5];
      }
    }
  }

  PAES_DEVICE AesTablesCore(const std::uint8_t* shared, const Keys& keys, const Thread& thread)
      : tables_(shared),
        key_(keys.in_slot()),
        rounds_(keys.rounds),
        lane_(tables_.address() + thread.lane() * 4) {}

  PAES_DEVICE void crypt(Words<16> (&state)[blocks]) const {
    Words<16>& s = state[0];
    PAES_UNROLL
    for (unsigned column = 0; column < 4; ++column) {
      s.word[column] ^= key_[column];
    }
    finish<0>(s);
  }

  // For counter blocks that differ in one byte of the last column. Round 1 sends that byte to one
  // column, whose other three bytes are the same for all; round 2 sends that column to one byte of
  // each column.
  using SharesCounters = void;

  template <unsigned Byte>
  struct CounterStart {
    static constexpr unsigned row = Byte - 12;
    static constexpr unsigned column = 3 - row;  // where round 1 sends it
    static constexpr std::uint32_t varying_bits = 0xffU << (8 * (3 - row));  // of the count
    std::uint32_t first;
    std::uint32_t second[4];
  };

  template <unsigned Byte>
  PAES_DEVICE CounterStart<Byte> start_counter(Words<16> counter) const {
    using Start = CounterStart<Byte>;
    Start start = {};
    Words<16> after = {};
    PAES_UNROLL
    for (unsigned column = 0; column < 4; ++column) {
      counter.word[column] ^= key_[column];
    }
    PAES_UNROLL
    for (unsigned column = 0; column < 4; ++column) {
      after.word[column] = key_[4 + column];
      add_rows<Start::column, Start::row>(after.word[column], counter, column);
    }
    start.first = after.word[Start::column];
    PAES_UNROLL
    for (unsigned column = 0; column < 4; ++column) {
      start.second[column] = key_[8 + column];
      PAES_UNROLL
      for (unsigned row = 0; row < 4; ++row) {
        if ((column + row) % 4 != Start::column) {
          start.second[column] ^= look_up(after.word[(column + row) % 4], row);
        }
      }
    }
    return start;
  }

  // `last` is the counter's last column.
  template <unsigned Byte>
  PAES_DEVICE Words<16> crypt_counter(const CounterStart<Byte>& start, std::uint32_t last) const {
    using Start = CounterStart<Byte>;
    const std::uint32_t first = start.first ^ look_up(last ^ key_[3], Start::row);
    Words<16> state = {};
    PAES_UNROLL
    for (unsigned column = 0; column < 4; ++column) {
      state.word[column] = start.second[column] ^ look_up(first, (4 + Start::column - column) % 4);
    }
    finish<2>(state);
    return state;
  }

 private:
  // Column `column` of round 1, without the byte that varies.
  template <unsigned VaryingColumn, unsigned VaryingRow>
  PAES_DEVICE void add_rows(std::uint32_t& sum, const Words<16>& from, unsigned column) const {
    PAES_UNROLL
    for (unsigned row = 0; row < 4; ++row) {
      if (column != VaryingColumn || row != VaryingRow) {
        sum ^= look_up(from.word[(column + row) % 4], row);
      }
    }
  }

  PAES_DEVICE static constexpr unsigned source(unsigned column, unsigned row) {
    return (column + (Inverse ? 4 - row : row)) % 4;
  }

  // Looks table `row` up at byte `row` of the column.
  PAES_DEVICE std::uint32_t look_up(std::uint32_t column, unsigned row) const {
    return look_up(column, row, row);
  }
  PAES_DEVICE std::uint32_t look_up(std::uint32_t column, unsigned row, unsigned table) const {
    if constexpr (Tables == 4) {
      return tables_.word(place(column, row) + table * 32768);
    } else {
      const std::uint32_t entry = tables_.word(place(column, row));
      return shift_left(entry, entry, 8 * table);
    }
  }
  // byte << 7 | lane << 2: where the first table has this lane's copy of the byte's entry. One
  // instruction computes the whole address, on a pipe that has nothing else to do.
  PAES_DEVICE std::uint32_t place(std::uint32_t column, unsigned row) const {
    return dot_bytes(column, 128U << (8 * row), lane_);
  }

  // One byte of the last round's column, in its place. The caller drops the word's other bytes.
  PAES_DEVICE std::uint32_t last_look_up(std::uint32_t column, unsigned row) const {
    if constexpr (Inverse) {
      return tables_.word(table_bytes + place(column, row));
    } else {
      // Bytes 1 and 2 of an entry are the S-box's byte itself.
      return look_up(column, row, row == 0 || row == 3 ? 2 : 0);
    }
  }

  PAES_DEVICE void round(Words<16>& s, const std::uint32_t* key) const {
    Words<16> next = {};
    PAES_UNROLL
    for (unsigned column = 0; column < 4; ++column) {
      next.word[column] = look_up(s.word[source(column, 0)], 0) ^
                          look_up(s.word[source(column, 1)], 1) ^
                          look_up(s.word[source(column, 2)], 2) ^
                          look_up(s.word[source(column, 3)], 3) ^ key[column];
    }
    s = next;
  }

  // The rounds that are left after `Done` rounds.
  template <unsigned Done>
  PAES_DEVICE void finish(Words<16>& s) const {
    const unsigned rounds = Rounds == 0 ? rounds_ : Rounds;
    if constexpr (Rounds > most_unrolled_rounds && Done == 0) {
      PAES_KEEP_LOOP
      for (unsigned r = 1; r + 1 < Rounds; r += 2) {
        round(s, key_ + std::size_t{4} * r);
        round(s, key_ + std::size_t{4} * (r + 1));
      }
      if constexpr (Rounds % 2 == 0) {
        round(s, key_ + std::size_t{4} * (Rounds - 1));
      }
    } else if constexpr (Rounds != 0) {
      PAES_UNROLL
      for (unsigned r = Done + 1; r < Rounds; ++r) {
        round(s, key_ + std::size_t{4} * r);
      }
    } else {
      PAES_KEEP_LOOP
      for (unsigned r = Done + 1; r < rounds; ++r) {
        round(s, key_ + std::size_t{4} * r);
      }
    }
    last_round(s, key_ + std::size_t{4} * rounds);
  }

  PAES_DEVICE void last_round(Words<16>& s, const std::uint32_t* key) const {
    Words<16> last = {};
    if constexpr (!looks_up_last) {
      last = shift_rows_and_sub_bytes<Inverse>(s);
    } else {
      PAES_UNROLL
      for (unsigned column = 0; column < 4; ++column) {
        const std::uint32_t low = byte_permute(last_look_up(s.word[source(column, 0)], 0),
                                               last_look_up(s.word[source(column, 1)], 1), 0x5550);
        const std::uint32_t high = byte_permute(last_look_up(s.word[source(column, 2)], 2),
                                                last_look_up(s.word[source(column, 3)], 3), 0x7244);
        last.word[column] = byte_permute(low, high, 0x7610);
      }
    }
    PAES_UNROLL
    for (unsigned column = 0; column < 4; ++column) {
      s.word[column] = last.word[column] ^ key[column];
    }
  }

  SharedWords tables_;
  const std::uint32_t* key_;
  unsigned rounds_;
  std::uint32_t lane_;  // the address of this lane's copies
};

struct Image {
  AesKeyColumns columns[2];  // of both directions
  HashLevel hash[hash_levels];
};

}  // namespace

#if defined(PAES_LAUNCHES)

namespace {

// Cores of both directions, for run_operation.
template <unsigned Tables, unsigned Rounds>
struct Cores {
  template <bool Inverse>
  using Core = AesTablesCore<Tables, Inverse, Rounds>;
};
// Cores that need little shared memory and take any number of rounds.
using SmallCores = Cores<1, 0>;

// Calls `run(keys)` once the slot has the key of one direction.
template <class Run>
int with_keys(const Launch& launch, bool inverse, const Run& run) {
  AesTablesKeys keys = {&static_cast<const Image*>(launch.image)->columns[inverse ? 1 : 0],
                        launch.slot, static_cast<unsigned>(launch.key_bytes / 4 + 6)};
  const int error = copy_to_slot(aes_key_columns, keys.columns, launch);
  return error != 0 ? error : run(keys);
}

int wipe_keys(const Launch& launch) { return wipe_slot(aes_key_columns, launch); }

// Calls `run(cores)` with cores that have all four tables and unrolled rounds.
template <class Run>
int with_large_cores(unsigned rounds, const Run& run) {
  switch (rounds) {
    case 10:
      return run(Cores<4, 10>());
    case 12:
      return run(Cores<4, 12>());
    default:
      return run(Cores<4, 14>());
  }
}

// Calls `run(cores)`: with those cores if the device has `shared_bytes`, else with small ones.
template <class Run>
int with_cores(const Launch& launch, std::size_t shared_bytes, unsigned rounds, const Run& run) {
  return launch.shape.shared_bytes < shared_bytes ? run(SmallCores())
                                                  : with_large_cores(rounds, run);
}

int run(const Launch& launch, const Job& job) {
  return with_keys(launch, formula_of(job.operation).inverse, [&](const AesTablesKeys& keys) {
    constexpr std::size_t shared_bytes = Cores<4, 10>::Core<true>::shared_bytes;
    return with_cores(launch, shared_bytes, keys.rounds, [&]<class Chosen>(Chosen) {
      return run_operation<Chosen::template Core>(launch, job, keys);
    });
  });
}

int run_tweaks(const Launch& launch, const TweakJob& job) {
  return with_keys(launch, false, [&](const AesTablesKeys& keys) {
    return run_tweaks_on_grid<SmallCores::Core<false>>(launch, job, keys);
  });
}

int run_gcm(const Launch& launch, const GcmJob& whole_job) {
  return with_keys(launch, false, [&](const AesTablesKeys& keys) {
    const auto run_text = [&](const GcmJob& job, const HashLevel* level) {
      // If text is only hashed, a message encrypts a single block, so small cores will do.
      const auto with = [&]<class Tables>(Tables*) {
        return [&]<class Chosen>(Chosen) {
          return run_flow<typename Chosen::template Core<false>, SmallCores::Core<false>, Tables>(
              launch, job, keys, level);
        };
      };
      // If there is room for the hash's large tables, there is for the cipher's.
      if (launch.shape.shared_bytes >=
          GcmCore<Cores<4, 10>::Core<false>, ByteTables>::shared_bytes) {
        return with_large_cores(keys.rounds, with(static_cast<ByteTables*>(nullptr)));
      }
      constexpr std::size_t shared_bytes =
          GcmCore<Cores<4, 10>::Core<false>, NibbleTables>::shared_bytes;
      return with_cores(launch, shared_bytes, keys.rounds,
                        with(static_cast<NibbleTables*>(nullptr)));
    };
    return run_gcm_levels(launch, whole_job, static_cast<const Image*>(launch.image)->hash,
                          run_text);
  });
}

}  // namespace

PAES_LAUNCHES(cuda_tables, run, run_tweaks, run_gcm, wipe_keys,
              find_on_grid<AesTablesCore<1, false, 0>, Operation::ctr>);

#else

namespace {

void prepare(Bytes key, std::uint8_t* image) {
  RoundKeys round_keys;
  const WipeOnExit wiped({reinterpret_cast<std::uint8_t*>(&round_keys), sizeof round_keys});
  expand_key(key, round_keys);
  aes_tables::Keys keys = {};
  const WipeOnExit wiped_keys({reinterpret_cast<std::uint8_t*>(&keys), sizeof keys});
  aes_tables::prepare(round_keys, keys);
  auto* const ready = reinterpret_cast<Image*>(image);
  std::memcpy(ready->columns[0].word, keys.forward, sizeof keys.forward);
  std::memcpy(ready->columns[1].word, keys.inverse, sizeof keys.inverse);
  Block h = {};
  const WipeOnExit wiped_h(h.bytes);
  aes_tables::encrypt_blocks<1>(keys, h.bytes, h.bytes);
  make_hash_levels(h, ready->hash);
}

}  // namespace

const DeviceKernel device_kernel_cuda_tables = {
    .name = "cuda_tables",
    .cipher = Cipher::aes,
    .summary = "look-ups in shared memory, each lane in a bank of its own",
    .warning = nullptr,
    .blocks = 1,
    .takes_gcm = true,
    .image_bytes = sizeof(Image),
    .prepare = prepare,
    .device = PAES_ON_DEVICE(cuda_tables),
};

#endif

}  // namespace paes::cuda
