// Where threads that answer should run, by what was asked before.
#include "paes-mount/callers_processor.hpp"

#include <gtest/gtest.h>
#include <pthread.h>
#include <unistd.h>

#include <array>
#include <thread>
#include <vector>

#include "paes-mount/raw_request.hpp"

namespace paes::mount {
namespace {

constexpr int there = 5;
pid_t asked_about = 0;

int processor_of_nobody(pid_t thread) noexcept {
  asked_about = thread;
  return there;
}

class Requests {
 public:
  // Where threads should run after so many requests.
  int after(int requests, std::uint32_t opcode, pid_t caller, std::uint32_t text_bytes = 0) {
    std::vector<std::uint8_t> request(sizeof(fuse_in_header));
    fuse_in_header header{};
    header.opcode = opcode;
    header.pid = static_cast<std::uint32_t>(caller);
    std::memcpy(request.data(), &header, sizeof header);
    if (opcode == FUSE_READ) {
      fuse_read_in body{};
      body.size = text_bytes;
      request.resize(request.size() + sizeof body);
      std::memcpy(request.data() + sizeof header, &body, sizeof body);
    } else if (opcode == FUSE_WRITE) {
      request.resize(request.size() + sizeof(fuse_write_in) + text_bytes);
    }
    int processor = any_processor;
    for (int i = 0; i < requests; ++i) {
      processor = callers_.after(request.data(), request.size());
    }
    return processor;
  }

 private:
  CallersProcessor callers_{processor_of_nobody};
};

constexpr int few = 16;
constexpr int enough = 100;

TEST(CallersProcessor, IsFollowedAfterManyRequestsOfOne) {
  Requests requests;
  EXPECT_EQ(requests.after(few, FUSE_LOOKUP, 7), any_processor);
  EXPECT_EQ(requests.after(enough, FUSE_GETXATTR, 7), there);
  EXPECT_EQ(asked_about, 7);
}

TEST(CallersProcessor, IsNotThatOfTwoCallers) {
  Requests requests;
  for (int i = 0; i < enough; ++i) {
    EXPECT_EQ(requests.after(1, FUSE_LOOKUP, 7 + i % 2), any_processor);
  }
  EXPECT_EQ(requests.after(enough, FUSE_LOOKUP, 7), there);
  EXPECT_EQ(requests.after(1, FUSE_LOOKUP, 8), any_processor);
}

TEST(CallersProcessor, IsLeftForLongRequests) {
  for (const std::uint32_t opcode : {FUSE_READ, FUSE_WRITE, FUSE_FSYNC, FUSE_COPY_FILE_RANGE}) {
    Requests requests;
    ASSERT_EQ(requests.after(enough, FUSE_LOOKUP, 7), there);
    EXPECT_EQ(requests.after(1, opcode, 7, 1 << 20), any_processor) << opcode;
    EXPECT_EQ(requests.after(few, FUSE_LOOKUP, 7), any_processor) << opcode;
  }
}

TEST(CallersProcessor, IsFollowedForShortTexts) {
  for (const std::uint32_t opcode : {FUSE_READ, FUSE_WRITE}) {
    Requests requests;
    EXPECT_EQ(requests.after(enough, opcode, 7, 4096), there) << opcode;
  }
}

TEST(CallersProcessor, StaysWhereNobodyWaits) {
  Requests requests;
  ASSERT_EQ(requests.after(enough, FUSE_LOOKUP, 7), there);
  EXPECT_EQ(requests.after(1, FUSE_RELEASE, 8), there);
  EXPECT_EQ(requests.after(1, FUSE_BATCH_FORGET, 0), there);
  EXPECT_EQ(requests.after(1, FUSE_WRITE, 0, 4096), there);
}

TEST(CallersProcessor, IsUnknownForARequestThatIsCutOff) {
  CallersProcessor callers(processor_of_nobody);
  const std::array<std::uint8_t, 8> cut{};
  EXPECT_EQ(callers.after(cut.data(), cut.size()), any_processor);
  Requests requests;
  ASSERT_EQ(requests.after(enough, FUSE_LOOKUP, 7), there);
  fuse_in_header read{};
  read.opcode = FUSE_READ;
  EXPECT_EQ(callers.after(&read, sizeof read), any_processor);
}

TEST(ProcessorOf, IsThatOfAThreadThatIsKeptThere) {
  OwnProcessors before;
  cpu_set_t all{};
  ASSERT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
  for (int processor = 0; processor < CPU_SETSIZE; ++processor) {
    if (CPU_ISSET(static_cast<std::size_t>(processor), &all)) {
      before.keep_to(processor);
      EXPECT_EQ(processor_of(gettid()), processor);
    }
  }
  before.keep_to(any_processor);
  cpu_set_t after{};
  ASSERT_EQ(sched_getaffinity(0, sizeof after, &after), 0);
  EXPECT_TRUE(CPU_EQUAL(&all, &after));
}

// Names hold parentheses and spaces where somebody wants to be mistaken.
TEST(ProcessorOf, DoesNotDependOnTheName) {
  std::thread([] {
    ASSERT_EQ(pthread_setname_np(pthread_self(), "a) S 9 (b"), 0);
    const int processor = processor_of(gettid());
    EXPECT_GE(processor, 0);
    EXPECT_LT(processor, sysconf(_SC_NPROCESSORS_CONF));
  }).join();
}

TEST(ProcessorOf, IsUnknownForNobody) { EXPECT_EQ(processor_of(0x7fff'ffff), any_processor); }

TEST(OwnProcessors, AreNotLeftForAnother) {
  OwnProcessors own;
  cpu_set_t all{};
  ASSERT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
  own.keep_to(CPU_SETSIZE);
  own.keep_to(CPU_SETSIZE - 1);  // no machine of the tests has it
  cpu_set_t after{};
  ASSERT_EQ(sched_getaffinity(0, sizeof after, &after), 0);
  EXPECT_TRUE(CPU_EQUAL(&all, &after));
}

}  // namespace
}  // namespace paes::mount
