// SPDX-License-Identifier: Apache-2.0
// The parts of the studies' runs on a device: a text, ways to encrypt it on the device and on the
// processor, each compared with the output of the processor's fastest kernel, turns, and rows of
// the lab's results.
#pragma once

#include <functional>

#include "cipher/mode/counter.hpp"
#include "cuda/device_kernel.hpp"
#include "cuda/memory.hpp"
#include "gpu/host_to_host.hpp"
#include "gpu/processor_use.hpp"
#include "gpu/study_kernels.hpp"
#include "raw_start.hpp"

namespace paes::bench {

inline constexpr std::size_t kibibyte = 1024;

inline std::string cipher_of(const test::RawSubject& subject) {
  const std::string name = subject.name();
  return name.substr(0, name.find(' '));
}

// The seconds of one contestant, by round.
struct Entrant {
  Factors of;
  std::function<double()> seconds;
  std::vector<double> taken = {};
};

inline void in_turns(std::vector<Entrant>& entrants) {
  constexpr unsigned rounds = 5;
  for (unsigned round = 0; round <= rounds; ++round) {
    for (Entrant& entrant : entrants) {
      const double seconds = entrant.seconds();
      if (round != 0) {  // the first warms up
        entrant.taken.push_back(seconds);
      }
    }
  }
}

// How a text gets through the device: as a whole or in buffers, each of which is copied in,
// transformed and copied out before the next one, from and to memory that is pinned or not.
struct CopyWay {
  bool has_buffers = false;
  bool is_pinned = true;
};

// How many times as fast as `first` each round was.
inline std::vector<double> times_as_fast(const Entrant& first, const Entrant& entrant) {
  std::vector<double> ratios;
  for (std::size_t round = 0; round < first.taken.size(); ++round) {
    ratios.push_back(first.taken[round] / entrant.taken[round]);
  }
  return ratios;
}

inline std::vector<double> rates_of(const Entrant& entrant, std::size_t bytes) {
  std::vector<double> rates;
  for (const double seconds : entrant.taken) {
    rates.push_back(static_cast<double>(bytes) / seconds / 1e9);
  }
  return rates;
}

inline const cuda::DeviceKernel& device_kernel(const std::string& name) {
  for (const cuda::DeviceKernel* const kernel : cuda::device_kernels()) {
    if (name == kernel->name) {
      return *kernel;
    }
  }
  throw Error(ErrorCode::failure, "there is no device kernel " + name);
}

class StudyBench {
 public:
  StudyBench(GpuSession& session, bool is_quick)
      : session_(session),
        is_quick_(is_quick),
        bytes_(std::min(session.text->size(), 256 * mebibyte)),
        device_(session.device_memory(bytes_)),
        device_out_(session.device_memory(bytes_)),
        image_(session.device_memory(image_room)),
        host_image_(session.host_memory(image_room)),
        out_(session.host_memory(bytes_)),
        expected_(bytes_),
        by_processor_(bytes_) {}

  // Notes under which experiment results are recorded, how long it takes, and how much of the
  // processors other programs use meanwhile.
  class Section {
   public:
    Section(StudyBench& studies, const char* name)
        : studies_(studies), start_(std::chrono::steady_clock::now()) {
      std::printf("the studies: %s\n", name);
      std::fflush(stdout);
      studies.session_.report.studies.push_back({name, 0, {}, {}, {}});
    }
    ~Section() {
      studies_.study().seconds =
          std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
      studies_.study().others = use_.of_others();
    }
    Section(const Section&) = delete;
    Section& operator=(const Section&) = delete;

   private:
    StudyBench& studies_;
    std::chrono::steady_clock::time_point start_;
    ProcessorUse use_;
  };

  [[nodiscard]] Study& study() { return session_.report.studies.back(); }

  void record(const Factors& of, const char* quantity, const char* unit,
              const std::vector<double>& numbers) {
    const auto [least, most] = std::minmax_element(numbers.begin(), numbers.end());
    study().measurements.push_back({of, quantity, unit, median(numbers), *least, *most,
                                    static_cast<unsigned>(numbers.size())});
  }
  void leave_out(const std::string& what, const std::string& why) {
    study().left_out.emplace_back(what, why);
  }

