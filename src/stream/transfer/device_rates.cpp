// SPDX-License-Identifier: Apache-2.0
#include "stream/transfer/device_rates.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>

#include "stream/transfer/buffer.hpp"

namespace paes::stream {

namespace {

using Clock = std::chrono::steady_clock;
constexpr double worth_a_change = 1.1;

}  // namespace

WorkShare best_of(const Rates& rates) noexcept {
  const double best = std::max(rates.device, rates.hybrid);
  if (best < rates.cpu * worth_a_change) {
    return WorkShare::cpu;
  }
  return rates.hybrid > rates.device ? WorkShare::hybrid : WorkShare::device;
}

double measure_rate(const std::function<void(MutableBytes piece)>& work, const Executor& executor,
                    std::size_t piece_bytes, Device* device, double seconds) {
  std::atomic<std::uint64_t> pieces{0};
  std::atomic<unsigned> warm{0};
  std::atomic<double> most_seconds{0};
  executor.on_each_thread([&](unsigned) {
    Buffer buffer({.in_bytes = piece_bytes, .out_bytes = piece_bytes}, device);
    const MutableBytes piece(buffer.item(0), piece_bytes);
    work(piece);
    ++warm;
    // Threads that start together compete as in real work. The wait is limited: one may fail.
    const Clock::time_point asked = Clock::now();
    const auto since = [](Clock::time_point from) {
      return std::chrono::duration<double>(Clock::now() - from).count();
    };
    while (warm.load() < executor.threads() && since(asked) < seconds) {
    }
    const Clock::time_point start = Clock::now();
    double own_seconds = 0;
    while ((own_seconds = since(start)) < seconds) {
      work(piece);
      ++pieces;
    }
    double known = most_seconds.load();
    while (known < own_seconds && !most_seconds.compare_exchange_weak(known, own_seconds)) {
    }
  });
  const double longest = most_seconds.load();
  return longest > 0 ? static_cast<double>(pieces.load() * piece_bytes) / longest : 0;
}

}  // namespace paes::stream
