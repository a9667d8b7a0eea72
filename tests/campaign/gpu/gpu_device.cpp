// SPDX-License-Identifier: Apache-2.0
// The device, with each device kernel in turn: counters about to carry in 32, 64 and 128 bits,
// every length, data units of every kind, many GCM messages and parts of one, memory that is pinned
// and that is not, several callers at once, and more slots than the device has memory for.
#include <algorithm>
#include <bit>
#include <cstring>

#include "cuda/cuda_device.hpp"
#include "gcm_operations.hpp"
#include "gpu/checks.hpp"
#include "message/gcm.hpp"
#include "raw_start.hpp"
#include "tested_device_kernels.hpp"

namespace paes::test {
namespace {

// runtime_under_test() without an owner.
std::shared_ptr<cuda::Runtime> shared_runtime() {
  return {std::shared_ptr<cuda::Runtime>(), &runtime_under_test()};
}

std::size_t piece_bytes() { return std::size_t{is_device_on_host() ? 64U : 1024U} << 10; }

struct Subject {
  const cuda::DeviceKernel* kernel;
  Device* device;
  Checks* checks;
  Effort effort;

  [[nodiscard]] std::string what(const std::string& of) const {
    return std::string("device with ") + kernel->name + ", " + of;
  }
};

// One call, apart or in place, against the processor.
void compare(const Subject& subject, const DeviceRaw& bound, const RawSubject& raw,
             const RawKey& reference, const Block& start_block, Bytes in, bool in_place,
             const std::string& of) {
  const RawStart start = raw_start(raw.mode, start_block);
  Buffer expected(in.size());
  RawPosition position{start};
  reference.crypt(raw.direction, position, in, expected, serial_executor(), in.size());
  Buffer out(in.begin(), in.end());
  if (!in_place) {
    std::fill(out.begin(), out.end(), std::uint8_t{0xaa});
  }
  const bool taken = bound.crypt(start, in_place ? Bytes(out) : in, out, WhenBusy::wait);
  subject.checks->is_true(taken, subject.what(raw.name() + of + ": declined"));
  subject.checks->is_equal(out, expected,
                           subject.what(raw.name() + of + ", " + std::to_string(in.size()) +
                                        " bytes" + (in_place ? " in place" : "")));
}

// 2^bits - before, as a block; what lies above is full of ones, so that a wrong carry shows.
Block counter_before(std::size_t block_size, unsigned bits, std::uint64_t before) {
  Block counter = {};
  std::memset(counter.bytes, 0xff, block_size);
  counter.bytes[0] = bits == 8 * block_size ? 0xff : 0x7f;
  for (; before > 1; --before) {
    for (std::size_t at = block_size; at-- > 0 && counter.bytes[at]-- == 0;) {
    }
  }
  return counter;
}

void compare_counters(const Subject& subject, const RawSubject& raw, const DeviceRaw& bound,
                      const RawKey& reference) {
  const std::size_t block = raw.block_size();
  const Buffer text = varied_bytes(700 * block + 5, 7);
  for (const unsigned bits : {32U, 64U, 128U}) {
    if (bits > 8 * block) {
      continue;
    }
    const std::uint64_t step = subject.effort == Effort::reduced ? 250
                               : is_device_on_host()             ? 151
                                                                 : 1;
    for (std::uint64_t before = 1; before <= 600; before += step) {
      compare(subject, bound, raw, reference, counter_before(block, bits, before), text,
              before % 2 == 0,
              ", " + std::to_string(before) + " blocks before 2^" + std::to_string(bits));
    }
  }
}

void compare_raw(const Subject& subject, const RawSubject& raw) {
  std::vector<std::size_t> units = {0};
  if (raw.mode == Mode::xts) {
    units = {0, 16, 48, 512, 4096, 4112, std::size_t{1} << 16};
  }
  const Buffer key = raw.key();
  for (const std::size_t unit : units) {
    const auto bound = subject.device->bind_raw(raw.cipher, raw.mode, raw.direction, key, unit);
    if (bound == nullptr) {
      // XTS without units is the processor's.
      subject.checks->is_true(raw.mode == Mode::xts && unit == 0,
                              subject.what(raw.name() + ": not bound"));
      continue;
    }
    const RawKey reference = processor_key(raw, unit);
    const std::size_t step = row_of(raw.mode).tail == Tail::any ? 1
                             : unit != 0                        ? unit
                                                                : raw.block_size();
    const std::string of = unit == 0 ? "" : " in units of " + std::to_string(unit);
    const Buffer text = varied_bytes(piece_bytes(), 8);
    const Buffer iv = varied_bytes(16, 9);
    Block start = {};
    std::copy(iv.begin(), iv.begin() + static_cast<std::ptrdiff_t>(raw.block_size()), start.bytes);
    const std::size_t thin = subject.effort == Effort::reduced ? 1024
                             : is_device_on_host()             ? 401
                             : raw.mode == Mode::xts           ? 4
                                                               : 1;
    for (std::size_t steps = 1; steps * step <= 4096 || steps <= 3; steps += thin) {
      if (steps * step <= text.size()) {
        compare(subject, *bound, raw, reference, start, Bytes(text).first(steps * step),
                steps % 2 == 0, of);
      }
    }
    if (subject.effort == Effort::full) {
      compare(subject, *bound, raw, reference, start, Bytes(text).first(text.size() / step * step),
              true, of);
    }
    if (raw.mode == Mode::ctr) {
      compare_counters(subject, raw, *bound, reference);
    }
  }
}

struct Messages {
  Buffer memory;
  std::vector<CounterBlock> counters;
  std::vector<Tag> tags;
  GcmMessages view;

