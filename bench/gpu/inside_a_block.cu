// SPDX-License-Identifier: Apache-2.0
// The kernels of study_kernels.hpp: AES encryption (FIPS 197, section 5.1) with threads that share
// a block. In every step a thread writes bytes that no other thread of the step reads, so it only
// has to wait for the others between two steps. The emulation, which runs one thread after the
// other, is compared with the processor.
#include "cipher/aes_compute.hpp"
#include "core/secret.hpp"
#include "cuda/device_code.hpp"
#include "gpu/study_kernels.hpp"

namespace paes::cuda {

#if defined(PAES_LAUNCHES)

namespace {

PAES_CONSTANT_TABLE aes_compute::Sbox study_sbox = aes_compute::make_sbox();

enum class Step { add_round_key, sub_bytes, shift_rows, mix_columns };

// Step `number` of a block: AddRoundKey, then four steps per round; the last round has no
// MixColumns.
struct Place {
  Step step;
  unsigned round;
};
[[nodiscard]] constexpr unsigned steps_of(unsigned rounds) { return 4 * rounds; }
[[nodiscard]] constexpr Place place_of(unsigned number, unsigned rounds) {
  constexpr Step of_round[] = {Step::sub_bytes, Step::shift_rows, Step::mix_columns,
                               Step::add_round_key};
  if (number == 0) {
    return {Step::add_round_key, 0};
  }
  const unsigned round = (number - 1) / 4 + 1;
  const bool is_last = number == steps_of(rounds) - 1;
  return {is_last ? Step::add_round_key : of_round[(number - 1) % 4], round};
}

// How many threads the step has work for.
[[nodiscard]] constexpr unsigned workers_of(Step step) {
  return step == Step::add_round_key || step == Step::sub_bytes ? 16 : 4;
}

// One thread's part of a step: byte, row or column `worker` of the state.
PAES_DEVICE void take_step(Step step, unsigned worker, std::uint8_t* state, const Block& key) {
  switch (step) {
    case Step::add_round_key:
      state[worker] = static_cast<std::uint8_t>(state[worker] ^ key.bytes[worker]);
      break;
    case Step::sub_bytes:
      state[worker] = study_sbox.image[state[worker]];
      break;
    case Step::shift_rows: {
      const std::uint8_t before[4] = {state[worker], state[worker + 4], state[worker + 8],
                                      state[worker + 12]};
      for (unsigned column = 0; column < 4; ++column) {
        state[worker + 4 * column] = before[(column + worker) % 4];
      }
      break;
    }
    case Step::mix_columns: {
      std::uint8_t* const s = state + std::size_t{4} * worker;
      const std::uint8_t before[4] = {s[0], s[1], s[2], s[3]};
      for (unsigned row = 0; row < 4; ++row) {
        const std::uint8_t a = before[row];
        const std::uint8_t b = before[(row + 1) % 4];
        s[row] = static_cast<std::uint8_t>(aes_compute::xtime(a) ^ aes_compute::xtime(b) ^ b ^
                                           before[(row + 2) % 4] ^ before[(row + 3) % 4]);
      }
      break;
    }
  }
}

// What both kernels are launched with. The image stays in device memory.
struct Task {
  const std::uint8_t* in;
  std::uint8_t* out;
  std::uint64_t blocks;
  const RoundKeys* keys;
  unsigned rounds;
};

static_assert(sizeof(RoundKeys) % 16 == 0, "images are whole blocks");

[[nodiscard]] bool is_task(const Launch& launch, const Job& job, Task& task) {
  task = {static_cast<const std::uint8_t*>(job.in), static_cast<std::uint8_t*>(job.out),
          job.bytes / block_bytes, static_cast<const RoundKeys*>(launch.image),
          static_cast<unsigned>(launch.key_bytes / 4 + 6)};
  return job.operation == Operation::ecb_encrypt && job.bytes % block_bytes == 0;
}

constexpr unsigned group_threads = 16;  // to a block

#if defined(__CUDACC__)

constexpr unsigned block_threads = 256;
constexpr unsigned groups = block_threads / group_threads;

__global__ void run_inside(const Task task) {
  __shared__ std::uint8_t states[groups][block_bytes];
  const unsigned worker = threadIdx.x % group_threads;
  std::uint8_t* const state = states[threadIdx.x / group_threads];
  // The half of a warp that has this block.
  const unsigned group = 0xffffU << (threadIdx.x % warp_lanes / group_threads * group_threads);
  const std::uint64_t stride = std::uint64_t{gridDim.x} * groups;
  for (std::uint64_t at = std::uint64_t{blockIdx.x} * groups + threadIdx.x / group_threads;
       at < task.blocks; at += stride) {
    state[worker] = task.in[at * block_bytes + worker];
    __syncwarp(group);
    for (unsigned number = 0; number < steps_of(task.rounds); ++number) {
      const Place place = place_of(number, task.rounds);
      if (worker < workers_of(place.step)) {
        take_step(place.step, worker, state, task.keys->key[place.round]);
      }
      __syncwarp(group);
    }
    task.out[at * block_bytes + worker] = state[worker];
    __syncwarp(group);
  }
}

// The workers are threads of one thread block, or a thread block each.
__global__ void run_step(const Place place, std::uint8_t* state, const RoundKeys* keys) {
  take_step(place.step, blockIdx.x * blockDim.x + threadIdx.x, state, keys->key[place.round]);
}

int run_all_inside(const Launch& launch, const Job& job) {
  Task task = {};
  if (!is_task(launch, job, task)) {
    return cudaErrorInvalidValue;
  }
  if (task.blocks == 0) {
    return cudaSuccess;
  }
  int room = 0;  // thread blocks, on a multiprocessor
  if (const cudaError_t error =
          cudaOccupancyMaxActiveBlocksPerMultiprocessor(&room, run_inside, block_threads, 0);
      error != cudaSuccess) {
    return error;
  }
  const std::uint64_t most =
      std::uint64_t{launch.shape.multiprocessors} * static_cast<unsigned>(room < 1 ? 1 : room);
  const std::uint64_t wanted = (task.blocks + groups - 1) / groups;
  run_inside<<<static_cast<unsigned>(wanted < most ? wanted : most), block_threads, 0,
               static_cast<cudaStream_t>(launch.stream)>>>(task);
  return cudaGetLastError();
}

template <bool HasGrid>
int run_all_steps(const Launch& launch, const Job& job) {
  Task task = {};
  if (!is_task(launch, job, task)) {
    return cudaErrorInvalidValue;
  }
  const auto stream = static_cast<cudaStream_t>(launch.stream);
  if (task.in != task.out) {
    if (const cudaError_t error =
            cudaMemcpyAsync(task.out, task.in, job.bytes, cudaMemcpyDeviceToDevice, stream);
        error != cudaSuccess) {
      return error;
    }
  }
  for (std::uint64_t at = 0; at < task.blocks; ++at) {
    for (unsigned number = 0; number < steps_of(task.rounds); ++number) {
      const Place place = place_of(number, task.rounds);
      const unsigned workers = workers_of(place.step);
      run_step<<<HasGrid ? workers : 1, HasGrid ? 1 : workers, 0, stream>>>(
          place, task.out + at * block_bytes, task.keys);
    }
  }
  return cudaGetLastError();
}

#else

// The last worker goes first, because the order of a step's threads must not matter.
int emulate(const Launch& launch, const Job& job) {
  constexpr int invalid_value = 1;
  Task task = {};
  if (!is_task(launch, job, task)) {
    return invalid_value;
  }
  for (std::uint64_t at = 0; at < task.blocks; ++at) {
    std::uint8_t* const state = task.out + at * block_bytes;
    for (unsigned worker = 0; worker < group_threads; ++worker) {
      state[worker] = task.in[at * block_bytes + worker];
    }
    for (unsigned number = 0; number < steps_of(task.rounds); ++number) {
      const Place place = place_of(number, task.rounds);
      for (unsigned worker = workers_of(place.step); worker-- != 0;) {
        take_step(place.step, worker, state, task.keys->key[place.round]);
      }
    }
  }
  return 0;
}

constexpr auto run_all_inside = emulate;
template <bool HasGrid>
constexpr auto run_all_steps = emulate;

#endif

}  // namespace

PAES_LAUNCHES(study_inside, run_all_inside, nullptr, nullptr, nullptr, nullptr);
PAES_LAUNCHES(study_steps, run_all_steps<false>, nullptr, nullptr, nullptr, nullptr);
PAES_LAUNCHES(study_grid, run_all_steps<true>, nullptr, nullptr, nullptr, nullptr);

#else

namespace {

void prepare(Bytes key, std::uint8_t* image) {
  RoundKeys round_keys;
  const WipeOnExit wiped({reinterpret_cast<std::uint8_t*>(&round_keys), sizeof round_keys});
  expand_key(key, round_keys);
  std::memcpy(image, &round_keys, sizeof round_keys);
}

constexpr const char* warning = "insecure: the time of its table look-ups depends on the key";

}  // namespace

const DeviceKernel study_kernel_inside = {
    .name = "study_inside",
    .cipher = Cipher::aes,
    .summary = "16 threads to a block, many blocks a launch",
    .warning = warning,
    .blocks = 1,
    .takes_gcm = false,
    .image_bytes = sizeof(RoundKeys),
    .prepare = prepare,
    .device = PAES_ON_DEVICE(study_inside),
};
const DeviceKernel study_kernel_steps = {
    .name = "study_steps",
    .cipher = Cipher::aes,
    .summary = "a launch for each step of each block",
    .warning = warning,
    .blocks = 1,
    .takes_gcm = false,
    .image_bytes = sizeof(RoundKeys),
    .prepare = prepare,
    .device = PAES_ON_DEVICE(study_steps),
};
const DeviceKernel study_kernel_grid = {
    .name = "study_grid",
    .cipher = Cipher::aes,
    .summary = "a launch for each step of each block, a thread block for each byte or row",
    .warning = warning,
    .blocks = 1,
    .takes_gcm = false,
    .image_bytes = sizeof(RoundKeys),
    .prepare = prepare,
    .device = PAES_ON_DEVICE(study_grid),
};

#endif

}  // namespace paes::cuda
