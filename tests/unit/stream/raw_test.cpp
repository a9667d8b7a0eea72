// SPDX-License-Identifier: Apache-2.0
// Raw messages through the pipeline on several threads, where races would be: chained directions
// that take turns, pieces at offsets, pipes, and a failure while others wait for their turn.
#include "stream/raw/raw.hpp"

#include <gtest/gtest.h>

#include "exec/schedule/schedule.hpp"
#include "exec/thread_pool.hpp"
#include "file_sample.hpp"
#include "stream/raw/raw_gcm.hpp"

namespace paes::stream {
namespace {

constexpr std::size_t text_bytes = (std::size_t{1} << 20) + 32;

struct Case {
  Mode mode;
  Direction direction;
};

class RawStreams : public ::testing::TestWithParam<Case> {
 protected:
  // The whole in one call.
  static Contents at_once(const RawKey& key, Bytes iv, const Contents& text) {
    Contents out(text.size());
    RawPosition position = key.start(iv);
    key.crypt(GetParam().direction, position, text, out, serial_executor(), text.size());
    return out;
  }
};

TEST_P(RawStreams, EveryWayGivesTheSameBytes) {
  const Kernel& kernel = find_kernel(Cipher::aes, "openssl");
  const RawKey key(Cipher::aes, GetParam().mode, random_buffer(32, 1), kernel,
                   GetParam().mode == Mode::xts ? 512 : 0);
  const Contents iv = random_buffer(key.iv_bytes(), 2);
  const Contents text = random_buffer(text_bytes, 3);
  const Contents want = at_once(key, iv, text);
  const Folder folder;
  write_file(folder / "in", text);
  for (const Schedule schedule : named_schedules()) {
    for (const bool from_pipe : {false, true}) {
      for (const bool to_pipe : {false, true}) {
        const auto executor = make_executor(schedule, 3);
        const std::string source = folder / (from_pipe ? "from" : "in");
        const std::string target = folder / (to_pipe ? "to" : "out");
        std::thread feeder;
        std::thread drainer;
        Contents drained;
        if (from_pipe) {
          ASSERT_EQ(mkfifo(source.c_str(), 0600), 0);
          feeder = feed(source, text, 70'001);
        }
        if (to_pipe) {
          ASSERT_EQ(mkfifo(target.c_str(), 0600), 0);
          drainer = drain(target, drained, 30'011);
        }
        {
          Input input = Input::open(source);
          const auto output = create_output(target, {.source = &input});
          const Totals totals =
              crypt_raw(input, *output, {.key = key, .direction = GetParam().direction, .iv = iv},
                        {.executor = *executor, .kernel = kernel, .piece_bytes = 32768});
          EXPECT_EQ(totals.text_bytes, text.size());
        }
        if (from_pipe) {
          feeder.join();
        }
        if (to_pipe) {
          drainer.join();
        }
        EXPECT_TRUE((to_pipe ? drained : read_file(target)) == want)
            << from_pipe << to_pipe << name_of(schedule);
        for (const std::string& used : {from_pipe ? source : std::string(), target}) {
          std::filesystem::remove(used);
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Modes, RawStreams,
    ::testing::Values(Case{Mode::ecb, Direction::encrypt}, Case{Mode::cbc, Direction::encrypt},
                      Case{Mode::cbc, Direction::decrypt}, Case{Mode::cfb, Direction::encrypt},
                      Case{Mode::cfb, Direction::decrypt}, Case{Mode::ofb, Direction::encrypt},
                      Case{Mode::ctr, Direction::decrypt}, Case{Mode::xts, Direction::encrypt}),
    [](const auto& instance) {
      return std::string(row_of(instance.param.mode).name) +
             (instance.param.direction == Direction::encrypt ? "_encrypt" : "_decrypt");
    });

// The message is too long for its key: found while pieces before it wait to be encrypted.
TEST(RawFailures, AFailureEndsTheTurns) {
  const Kernel& kernel = find_kernel(Cipher::aes, "openssl");
  const RawKey key(Cipher::aes, Mode::cbc, random_buffer(16, 1), kernel);
  const Contents iv = random_buffer(16, 2);
  const Contents text = random_buffer(text_bytes, 3);
  const Folder folder;
  const std::string fifo = folder / "from";
  for (const std::uint64_t max_blocks : {1U, 2048U, 4096U, 30'000U, 65'536U}) {
    ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
    std::thread feeder = feed(fifo, text, 40'000);
    const auto executor = make_thread_pool(3);
    const Error error = error_of([&] {
      Input input = Input::open(fifo);
      const auto output = create_output(folder / "out", {.source = &input});
      (void)crypt_raw(
          input, *output,
          {.key = key, .direction = Direction::encrypt, .iv = iv, .max_blocks = max_blocks},
          {.executor = *executor, .kernel = kernel, .piece_bytes = 16384});
    });
    feeder.join();
    EXPECT_EQ(error.code, ErrorCode::usage) << error.what();
    std::filesystem::remove(fifo);
    EXPECT_EQ(folder.entries(), 0U);
  }
}

TEST(RawGcm, GcmComesBackAndNothingElseDoes) {
  const Kernel& kernel = find_kernel(Cipher::aes, "openssl");
  const GcmKey key(random_buffer(16, 1), kernel);
  const Contents iv = random_buffer(12, 2);
  const Contents text = random_buffer(text_bytes + 5, 3);
  const Folder folder;
  write_file(folder / "in", text);
  const auto executor = make_thread_pool(3);
  const Work work{.executor = *executor, .kernel = kernel, .piece_bytes = 32768};
  {
    Input input = Input::open(folder / "in");
    const auto output = create_output(folder / "sealed", {.source = &input});
    EXPECT_EQ(seal_gcm(input, *output, key, iv, {}, work).text_bytes, text.size());
  }
  Contents want(text.size() + 16);
  key.seal(iv, {}, text, MutableBytes(want).first(text.size()), MutableBytes(want).last(16));
  EXPECT_TRUE(read_file(folder / "sealed") == want);
  {
    Input input = Input::open(folder / "sealed");
    const auto output = create_output(folder / "opened", {.source = &input});
    EXPECT_EQ(open_gcm(input, *output, key, iv, {}, work).text_bytes, text.size());
  }
  EXPECT_TRUE(read_file(folder / "opened") == text);
  want[text_bytes / 2] ^= 1;
  write_file(folder / "sealed", want);
  const Error error = error_of([&] {
    Input input = Input::open(folder / "sealed");
    const auto output = create_output(folder / "forged", {.source = &input});
    (void)open_gcm(input, *output, key, iv, {}, work);
  });
  EXPECT_EQ(error.code, ErrorCode::corrupt);
  EXPECT_FALSE(exists(folder / "forged"));
}

// Does something before the second of the two passes over a file.
class BetweenPasses final : public Executor {
 public:
  explicit BetweenPasses(std::function<void()> change) : change_(std::move(change)) {}
  [[nodiscard]] unsigned threads() const noexcept override { return serial_executor().threads(); }
  void start() const override {}
  void for_each(std::size_t count, const std::function<void(std::size_t)>& fn) const override {
    begin_pass();
    serial_executor().for_each(count, fn);
  }
  void on_each_thread(const std::function<void(unsigned)>& fn) const override {
    begin_pass();
    serial_executor().on_each_thread(fn);
  }

 private:
  void begin_pass() const {
    if (++passes_ == 2) {
      change_();
    }
  }

  std::function<void()> change_;
  mutable unsigned passes_ = 0;
};

// Authentic when it was checked, another text when it is decrypted: not a byte of that comes out.
TEST(RawGcm, WhatChangesAfterItsCheckIsNotWritten) {
  constexpr std::size_t piece_bytes = 32768;
  const Kernel& kernel = find_kernel(Cipher::aes, "openssl");
  const GcmKey key(random_buffer(16, 1), kernel);
  const Contents iv = random_buffer(12, 2);
  const Contents text = random_buffer(text_bytes + 5, 3);
  Contents sealed(text.size() + 16);
  key.seal(iv, {}, text, MutableBytes(sealed).first(text.size()), MutableBytes(sealed).last(16));
  const Folder folder;
  for (const std::size_t at : {std::size_t{0}, 5 * piece_bytes + 7, text.size() - 1}) {
    for (const bool to_pipe : {false, true}) {
      write_file(folder / "in", sealed);
      const std::string target = folder / "out";
      Contents drained;
      std::thread drainer;
      if (to_pipe) {
        ASSERT_EQ(mkfifo(target.c_str(), 0600), 0);
        drainer = drain(target, drained, 30'011);
      }
      const BetweenPasses executor([&] {
        std::fstream file(folder / "in", std::ios::in | std::ios::out | std::ios::binary);
        file.seekp(static_cast<std::streamoff>(at));
        file.put(static_cast<char>(sealed[at] ^ 1));
      });
      const Error error = error_of([&] {
        Input input = Input::open(folder / "in");
        const auto output = create_output(target, {.source = &input});
        (void)open_gcm(input, *output, key, iv, {},
                       {.executor = executor, .kernel = kernel, .piece_bytes = piece_bytes});
      });
      EXPECT_EQ(error.code, ErrorCode::corrupt);
      EXPECT_NE(std::string(error.what()).find("changed between its check"), std::string::npos)
          << error.what();
      if (to_pipe) {
        drainer.join();
        EXPECT_LE(drained.size(), at / piece_bytes * piece_bytes);
        EXPECT_TRUE(std::equal(drained.begin(), drained.end(), text.begin()));
        std::filesystem::remove(target);
      }
      EXPECT_FALSE(exists(target));
    }
  }
}

}  // namespace
}  // namespace paes::stream
