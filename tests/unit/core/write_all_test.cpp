// SPDX-License-Identifier: Apache-2.0
// Writes for a reader who has stopped.
#include "core/write_all.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <future>
#include <thread>
#include <vector>

#include "core/bytes.hpp"
#include "core/descriptor.hpp"

namespace paes {
namespace {

struct Pipe {
  Pipe() {
    int ends[2] = {-1, -1};
    EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
    reader = Descriptor(ends[0]);
    writer = Descriptor(ends[1]);
  }
  Descriptor reader;
  Descriptor writer;
};

TEST(WriteAll, EndsTheWaitForAReaderOfABlockingPipe) {
  Pipe output;
  Pipe stop;
  const std::vector<std::uint8_t> bytes(1 << 20);
  int error = 0;
  std::future<bool> written = std::async(std::launch::async, [&] {
    const bool is_written = write_all(output.writer.number(), bytes, stop.reader.number());
    error = errno;
    return is_written;
  });
  EXPECT_EQ(written.wait_for(std::chrono::milliseconds(200)), std::future_status::timeout);
  ASSERT_EQ(write(stop.writer.number(), "", 1), 1);
  const bool has_ended = written.wait_for(std::chrono::seconds(20)) == std::future_status::ready;
  EXPECT_TRUE(has_ended);
  if (!has_ended) {
    output.reader = Descriptor();  // lets the thread end
  }
  EXPECT_FALSE(written.get());
  EXPECT_TRUE(!has_ended || error == EINTR);
}

TEST(WriteAll, WritesAllToABlockingPipe) {
  Pipe output;
  Pipe stop;
  std::vector<std::uint8_t> bytes(100'001);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<std::uint8_t>(i * 7);
  }
  std::future<bool> written = std::async(std::launch::async, [&] {
    const bool is_written = write_all(output.writer.number(), bytes, stop.reader.number());
    output.writer = Descriptor();
    return is_written;
  });
  std::vector<std::uint8_t> got(bytes.size() + 1);
  std::size_t filled = 0;
  for (ssize_t part = 1; part > 0; filled += static_cast<std::size_t>(part)) {
    part = read(output.reader.number(), got.data() + filled, got.size() - filled);
    ASSERT_GE(part, 0);
  }
  got.resize(filled);
  EXPECT_TRUE(written.get());
  EXPECT_EQ(got, bytes);
}

}  // namespace
}  // namespace paes
