// SPDX-License-Identifier: Apache-2.0
#include "paes-bench/clients.hpp"

#include <fmt/core.h>
#include <sys/prctl.h>

#include <algorithm>
#include <barrier>
#include <chrono>
#include <cstring>
#include <ctime>
#include <exception>
#include <memory>
#include <thread>
#include <vector>

#include "cipher/mode/gcm_blocks.hpp"
#include "core/secret.hpp"
#include "message/cipher_name.hpp"
#include "message/raw_key.hpp"
#include "paes-bench/interrupt.hpp"
#include "paes/cipher.hpp"
#include "paes/gcm.hpp"

namespace paes::cli {

namespace {

using Clock = std::chrono::steady_clock;

// The requests of the shortest beginning (Beginning), and how many times as many the next has.
constexpr std::uint64_t first_beginning = 1024;
constexpr std::uint64_t beginning_factor = 4;

double seconds_of(clockid_t clock) {
  timespec time = {};
  (void)clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

Latency latency_of(std::vector<float> nanoseconds) {
  if (nanoseconds.empty()) {
    return {};
  }
  const auto at = [&](std::size_t percent) {
    const auto place =
        nanoseconds.begin() + static_cast<std::ptrdiff_t>((nanoseconds.size() - 1) * percent / 100);
    std::nth_element(nanoseconds.begin(), place, nanoseconds.end());
    return static_cast<double>(*place);
  };
  return {at(50), at(99)};
}

class Client {
 public:
  Client(KeystreamEngine& engine, const ClientTask& task)
      : engine_(engine),
        task_(task),
        name_(find_cipher_name(task.cipher)),
        text_(task.request_bytes),
        out_(task.request_bytes) {
    encrypt_ns.reserve(task.requests);
    schedule_ns.reserve(task.requests / task.requests_per_schedule + 1);
    if (task.delay_us != 0) {
      delay_ns.reserve(task.requests);
    }
    random_bytes(text_);
    begin_context();
  }

  void run() {
    if (task_.delay == Delay::asleep) {
      // The system would add 50 us to a sleep, to wake several threads at once. A disk does not.
      (void)prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
    }
    for (std::uint64_t i = 0; i < task_.requests; ++i) {
      if (offset_ + task_.request_bytes > limit_bytes_) {
        begin_context();
      }
      if (i % task_.requests_per_schedule == 0) {
        const auto start = Clock::now();
        schedule();
        schedule_ns.push_back(elapsed_ns(start));
        if (is_interrupted()) {
          break;
        }
      }
      if (task_.delay == Delay::asleep) {
        wait();
      }
      const auto start = Clock::now();
      encrypt();
      encrypt_ns.push_back(elapsed_ns(start));
      if (i == 0 || i + 1 == task_.requests) {
        check_output();
      }
      offset_ += task_.request_bytes;
      if (task_.delay == Delay::busy) {
        wait();
      }
    }
    add_use();
  }

  std::vector<float> encrypt_ns;
  std::vector<float> schedule_ns;
  std::vector<float> delay_ns;
  double waited_seconds = 0;  // of processor time
  KeystreamUse use;
  std::exception_ptr failure;

 private:
  static float elapsed_ns(Clock::time_point start) {
    return std::chrono::duration<float, std::nano>(Clock::now() - start).count();
  }

  // A 3DES key encrypts at most 8 MiB; then another one replaces it.
  void begin_context() {
    add_use();
    key_ = SecretBytes(name_.key_bytes);
    random_bytes(key_);
    offset_ = 0;
    limit_bytes_ = name_.cipher == Cipher::des_ede3 ? max_des_blocks * 8 : ~std::uint64_t{0};
    const KeystreamKey bound = engine_.bind(task_.cipher, key_, {.kernel = task_.kernel});
    if (name_.is_gcm()) {
      counter_.resize(gcm::standard_iv_bytes);
      random_bytes(counter_);
      sealed_ = std::make_unique<SealedContext>(
          engine_.open_sealed(bound, counter_, {.window_messages = task_.window_chunks}));
    } else {
      counter_.resize(block_bytes_of(name_.cipher));
      random_bytes(counter_);
      context_ = std::make_unique<KeystreamContext>(
          engine_.open(bound, counter_, {.window_chunks = task_.window_chunks}));
    }
  }

  void add_use() {
    if (context_ != nullptr) {
      add(use, context_->use());
    } else if (sealed_ != nullptr) {
      add(use, sealed_->use());
    }
  }

  [[nodiscard]] std::uint64_t message() const { return offset_ / task_.request_bytes; }

  void schedule() {
    if (context_ != nullptr) {
      context_->prefetch(offset_);
    } else {
      sealed_->prefetch(message());
    }
  }

  void encrypt() {
    if (context_ != nullptr) {
      context_->encrypt(offset_, text_, out_);
    } else {
      sealed_->seal(message(), {}, text_, out_, tag_);
    }
  }

  void wait() {
    if (task_.delay_us == 0) {
      return;
    }
    const auto start = Clock::now();
    const auto end = start + std::chrono::microseconds(task_.delay_us);
    if (task_.calls_idle && task_.window_chunks != 0) {
      engine_.idle(end);
    }
    if (task_.delay == Delay::asleep) {
      std::this_thread::sleep_until(end);
      delay_ns.push_back(elapsed_ns(start));
      return;
    }
    const double before = seconds_of(CLOCK_THREAD_CPUTIME_ID);
    while (Clock::now() < end) {
    }
    waited_seconds += seconds_of(CLOCK_THREAD_CPUTIME_ID) - before;
    delay_ns.push_back(elapsed_ns(start));
  }

  void check_output() {
    // The request alone, as one message whose counter or nonce is that of its beginning.
    std::vector<std::uint8_t> start = counter_;
    const std::size_t fixed = name_.is_gcm() ? gcm::standard_iv_bytes - sizeof message() : 0;
    std::uint64_t carry = name_.is_gcm() ? message() : offset_ / start.size();
    for (std::size_t i = start.size(); i-- > fixed;) {
      carry += start[i];
      start[i] = static_cast<std::uint8_t>(carry);
      carry >>= 8;
    }
    std::vector<std::uint8_t> expected(text_.size());
    Block tag = {};
    if (name_.is_gcm()) {
      Gcm(key_, {.kernel = "openssl"}).seal(start, {}, text_, expected, tag.bytes);
    } else {
      RawCipher(task_.cipher, key_, {.kernel = "openssl"}).encrypt(start, text_, expected);
    }
    if (expected != out_ || std::memcmp(tag.bytes, tag_, sizeof tag_) != 0) {
      throw Error(ErrorCode::failure,
                  fmt::format("bench: wrong output of the keystream engine at {}", offset_));
    }
  }

  KeystreamEngine& engine_;
  const ClientTask& task_;
  const CipherName& name_;
  SecretBytes key_;
  std::vector<std::uint8_t> counter_;
  std::vector<std::uint8_t> text_;
  std::vector<std::uint8_t> out_;
  std::uint8_t tag_[block_bytes] = {};
  std::unique_ptr<KeystreamContext> context_;  // one of the two, depending on the cipher's mode
  std::unique_ptr<SealedContext> sealed_;
  std::uint64_t limit_bytes_ = 0;
  std::uint64_t offset_ = 0;
};

// What some of each client's samples say, the first ones.
Latency latency_of(const std::vector<std::unique_ptr<Client>>& clients,
                   std::vector<float> Client::*samples, std::uint64_t of_each) {
  std::vector<float> all;
  for (const auto& client : clients) {
    const std::vector<float>& its = (*client).*samples;
    all.insert(
        all.end(), its.begin(),
        its.begin() + static_cast<std::ptrdiff_t>(std::min<std::uint64_t>(of_each, its.size())));
  }
  return latency_of(std::move(all));
}

std::vector<Beginning> beginnings_of(const std::vector<std::unique_ptr<Client>>& clients,
                                     const ClientTask& task) {
  std::vector<Beginning> found;
  const std::uint64_t all = task.requests * task.clients;
  for (std::uint64_t requests = first_beginning;; requests *= beginning_factor) {
    const std::uint64_t of_each =
        requests >= all ? task.requests : std::max<std::uint64_t>(requests / task.clients, 1);
    const std::uint64_t calls =
        (of_each + task.requests_per_schedule - 1) / task.requests_per_schedule;
    found.push_back({std::min(requests, all), latency_of(clients, &Client::schedule_ns, calls),
                     latency_of(clients, &Client::encrypt_ns, of_each)});
    if (requests >= all) {
      return found;
    }
  }
}

}  // namespace

void add(KeystreamUse& sum, const KeystreamUse& use) {
  sum.own += use.own;
  sum.other += use.other;
  sum.direct += use.direct;
  sum.late += use.late;
  sum.bypassed += use.bypassed;
}

ClientRun run_clients(const ClientTask& task) {
  KeystreamEngine engine(
      {.workers = task.window_chunks == 0 ? 0 : task.workers,
       .budget_bytes = std::size_t{256} << 20,
       .chunk_bytes = task.request_bytes,
       .device = task.window_chunks == 0 || task.workers == 0 ? nullptr : task.device,
       .worker_priority = task.worker_priority,
       .always_ahead = task.always_ahead});
  std::vector<std::unique_ptr<Client>> clients;
  clients.reserve(task.clients);
  for (unsigned i = 0; i < task.clients; ++i) {
    clients.push_back(std::make_unique<Client>(engine, task));
  }
  Clock::time_point start;
  double cpu_start = 0;
  std::barrier begin(static_cast<std::ptrdiff_t>(task.clients), [&]() noexcept {
    start = Clock::now();
    cpu_start = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
  });
  {
    std::vector<std::jthread> threads;
    threads.reserve(clients.size());
    for (const auto& client : clients) {
      threads.emplace_back([&begin, &client] {
        begin.arrive_and_wait();
        try {
          client->run();
        } catch (...) {
          client->failure = std::current_exception();
        }
      });
    }
  }
  ClientRun run = {};
  run.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  run.cpu_seconds = seconds_of(CLOCK_PROCESS_CPUTIME_ID) - cpu_start;
  stop_if_interrupted();
  for (const auto& client : clients) {
    if (client->failure != nullptr) {
      std::rethrow_exception(client->failure);
    }
    run.cpu_seconds -= client->waited_seconds;
    add(run.use, client->use);
  }
  run.device_chunks = engine.statistics().device_chunks;
  run.encrypt = latency_of(clients, &Client::encrypt_ns, task.requests);
  run.schedule = latency_of(clients, &Client::schedule_ns, task.requests);
  run.delay = latency_of(clients, &Client::delay_ns, task.requests);
  run.beginnings = beginnings_of(clients, task);
  return run;
}

}  // namespace paes::cli
