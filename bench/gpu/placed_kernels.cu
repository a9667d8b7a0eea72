// SPDX-License-Identifier: Apache-2.0
// The kernels of placed_kernels.hpp: AES encryption by four T-tables (cipher/aes_tables.hpp) that
// lie once in constant, global or shared memory, and AES step by step (FIPS 197, section 5.1). A
// thread has one block of the text at a time, and round keys are in constant memory. Only the
// memory differs, and the machine code does not depend on how many threads a thread block has.
//
// Threads of a warp look up different entries. In constant memory, they are served one after the
// other; in shared memory, those whose entries share a bank are.
#include "cipher/aes_tables.hpp"
#include "core/secret.hpp"
#include "cuda/grid.hpp"
#include "gpu/placed_kernels.hpp"

namespace paes::cuda {

#if defined(PAES_LAUNCHES)

namespace {

constexpr aes_tables::Tables make_placed_tables() {
  return aes_tables::make_tables(aes_compute::sbox, {2, 1, 1, 3});
}
PAES_CONSTANT_TABLE aes_tables::Tables constant_tables = make_placed_tables();
PAES_DEVICE_TABLE aes_tables::Tables global_tables = make_placed_tables();
PAES_CONSTANT_TABLE aes_compute::Sbox placed_sbox = aes_compute::make_sbox();
PAES_CONSTANT_KEYS(RoundKeys, placed_round_keys);

// The code is compiled for so many. A launch may have fewer.
constexpr unsigned most_threads = 1024;

struct PlacedKeys {
  const RoundKeys* round_keys;  // where the emulation reads them
  unsigned slot;                // where the device reads them

  PAES_DEVICE const RoundKeys& in_slot() const {
#if defined(__CUDA_ARCH__)
    return placed_round_keys[slot].keys;
#else
    return *round_keys;
#endif
  }
};

template <TablePlace Place>
class PlacedTablesCore {
 public:
  static constexpr unsigned block_bytes = 16;
  static constexpr unsigned blocks = 1;
  static constexpr bool inverse = false;
  using Keys = PlacedKeys;
  static constexpr unsigned threads = most_threads;
  static constexpr bool has_own_tables = Place == TablePlace::shared;
  static constexpr unsigned shared_bytes = has_own_tables ? sizeof(aes_tables::Tables) : 0;
  static constexpr unsigned shared_bytes_of(unsigned /*threads*/) { return shared_bytes; }
  using FillsNoKeys = void;

  PAES_DEVICE static void fill(std::uint8_t* shared, const Keys& /*keys*/, const Thread& thread) {
    if constexpr (has_own_tables) {
      auto* const words = reinterpret_cast<std::uint32_t*>(shared);
      for (unsigned at = thread.index; at < shared_bytes / 4; at += thread.threads) {
        words[at] = global_tables.entry[at / 256][at % 256];
      }
    }
  }

  PAES_DEVICE PlacedTablesCore(const std::uint8_t* shared, const Keys& keys,
                               const Thread& /*thread*/)
      : shared_(shared), keys_(keys) {}

  PAES_DEVICE void crypt(Words<16> (&state)[blocks]) const {
    const RoundKeys& keys = keys_.in_slot();
    const unsigned rounds = keys.rounds;
    Words<16> s = state[0] ^ load_words<16>(&keys.key[0]);
    PAES_KEEP_LOOP
    for (unsigned r = 1; r < rounds; ++r) {
      Words<16> next = load_words<16>(&keys.key[r]);
      PAES_UNROLL
      for (unsigned column = 0; column < 4; ++column) {
        PAES_UNROLL
        for (unsigned row = 0; row < 4; ++row) {
          next.word[column] ^= entry(row, byte(s, column, row));
        }
      }
      s = next;
    }
    Words<16> last = load_words<16>(&keys.key[rounds]);
    PAES_UNROLL
    for (unsigned column = 0; column < 4; ++column) {
      PAES_UNROLL
      for (unsigned row = 0; row < 4; ++row) {
        // Two of the tables have the S-box's byte itself in this row.
        const std::uint32_t found = entry(row == 0 || row == 3 ? 2 : 0, byte(s, column, row));
        last.word[column] ^= found & (0xffU << (8 * row));
      }
    }
    state[0] = last;
  }

 private:
  // The byte that ShiftRows brings to this place.
  PAES_DEVICE static unsigned byte(const Words<16>& s, unsigned column, unsigned row) {
    return (s.word[(column + row) % 4] >> (8 * row)) & 0xff;
  }
  PAES_DEVICE std::uint32_t entry(unsigned table, unsigned index) const {
    if constexpr (Place == TablePlace::constant) {
      return constant_tables.entry[table][index];
    } else if constexpr (Place == TablePlace::global) {
      return global_tables.entry[table][index];
    } else {
      return shared_.word(shared_.address() + 4 * (256 * table + index));
    }
  }

  SharedWords shared_;
  Keys keys_;
};

class PlacedStepsCore {
 public:
  static constexpr unsigned block_bytes = 16;
  static constexpr unsigned blocks = 1;
  static constexpr bool inverse = false;
  using Keys = PlacedKeys;
  static constexpr unsigned threads = most_threads;
  static constexpr unsigned shared_bytes = threads * sizeof(Block);
  static constexpr unsigned shared_bytes_of(unsigned threads_of_block) {
    return shared_bytes / threads * threads_of_block;
  }

  PAES_DEVICE static void fill(std::uint8_t* /*shared*/, const Keys& /*keys*/,
                               const Thread& /*thread*/) {}

  PAES_DEVICE PlacedStepsCore(std::uint8_t* shared, const Keys& keys, const Thread& thread)
      : state_(reinterpret_cast<Block*>(shared)[thread.index]), keys_(keys) {}

