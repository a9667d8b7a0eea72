// SPDX-License-Identifier: Apache-2.0
// The priority of the engine's own threads: what the system sees of it, whom a request wakes, and
// that contexts whose chunks are named one by one get them from other threads.
#include "keystream/workers.hpp"

#include <sched.h>

#include <atomic>
#include <filesystem>
#include <set>
#include <string>

#include "keystream_subject.hpp"

namespace paes::test {
namespace {

using keystream::Workers;
using keystream::WorkSource;

constexpr std::size_t chunk = 4096;

// Jobs, each of which keeps a worker until all of them are released.
class Jobs final : public WorkSource {
 public:
  void post() { waiting_.fetch_add(1); }
  void release() { is_released_.store(true); }
  [[nodiscard]] int taken() const { return taken_.load(); }
  [[nodiscard]] std::size_t looked() {
    const std::lock_guard lock(mutex_);
    return threads_.size();
  }

  [[nodiscard]] bool work() noexcept override {
    {
      const std::lock_guard lock(mutex_);
      threads_.insert(std::this_thread::get_id());
    }
    int waiting = waiting_.load();
    while (waiting > 0 && !waiting_.compare_exchange_weak(waiting, waiting - 1)) {
    }
    if (waiting <= 0) {
      return false;
    }
    taken_.fetch_add(1);
    while (!is_released_.load()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return true;
  }
  [[nodiscard]] bool has_work() const noexcept override { return waiting_.load() > 0; }

 private:
  std::atomic<int> waiting_{0};
  std::atomic<int> taken_{0};
  std::atomic<bool> is_released_{false};
  std::mutex mutex_;
  std::set<std::thread::id> threads_;  // that have looked for work
};

// One worker is awake and busy, so that workers of idle priority would leave the others asleep.
TEST(OrdinaryWorkers, AreWokenWhileOthersWork) {
  struct Owner {
    Workers workers;
    Jobs jobs;
  };
  constexpr unsigned count = 3;
  const auto owner = std::make_shared<Owner>();
  owner->workers.start(count, WorkerPriority::ordinary, owner, owner->jobs);
  EXPECT_TRUE(wait_until([&] { return owner->jobs.looked() == count; }))
      << "all have nothing to do";
  for (int job = 1; job <= static_cast<int>(count); ++job) {
    owner->jobs.post();
    owner->workers.wake();
    EXPECT_TRUE(wait_until([&] { return owner->jobs.taken() == job; })) << "job " << job;
  }
  owner->jobs.release();
  owner->workers.stop();
}

// How many threads of this process the system runs only when it has nothing else to do.
std::ptrdiff_t idle_threads() {
  const std::filesystem::directory_iterator all("/proc/self/task");
  return std::count_if(begin(all), end(all), [](const auto& thread) {
    return sched_getscheduler(std::stoi(thread.path().filename().string())) == SCHED_IDLE;
  });
}

TEST(WorkerPriority, IsWhatTheSystemSees) {
  ASSERT_TRUE(wait_until([] { return idle_threads() == 0; })) << "an earlier test's have ended";
  {
    const KeystreamEngine engine({.workers = 2});
    EXPECT_TRUE(wait_until([] { return idle_threads() == 2; }));
  }
  ASSERT_TRUE(wait_until([] { return idle_threads() == 0; }));
  KeystreamEngine engine({.workers = 2, .worker_priority = WorkerPriority::ordinary});
  const KeystreamKey key = engine.bind("aes-256-ctr", key_for("aes-256-ctr"), {});
  const KeystreamContext context = engine.open(key, Buffer(16, 1), {});
  ASSERT_TRUE(wait_until([&] { return engine.statistics().filled_chunks >= 14; })) << "they run";
  EXPECT_EQ(idle_threads(), 0);
}

// Each chunk is named, waited for, and used: a window of one chunk.
TEST(OrdinaryWorkers, MakeWhatClientsName) {
  KeystreamEngine engine(
      {.workers = 2, .worker_priority = WorkerPriority::ordinary, .always_ahead = true});
  const Buffer key_bytes = key_for("aes-256-ctr");
  const KeystreamKey key = engine.bind("aes-256-ctr", key_bytes, {});
  std::atomic<std::uint64_t> made_by_others{0};
  const auto be_client = [&](std::uint8_t number) {
    const Buffer counter(16, number);
    KeystreamContext context = engine.open(key, counter, {.window_chunks = 1});
    for (std::uint64_t at = 0; at < 40; ++at) {
      const std::uint64_t offset = at * 3 * chunk;  // in places that nobody can guess from the last
      const Buffer text = varied_bytes(chunk, at);
      Buffer out(chunk);
      context.prefetch(offset);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      context.encrypt(offset, text, out);
      EXPECT_EQ(out, xor_of(text, stream_of("aes-256-ctr", key_bytes, counter, offset, chunk)));
    }
    EXPECT_EQ(context.use().own, 0U);
    EXPECT_EQ(context.use().bypassed, 0U);
    made_by_others += context.use().other;
  };
  for (int tries = 0; tries < 20 && made_by_others == 0;
       ++tries) {  // a busy machine makes all late
    std::vector<std::jthread> clients;
    for (std::uint8_t number = 0; number < 3; ++number) {
      clients.emplace_back(be_client, static_cast<std::uint8_t>(3 * tries + number));
    }
  }
  EXPECT_GT(made_by_others, 0U);
}

}  // namespace
}  // namespace paes::test