  Messages(std::size_t count, std::size_t stride, std::size_t text_bytes, std::size_t last)
      : memory(varied_bytes((count - 1) * stride + last, count)), counters(count), tags(count) {
    const Buffer random = varied_bytes(count * sizeof(CounterBlock), 11);
    std::memcpy(counters.data(), random.data(), random.size());
    std::memset(counters[0].bytes + 12, 0xff, 4);  // wraps at once
    view = {memory.data(), stride, count, text_bytes, last, counters.data(), tags.data()};
  }
};

// The tag of one message by the processor's kernel, its text sealed in place.
void seal_by_processor(const Kernel& kernel, const KernelKeys& keys,
                       const CounterBlock& pre_counter, MutableBytes text, Tag& tag) {
  const BareMessage message{pre_counter};
  kernel.gcm.seal(keys, message.with({text.data(), text.data(), text.size()}), tag);
}

void compare_messages(const Subject& subject, const DeviceGcm& bound, Bytes key, std::size_t count,
                      std::size_t text_bytes, std::size_t last) {
  const std::size_t stride = (text_bytes + 15) / 16 * 16 + 16;
  Messages messages(count, stride, text_bytes, last);
  const Buffer plain = messages.memory;
  Buffer expected = plain;
  std::vector<Tag> expected_tags(count);
  const Kernel& kernel = best_kernel(Cipher::aes);
  KernelKeys keys;
  kernel.prepare(key, keys);
  for (std::size_t i = 0; i < count; ++i) {
    seal_by_processor(
        kernel, keys, messages.counters[i],
        MutableBytes(expected).subspan(i * stride, i + 1 == count ? last : text_bytes),
        expected_tags[i]);
  }
  if (kernel.release != nullptr) {
    kernel.release(keys);
  }
  const auto bytes_of = [](const std::vector<Tag>& blocks) {
    return Bytes(reinterpret_cast<const std::uint8_t*>(blocks.data()), blocks.size() * 16);
  };
  const std::string what = subject.what(
      "aes-" + std::to_string(8 * key.size()) + "-gcm, " + std::to_string(count) + " messages of " +
      std::to_string(text_bytes) + ", the last of " + std::to_string(last));
  Checks& checks = *subject.checks;
  checks.is_true(bound.run(GcmOperation::seal, messages.view, WhenBusy::wait), what + ": declined");
  // Between messages lies what is nobody's.
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t bytes = i + 1 == count ? last : text_bytes;
    checks.is_equal(Bytes(messages.memory).subspan(i * stride, bytes),
                    Bytes(expected).subspan(i * stride, bytes), what + ": sealed");
  }
  checks.is_equal(bytes_of(messages.tags), bytes_of(expected_tags), what + ": tags");
  for (const GcmOperation operation : {GcmOperation::verify, GcmOperation::open}) {
    std::fill(messages.tags.begin(), messages.tags.end(), Tag{});
    checks.is_true(bound.run(operation, messages.view, WhenBusy::wait), what + ": declined");
    checks.is_equal(bytes_of(messages.tags), bytes_of(expected_tags), what + ": tags again");
  }
  checks.is_equal(Bytes(messages.memory).last(last), Bytes(plain).last(last), what + ": opened");
}

void compare_parts(const Subject& subject, const DeviceGcm& bound, Bytes key, std::size_t blocks) {
  const Buffer text = varied_bytes(blocks * block_bytes, 12);
  auto counter = std::bit_cast<CounterBlock>(counter_before(16, 32, 2));
  counter.bytes[3] = 7;
  const Kernel& kernel = best_kernel(Cipher::aes);
  KernelKeys keys;
  kernel.prepare(key, keys);
  Checks& checks = *subject.checks;
  for (const GcmOperation operation :
       {GcmOperation::encrypt, GcmOperation::decrypt, GcmOperation::hash}) {
    const bool hashes = operation == GcmOperation::hash;
    Buffer expected(hashes ? 0 : text.size());
    Buffer out(expected.size());
    HashValue expected_hash = {};
    HashValue hash = {};
    run_gcm(kernel, operation, keys,
            GcmPiece{{text.data(), hashes ? nullptr : expected.data(), text.size()}, &counter},
            expected_hash);
    const std::string what = subject.what("a part of GCM, " + std::to_string(blocks) + " blocks");
    checks.is_true(bound.run(operation, counter, text, out, hash, WhenBusy::wait),
                   what + ": declined");
    checks.is_equal(out, expected, what);
    checks.is_equal(hash.bytes, expected_hash.bytes, what + ": hash");
  }
  if (kernel.release != nullptr) {
    kernel.release(keys);
  }
}

void compare_gcm(const Subject& subject, std::size_t key_bytes) {
  const Buffer key = varied_bytes(key_bytes, 10);
  const auto bound = subject.device->bind_gcm(key);
  if (!subject.checks->is_true(bound != nullptr, subject.what("gcm: not bound"))) {
    return;
  }
  const bool is_small = subject.effort == Effort::reduced;
  constexpr std::size_t texts_bytes[] = {0, 1, 15, 16, 17, 1000, 16384};
  constexpr std::size_t counts[] = {1, 2, 33};
  constexpr std::size_t parts_blocks[] = {1, 2, 31, 32, 33, 1023, 1024, 1025, 2049, 65536};
  for (const std::size_t text_bytes : texts_bytes) {
    for (const std::size_t count : counts) {
      if (count * (text_bytes + 32) <= piece_bytes() &&
          (!is_small || (count == 2 && text_bytes >= 17))) {
        compare_messages(subject, *bound, key, count, text_bytes, text_bytes);
        compare_messages(subject, *bound, key, count, text_bytes, text_bytes / 2);
      }
    }
  }
  for (const std::size_t blocks : parts_blocks) {
    if (blocks * block_bytes <= piece_bytes() && (blocks <= 1025 || !is_small)) {
      compare_parts(subject, *bound, key, blocks);
    }
  }
}

// Eight callers, of whom half would rather compute themselves than wait.
void compare_callers(const Subject& subject, const RawSubject& raw) {
  const std::size_t bytes = subject.effort == Effort::full ? piece_bytes() : 4096;
  const auto bound = subject.device->bind_raw(raw.cipher, raw.mode, raw.direction, raw.key(), 0);
  if (!subject.checks->is_true(bound != nullptr, subject.what("many callers: not bound"))) {
    return;
  }
  const RawKey reference = processor_key(raw);
  const Buffer text = varied_bytes(bytes, 13);
  std::atomic<unsigned> taken{0};
  on_threads(64, 8, [&](std::size_t i) {
    Block start_block = {};
    start_block.bytes[2] = static_cast<std::uint8_t>(i);
    const RawStart start = raw_start(raw.mode, start_block);
    Buffer expected(bytes), out(bytes);
    RawPosition position{start};
    reference.crypt(raw.direction, position, text, expected, serial_executor(), bytes);
    const bool declines = i % 2 == 0;
    if (bound->crypt(start, text, out, declines ? WhenBusy::decline : WhenBusy::wait)) {
      ++taken;
      subject.checks->is_equal(out, expected, subject.what("one of many callers"));
    } else {
      subject.checks->is_true(declines, subject.what("who waits is declined"));
    }
  });
  subject.checks->is_true(taken >= 32, subject.what("many callers: few were served"));
}

// Memory that somebody has pinned is copied directly.
void compare_pinned(const Subject& subject, const RawSubject& raw) {
  const std::size_t bytes = piece_bytes() / 4;
  const std::size_t page = 4096;
  const auto bound = subject.device->bind_raw(raw.cipher, raw.mode, raw.direction, raw.key(), 0);
  if (!subject.checks->is_true(bound != nullptr, subject.what("pinned memory: not bound"))) {
    return;
  }
  auto* const memory =
      static_cast<std::uint8_t*>(operator new (bytes + page, std::align_val_t{page}));
  const Buffer text = varied_bytes(bytes, 14);
  std::copy(text.begin(), text.end(), memory);
  subject.device->pin(memory, bytes);
  const RawStart start = raw_start(raw.mode, {});
  Buffer expected(bytes);
  RawPosition position{start};
  processor_key(raw).crypt(raw.direction, position, text, expected, serial_executor(), bytes);
  subject.checks->is_true(bound->crypt(start, {memory, bytes}, {memory, bytes}, WhenBusy::wait),
                          subject.what("pinned memory: declined"));
  subject.checks->is_equal({memory, bytes}, expected, subject.what("pinned memory"));
  subject.device->unpin(memory);
  operator delete (memory, std::align_val_t{page});
}

void test_kernel(const cuda::DeviceKernel& kernel, Checks& checks, Effort effort) {
  cuda::DeviceOptions options;
  options.piece_bytes = piece_bytes();
  options.kernel = kernel.name;
  for (const bool copies_keystream : {false, true}) {
    options.copies_keystream = copies_keystream;
    const auto device = cuda::make_device(shared_runtime(), options);
    const Subject subject{&kernel, device.get(), &checks, effort};
    if (!checks.is_true(device != nullptr, subject.what("no device"))) {
      return;
    }
    const std::vector<RawSubject> subjects = raw_subjects(kernel.cipher);
    on_threads(subjects.size(), device->slots(), [&](std::size_t i) {
      if (subjects[i].mode == Mode::ctr || !copies_keystream) {
        compare_raw(subject, subjects[i]);
      }
    });
    for (const RawSubject& raw : subjects) {
      if (raw.mode == Mode::ctr) {
        compare_callers(subject, raw);
        compare_pinned(subject, raw);
        if (kernel.has_gcm() && !copies_keystream) {
          compare_gcm(subject, raw.key_bytes);
        }
      }
    }
  }
}

// Takes the device's memory until only so much is left.
class Ballast {
 public:
  explicit Ballast(std::size_t left_bytes) {
    cuda::Runtime& runtime = runtime_under_test();
    void* const left = runtime.allocate(0, left_bytes);
    for (std::size_t bytes = runtime.devices()[0].memory_bytes / 4; bytes >= left_bytes / 4;
         bytes /= 2) {
      try {
        for (;;) {
          taken_.push_back(runtime.allocate(0, bytes));
        }
      } catch (const cuda::OutOfMemory&) {
        continue;
      }
    }
    runtime.free(0, left);
  }
  ~Ballast() {
    for (void* const memory : taken_) {
      runtime_under_test().free(0, memory);
    }
  }
  Ballast(const Ballast&) = delete;
  Ballast& operator=(const Ballast&) = delete;