  void is_right(bool good, const std::string& what) {
    if (!good) {
      std::printf("FAILED: %s, %s\n", study().experiment.c_str(), what.c_str());
      ++session_.report.failures;
    }
  }

  template <std::size_t Count>
  std::vector<std::size_t> sizes(const std::size_t (&of_study)[Count]) const {
    std::vector<std::size_t> found;
    for (const std::size_t bytes : of_study) {
      if (bytes <= (session_.is_emulated ? 4 * kibibyte : bytes_)) {
        found.push_back(bytes);
      }
    }
    return found;
  }

  // Sets the encryption or decryption from now on, and how much text it has.
  void expect(const test::RawSubject& subject, std::size_t bytes) {
    subject_ = subject;
    const RawKey key = test::processor_key(subject);
    RawPosition position{test::raw_start(subject.mode, start())};
    key.crypt(subject.direction, position, text(bytes), MutableBytes(expected_).first(bytes),
              *session_.processor, mebibyte);
  }
  [[nodiscard]] Bytes text(std::size_t bytes) const { return session_.text->bytes().first(bytes); }
  static Block start() {
    Block block = {};
    for (std::size_t i = 0; i < sizeof block.bytes; ++i) {
      block.bytes[i] = static_cast<std::uint8_t>(29 * i + 5);
    }
    return block;
  }

  [[nodiscard]] Factors factors(const std::string& kernel, const char* executor,
                                std::size_t bytes) const {
    return {{"cipher", quoted(cipher_of(subject_))},
            {"direction", subject_.direction == Direction::encrypt ? "\"encrypt\"" : "\"decrypt\""},
            {"kernel", quoted(kernel)},
            {"executor", quoted(executor)},
            {"bytes", std::to_string(bytes)}};
  }

  // One thread, with pieces of 512 KiB as in the studies. "auto": the kernel that dispatch takes.
  [[nodiscard]] Entrant on_processor(const std::string& name, std::size_t bytes) {
    const Kernel& kernel = name == "auto" ? test::processor_key(subject_).kernel()
                                          : find_kernel(subject_.cipher, name);
    const auto key =
        std::make_shared<RawKey>(subject_.cipher, subject_.mode, subject_.key(), kernel);
    const auto run = [this, key, direction = subject_.direction, bytes] {
      return seconds_of([&] {
        RawPosition position{test::raw_start(subject_.mode, start())};
        key->crypt(direction, position, text(bytes), MutableBytes(by_processor_).first(bytes),
                   serial_executor(), 512 * kibibyte);
      });
    };
    (void)run();
    is_right(std::memcmp(by_processor_.data(), expected_.data(), bytes) == 0, kernel.name);
    return {factors(kernel.name, "sequential", bytes), run};
  }

  // Copies and kernel one after the other, on one stream.
  [[nodiscard]] Entrant on_device(const cuda::DeviceKernel& kernel, std::size_t bytes,
                                  CopyWay way = {}) {
    if (!way.is_pinned && pageable_text_.empty()) {
      pageable_text_.assign(text(bytes_).begin(), text(bytes_).end());
    }
    const std::uint8_t* const in = way.is_pinned ? session_.text->data() : pageable_text_.data();
    std::uint8_t* const out = way.is_pinned ? out_->data() : by_processor_.data();
    const std::size_t buffer = way.has_buffers ? buffer_bytes() : bytes;
    const auto run = [this, &kernel, subject = subject_, way, in, out, buffer, bytes] {
      put_image(kernel, subject);
      return seconds_of([&] {
        for (std::size_t at = 0; at < bytes; at += buffer) {
          through_device(kernel, subject, way, in + at, out + at, at, std::min(buffer, bytes - at));
        }
      });
    };
    out_of(
        bytes, [&] { (void)run(); }, kernel.name, out);
    return {factors(kernel.name, "cuda", bytes), run};
  }

  // What a program takes into memory at a time: 512 KiB, as one of the studies did. An emulated
  // device has short texts, which are to have several buffers.
  [[nodiscard]] std::size_t buffer_bytes() const {
    return session_.is_emulated ? kibibyte : 512 * kibibyte;
  }