  PAES_DEVICE void crypt(Words<16> (&state)[blocks]) const {
    store_words(&state_, state[0]);
    aes_compute::encrypt_block(keys_.in_slot(), state_, placed_sbox);
    state[0] = load_words<16>(&state_);
  }

 private:
  Block& state_;  // this thread's, in shared memory
  Keys keys_;
};

template <TablePlace Place>
using PlacedCore =
    std::conditional_t<Place == TablePlace::compute, PlacedStepsCore, PlacedTablesCore<Place>>;

#if defined(__CUDACC__)

template <class Core>
[[nodiscard]] int find_room(unsigned threads, int& blocks) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessor(
      &blocks, run_grid<Core, Operation::ecb_encrypt>, static_cast<int>(threads),
      Core::shared_bytes_of(threads));
}

template <class Core>
[[nodiscard]] int start(const Launch& launch, const Job& job, const PlacedKeys& keys,
                        bool is_alone) {
  const std::uint64_t rows = rows_of<Core>(launch, job);
  if (rows == 0) {
    return cudaSuccess;
  }
  const unsigned threads = launch.shape.threads;
  int blocks = 1;
  if (!is_alone) {
    if (const int error = find_room<Core>(threads, blocks); error != cudaSuccess) {
      return error;
    }
  }
  const std::uint64_t most =
      std::uint64_t{launch.shape.multiprocessors} * static_cast<unsigned>(blocks < 1 ? 1 : blocks);
  run_grid<Core, Operation::ecb_encrypt>
      <<<static_cast<unsigned>(rows < most ? rows : most), threads, Core::shared_bytes_of(threads),
         static_cast<cudaStream_t>(launch.stream)>>>(job, keys);
  return cudaGetLastError();
}

#else

// The emulation has no multiprocessors with room for several thread blocks.
template <class Core>
[[nodiscard]] int start(const Launch& launch, const Job& job, const PlacedKeys& keys,
                        bool /*is_alone*/) {
  return run_on_grid<Core, Operation::ecb_encrypt>(launch, job, keys);
}

#endif

template <TablePlace Place, unsigned Threads, bool IsAlone>
int run(const Launch& launch, const Job& job) {
  constexpr int invalid_value = 1;  // cudaErrorInvalidValue
  if (job.operation != Operation::ecb_encrypt || job.bytes % block_bytes != 0) {
    return invalid_value;
  }
  Launch mine = launch;
  if (mine.shape.threads == 0) {
    mine.shape.threads = Threads;
  }
  PlacedKeys keys = {static_cast<const RoundKeys*>(launch.image), launch.slot};
  const int error = copy_to_slot(placed_round_keys, keys.round_keys, launch);
  return error != 0 ? error : start<PlacedCore<Place>>(mine, job, keys, IsAlone);
}

int wipe_keys(const Launch& launch) { return wipe_slot(placed_round_keys, launch); }

}  // namespace

#define PAES_PLACED_KERNEL(place, threads)                                                         \
  PAES_LAUNCHES(study_##place##_##threads##_alone, run<TablePlace::place, threads, true>, nullptr, \
                nullptr, wipe_keys, nullptr);                                                      \
  PAES_LAUNCHES(study_##place##_##threads, run<TablePlace::place, threads, false>, nullptr,        \
                nullptr, wipe_keys, nullptr);
#include "gpu/placed_kernels.def"
#undef PAES_PLACED_KERNEL

#if defined(__CUDACC__)

int blocks_a_multiprocessor(const PlacedKernel& placed, int& blocks) {
  blocks = 1;
  if (placed.is_alone) {
    return cudaSuccess;
  }
  switch (placed.place) {
    case TablePlace::compute:
      return find_room<PlacedCore<TablePlace::compute>>(placed.threads, blocks);
    case TablePlace::constant:
      return find_room<PlacedCore<TablePlace::constant>>(placed.threads, blocks);
    case TablePlace::global:
      return find_room<PlacedCore<TablePlace::global>>(placed.threads, blocks);
    case TablePlace::shared:
      return find_room<PlacedCore<TablePlace::shared>>(placed.threads, blocks);
  }
  return cudaErrorInvalidValue;
}

#endif

#else

namespace {

void prepare(Bytes key, std::uint8_t* image) {
  RoundKeys round_keys;
  const WipeOnExit wiped({reinterpret_cast<std::uint8_t*>(&round_keys), sizeof round_keys});
  expand_key(key, round_keys);
  std::memcpy(image, &round_keys, sizeof round_keys);
}

constexpr DeviceKernel row_of(const char* name, const DeviceRuns* device) {
  return {
      .name = name,
      .cipher = Cipher::aes,
      .summary = "tables in one memory or none, a number of threads a block",
      .warning = "insecure: the time of its table look-ups depends on the key",
      .blocks = 1,
      .takes_gcm = false,
      .image_bytes = sizeof(RoundKeys),
      .prepare = prepare,
      .device = device,
  };
}

#define PAES_PLACED_KERNEL(place, threads)                     \
  {TablePlace::place, threads, true,                           \
   row_of("study_" #place "_" #threads "_alone",               \
          PAES_ON_DEVICE(study_##place##_##threads##_alone))}, \
      {TablePlace::place, threads, false,                      \
       row_of("study_" #place "_" #threads, PAES_ON_DEVICE(study_##place##_##threads))},
constexpr PlacedKernel all[] = {
#include "gpu/placed_kernels.def"
};
#undef PAES_PLACED_KERNEL

}  // namespace

std::span<const PlacedKernel> placed_kernels() noexcept { return all; }

#endif

}  // namespace paes::cuda
