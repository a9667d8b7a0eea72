// SPDX-License-Identifier: Apache-2.0
#include "exec/schedule/start_threads.hpp"

#include <pthread.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "paes/error.hpp"

namespace paes {

namespace {

// OMP_STACKSIZE (OpenMP 5.0, section 6.7): a number, then B, K (the default), M or G.
std::optional<std::size_t> parse_stack_bytes(const char* text) {
  char* end = nullptr;
  errno = 0;
  const unsigned long long number = std::strtoull(text, &end, 10);
  if (end == text || errno != 0) {
    return std::nullopt;
  }
  while (std::isspace(static_cast<unsigned char>(*end)) != 0) {
    ++end;
  }
  constexpr std::string_view units = "bkmg";
  const auto letter = static_cast<char>(std::tolower(static_cast<unsigned char>(*end)));
  const std::size_t unit = units.find(letter);
  const std::size_t shift = 10 * (unit == std::string_view::npos ? units.find('k') : unit);
  if (number > SIZE_MAX >> shift) {
    return std::nullopt;
  }
  return static_cast<std::size_t>(number) << shift;
}

// The variables that libgomp and libomp read. If several are set, the largest counts.
std::size_t wanted_stack_bytes() {
  std::size_t bytes = 0;
  for (const char* name : {"OMP_STACKSIZE", "GOMP_STACKSIZE", "KMP_STACKSIZE"}) {
    // Safe in any thread, because nothing in paes changes the environment.
    const char* text = std::getenv(name);  // NOLINT(concurrency-mt-unsafe)
    if (text != nullptr) {
      bytes = std::max(bytes, parse_stack_bytes(text).value_or(0));
    }
  }
  return bytes;
}

void* wait_for_gate(void* gate) {
  const std::lock_guard passing(*static_cast<std::mutex*>(gate));
  return nullptr;
}

}  // namespace

void check_threads_can_start(unsigned threads) {
  std::mutex gate;
  std::vector<pthread_t> started;
  started.reserve(threads);
  pthread_attr_t attributes;
  (void)pthread_attr_init(&attributes);
  if (const std::size_t bytes = wanted_stack_bytes(); bytes != 0) {
    // OpenMP, too, ignores a size that the system refuses.
    (void)pthread_attr_setstacksize(&attributes, bytes);
  }
  {
    // Held until all of them exist, because limits count threads that live at the same time.
    const std::lock_guard closed(gate);
    pthread_t thread = {};
    while (started.size() + 1 < threads &&
           pthread_create(&thread, &attributes, wait_for_gate, &gate) == 0) {
      started.push_back(thread);
    }
  }
  (void)pthread_attr_destroy(&attributes);
  for (const pthread_t thread : started) {
    (void)pthread_join(thread, nullptr);
  }
  const std::size_t possible = started.size() + 1;
  if (possible < threads) {
    throw Error(ErrorCode::failure,
                "threads: only " + std::to_string(possible) + " of " + std::to_string(threads) +
                    " could be started",
                "give -T " + std::to_string(possible) +
                    ", or look at the limits: ulimit -u, ulimit -v, OMP_STACKSIZE");
  }
}

}  // namespace paes
