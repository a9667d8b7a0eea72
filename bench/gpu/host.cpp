// Data in the host's memory before and after: what the copies alone allow, the engine by the size
// and number of its slots, and beside it the processor alone and both together.
#include <cstdio>
#include <optional>
#include <thread>

#include "cuda/engine.hpp"
#include "gpu/session.hpp"
#include "kernel/registry.hpp"

namespace paes::bench {
namespace {

using test::RawSubject;
constexpr std::size_t mebibyte = std::size_t{1} << 20;
constexpr std::size_t page_bytes = 4096;
constexpr RawSubject aes_128_ctr = {Cipher::aes, Mode::ctr, Direction::encrypt, 16};
constexpr RawSubject others[] = {
    {Cipher::aes, Mode::ctr, Direction::encrypt, 32},
    {Cipher::aes, Mode::ecb, Direction::encrypt, 16},
    {Cipher::aes, Mode::cbc, Direction::decrypt, 16},
    {Cipher::aes, Mode::xts, Direction::encrypt, 32},
    {Cipher::des_ede3, Mode::ctr, Direction::encrypt, 24},
};

template <class Body>
double seconds_of(const Body& body) {
  const auto start = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

CopyRates measure_copies(Session& session) {
  const auto host = session.host_memory(session.text->size());
  const std::size_t piece = std::min(16 * mebibyte, host->size() / 4);
  const auto first = session.device_memory(piece);
  const auto second = session.device_memory(piece);
  const std::size_t rounds = host->size() / piece;
  const cuda::Stream other = session.runtime.open_stream(0);
  const auto rate = [&](bool in, bool out) {
    std::vector<double> seconds;
    for (int round = 0; round < 6; ++round) {
      const double taken = seconds_of([&] {
        for (std::size_t i = 0; i < rounds; ++i) {
          if (in) {
            session.runtime.copy_in(session.stream, first->data(), session.text->data() + i * piece,
                                    piece);
          }
          if (out) {
            session.runtime.copy_out(other, host->data() + i * piece, second->data(), piece);
          }
        }
        session.runtime.wait(session.stream);
        session.runtime.wait(other);
      });
      if (round > 0) {  // the first warms up
        seconds.push_back(taken);
      }
    }
    return static_cast<double>(rounds * piece) / median(seconds) / 1e9;
  };
  const CopyRates rates = {rate(true, false), rate(false, true), rate(true, true)};
  session.runtime.close_stream(other);
  std::printf("copies of pinned memory: in %.2f GB/s, out %.2f GB/s, both at once %.2f GB/s each\n",
              rates.in, rates.out, rates.both);
  return rates;
}

class HostToHost {
 public:
  HostToHost(Session& session, std::size_t bytes, const std::shared_ptr<cuda::Runtime>& runtime)
      : session_(session),
        runtime_(runtime),
        bytes_(bytes),
        memory_(static_cast<std::uint8_t*>(operator new (bytes, std::align_val_t{page_bytes}))),
        expected_(bytes) {}

  void expect(const RawSubject& subject) {
    subject_ = subject;
    processor_.emplace(test::processor_key(subject, unit_bytes()));
    const test::Buffer iv = test::varied_bytes(processor_->iv_bytes(), 6);
    iv_ = iv;
    RawPosition position = processor_->start(iv_);
    processor_->crypt(subject.direction, position, text(), expected_, *session_.processor,
                      mebibyte);
  }

  // `threads` callers, each with the next piece; who finds the device busy computes itself if
  // `shares` is set.
  void measure(const char* way, const cuda::EngineOptions* options, unsigned threads,
               bool is_pinned, bool shares) {
    std::unique_ptr<Engine> engine;
    std::unique_ptr<EngineRaw> bound;
    if (options != nullptr) {
      engine = cuda::make_engine(runtime_, *options);
      if (engine != nullptr) {
        if (is_pinned) {
          engine->pin(memory_.get(), bytes_);
        }
        bound = engine->bind_raw(subject_.cipher, subject_.mode, subject_.direction, subject_.key(),
                                 unit_bytes());
      }
      if (bound == nullptr) {
        session_.report.left_out.push_back(subject_.name() + ", " + way + ": no engine");
        return;
      }
    }
    const std::size_t piece = engine == nullptr ? mebibyte : engine->piece_bytes();
    std::uint8_t* const memory = memory_.get();
    const std::string name = subject_.name();
    HostRow row = {name.substr(0, name.find(' ')),
                   engine == nullptr ? processor_->kernel().name : device_kernel_name(),
                   way,
                   engine == nullptr ? 0 : engine->slots(),
                   piece,
                   threads,
                   bytes_,
                   0,
                   0};
    std::vector<double> seconds;
    for (int round = 0; round < 6; ++round) {
      std::copy(text().begin(), text().end(), memory);
      const double taken = seconds_of([&] {
        crypt_pieces(bound.get(), {memory, bytes_}, piece, threads, shares);
      });
      if (round == 0) {
        if (std::memcmp(memory, expected_.data(), bytes_) != 0) {
          std::printf("FAILED: %s, %s\n", name.c_str(), way);
          ++session_.report.failures;
          break;
        }
      } else {
        seconds.push_back(taken);
      }
    }
    bound.reset();
    if (engine != nullptr && is_pinned) {
      engine->unpin(memory);
    }
    if (!seconds.empty()) {
      row.repetitions = static_cast<unsigned>(seconds.size());
      row.seconds_median = median(seconds);
      session_.report.host.push_back(row);
      print(row, *session_.report.copies);
    }
  }

 private:
  [[nodiscard]] Bytes text() const { return session_.text->bytes().first(bytes_); }
  [[nodiscard]] std::size_t unit_bytes() const { return subject_.mode == Mode::xts ? 4096 : 0; }
  [[nodiscard]] std::string device_kernel_name() const {
    for (const cuda::DeviceKernel* const kernel : cuda::device_kernels()) {
      if (kernel->cipher == subject_.cipher) {
        return kernel->name;
      }
    }
    return "";
  }

  void crypt_pieces(const EngineRaw* bound, MutableBytes data, std::size_t piece, unsigned threads,
                    bool shares) const {
    const std::size_t count = (data.size() + piece - 1) / piece;
    // In place the ciphertext before a piece may be gone already, so it comes from the text.
    test::on_threads(count, threads, [&](std::size_t i) {
      const std::size_t at = i * piece;
      const MutableBytes part = data.subspan(at, std::min(piece, data.size() - at));
      const std::size_t before = std::min<std::size_t>(at, subject_.block_size());
      RawPosition position = processor_->at(iv_, at, text().subspan(at - before, before));
      const WhenBusy when = shares ? WhenBusy::decline : WhenBusy::wait;
      if (bound == nullptr || !bound->crypt(position.chain, part, part, when)) {
        processor_->crypt(subject_.direction, position, part, part, test::serial(), part.size());
      }
    });
  }

  Session& session_;
  std::shared_ptr<cuda::Runtime> runtime_;
  std::size_t bytes_;
  // Not the runtime's: the engine pins it, where it is to be pinned.
  struct Free {
    void operator()(std::uint8_t* memory) const {
      operator delete (memory, std::align_val_t{page_bytes});
    }
  };
  std::unique_ptr<std::uint8_t, Free> memory_;
  test::Buffer expected_;
  RawSubject subject_ = aes_128_ctr;
  std::optional<RawKey> processor_;
  test::Buffer iv_;
};

}  // namespace

void measure_host(Session& session) {
  const std::shared_ptr<cuda::Runtime> runtime(std::shared_ptr<cuda::Runtime>(), &session.runtime);
  if (!session.has_time_for("from host to host")) {
    return;
  }
  session.report.copies = measure_copies(session);
  HostToHost host(session, session.text->size(), runtime);
  const unsigned cores = session.report.threads;
  const std::size_t largest = session.is_emulated ? mebibyte : 16 * mebibyte;
  host.expect(aes_128_ctr);
  for (std::size_t piece = mebibyte; piece <= largest; piece *= 2) {
    for (const unsigned slots : {2U, 3U, 4U}) {
      cuda::EngineOptions options;
      options.slots = slots;
      options.piece_bytes = piece;
      if (session.has_time_for("a size of slots")) {
        host.measure("pinned", &options, slots, true, false);
      }
    }
  }
  cuda::EngineOptions options;
  options.piece_bytes = std::min(options.piece_bytes, largest);
  const auto beside = [&](const RawSubject& subject) {
    if (!session.has_time_for(subject.name() + " from host to host")) {
      return;
    }
    host.expect(subject);
    host.measure("pinned", &options, options.slots, true, false);
    host.measure("pageable", &options, options.slots, false, false);
    host.measure("processor", nullptr, cores, true, false);
    host.measure("hybrid", &options, cores + options.slots, true, true);
    if (subject.mode == Mode::ctr) {
      cuda::EngineOptions keystream = options;
      keystream.copies_keystream = true;
      host.measure("keystream", &keystream, options.slots, true, false);
    }
  };
  beside(aes_128_ctr);
  for (const RawSubject& subject : others) {
    beside(subject);
  }
}

}  // namespace paes::bench