  // Runs `body` and compares its output, which it leaves in pinned memory or at `out`.
  template <class Body>
  void out_of(std::size_t bytes, const Body& body, const char* what, std::uint8_t* out = nullptr) {
    std::uint8_t* const found = out == nullptr ? out_->data() : out;
    std::memset(found, 0, bytes);
    session_.runtime.fill_zero(session_.stream, device_out_->data(), bytes);
    body();
    is_right(std::memcmp(found, expected_.data(), bytes) == 0, what);
  }

  struct Phases {
    double in, work, out;
  };
  // By the device's clock.
  Phases phases_of(const cuda::DeviceKernel& kernel, std::size_t bytes) {
    put_image(kernel, subject_);
    const auto timed = [&](const auto& enter) {
      session_.stopwatch->start(session_.stream);
      enter();
      session_.stopwatch->stop(session_.stream);
      session_.runtime.wait(session_.stream);
      return session_.stopwatch->seconds();
    };
    cuda::Runtime& runtime = session_.runtime;
    return {timed([&] {
              runtime.copy_in(session_.stream, device_->data(), session_.text->data(), bytes);
            }),
            timed([&] { launch(kernel, subject_, 0, bytes); }), timed([&] {
              runtime.copy_out(session_.stream, out_->data(), device_out_->data(), bytes);
            })};
  }

  // By the device's clock, with the text there. The launch that is timed is entered while another
  // one runs, so that the host's way to the device is not timed.
  double launch_seconds(const cuda::DeviceKernel& kernel, std::size_t bytes) {
    put_image(kernel, subject_);
    launch(kernel, subject_, 0, bytes);
    session_.stopwatch->start(session_.stream);
    launch(kernel, subject_, 0, bytes);
    session_.stopwatch->stop(session_.stream);
    session_.runtime.wait(session_.stream);
    return session_.stopwatch->seconds();
  }

  // ECB of the text in pieces. The next of some streams copies, encrypts and copies back each of
  // them, so that copies overlap with encryption if there are several streams.
  [[nodiscard]] Entrant on_streams(const cuda::DeviceKernel& kernel, std::size_t bytes,
                                   unsigned count, std::size_t piece_bytes) {
    std::vector<std::shared_ptr<cuda::OwnedStream>> streams;
    for (unsigned i = 0; i < count; ++i) {
      streams.push_back(std::make_shared<cuda::OwnedStream>(session_.runtime, 0));
    }
    const auto run = [this, &kernel, bytes, piece_bytes, streams] {
      put_image(kernel, subject_);
      return seconds_of([&] {
        unsigned slot = 0;
        for (std::size_t at = 0; at < bytes; at += piece_bytes) {
          const std::size_t part = std::min(piece_bytes, bytes - at);
          const cuda::Stream stream = streams[slot]->get();
          session_.runtime.copy_in(stream, device_->data() + at, session_.text->data() + at, part);
          launch_ecb(kernel, stream, slot, device_->data() + at, device_out_->data() + at, part);
          session_.runtime.copy_out(stream, out_->data() + at, device_out_->data() + at, part);
          slot = (slot + 1) % static_cast<unsigned>(streams.size());
        }
        for (const auto& stream : streams) {
          session_.runtime.wait(stream->get());
        }
      });
    };
    out_of(
        bytes, [&] { (void)run(); }, kernel.name);
    Factors of = factors(kernel.name, "cuda", bytes);
    of.push_back({"streams", std::to_string(count)});
    of.push_back({"piece_bytes", std::to_string(piece_bytes)});
    return {of, run};
  }

  // The way of one study: each block is copied to the device, goes through its steps, and comes
  // back. With `allocates`, each has memory of its own on the device, for as long as it is there.
  [[nodiscard]] Entrant block_by_block(const cuda::DeviceKernel& kernel, std::size_t bytes,
                                       bool allocates) {
    return in_ecb(kernel, bytes, [this, &kernel, bytes, allocates] {
      for (std::size_t at = 0; at < bytes; at += block_bytes) {
        void* const own = allocates ? session_.runtime.allocate(0, block_bytes) : nullptr;
        auto* const in = allocates ? static_cast<std::uint8_t*>(own) : device_->data() + at;
        std::uint8_t* const out = allocates ? in : device_out_->data() + at;
        session_.runtime.copy_in(session_.stream, in, session_.text->data() + at, block_bytes);
        launch_ecb(kernel, session_.stream, 0, in, out, block_bytes);
        session_.runtime.copy_out(session_.stream, out_->data() + at, out, block_bytes);
        session_.runtime.wait(session_.stream);
        if (allocates) {
          session_.runtime.free(0, own);
        }
      }
    });
  }

