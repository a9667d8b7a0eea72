// SPDX-License-Identifier: Apache-2.0
// Data resident on the device: each device kernel in each mode and key size, one launch at a time,
// timed by the device's clock. A kernel's output is compared with the processor's before it is
// timed.
#include <bit>
#include <cstdio>

#include "cuda/device_kernel.hpp"
#include "gcm_operations.hpp"
#include "gpu/gpu_session.hpp"
#include "kernel/registry.hpp"
#include "raw_start.hpp"

namespace paes::bench {
namespace {

using test::RawSubject;

constexpr std::size_t chunk_bytes = 16384;
constexpr std::size_t stride_bytes = chunk_bytes + 16;
constexpr std::uint32_t unit_blocks = 256;  // data units of 4 KiB

enum class GcmWay { chunks, message };

class Resident {
 public:
  explicit Resident(GpuSession& session)
      : session_(session),
        bytes_(session.text->size()),
        in_(session.device_memory(bytes_)),
        out_(session.device_memory(bytes_)),
        // Tweaks for every 32 blocks, or for GCM the counters and tags of all chunks, or the
        // hashes.
        rest_(session.device_memory(bytes_ / 32 + (std::size_t{1} << 20))),
        image_(session.device_memory(2 * image_room)),
        host_image_(session.host_memory(2 * image_room)),
        blocks_(session.host_memory(2 * (bytes_ / stride_bytes + 2) * sizeof(Block))),
        found_(session.host_memory(bytes_)),
        expected_(bytes_) {
    session.copy_in(*in_, *session.text, bytes_);
  }

  // Computes on the processor what the device must produce.
  void expect(const RawSubject& subject) {
    const RawKey key = test::processor_key(subject, unit_bytes(subject));
    RawPosition position{test::raw_start(subject.mode, start())};
    key.crypt(subject.direction, position, session_.text->bytes(), expected_, *session_.processor,
              std::size_t{1} << 20);
  }

  void measure(const RawSubject& subject, const cuda::DeviceKernel& kernel) {
    cuda::Job job = {subject.operation(), in_->data(), out_->data(), bytes_};
    const test::Buffer key = subject.key();
    const std::size_t key_bytes = subject.mode == Mode::xts ? key.size() / 2 : key.size();
    put_image(kernel, Bytes(key).first(key_bytes), 0);
    cuda::TweakJob tweak_job = {};
    if (subject.mode == Mode::xts) {
      put_image(kernel, Bytes(key).subspan(key_bytes), tweak_image);
      blocks_->blocks()[0] = start();
      session_.copy_in(*rest_, *blocks_, sizeof(Block));
      tweak_job = {rest_->blocks(), false, unit_blocks,
                   static_cast<std::uint32_t>(bytes_ / block_bytes), rest_->blocks() + 1};
      job.tweaks = rest_->blocks() + 1;
      job.unit_blocks = unit_blocks;
    } else {
      job.counter = job.before = start();
      job.counter_bits = static_cast<unsigned>(8 * subject.block_size());
    }
    const auto launch = [&] {
      if (subject.mode == Mode::xts) {
        session_.runtime.launch(session_.stream, kernel, launch_with(tweak_image, key_bytes),
                                tweak_job);
      }
      session_.runtime.launch(session_.stream, kernel, launch_with(0, key_bytes), job);
    };
    const std::string name = subject.name();
    const std::size_t space = name.find(' ');
    ResidentRow row = {name.substr(0, space),
                       subject.mode == Mode::ctr ? "both" : name.substr(space + 1, 7),
                       kernel.name,
                       "message",
                       bytes_,
                       0,
                       0,
                       {}};
    row.limit = limit_of(kernel, key_bytes, &formula_of(subject.operation()),
                         session_.report.multiprocessors, session_.report.clock_hz);
    finish(row, launch, [&] {
      session_.copy_out(*found_, *out_, bytes_);
      return std::memcmp(found_->data(), expected_.data(), bytes_) == 0;
    });
  }

