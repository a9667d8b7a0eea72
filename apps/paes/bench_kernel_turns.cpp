#include "paes/bench_kernel_turns.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <memory>
#include <new>
#include <string>

#include "message/gcm.hpp"
#include "mode/gcm.hpp"
#include "paes/bench_reference.hpp"
#include "paes/error.hpp"

namespace paes::cli {

namespace {

constexpr std::size_t page_bytes = 4096;
constexpr std::size_t least_rounds = 15;

// Starts on a page, so that no kernel is favoured by where the allocator happened to put it.
class Buffer {
 public:
  explicit Buffer(std::size_t bytes)
      : memory_(static_cast<std::uint8_t*>(::operator new (bytes, std::align_val_t{page_bytes}))),
        bytes_(bytes) {}
  [[nodiscard]] MutableBytes view() const noexcept { return {memory_.get(), bytes_}; }

 private:
  struct Release {
    void operator()(std::uint8_t* memory) const noexcept {
      ::operator delete (memory, std::align_val_t{page_bytes});
    }
  };
  std::unique_ptr<std::uint8_t, Release> memory_;
  std::size_t bytes_;
};

// What one thread works on.
struct alignas(128) Lane {
  explicit Lane(std::size_t message_bytes)
      : plain(message_bytes), cipher(message_bytes), out(message_bytes) {}

