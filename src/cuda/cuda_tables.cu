// The device kernel `cuda_tables`: AES by T-tables in shared memory, the fast one
// (aes_tables_core.hpp). Round keys come from constant memory, where each slot has a part of its
// own; a launch first copies them there, on its stream, from the key's image in device memory.
#include "cuda/aes_tables_core.hpp"
#include "cuda/gcm_runs.hpp"
#include "cuda/grid.hpp"
#include "kernel/prepare_aes.hpp"

namespace paes::cuda {
namespace {

struct Image {
  AesKeyColumns columns[2];  // of both directions
  HashLevel hash[hash_levels];
};

}  // namespace

#if defined(PAES_LAUNCHES)

namespace {

// Cores of both directions, as run_operation wants them.
template <unsigned Tables, unsigned Rounds>
struct Cores {
  template <bool Inverse>
  using Core = AesTablesCore<Tables, Inverse, Rounds>;
};
// These need little shared memory and take any number of rounds.
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

// Calls `run(cores)`. Where `shared_bytes` have room, all four tables do, and rounds are unrolled.
template <class Run>
int with_cores(const Launch& launch, std::size_t shared_bytes, unsigned rounds, const Run& run) {
  if (launch.shape.shared_bytes < shared_bytes) {
    return run(SmallCores());
  }
  switch (rounds) {
    case 10:
      return run(Cores<4, 10>());
    case 12:
      return run(Cores<4, 12>());
    default:
      return run(Cores<4, 14>());
  }
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
      constexpr std::size_t shared_bytes = GcmCore<Cores<4, 10>::Core<false>>::shared_bytes;
      return with_cores(launch, shared_bytes, keys.rounds, [&]<class Chosen>(Chosen) {
        // When text is only hashed, one block a message is encrypted.
        return run_flow<typename Chosen::template Core<false>, SmallCores::Core<false>>(
            launch, job, keys, level);
      });
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
  std::memcpy(image + offsetof(Image, columns[0]), keys.forward, sizeof keys.forward);
  std::memcpy(image + offsetof(Image, columns[1]), keys.inverse, sizeof keys.inverse);
  Block h = {};
  const WipeOnExit wiped_h(h.bytes);
  aes_tables::encrypt_blocks<1>(keys, h.bytes, h.bytes);
  make_hash_levels(h, reinterpret_cast<Image*>(image)->hash);
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
