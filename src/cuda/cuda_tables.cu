// The device kernel `cuda_tables`: AES by T-tables in shared memory, the fast one
// (aes_tables_core.hpp). Round keys come from constant memory, of which each slot has its own part;
// a launch first copies them there, on its stream, from the key's image in device memory.
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

// Cores of both directions, as run_operation wants them.
template <unsigned Tables, unsigned Rounds>
struct Cores {
  template <bool Inverse>
  using Core = AesTablesCore<Tables, Inverse, Rounds>;
};

constexpr std::size_t four_tables_bytes = Cores<4, 10>::Core<true>::shared_bytes;

// Binds the launch's slot to its key, in one direction.
int bind_keys(const Launch& launch, bool inverse, AesTablesKeys& keys) {
  const AesKeyColumns* const columns =
      &static_cast<const Image*>(launch.image)->columns[inverse ? 1 : 0];
  keys = {columns, launch.slot, static_cast<unsigned>(launch.key_bytes / 4 + 6)};
#if defined(__CUDACC__)
  return copy_to_slot(aes_key_columns, columns, launch);
#else
  keys.columns = copy_to_slot(columns, launch);
  return 0;
#endif
}

#if defined(__CUDACC__)
int wipe_keys(const Launch& launch) { return wipe_slot(aes_key_columns, launch); }
#else
int wipe_keys(const Launch& launch) { return wipe_slot<AesKeyColumns>(launch); }
#endif

// Rounds are unrolled where all four tables have room.
int run(const Launch& launch, const Job& job) {
  AesTablesKeys keys = {};
  if (const int error = bind_keys(launch, formula_of(job.operation).inverse, keys); error != 0) {
    return error;
  }
  if (launch.shape.shared_bytes < four_tables_bytes) {
    return run_operation<Cores<1, 0>::Core>(launch, job, keys);
  }
  switch (keys.rounds) {
    case 10:
      return run_operation<Cores<4, 10>::Core>(launch, job, keys);
    case 12:
      return run_operation<Cores<4, 12>::Core>(launch, job, keys);
    default:
      return run_operation<Cores<4, 14>::Core>(launch, job, keys);
  }
}

// Little work, for which one table and any number of rounds will do.
int run_tweaks(const Launch& launch, const TweakJob& job) {
  AesTablesKeys keys = {};
  if (const int error = bind_keys(launch, false, keys); error != 0) {
    return error;
  }
  return run_tweaks_on_grid<AesTablesCore<1, false, 0>>(launch, job, keys);
}

template <unsigned Tables, unsigned Rounds>
int run_text(const Launch& launch, const GcmJob& job, const AesTablesKeys& keys,
             const HashLevel* level) {
  using Core = GcmCore<AesTablesCore<Tables, false, Rounds>>;
  return flow_of(job.operation) == TextFlow::encrypt
             ? run_gcm_on_grid<Core, TextFlow::encrypt>(launch, job, {keys, level})
             : run_gcm_on_grid<Core, TextFlow::decrypt>(launch, job, {keys, level});
}

int run_gcm(const Launch& launch, const GcmJob& whole_job) {
  AesTablesKeys keys = {};
  if (const int error = bind_keys(launch, false, keys); error != 0) {
    return error;
  }
  const auto run_level0 = [&](const GcmJob& job, const HashLevel* level) {
    if (flow_of(job.operation) == TextFlow::hash) {
      // Of verify, one block a message is encrypted.
      using Core = GcmCore<AesTablesCore<1, false, 0>>;
      return run_gcm_on_grid<Core, TextFlow::hash>(launch, job, {keys, level});
    }
    if (launch.shape.shared_bytes < GcmCore<AesTablesCore<4, false, 10>>::shared_bytes) {
      return run_text<1, 0>(launch, job, keys, level);
    }
    switch (keys.rounds) {
      case 10:
        return run_text<4, 10>(launch, job, keys, level);
      case 12:
        return run_text<4, 12>(launch, job, keys, level);
      default:
        return run_text<4, 14>(launch, job, keys, level);
    }
  };
  return run_gcm_levels(launch, whole_job, static_cast<const Image*>(launch.image)->hash,
                        run_level0);
}

constexpr DeviceRuns runs = {run, run_tweaks, run_gcm, wipe_keys,
                             find_on_grid<AesTablesCore<1, false, 0>, Operation::ctr>};

}  // namespace

extern const DeviceRuns on_device_cuda_tables;
#if defined(__CUDACC__)
const DeviceRuns on_device_cuda_tables = runs;
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

extern const DeviceKernel device_kernel_cuda_tables;
const DeviceKernel device_kernel_cuda_tables = {
    .name = "cuda_tables",
    .cipher = Cipher::aes,
    .summary = "look-ups in shared memory, each lane in a bank of its own",
    .warning = nullptr,
    .blocks = 1,
    .image_bytes = sizeof(Image),
    .constant_bytes = sizeof(AesKeyColumns),
    .prepare = prepare,
    .emulated = runs,
    .device = PAES_ON_DEVICE(cuda_tables),
};
#endif

}  // namespace paes::cuda
