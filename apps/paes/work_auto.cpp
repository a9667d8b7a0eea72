// --device auto: whether a device pays, measured once in a process. Everything that costs comes
// late: inputs of less than 64 MiB and pipes stay with the CPU, a few milliseconds tell how long it
// would take, and only where that is longer than a device takes to start is one opened. Then each
// way of sharing the work is measured, and what is no faster than the CPU alone is not taken.
#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "core/secret.hpp"
#include "message/gcm_message.hpp"
#include "message/raw_key.hpp"
#include "mode/gcm.hpp"
#include "paes/cuda_device.hpp"
#include "paes/report.hpp"
#include "paes/work.hpp"
#include "stream/device_rates.hpp"

namespace paes::cli {

namespace {

using stream::Sharing;

constexpr std::uint64_t least_bytes = std::uint64_t{64} << 20;
// A driver takes about a second to start, pinned memory and the trials take some more, and of all
// that nothing is gained where the device is no faster.
constexpr double least_cpu_seconds = 5;
constexpr double measured_seconds = 0.01;
// Enough to tell a second from much less; a file of 64 MiB may take no more than ten times this.
constexpr double estimated_seconds = 0.002;
constexpr std::size_t cpu_piece_bytes = stream::default_grain_bytes;

// The cipher with a key that nothing else uses.
class Trial {
 public:
  Trial(const CipherName& cipher, const Kernel& kernel, DeviceUse use) {
    SecretBytes key(cipher.key_bytes);
    random_bytes(key);
    if (cipher.is_gcm()) {
      gcm_ = std::make_unique<GcmKey>(key, kernel, use);
      message_ =
          std::make_unique<GcmMessage>(*gcm_, Bytes(zero_).first(gcm::standard_iv_bytes), Bytes());
    } else {
      constexpr std::size_t sector_bytes = 4096;
      const bool has_units = row_of(*cipher.mode).has_units;
      raw_ = std::make_unique<RawKey>(cipher.cipher, *cipher.mode, key, kernel,
                                      has_units ? sector_bytes : 0, use);
    }
  }

  void operator()(MutableBytes piece) const {
    if (message_ != nullptr) {
      GhashPart part = message_->encrypt(0, piece, piece);
      wipe(part.value.bytes);
      return;
    }
    // CBC and CFB are parallel in this direction alone.
    RawPosition position = raw_->start(Bytes(zero_).first(raw_->iv_bytes()));
    raw_->crypt(Direction::decrypt, position, piece, piece, serial_executor(), piece.size());
  }

 private:
  std::uint8_t zero_[block_bytes] = {};
  std::unique_ptr<GcmKey> gcm_;
  std::unique_ptr<GcmMessage> message_;
  std::unique_ptr<RawKey> raw_;
};

}  // namespace

double WorkChooser::rate_of(const Choice& choice, std::size_t piece_bytes, double seconds) const {
  const Trial trial(cipher_, kernel_, {choice.device.get(), choice.when_busy});
  const auto executor = choice.executor_for(std::nullopt);
  executor->start();
  return stream::measure_rate([&](MutableBytes piece) { trial(piece); }, *executor, piece_bytes,
                              choice.device.get(), seconds);
}

// What is faster than the CPU by what it has measured; else device_ stays null.
void WorkChooser::measure_device(stream::Rates& rates) {
  OpenedDevice opened = open_cuda_device("", notes_, device_share_);
  device_ = std::move(opened.device);
  if (device_ == nullptr) {
    throw Error(ErrorCode::failure, "cuda is not available: " + opened.why);
  }
  rates.cpu = rate_of(cpu(), cpu_piece_bytes, measured_seconds);
  const auto rate_with = [&](WhenBusy when_busy) {
    return rate_of(with_device(when_busy), device_->piece_bytes(), measured_seconds);
  };
  rates.device = rate_with(WhenBusy::wait);
  // With pieces of a device's size the CPU takes too long for a try where it is slow, and then it
  // would add little.
  if (rates.cpu > rates.device / 8) {
    rates.hybrid = rate_with(WhenBusy::decline);
  }
  const Sharing best = best_of(rates);
  when_busy_ = best == Sharing::hybrid ? WhenBusy::decline : WhenBusy::wait;
  if (best == Sharing::cpu) {
    device_ = nullptr;
  } else if (cipher_.mode == Mode::ctr) {
    // Less to copy, and more for the processor to do.
    const std::shared_ptr<Device> copying =
        std::exchange(device_, open_cuda_device("", notes_, device_share_, true).device);
    const double copied = std::max(rates.device, rates.hybrid);
    if (device_ == nullptr ||
        stream::best_of({.cpu = copied, .device = rate_with(when_busy_)}) == Sharing::cpu) {
      device_ = copying;
    }
  }
}

void WorkChooser::measure(std::uint64_t bytes) {
  if (bytes < least_bytes) {
    return;
  }
  if (estimated_rate_ == 0) {
    estimated_rate_ = rate_of(cpu(), cpu_piece_bytes, estimated_seconds);
  }
  if (static_cast<double>(bytes) < least_cpu_seconds * estimated_rate_) {
    return;
  }
  is_automatic_ = false;  // once is enough
  stream::Rates rates;
  std::string found;
  try {
    measure_device(rates);
    found = fmt::format("cpu {:.2f} GB/s, cuda {:.2f}, hybrid {:.2f}", rates.cpu / 1e9,
                        rates.device / 1e9, rates.hybrid / 1e9);
  } catch (const Error& error) {
    device_ = nullptr;
    found = std::string("cpu, because ") + error.what();
  }
  if (notes_ == Notes::all) {
    print_note("paes: device: " + found);
  }
}

}  // namespace paes::cli