  Buffer plain;
  Buffer cipher;  // what the kernel must make of `plain`, or be given back
  Buffer out;
  std::uint8_t iv[gcm::standard_iv_bytes] = {};
  Block tag = {};
  bool authentic = true;
  double cpu_seconds = 0;  // of the last turn
};

double thread_cpu_seconds() noexcept {
  struct timespec now = {};
  (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

void fill_with_random(MutableBytes bytes) {
  constexpr std::size_t part_bytes = std::size_t{1} << 30;
  for (std::size_t at = 0; at < bytes.size(); at += part_bytes) {
    random_bytes(bytes.subspan(at, std::min(part_bytes, bytes.size() - at)));
  }
}

// One message of the lane. Sealing takes a fresh IV each time; a sealed message has only its own.
void run_message(const GcmKey& key, Direction direction, Lane& lane) noexcept {
  const Bytes tag(lane.tag.bytes, block_bytes);
  switch (direction) {
    case Direction::encrypt:
      store_le(lane.iv, load_le<std::uint64_t>(lane.iv) + 1);
      key.seal(lane.iv, {}, lane.plain.view(), lane.out.view(), lane.tag.bytes);
      break;
    case Direction::decrypt:
      lane.authentic &= key.open(lane.iv, {}, lane.cipher.view(), lane.out.view(), tag);
      break;
    case Direction::verify:
      lane.authentic &= key.verify(lane.iv, {}, lane.cipher.view(), tag);
      break;
  }
  // The compiler must believe that somebody looks at every output.
  asm volatile("" : : "r"(lane.out.view().data()) : "memory");
}

class Turns {
 public:
  Turns(std::span<const Kernel* const> kernels, const TurnSettings& settings,
        const Executor& executor)
      : settings_(settings), executor_(executor), key_(settings.key_bytes) {
    random_bytes(key_);
    for (unsigned thread = 0; thread < executor.threads(); ++thread) {
      lanes_.push_back(std::make_unique<Lane>(settings.message_bytes));
    }
    for (const Kernel* kernel : kernels) {
      rows_.push_back({GcmKey(key_, *kernel), 1, {kernel, {}}});
    }
  }

  std::vector<KernelTimes> run() {
    const auto start = Clock::now();
    const double turn_seconds =
        std::clamp(settings_.seconds / (25.0 * static_cast<double>(rows_.size())), 0.005, 0.020);
    fill_lanes();
    for (Row& row : rows_) {
      prepare_and_check(row);
      calibrate(row, turn_seconds);
    }
    for (std::size_t round = 0; round < least_rounds || seconds_since(start) < settings_.seconds;
         ++round) {
      fill_lanes();
      for (Row& row : rows_) {
        if (settings_.before_turn) {
          settings_.before_turn();
        }
        prepare_and_check(row);
        (void)time_messages(row, std::max<std::uint64_t>(row.messages / 16, 1));
        row.times.seconds.push_back(time_messages(row, row.messages) /
                                    static_cast<double>(row.messages));
      }
    }
    std::vector<KernelTimes> times;
    for (Row& row : rows_) {
      times.push_back(std::move(row.times));
    }
    return times;
  }

 private:
  using Clock = std::chrono::steady_clock;

  struct Row {
    GcmKey key;
    std::uint64_t messages;  // of a turn, on each thread
    KernelTimes times;
  };

  static double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
  }

  void fill_lanes() {
    for (const auto& lane : lanes_) {
      fill_with_random(lane->plain.view());
      random_bytes(lane->iv);
    }
  }

  double time_messages(const Row& row, std::uint64_t messages) {
    const auto start = Clock::now();
    executor_.on_each_thread([&](unsigned thread) {
      Lane& lane = *lanes_[thread];
      const double cpu_start = thread_cpu_seconds();
      for (std::uint64_t i = 0; i < messages; ++i) {
        run_message(row.key, settings_.direction, lane);
      }
      lane.cpu_seconds = thread_cpu_seconds() - cpu_start;
    });
    double seconds = settings_.clock == BenchClock::wall ? seconds_since(start) : 0;
    for (const auto& lane : lanes_) {
      if (settings_.clock == BenchClock::cpu) {
        seconds = std::max(seconds, lane->cpu_seconds);
      }
      if (!lane->authentic) {
        reject(row, "rejects a good tag");
      }
    }
    return seconds;
  }

  // Doubles the messages until they take at least half a turn. The best of three, because one turn
  // that the system interrupted would pass for many messages.
  void calibrate(Row& row, double turn_seconds) {
    const auto best = [&] {
      double seconds = time_messages(row, row.messages);
      for (unsigned again = 1; again < 3 && seconds >= turn_seconds / 2; ++again) {
        seconds = std::min(seconds, time_messages(row, row.messages));
      }
      return seconds;
    };
    double seconds = best();
    while (seconds < turn_seconds / 2) {
      row.messages *= 2;
      seconds = best();
    }
    const double wanted = static_cast<double>(row.messages) * turn_seconds / seconds;
    row.messages = static_cast<std::uint64_t>(std::max(std::llround(wanted), 1LL));
  }

  void prepare_and_check(const Row& row) {
    const Kernel& kernel = row.key.kernel();
    if (settings_.direction == Direction::encrypt) {
      time_messages(row, 1);
      for (const auto& lane : lanes_) {
        Block tag;
        encrypt_as_claimed(kernel, key_, lane->iv, lane->plain.view(), lane->cipher.view(), tag);
        if (!equal_constant_time(lane->out.view(), lane->cipher.view()) ||
            !equal_constant_time(tag.bytes, lane->tag.bytes)) {
          reject(row, "differs from libcrypto");
        }
      }
      return;
    }
    for (const auto& lane : lanes_) {
      encrypt_as_claimed(kernel, key_, lane->iv, lane->plain.view(), lane->cipher.view(),
                         lane->tag);
      std::fill(lane->out.view().begin(), lane->out.view().end(), std::uint8_t{0});
    }
    time_messages(row, 1);
    for (const auto& lane : lanes_) {
      if (settings_.direction == Direction::decrypt &&
          !equal_constant_time(lane->out.view(), lane->plain.view())) {
        reject(row, "differs from libcrypto");
      }
    }
  }

  [[noreturn]] static void reject(const Row& row, const char* why) {
    throw Error(ErrorCode::failure, std::string("kernel '") + row.key.kernel().name +
                                        "': wrong output: " + why +
                                        "; nothing is reported of a run with a wrong output");
  }

  TurnSettings settings_;
  const Executor& executor_;
  SecretBytes key_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::vector<Row> rows_;
};

}  // namespace

GcmOperation operation_of(Direction direction) noexcept {
  switch (direction) {
    case Direction::encrypt:
      return GcmOperation::seal;
    case Direction::decrypt:
      return GcmOperation::open;
    case Direction::verify:
      break;
  }
  return GcmOperation::verify;
}

std::vector<KernelTimes> take_turns(std::span<const Kernel* const> kernels,
                                    const TurnSettings& settings, const Executor& executor) {
  return Turns(kernels, settings, executor).run();
}

}  // namespace paes::cli