  // The copies of block_by_block, and a wait for each block, too, but one launch between them.
  [[nodiscard]] Entrant copied_by_block(const cuda::DeviceKernel& kernel, std::size_t bytes) {
    return in_ecb(kernel, bytes, [this, &kernel, bytes] {
      for (std::size_t at = 0; at < bytes; at += block_bytes) {
        session_.runtime.copy_in(session_.stream, device_->data() + at, session_.text->data() + at,
                                 block_bytes);
      }
      launch_ecb(kernel, session_.stream, 0, device_->data(), device_out_->data(), bytes);
      for (std::size_t at = 0; at < bytes; at += block_bytes) {
        session_.runtime.copy_out(session_.stream, out_->data() + at, device_out_->data() + at,
                                  block_bytes);
        session_.runtime.wait(session_.stream);
      }
    });
  }

  void launch(const cuda::DeviceKernel& kernel, const test::RawSubject& subject, std::size_t at,
              std::size_t bytes) {
    cuda::Job job = {subject.operation(), device_->data() + at, device_out_->data() + at, bytes};
    job.counter = std::bit_cast<Block>(add_full_counter(
        std::bit_cast<CounterBlock>(start()), at / subject.block_size(), subject.block_size()));
    job.counter_bits = static_cast<unsigned>(8 * subject.block_size());
    session_.runtime.launch(session_.stream, kernel,
                            {image_->data(), subject.key_bytes, {}, 0, nullptr}, job);
  }
  // ECB, on any stream.
  void launch_ecb(const cuda::DeviceKernel& kernel, cuda::Stream stream, unsigned slot,
                  const std::uint8_t* in, std::uint8_t* out, std::size_t bytes) {
    session_.runtime.launch(stream, kernel, {image_->data(), subject_.key_bytes, {}, slot, nullptr},
                            cuda::Job{subject_.operation(), in, out, bytes});
  }
  void put_image(const cuda::DeviceKernel& kernel, const test::RawSubject& subject) {
    if (kernel.image_bytes > image_room) {
      throw Error(ErrorCode::failure, std::string("no room for the image of ") + kernel.name);
    }
    kernel.prepare(subject.key(), host_image_->data());
    session_.copy_in(*image_, *host_image_, kernel.image_bytes);
  }

 protected:
  GpuSession& session_;
  bool is_quick_;
  std::size_t bytes_;

 private:
  static constexpr std::size_t image_room = std::size_t{1} << 16;

  // What `body` does with the whole text in ECB, timed.
  template <class Body>
  [[nodiscard]] Entrant in_ecb(const cuda::DeviceKernel& kernel, std::size_t bytes,
                               const Body& body) {
    const auto run = [this, &kernel, body] {
      put_image(kernel, subject_);
      return seconds_of(body);
    };
    out_of(
        bytes, [&] { (void)run(); }, kernel.name);
    return {factors(kernel.name, "cuda", bytes), run};
  }

  // One buffer, or the whole text: to the device, through the kernel, back.
  void through_device(const cuda::DeviceKernel& kernel, const test::RawSubject& subject,
                      CopyWay way, const std::uint8_t* in, std::uint8_t* out, std::size_t at,
                      std::size_t bytes) {
    if (way.is_pinned) {
      session_.runtime.copy_in(session_.stream, device_->data() + at, in, bytes);
    } else {
      session_.pageable->in(session_.stream, device_->data() + at, in, bytes);
    }
    launch(kernel, subject, at, bytes);
    if (way.is_pinned) {
      session_.runtime.copy_out(session_.stream, out, device_out_->data() + at, bytes);
    } else {
      session_.pageable->out(session_.stream, out, device_out_->data() + at, bytes);
    }
    session_.runtime.wait(session_.stream);
  }

  std::unique_ptr<Memory> device_, device_out_, image_, host_image_, out_;
  test::Buffer expected_, by_processor_;
  test::Buffer pageable_text_;  // empty until a way needs it
  test::RawSubject subject_ = {Cipher::aes, Mode::ecb, Direction::encrypt, 16};
};

}  // namespace paes::bench
