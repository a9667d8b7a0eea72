// SPDX-License-Identifier: Apache-2.0
#include "cli/progress.hpp"

#include <fmt/core.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "cli/report.hpp"
#include "cli/shown_text.hpp"

namespace paes::cli {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds until_first = milliseconds(1000);
constexpr milliseconds between = milliseconds(200);

std::string clock_text(double seconds) {
  const auto halves = static_cast<long>(2 * std::min(seconds, 359999.0));
  const long whole = (halves + 1) / 2;
  return whole >= 3600 ? fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60)
                       : fmt::format("{}:{:02}", whole / 60, whole % 60);
}

// The longest text first.
std::vector<std::string> figures(std::uint64_t done_bytes, std::optional<std::uint64_t> total_bytes,
                                 double seconds) {
  const auto done = static_cast<double>(done_bytes);
  const double rate = seconds > 0 ? done / seconds : 0;
  const std::string speed = human_bytes(rate) + "/s";
  if (!total_bytes || *total_bytes < done_bytes || *total_bytes == 0) {
    const std::string bytes = human_bytes(done);
    const std::string time = clock_text(seconds);
    return {bytes + ", " + speed + ", " + time, bytes + ", " + time, bytes};
  }
  const auto total = static_cast<double>(*total_bytes);
  const std::string percent = fmt::format("{:.0f}%", 100 * done / total);
  const std::string left = rate > 0 ? ", " + clock_text((total - done) / rate) + " left" : "";
  return {human_bytes(done) + " of " + human_bytes(total) + ", " + percent + ", " + speed + left,
          percent + ", " + speed + left, percent + left, percent};
}

// Asked at each update, because windows change their size.
std::size_t terminal_columns() {
  constexpr std::size_t usual_columns = 80;
  struct winsize size = {};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col != 0) {
    return size.ws_col;
  }
  // Serial lines do not know their width; a user who does has set this.
  const char* const text = std::getenv("COLUMNS");
  const unsigned long named = text != nullptr ? std::strtoul(text, nullptr, 10) : 0;
  return named != 0 ? named : usual_columns;
}

}  // namespace

std::string progress_text(const std::string& label, std::uint64_t done_bytes,
                          std::optional<std::uint64_t> total_bytes, double seconds,
                          std::size_t columns) {
  constexpr std::size_t least_of_label = 12;
  constexpr std::string_view between_them = ": ";
  const std::vector<std::string> choices = figures(done_bytes, total_bytes, seconds);
  const std::string name = printable(label);
  const std::size_t least = std::min(columns_of(name), least_of_label);
  for (const std::string& choice : choices) {
    const std::size_t taken = choice.size() + between_them.size();
    if (taken + least <= columns) {
      return end_within(name, columns - taken).append(between_them) + choice;
    }
  }
  for (const std::string& choice : choices) {
    if (choice.size() <= columns) {
      return choice;
    }
  }
  return "";
}

ProgressMeter::ProgressMeter(bool wanted, Label label, std::optional<std::uint64_t> total_bytes)
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
    // The last column stays free: a terminal that has filled it is about to go to the next line.
    show_progress_line(
        progress_text(label_(), done_bytes, total_bytes_, seconds, terminal_columns() - 1));
  }
  clear_progress_line();
}

}  // namespace paes::cli