 private:
  std::vector<void*> taken_;
};

// Slots that cannot all have their memory: fewer or smaller ones must do, with a note.
void test_little_memory(Checks& checks) {
  const std::size_t left_bytes =
      runtime_under_test().devices()[0].memory_bytes / (is_device_on_host() ? 8 : 128);
  const Ballast ballast(left_bytes);
  std::string told;
  cuda::DeviceOptions options;
  options.slots = cuda::max_slots;
  options.piece_bytes = left_bytes / 4;
  options.note = [&](const std::string& note) { told = note; };
  const auto device = cuda::make_device(shared_runtime(), options);
  checks.is_true(!told.empty(), "memory for too many slots was given without a note");
  if (device == nullptr || device->slots() == 0) {
    return;
  }
  const RawSubject raw = {Cipher::aes, Mode::ctr, Direction::encrypt, 16};
  const auto bound = device->bind_raw(raw.cipher, raw.mode, raw.direction, raw.key(), 0);
  const Buffer text = varied_bytes(std::min<std::size_t>(device->piece_bytes(), 100000), 15);
  Buffer out(text.size()), expected(text.size());
  RawPosition position{CounterBlock{}};
  processor_key(raw).crypt(raw.direction, position, text, expected, serial_executor(), text.size());
  if (bound != nullptr && bound->crypt(CounterBlock{}, text, out, WhenBusy::wait)) {
    checks.is_equal(out, expected, "with little memory");
  }
}

}  // namespace

void test_device(Checks& checks, Effort effort) {
  for (const cuda::DeviceKernel* const kernel : cuda::device_kernels()) {
    test_kernel(*kernel, checks, effort);
  }
  if (effort == Effort::full) {
    test_little_memory(checks);
  }
}

}  // namespace paes::test
