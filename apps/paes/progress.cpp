#include "paes/progress.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>

#include "paes/report.hpp"

namespace paes::cli {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds until_first = milliseconds(1000);
constexpr milliseconds between = milliseconds(200);

std::string clock_text(double seconds) {
  const auto whole = std::lround(std::min(seconds, 359999.0));
  return whole >= 3600 ? fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60)
                       : fmt::format("{}:{:02}", whole / 60, whole % 60);
}

}  // namespace

std::string progress_text(const std::string& label, std::uint64_t done_bytes,
                          std::optional<std::uint64_t> total_bytes, double seconds) {
  const auto done = static_cast<double>(done_bytes);
  const double rate = seconds > 0 ? done / seconds : 0;
  std::string text = printable(label) + ": " + human_bytes(done);
  if (total_bytes && *total_bytes >= done_bytes && *total_bytes != 0) {
    const auto total = static_cast<double>(*total_bytes);
    text += fmt::format(" of {}, {:.0f}%", human_bytes(total), 100 * done / total);
    text += fmt::format(", {}/s", human_bytes(rate));
    return rate > 0 ? text + ", " + clock_text((total - done) / rate) + " left" : text;
  }
  return text + fmt::format(", {}/s, {}", human_bytes(rate), clock_text(seconds));
}

ProgressMeter::ProgressMeter(bool wanted, std::string label,
                             std::optional<std::uint64_t> total_bytes)
    : label_(std::move(label)), total_bytes_(total_bytes) {
  if (!wanted || isatty(STDERR_FILENO) == 0) {
    return;
  }
  // Signals are for the threads that work; this one only draws.
  sigset_t all;
  sigset_t before;
  (void)sigfillset(&all);
  (void)pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread(&ProgressMeter::run, this);
  (void)pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

ProgressMeter::~ProgressMeter() {
  if (!thread_.joinable()) {
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  stop_.notify_one();
  thread_.join();
}

void ProgressMeter::run() {
  // Nothing counts before the first bytes: the user may still be typing a passphrase.
  Clock::time_point start = Clock::now();
  bool shown = false;
  std::unique_lock lock(mutex_);
  while (!stop_.wait_for(lock, between, [this] { return stopping_; })) {
    const std::uint64_t done_bytes = done_bytes_.load(std::memory_order_relaxed);
    const Clock::time_point now = Clock::now();
    if (done_bytes == 0) {
      start = now;
    }
    if (now - start < until_first) {
      continue;
    }
    const double seconds = std::chrono::duration<double>(now - start).count();
    // Erase to the end of the line after the text, not before it: no flicker.
    fmt::print(stderr, "\r{}\033[K", progress_text(label_, done_bytes, total_bytes_, seconds));
    (void)std::fflush(stderr);
    shown = true;
  }
  if (shown) {
    fmt::print(stderr, "\r\033[K");
    (void)std::fflush(stderr);
  }
}

}  // namespace paes::cli
