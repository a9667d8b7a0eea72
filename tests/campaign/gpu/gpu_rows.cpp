// SPDX-License-Identifier: Apache-2.0
// Each device kernel alone, as a row of the kernel table: every length from 0 to 4096 in every mode
// and size of key, at every misalignment and in place, against the processor's fastest kernel.
#include <algorithm>
#include <string_view>

#include "gpu/checks.hpp"
#include "gpu/placed_kernels.hpp"
#include "gpu/study_kernels.hpp"
#include "message/gcm.hpp"
#include "tested_device_kernels.hpp"

namespace paes::test {
namespace {

constexpr std::size_t longest = 4096;

// All of them, or where that would take too long those that ask for something special.
bool takes_length(std::size_t length, Effort effort) {
  if (effort == Effort::reduced) {
    return length == 0 || length == 16 || length == 17 || length == 1000 || length == longest;
  }
  return !is_device_on_host() || length <= 48 || length % 509 == 0 || length == longest;
}

// The variant for devices with little shared memory differs in its tables alone: half the lengths
// do.
bool takes_length(const Kernel& row, std::size_t length, Effort effort) {
  const bool is_even = (length + length / 16) % 2 == 0;
  return takes_length(length, effort) &&
         (is_even || !std::string_view(row.name).ends_with("_small"));
}

void compare_lengths(const Kernel& row, const RawSubject& subject, Checks& checks, Effort effort) {
  const RawKey mine(subject.cipher, subject.mode, subject.key(), row);
  const RawKey reference = processor_key(subject);
  const Buffer text = varied_bytes(longest + 16, 1);
  const Buffer iv = varied_bytes(mine.iv_bytes(), 2);
  Buffer expected(longest);
  alignas(16) std::uint8_t to[longest + 48];
  constexpr std::uint8_t untouched = 0xaa;
  for (std::size_t length = 0; length <= longest; ++length) {
    if (!mine.takes(length) || !takes_length(row, length, effort)) {
      continue;
    }
    const Bytes in(text.data() + length % 16, length);
    const MutableBytes wanted = MutableBytes(expected).first(length);
    crypt_whole(reference, subject.direction, iv, in, wanted);
    const std::size_t at = 16 + length / 16 % 16;
    std::fill(std::begin(to), std::end(to), untouched);
    const MutableBytes out(to + at, length);
    const bool in_place = length / 8 % 2 == 0;
    if (in_place) {
      std::copy(in.begin(), in.end(), out.begin());
    }
    crypt_whole(mine, subject.direction, iv, in_place ? Bytes(out) : in, out);
    const std::string what =
        std::string(row.name) + ", " + subject.name() + " of " + std::to_string(length) + " bytes";
    checks.is_equal(out, wanted, what);
    checks.is_true(to[at - 1] == untouched && to[at + length] == untouched,
                   what + ": wrote beside its output");
  }
}

void compare_gcm(const Kernel& row, std::size_t key_bytes, Checks& checks, Effort effort) {
  const Buffer key = varied_bytes(key_bytes, 3);
  const GcmKey mine(key, row);
  const GcmKey reference(key, best_kernel(Cipher::aes));
  const Buffer text = varied_bytes(longest, 4);
  for (std::size_t length = 0; length <= longest; ++length) {
    if (!takes_length(row, length, effort)) {
      continue;
    }
    const Buffer iv = varied_bytes(length % 7 == 0 ? 16 : 12, length);
    const Buffer aad = varied_bytes(length * 5 % 67, length);
    const Bytes in(text.data(), length);
    Buffer expected(length), sealed(length), opened(length);
    Tag expected_tag, tag;
    reference.seal(iv, aad, in, expected, expected_tag.bytes);
    mine.seal(iv, aad, in, sealed, tag.bytes);
    const std::string what = std::string(row.name) + ", aes-" + std::to_string(8 * key_bytes) +
                             "-gcm of " + std::to_string(length) + " bytes";
    checks.is_equal(sealed, expected, what);
    checks.is_equal(tag.bytes, expected_tag.bytes, what + ": tag");
    checks.is_true(mine.verify(iv, aad, expected, expected_tag.bytes) &&
                       mine.open(iv, aad, expected, opened, expected_tag.bytes),
                   what + ": refused");
    checks.is_equal(opened, in, what + ": opened");
    expected_tag.bytes[length % 16] ^= 1;
    checks.is_true(!mine.open(iv, aad, expected, opened, expected_tag.bytes),
                   what + ": opened with a wrong tag");
  }
}

// What gpu_bench measures besides, for whole blocks in ECB: more of them than threads of a block.
void compare_study_kernels(Checks& checks) {
  struct Compared {
    const cuda::DeviceKernel* kernel;
    std::size_t blocks;
  };
  std::vector<Compared> kernels = {{&cuda::study_kernel_inside, 300},
                                   {&cuda::study_kernel_steps, 300},
                                   {&cuda::study_kernel_grid, 300}};
  for (const cuda::PlacedKernel& placed : cuda::placed_kernels()) {
    kernels.push_back({&placed.kernel, std::size_t{2} * placed.threads + 44});
  }
  const RawSubject subjects[] = {{Cipher::aes, Mode::ecb, Direction::encrypt, 16},
                                 {Cipher::aes, Mode::ecb, Direction::encrypt, 24},
                                 {Cipher::aes, Mode::ecb, Direction::encrypt, 32}};
  for (const auto& [kernel, blocks] : kernels) {
    const Buffer text = varied_bytes(blocks * block_bytes, 5);
    for (const RawSubject& subject : subjects) {
      Buffer expected(text.size()), found(text.size());
      crypt_whole(processor_key(subject), subject.direction, {}, text, expected);
      const std::size_t at = (kernel->image_bytes + 255) / 256 * 256;
      ports().use([&](Port& port) {
        port.reserve(at + text.size());
        kernel->prepare(subject.key(), port.host());
        put(port.host() + at, text.data(), text.size());
        port.send(at + text.size());
        port.launch(
            *kernel, subject.key_bytes, 0, 0,
            cuda::Job{subject.operation(), port.device() + at, port.device() + at, text.size()});
        port.fetch(at, text.size());
        port.wait();
        put(found.data(), port.host() + at, text.size());
      });
      checks.is_equal(found, expected, std::string(kernel->name) + ", " + subject.name());
    }
  }
}

}  // namespace

void test_rows(Checks& checks, Effort effort) {
  struct Task {
    const Kernel* row;
    RawSubject subject;
    bool is_gcm;
  };
  std::vector<Task> tasks;
  for (const Kernel* const row : device_rows()) {
    for (const RawSubject& subject : raw_subjects(row->cipher)) {
      tasks.push_back({row, subject, false});
      // Once for each size of key.
      if (subject.mode == Mode::ctr && row->gcm.seal != nullptr) {
        tasks.push_back({row, subject, true});
      }
    }
  }
  compare_study_kernels(checks);
  on_threads(tasks.size(), is_device_on_host() ? 2 : cuda::max_slots, [&](std::size_t i) {
    const Task& task = tasks[i];
    if (task.is_gcm) {
      compare_gcm(*task.row, task.subject.key_bytes, checks, effort);
    } else {
      compare_lengths(*task.row, task.subject, checks, effort);
    }
  });
}

}  // namespace paes::test
