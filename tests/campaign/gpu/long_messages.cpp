// SPDX-License-Identifier: Apache-2.0
// A gibibyte through the device in every mode and size of key, as several callers would hand it
// over, against the processor's fastest kernel on all its cores.
#include <algorithm>
#include <cstring>
#include <thread>

#include "cuda/cuda_device.hpp"
#include "exec/thread_pool.hpp"
#include "gcm_operations.hpp"
#include "gpu/checks.hpp"
#include "tested_device_kernels.hpp"

namespace paes::test {
namespace {

constexpr std::size_t unit_bytes = 4096;

std::size_t long_bytes() {
  return is_device_on_host() ? std::size_t{1} << 20 : std::size_t{1} << 30;
}

// Varied, and made fast.
Buffer long_text(std::size_t bytes) {
  Buffer text(bytes);
  const RawSubject source = {Cipher::aes, Mode::ctr, Direction::encrypt, 16};
  const auto threads = make_thread_pool(std::thread::hardware_concurrency());
  RawPosition position{CounterBlock{}};
  processor_key(source).crypt(Direction::encrypt, position, text, text, *threads, 1 << 18);
  return text;
}

struct Outputs {
  Buffer expected, found;
};

void compare_long(Device& device, const RawSubject& raw, const Buffer& text, Outputs& outputs,
                  Checks& checks) {
  const std::size_t unit = raw.mode == Mode::xts ? unit_bytes : 0;
  const auto bound = device.bind_raw(raw.cipher, raw.mode, raw.direction, raw.key(), unit);
  if (!checks.is_true(bound != nullptr, raw.name() + ": not bound")) {
    return;
  }
  const RawKey reference = processor_key(raw, unit);
  const Buffer iv = varied_bytes(reference.iv_bytes(), 21);
  const auto threads = make_thread_pool(std::thread::hardware_concurrency());
  Buffer& expected = outputs.expected;
  Buffer& out = outputs.found;
  std::fill(out.begin(), out.end(), std::uint8_t{0xaa});
  RawPosition position = reference.start(iv);
  reference.crypt(raw.direction, position, text, expected, *threads, 1 << 20);
  const std::size_t piece = std::min(device.piece_bytes(), text.size() / 8);
  on_threads(text.size() / piece, device.slots(), [&](std::size_t i) {
    const std::size_t at = i * piece;
    const std::size_t before = std::min<std::size_t>(at, raw.block_size());
    const RawStart start = reference.at(iv, at, Bytes(text).subspan(at - before, before)).next;
    checks.is_true(bound->crypt(start, Bytes(text).subspan(at, piece),
                                MutableBytes(out).subspan(at, piece), WhenBusy::wait),
                   raw.name() + ": a piece was declined");
  });
  checks.is_true(text.size() % piece == 0 && out == expected,
                 raw.name() + " of " + std::to_string(text.size()) + " bytes");
}

// As a container has them: chunks of 16 KiB with their tags behind them.
void compare_long_gcm(Device& device, std::size_t key_bytes, const Buffer& text, Checks& checks) {
  constexpr std::size_t chunk = 16384;
  constexpr std::size_t stride = chunk + 16;
  const Buffer key = varied_bytes(key_bytes, 22);
  const auto bound = device.bind_gcm(key);
  if (!checks.is_true(bound != nullptr, "gcm: not bound")) {
    return;
  }
  const Kernel& kernel = best_kernel(Cipher::aes);
  KernelKeys keys;
  kernel.prepare(key, keys);
  Buffer sealed = text;
  const std::size_t of_a_call = device.piece_bytes() / stride;
  const std::size_t count = text.size() / stride;
  on_threads((count + of_a_call - 1) / of_a_call, device.slots(), [&](std::size_t call) {
    const std::size_t first = call * of_a_call;
    const std::size_t messages = std::min(of_a_call, count - first);
    std::vector<CounterBlock> counters(messages);
    std::vector<Tag> tags(messages);
    for (std::size_t i = 0; i < messages; ++i) {
      store_be64(counters[i].bytes, first + i);
      counters[i].bytes[15] = 1;
    }
    checks.is_true(bound->run(GcmOperation::seal,
                              {sealed.data() + first * stride, stride, messages, chunk, chunk,
                               counters.data(), tags.data()},
                              WhenBusy::wait),
                   "gcm: chunks were declined");
    Buffer expected(chunk);
    for (std::size_t i = 0; i < messages; ++i) {
      const std::size_t at = (first + i) * stride;
      Tag tag = {};
      const BareMessage message{counters[i]};
      kernel.gcm.seal(keys, message.with({text.data() + at, expected.data(), chunk}), tag);
      checks.is_true(
          std::memcmp(expected.data(), sealed.data() + at, chunk) == 0 &&
              std::memcmp(tag.bytes, tags[i].bytes, sizeof tag.bytes) == 0,
          "aes-" + std::to_string(8 * key_bytes) + "-gcm, chunk " + std::to_string(first + i));
    }
  });
  if (kernel.release != nullptr) {
    kernel.release(keys);
  }
}

}  // namespace

void test_long_messages(Checks& checks, Effort effort) {
  if (effort == Effort::reduced) {
    checks.is_true(true, "");
    return;
  }
  const Buffer text = long_text(long_bytes());
  const std::shared_ptr<cuda::Runtime> runtime(std::shared_ptr<cuda::Runtime>(),
                                               &runtime_under_test());
  cuda::DeviceOptions options;
  if (is_device_on_host()) {
    options.piece_bytes = std::size_t{128} << 10;
  }
  const auto device = cuda::make_device(runtime, options);
  if (!checks.is_true(device != nullptr, "long messages: no device")) {
    return;
  }
  Outputs outputs = {Buffer(text.size()), Buffer(text.size())};
  for (const Cipher cipher : {Cipher::aes, Cipher::des_ede3}) {
    const auto has = [&](const cuda::DeviceKernel* kernel) { return kernel->cipher == cipher; };
    if (std::none_of(cuda::device_kernels().begin(), cuda::device_kernels().end(), has)) {
      std::printf("not run: long messages of %s: no device kernel\n",
                  cipher == Cipher::aes ? "AES" : "3DES");
      continue;
    }
    for (const RawSubject& raw : raw_subjects(cipher)) {
      compare_long(*device, raw, text, outputs, checks);
    }
  }
  for (const std::size_t key_bytes : {std::size_t{16}, std::size_t{24}, std::size_t{32}}) {
    compare_long_gcm(*device, key_bytes, text, checks);
  }
}

}  // namespace paes::test