  void measure_gcm(const cuda::DeviceKernel& kernel, std::size_t key_bytes, GcmWay way,
                   GcmOperation operation) {
    const test::Buffer key = test::varied_bytes(key_bytes, 5);
    put_image(kernel, key, 0);
    const bool has_chunks = way == GcmWay::chunks;
    const auto count = has_chunks ? static_cast<std::uint32_t>(bytes_ / stride_bytes) : 1U;
    for (std::uint32_t i = 0; i < count; ++i) {
      blocks_->blocks()[i] = start();
      store_be64(blocks_->blocks()[i].bytes + 4, i);
    }
    session_.copy_in(*rest_, *blocks_, count * sizeof(Block));
    cuda::GcmJob job = {};
    job.operation = operation;
    job.in = in_->data();
    job.out = out_->data();
    job.in_stride = job.out_stride = stride_bytes;
    job.count = count;
    job.text_bytes = job.last_text_bytes = has_chunks ? chunk_bytes : bytes_;
    job.counters = rest_->blocks();
    job.tags = rest_->blocks() + count;
    job.scratch = rest_->blocks() + 2 * count;
    const auto launch = [&] {
      session_.runtime.launch(session_.stream, kernel, launch_with(0, key_bytes), job);
    };
    ResidentRow row = {"aes-" + std::to_string(8 * key_bytes) + "-gcm",
                       operation == GcmOperation::verify ? "verify"
                       : operation == GcmOperation::open ? "decrypt"
                                                         : "encrypt",
                       kernel.name,
                       has_chunks ? "chunks" : "message",
                       std::size_t{count} * static_cast<std::size_t>(job.text_bytes),
                       0,
                       0,
                       {}};
    if (operation != GcmOperation::verify) {
      row.limit = limit_of(kernel, key_bytes, nullptr, session_.report.multiprocessors,
                           session_.report.clock_hz);
    }
    finish(row, launch, [&] { return is_gcm_right(key, job, way); });
  }

 private:
  // Two images: the second is for the key of XTS's tweaks.
  static constexpr std::size_t image_room = std::size_t{1} << 16;
  static constexpr std::size_t tweak_image = image_room;

  static Block start() {
    Block block = {};
    for (std::size_t i = 0; i < sizeof block.bytes; ++i) {
      block.bytes[i] = static_cast<std::uint8_t>(17 * i + 3);
    }
    return block;
  }
  static std::size_t unit_bytes(const RawSubject& subject) {
    return subject.mode == Mode::xts ? unit_blocks * block_bytes : 0;
  }

  void put_image(const cuda::DeviceKernel& kernel, Bytes key, std::size_t at) {
    if (kernel.image_bytes > image_room) {
      throw Error(ErrorCode::failure, std::string("no room for the image of ") + kernel.name);
    }
    kernel.prepare(key, host_image_->data() + at);
    session_.copy_in(*image_, *host_image_, at + kernel.image_bytes);
  }
  [[nodiscard]] cuda::Launch launch_with(std::size_t image_at, std::size_t key_bytes) const {
    return {image_->data() + image_at, key_bytes, {}, 0, nullptr};
  }

  // Compares the device's text and tags with those of the processor's kernel.
  bool is_gcm_right(Bytes key, const cuda::GcmJob& job, GcmWay way) {
    const Kernel& processor = best_kernel(Cipher::aes);
    KernelKeys keys;
    processor.prepare(key, keys);
    session_.copy_out(*found_, *out_, bytes_);
    session_.runtime.copy_out(session_.stream, blocks_->blocks() + job.count, job.tags,
                              job.count * sizeof(Block));
    session_.runtime.wait(session_.stream);
    std::atomic<bool> good{true};
    const bool has_text = job.operation != GcmOperation::verify;
    test::on_threads(
        job.count, way == GcmWay::chunks ? session_.report.threads : 1, [&](std::size_t i) {
          const std::size_t at = i * stride_bytes;
          const auto counter = std::bit_cast<CounterBlock>(blocks_->blocks()[i]);
          const Text text = {session_.text->data() + at, has_text ? expected_.data() + at : nullptr,
                             static_cast<std::size_t>(job.text_bytes)};
          Block hash = {};
          if (cuda::takes_messages(job.operation)) {
            Tag tag;
            test::run_gcm(processor, job.operation, keys, test::BareMessage{counter}.with(text),
                          tag);
            hash = std::bit_cast<Block>(tag);
          } else {
            HashValue value = {};
            test::run_gcm(processor, job.operation, keys, GcmPiece{text, &counter}, value);
            hash = std::bit_cast<Block>(value);
          }
          if ((has_text &&
               std::memcmp(expected_.data() + at, found_->data() + at, job.text_bytes) != 0) ||
              std::memcmp(hash.bytes, blocks_->blocks()[job.count + i].bytes, sizeof hash.bytes) !=
                  0) {
            good = false;
          }
        });
    if (processor.release != nullptr) {
      processor.release(keys);
    }
    return good;
  }

  // Checks once. Then times single launches, each after one that warms up, for a quarter of a
  // second.
  template <class Launch, class IsRight>
  void finish(ResidentRow& row, const Launch& launch, const IsRight& is_right) {
    session_.runtime.fill_zero(session_.stream, out_->data(), bytes_);
    launch();
    session_.runtime.wait(session_.stream);
    if (!is_right()) {
      std::printf("FAILED: %s, %s by %s\n", row.cipher.c_str(), row.direction.c_str(),
                  row.kernel.c_str());
      ++session_.report.failures;
      return;
    }
    std::vector<double> seconds;
    double sum = 0;
    while (seconds.size() < 5 || (sum < 0.25 && seconds.size() < 99)) {
      // Keeps the device busy while the host enters the launch to be timed; otherwise the host's
      // way to the device would be timed, too.
      launch();
      session_.stopwatch->start(session_.stream);
      launch();
      session_.stopwatch->stop(session_.stream);
      session_.runtime.wait(session_.stream);
      seconds.push_back(session_.stopwatch->seconds());
      sum += seconds.back();
    }
    row.repetitions = static_cast<unsigned>(seconds.size());
    row.seconds_median = median(seconds);
    session_.report.resident.push_back(row);
    print(row);
  }

  GpuSession& session_;
  std::size_t bytes_;
  std::unique_ptr<Memory> in_, out_, rest_, image_, host_image_, blocks_, found_;
  test::Buffer expected_;
};

std::vector<const cuda::DeviceKernel*> kernels_of(Cipher cipher, bool best) {
  std::vector<const cuda::DeviceKernel*> found;
  for (const cuda::DeviceKernel* const kernel : cuda::device_kernels()) {
    if (kernel->cipher == cipher) {
      found.push_back(kernel);
    }
  }
  if (found.empty()) {
    return found;
  }
  return best ? std::vector{found.front()} : std::vector(found.begin() + 1, found.end());
}

}  // namespace

void measure_resident(GpuSession& session, bool best) {
  Resident resident(session);
  for (const Cipher cipher : {Cipher::aes, Cipher::des_ede3}) {
    const auto kernels = kernels_of(cipher, best);
    if (kernels.empty()) {
      continue;
    }
    for (const RawSubject& subject : test::raw_subjects(cipher)) {
      if (!session.has_time_for(subject.name() + " on the device" +
                                (best ? "" : ", other kernels"))) {
        continue;
      }
      resident.expect(subject);
      for (const cuda::DeviceKernel* const kernel : kernels) {
        resident.measure(subject, *kernel);
      }
    }
    for (const cuda::DeviceKernel* const kernel : kernels) {
      for (const std::size_t key_bytes : {std::size_t{16}, std::size_t{24}, std::size_t{32}}) {
        if (!kernel->has_gcm() ||
            !session.has_time_for(std::string("GCM by ") + kernel->name + " on the device")) {
          continue;
        }
        resident.measure_gcm(*kernel, key_bytes, GcmWay::chunks, GcmOperation::seal);
        resident.measure_gcm(*kernel, key_bytes, GcmWay::chunks, GcmOperation::open);
        resident.measure_gcm(*kernel, key_bytes, GcmWay::chunks, GcmOperation::verify);
        resident.measure_gcm(*kernel, key_bytes, GcmWay::message, GcmOperation::encrypt);
      }
    }
  }
}

}  // namespace paes::bench
