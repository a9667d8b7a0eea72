// SPDX-License-Identifier: Apache-2.0
// Outputs appear complete or not at all, never over what they may not replace; inputs that are
// directories, unreadable or change are refused; modes, holes, ranges, stops and memory.

#include <fcntl.h>
#include <sys/resource.h>

#include <chrono>

#include "exec/executor.hpp"
#include "exec/thread_pool.hpp"
#include "refused_calls.hpp"
#include "stream/file_sample.hpp"

namespace paes::stream {
namespace {

constexpr std::size_t chunk = cobblestone::chunk_text_bytes;

mode_t mode_of(const std::string& path) {
  struct stat status = {};
  EXPECT_EQ(stat(path.c_str(), &status), 0) << path;
  return status.st_mode & 07777;
}

bool is_running_as_root() { return geteuid() == 0; }

class Files : public testing::Test {
 protected:
  Files() { write_file(folder_ / "text", text_); }
  Folder folder_;
  Contents text_ = random_buffer(3 * chunk + 5);
};

TEST_F(Files, AnExistingOutputIsLeftAlone) {
  write_file(folder_ / "out", Contents{1, 2, 3});
  const Error error = error_of([&] { encrypt_path(folder_ / "text", folder_ / "out"); });
  EXPECT_EQ(error.code, ErrorCode::failure);
  EXPECT_EQ(std::string(error.what()), (folder_ / "out") + ": already exists");
  EXPECT_NE(error.hint.find("-f"), std::string::npos);
  EXPECT_EQ(read_file(folder_ / "out"), (Contents{1, 2, 3}));
  EXPECT_EQ(folder_.entries(), 2U);
}

TEST_F(Files, TheInputIsNotAnOutputByAnyName) {
  std::filesystem::create_symlink(folder_ / "text", folder_ / "symbolic");
  std::filesystem::create_hard_link(folder_ / "text", folder_ / "hard");
  Input input = Input::open(folder_ / "text");
  for (const char* name : {"text", "symbolic", "hard"}) {
    for (const bool overwrite : {false, true}) {
      const Error error = error_of(
          [&] { (void)create_output(folder_ / name, {.overwrite = overwrite, .source = &input}); });
      EXPECT_EQ(error.code, ErrorCode::usage);
      EXPECT_EQ(std::string(error.what()), (folder_ / name) + ": is the input itself");
    }
  }
  EXPECT_TRUE(read_file(folder_ / "hard") == text_);
  EXPECT_EQ(folder_.entries(), 3U);
}

TEST(FileIdentity, IsABlockDevicesNumber) {
  struct stat node = {};
  node.st_mode = S_IFBLK | 0600;
  node.st_dev = 5;
  node.st_ino = 100;
  node.st_rdev = 7 << 8;
  struct stat other_node = node;
  other_node.st_dev = 6;
  other_node.st_ino = 200;
  EXPECT_EQ(identity_of(node), identity_of(other_node));
  other_node.st_rdev += 1;
  EXPECT_NE(identity_of(node), identity_of(other_node));
  node.st_mode = other_node.st_mode = S_IFREG | 0600;
  other_node.st_rdev = node.st_rdev;
  EXPECT_NE(identity_of(node), identity_of(other_node));
}

TEST_F(Files, WhatMustBeNewOpensAndFollowsNothing) {
  write_file(folder_ / "file", Contents{1});
  ASSERT_EQ(mkfifo((folder_ / "fifo").c_str(), 0600), 0);
  const int reader = open((folder_ / "fifo").c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
  std::filesystem::create_symlink("fifo", folder_ / "live");
  std::filesystem::create_symlink("new", folder_ / "dangling");
  std::filesystem::create_symlink("loop", folder_ / "loop");
  for (const std::string name : {"file", "fifo", "live", "dangling", "loop"}) {
    for (const bool overwrite : {false, true}) {
      const Error error = error_of(
          [&] { (void)create_output(folder_ / name, {.overwrite = overwrite, .only_new = true}); });
      EXPECT_EQ(std::string(error.what()), (folder_ / name) + ": already exists");
    }
  }
  const Error error =
      error_of([&] { (void)create_output(std::string("/dev/stdout"), {.only_new = true}); });
  EXPECT_STREQ(error.what(), "/dev/stdout: already exists");
  std::uint8_t byte = 0;
  EXPECT_EQ(::read(reader, &byte, 1), -1);  // and neither the end: nobody has opened it
  close(reader);
  EXPECT_FALSE(exists(folder_ / "new"));
  EXPECT_EQ(folder_.entries(), 6U);
}

TEST_F(Files, AFifoIsWrittenToOnlyWhereNobodyElseCanPutOne) {
  ASSERT_EQ(mkfifo((folder_ / "fifo").c_str(), 0600), 0);
  const int reader = open((folder_ / "fifo").c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
  for (const mode_t mode : {0777U, 01777U, 0770U, 0720U, 0702U}) {
    ASSERT_EQ(chmod(folder_.path().c_str(), mode), 0);
    const Error error = error_of([&] { (void)create_output(folder_ / "fifo", {}); });
    EXPECT_EQ(std::string(error.what()),
              (folder_ / "fifo") + ": is not a regular file, and may be another user's");
    (void)create_output(folder_ / "fifo", {.overwrite = true});
  }
  for (const mode_t mode : {0700U, 0755U, 01755U}) {
    ASSERT_EQ(chmod(folder_.path().c_str(), mode), 0);
    (void)create_output(folder_ / "fifo", {});
    const Error error =
        error_of([&] { (void)create_output(folder_ / "fifo", {.is_named = false}); });
    EXPECT_EQ(std::string(error.what()), (folder_ / "fifo") + ": is not a regular file");
  }
  close(reader);
}

TEST_F(Files, DirectoriesAndMissingFilesAreNamed) {
  EXPECT_EQ(std::string(error_of([&] { (void)Input::open(folder_.path()); }).what()),
            folder_.path() + ": is a directory");
  EXPECT_EQ(std::string(error_of([&] { (void)Input::open(folder_ / "none"); }).what()),
            (folder_ / "none") + ": No such file or directory");
  EXPECT_EQ(std::string(error_of([&] { (void)create_output(folder_.path(), {}); }).what()),
            folder_.path() + ": is a directory");
  EXPECT_EQ(std::string(error_of([&] { (void)create_output(folder_ / "no/file", {}); }).what()),
            (folder_ / "no/file") + ": No such file or directory");
}

TEST_F(Files, AnUnreadableFileIsNamed) {
  ASSERT_EQ(chmod((folder_ / "text").c_str(), 0), 0);
  const bool was_root = is_running_as_root();
  ASSERT_EQ(chmod(folder_.path().c_str(), 0755), 0);
  ASSERT_TRUE(!was_root || seteuid(65534) == 0);
  const Error error = error_of([&] { (void)Input::open(folder_ / "text"); });
  ASSERT_TRUE(!was_root || seteuid(0) == 0);
  EXPECT_EQ(std::string(error.what()), (folder_ / "text") + ": Permission denied");
  EXPECT_EQ(error.code, ErrorCode::failure);
}

class Placing : public testing::TestWithParam<test::RefusedCalls> {
 protected:
  [[nodiscard]] OutputOptions options(bool overwrite = false) const {
    return {.overwrite = overwrite, .file = {.permissions = 0640, .calls = &calls_}};
  }
  const NewFileCalls calls_ = test::calls_without(GetParam());
  Folder folder_;
  Contents text_ = random_buffer(10000);
};

TEST_P(Placing, AppearsCompleteAndOnlyAtTheEnd) {
  {
    const auto output = create_output(folder_ / "out", options());
    output->write_at(5000, Bytes(text_).subspan(5000));
    output->write(Bytes(text_).first(2500));
    output->write(Bytes(text_).subspan(2500, 2500));
    EXPECT_FALSE(exists(folder_ / "out"));
    output->commit(text_.size());
  }
  EXPECT_TRUE(read_file(folder_ / "out") == text_);
  EXPECT_EQ(mode_of(folder_ / "out"), 0640U);
  EXPECT_EQ(folder_.entries(), 1U);
}

TEST_P(Placing, IsForItsOwnerAloneWhileItIsWritten) {
  const auto output = create_output(folder_ / "out", options());
  output->write(text_);
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
    EXPECT_EQ(mode_of(entry.path()), 0600U);
  }
}

TEST_P(Placing, LeavesNothingWithoutCommit) {
  { create_output(folder_ / "out", options())->write(text_); }
  EXPECT_EQ(folder_.entries(), 0U);
}

TEST_P(Placing, NeverReplacesWhatAppearedMeanwhile) {
  {
    const auto output = create_output(folder_ / "out", options());
    output->write(text_);
    write_file(folder_ / "out", Contents{1});
    const Error error = error_of([&] { output->commit(text_.size()); });
    EXPECT_EQ(std::string(error.what()), (folder_ / "out") + ": already exists");
  }
  EXPECT_EQ(read_file(folder_ / "out"), Contents{1});
  EXPECT_EQ(folder_.entries(), 1U);
}

TEST_P(Placing, ReplacesWhenAskedTo) {
  write_file(folder_ / "out", Contents{1});
  {
    const auto output = create_output(folder_ / "out", options(true));
    output->write(text_);
    EXPECT_EQ(read_file(folder_ / "out"), Contents{1});
    output->commit(text_.size());
  }
  EXPECT_TRUE(read_file(folder_ / "out") == text_);
  EXPECT_EQ(folder_.entries(), 1U);
}

TEST_P(Placing, MakesWhatALinkLeadsTo) {
  std::filesystem::create_directory(folder_ / "sub");
  std::filesystem::create_symlink("sub/second", folder_ / "first");
  std::filesystem::create_symlink("../target", folder_ / "sub/second");
  const Error error = error_of([&] { (void)create_output(folder_ / "first", options()); });
  EXPECT_EQ(std::string(error.what()), (folder_ / "first") + ": already exists");
  {
    const auto output = create_output(folder_ / "first", options(true));
    output->write(text_);
    output->commit(text_.size());
  }
  EXPECT_TRUE(std::filesystem::is_symlink(folder_ / "first"));
  EXPECT_TRUE(std::filesystem::is_symlink(folder_ / "sub/second"));
  EXPECT_FALSE(std::filesystem::is_symlink(folder_ / "target"));
  EXPECT_TRUE(read_file(folder_ / "target") == text_);
  EXPECT_EQ(folder_.entries(), 3U);
}

TEST_P(Placing, ReplacesWhatALinkLeadsTo) {
  write_file(folder_ / "target", Contents{1});
  std::filesystem::create_symlink("target", folder_ / "link");
  {
    const auto output = create_output(folder_ / "link", options(true));
    output->write(text_);
    output->commit(text_.size());
  }
  EXPECT_TRUE(std::filesystem::is_symlink(folder_ / "link"));
  EXPECT_TRUE(read_file(folder_ / "target") == text_);
  EXPECT_EQ(folder_.entries(), 2U);
}

INSTANTIATE_TEST_SUITE_P(Ways, Placing,
                         testing::Values(test::RefusedCalls{}, test::RefusedCalls{.unnamed = true},
                                         test::RefusedCalls{.unnamed = true, .rename = true},
                                         test::RefusedCalls{true, true, true}));

TEST_F(Files, ModesFollowTheSourceWithoutSetIdBits) {
  const mode_t mask = umask(027);
  ASSERT_EQ(chmod((folder_ / "text").c_str(), 06754), 0);
  encrypt_path(folder_ / "text", folder_ / "sealed");
  EXPECT_EQ(mode_of(folder_ / "sealed"), 0754U);
  decrypt_path(folder_ / "sealed", folder_ / "back");
  EXPECT_EQ(mode_of(folder_ / "back"), 0700U);
  umask(0277);
  decrypt_path(folder_ / "sealed", folder_ / "masked");
  EXPECT_EQ(mode_of(folder_ / "masked"), 0500U);
  umask(mask);
}

TEST_F(Files, ASizeLimitOrAFullDeviceLeavesNothing) {
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small = {20000, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const Error limit = error_of([&] { encrypt_path(folder_ / "text", folder_ / "sealed"); });
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_EQ(std::string(limit.what()), (folder_ / "sealed") + ": File too large");
  EXPECT_EQ(folder_.entries(), 1U);
  const Error full = error_of([&] { encrypt_path(folder_ / "text", "/dev/full"); });
  EXPECT_STREQ(full.what(), "/dev/full: No space left on device");
  EXPECT_EQ(full.code, ErrorCode::failure);
}

TEST_F(Files, DevicesAreWrittenDirectly) {
  EXPECT_EQ(encrypt_path(folder_ / "text", "/dev/null").text_bytes, text_.size());
  struct stat status = {};
  ASSERT_EQ(stat("/dev/null", &status), 0);
  EXPECT_TRUE(S_ISCHR(status.st_mode));
}

TEST_F(Files, AnInputThatChangesItsSizeIsAnError) {
  for (const off_t bytes : {off_t{10}, off_t{200000}}) {
    const auto executor = make_thread_pool(2);
    Input input = Input::open(folder_ / "text");
    const auto output = create_output(folder_ / "sealed", {});
    ASSERT_EQ(truncate((folder_ / "text").c_str(), bytes), 0);
    const Error error = error_of([&] {
      encrypt_file(input, *output, sample_payload(),
                   {.executor = *executor, .kernel = best_kernel(Cipher::aes)});
    });
    EXPECT_EQ(std::string(error.what()),
              (folder_ / "text") + (bytes == 10 ? ": became shorter while it was read"
                                                : ": changed its size while it was read"));
  }
  EXPECT_EQ(folder_.entries(), 1U);
}

TEST_F(Files, AnInputThatChangesInPlaceIsAnError) {
  const std::string text = folder_ / "text";
  const auto executor = make_serial_executor();
  for (const bool contents : {false, true}) {
    Input input = Input::open(text);
    const auto output = create_output(folder_ / "sealed", {});
    // The clock that stamps files ticks every few milliseconds.
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    const auto work = [&] {
      encrypt_file(input, *output, sample_payload(),
                   {.executor = *executor, .kernel = best_kernel(Cipher::aes)});
    };
    if (!contents) {  // other permissions are no reason to lose the work
      ASSERT_EQ(chmod(text.c_str(), 0640), 0);
      work();
      ASSERT_EQ(unlink((folder_ / "sealed").c_str()), 0);
      continue;
    }
    {
      std::fstream file(text, std::ios::in | std::ios::out | std::ios::binary);
      file.put('x');
    }
    const Error error = error_of(work);
    EXPECT_EQ(std::string(error.what()), text + ": changed while it was read");
    EXPECT_EQ(error.code, ErrorCode::failure);
  }
  EXPECT_EQ(folder_.entries(), 1U);
}

TEST_F(Files, AFileThatClaimsToBeEmptyIsReadToItsEnd) {
  const Contents version = read_file("/proc/version");
  encrypt_path("/proc/version", folder_ / "sealed");
  decrypt_path(folder_ / "sealed", folder_ / "back");
  EXPECT_FALSE(version.empty());
  EXPECT_TRUE(read_file(folder_ / "back") == version);
}

TEST_F(Files, ZeroPagesBecomeHoles) {
  Contents sparse((std::size_t{4} << 20) + 100);  // with a short zero tail
  sparse[1000000] = 1;                            // one page in the middle
  sparse[(std::size_t{3} << 20) + 4095] = 2;      // the end of a page
  write_file(folder_ / "sparse", sparse);
  encrypt_path(folder_ / "sparse", folder_ / "sealed");
  decrypt_path(folder_ / "sealed", folder_ / "back", {.threads = 3});
  EXPECT_TRUE(read_file(folder_ / "back") == sparse);
  struct stat status = {};
  ASSERT_EQ(stat((folder_ / "back").c_str(), &status), 0);
  EXPECT_LE(status.st_blocks * 512, 3 * 4096);
}

TEST_F(Files, RangesAreExact) {
  encrypt_path(folder_ / "text", folder_ / "sealed");
  const Contents sealed = read_file(folder_ / "sealed");
  ASSERT_EQ(mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  const std::uint64_t size = text_.size();
  for (const std::uint64_t first : {0UL, 1UL, chunk - 1, chunk, 2 * chunk + 7, size - 1}) {
    for (const std::optional<std::uint64_t> last :
         {std::optional<std::uint64_t>{}, std::optional(first), std::optional(first + 1),
          std::optional(first + chunk), std::optional(size - 1), std::optional(size + 1000),
          std::optional(UINT64_MAX)}) {
      if (last && *last < first) {
        continue;
      }
      SCOPED_TRACE(testing::Message() << first << " to " << (last ? *last : 0));
      const std::uint64_t end = last && *last < size ? *last + 1 : size;
      const Contents expected(text_.begin() + static_cast<std::ptrdiff_t>(first),
                              text_.begin() + static_cast<std::ptrdiff_t>(end));
      const Setting setting{.piece_bytes = chunk};
      EXPECT_EQ(decrypt_path(folder_ / "sealed", folder_ / "part", setting, ByteRange{first, last})
                    .text_bytes,
                expected.size());
      EXPECT_TRUE(read_file(folder_ / "part") == expected);
      std::filesystem::remove(folder_ / "part");
      std::thread writer = feed(folder_ / "pipe", sealed, 10000);
      decrypt_path(folder_ / "pipe", folder_ / "part", setting, ByteRange{first, last});
      writer.join();
      EXPECT_TRUE(read_file(folder_ / "part") == expected);
      std::filesystem::remove(folder_ / "part");
    }
  }
  const auto beyond = [&](const std::string& from) {
    const Error error = error_of([&] {
      decrypt_path(from, folder_ / "part", {}, ByteRange{size, {}});
    });
    EXPECT_EQ(error.code, ErrorCode::usage);
    EXPECT_FALSE(exists(folder_ / "part"));
  };
  beyond(folder_ / "sealed");
  std::thread writer = feed(folder_ / "pipe", sealed, 10000);
  beyond(folder_ / "pipe");
  writer.join();
}

TEST_F(Files, ARangeAuthenticatesItsChunksAndTheLast) {
  encrypt_path(folder_ / "text", folder_ / "sealed");
  Contents sealed = read_file(folder_ / "sealed");
  const std::size_t head = sealed.size() - cobblestone::chunking.payload_bytes(text_.size());
  const auto part_is_accepted = [&](std::uint64_t first, std::uint64_t last) {
    write_file(folder_ / "damaged", sealed);
    std::filesystem::remove(folder_ / "part");
    try {
      decrypt_path(folder_ / "damaged", folder_ / "part", {}, ByteRange{first, last});
    } catch (const Error& error) {
      EXPECT_EQ(error.code, ErrorCode::corrupt);
      EXPECT_FALSE(exists(folder_ / "part"));
      return false;
    }
    return true;
  };
  EXPECT_TRUE(part_is_accepted(0, 100));
  sealed[head + cobblestone::chunking.chunk_offset(1)] ^= 1;
  EXPECT_TRUE(part_is_accepted(0, chunk - 1));
  EXPECT_FALSE(part_is_accepted(0, chunk));
  EXPECT_TRUE(part_is_accepted(2 * chunk, 3 * chunk));
  sealed.back() ^= 1;
  EXPECT_FALSE(part_is_accepted(0, 100));
}

class Stopping : public Files {
 protected:
  Stopping() { EXPECT_EQ(mkfifo(fifo_.c_str(), 0600), 0); }
  std::string fifo_ = folder_ / "fifo";
  Cancel cancel_;
};

TEST_F(Stopping, AStopRequestLeavesNothing) {
  cancel_.request();
  const Error error =
      error_of([&] { encrypt_path(folder_ / "text", folder_ / "sealed", {.cancel = &cancel_}); });
  EXPECT_EQ(error.code, ErrorCode::failure);
  EXPECT_EQ(std::string(error.what()).rfind("interrupted: ", 0), 0U);
  EXPECT_EQ(folder_.entries(), 2U);
}

TEST_F(Stopping, AStopRequestEndsAReadThatWaits) {
  const int silent = open(fifo_.c_str(), O_RDWR | O_CLOEXEC);
  for (const unsigned threads : {1U, 3U}) {
    Cancel cancel;
    std::thread stopper([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      cancel.request();
    });
    const Error error = error_of(
        [&] { encrypt_path(fifo_, folder_ / "sealed", {.threads = threads, .cancel = &cancel}); });
    stopper.join();
    EXPECT_EQ(std::string(error.what()).rfind("interrupted: ", 0), 0U);
  }
  close(silent);
  EXPECT_EQ(folder_.entries(), 2U);
}

TEST_F(Stopping, AStopRequestEndsAWriteThatWaits) {
  const int idle = open(fifo_.c_str(), O_RDWR | O_CLOEXEC);
  write_file(folder_ / "text", random_buffer(std::size_t{3} << 20));  // more than a pipe holds
  std::thread stopper([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    cancel_.request();
  });
  const Error error =
      error_of([&] { encrypt_path(folder_ / "text", fifo_, {.cancel = &cancel_}); });
  stopper.join();
  close(idle);
  EXPECT_EQ(std::string(error.what()).rfind("interrupted: ", 0), 0U);
}

TEST_F(Stopping, AClosedPipeIsAnError) {
  std::thread reader([&] {
    const int from = open(fifo_.c_str(), O_RDONLY | O_CLOEXEC);
    std::uint8_t some[100];
    EXPECT_GT(::read(from, some, sizeof some), 0);
    close(from);
  });
  write_file(folder_ / "text", random_buffer(std::size_t{3} << 20));
  const Error error = error_of([&] { encrypt_path(folder_ / "text", fifo_); });
  reader.join();
  EXPECT_TRUE(std::string(error.what()).starts_with(fifo_ + ": Broken pipe")) << error.what();
}

TEST_F(Stopping, AFailureEndsAReadThatWaitsInAnotherThread) {
  encrypt_path(folder_ / "text", folder_ / "sealed");
  Contents damaged = read_file(folder_ / "sealed");
  damaged[damaged.size() - cobblestone::chunking.payload_bytes(text_.size()) + 100] ^=
      1;                                                   // chunk 0
  const int to = open(fifo_.c_str(), O_RDWR | O_CLOEXEC);  // stays open and says nothing more
  std::thread writer([&] {
    EXPECT_EQ(::write(to, damaged.data(), damaged.size()), static_cast<ssize_t>(damaged.size()));
  });
  const Error error = error_of(
      [&] { decrypt_path(fifo_, folder_ / "back", {.threads = 3, .piece_bytes = chunk}); });
  writer.join();
  close(to);
  EXPECT_EQ(error.code, ErrorCode::corrupt);
  EXPECT_EQ(std::string(error.what()).find(fifo_ + ": chunk 0 (from byte 0 of the plaintext, "), 0U)
      << error.what();
  EXPECT_FALSE(exists(folder_ / "back"));
}

// Standard output replaced by a file for one scope.
class Redirect {
 public:
  Redirect(int number, const std::string& path, int flags) : number_(number), saved_(dup(number)) {
    const int file = open(path.c_str(), flags | O_CLOEXEC, 0600);
    EXPECT_GE(file, 0);
    dup2(file, number_);
    close(file);
  }
  ~Redirect() {
    dup2(saved_, number_);
    close(saved_);
  }
  Redirect(const Redirect&) = delete;
  Redirect& operator=(const Redirect&) = delete;

 private:
  int number_;
  int saved_;
};

TEST_F(Files, StandardInputAndOutputMayBeFiles) {
  for (const int append : {0, O_APPEND}) {
    write_file(folder_ / "out", Contents{'>', '>'});
    std::fflush(stdout);
    {
      const Redirect in(STDIN_FILENO, folder_ / "text", O_RDONLY);
      const Redirect out(STDOUT_FILENO, folder_ / "out", O_WRONLY | append);
      lseek(STDIN_FILENO, 5, SEEK_SET);
      lseek(STDOUT_FILENO, 0, SEEK_END);
      const auto executor = make_thread_pool(2);
      Input input = Input::standard_input();
      EXPECT_EQ(input.bytes(), text_.size() - 5);
      const auto output = standard_output({.source = &input});
      encrypt_file(input, *output, sample_payload(),
                   {.executor = *executor, .kernel = best_kernel(Cipher::aes)});
      EXPECT_EQ(::write(STDOUT_FILENO, "<", 1), 1);
    }
    Contents sealed = read_file(folder_ / "out");
    EXPECT_EQ(sealed.front(), '>');
    EXPECT_EQ(sealed.back(), '<');
    sealed.pop_back();
    sealed.erase(sealed.begin(), sealed.begin() + 2);
    write_file(folder_ / "sealed", sealed);
    std::filesystem::remove(folder_ / "back");
    decrypt_path(folder_ / "sealed", folder_ / "back");
    EXPECT_TRUE(read_file(folder_ / "back") == Contents(text_.begin() + 5, text_.end()));
  }
}

TEST_F(Files, AFailureCutsOffWhatStandardOutputGot) {
  write_file(folder_ / "out", Contents{'>', '>'});
  std::fflush(stdout);
  {
    const Redirect out(STDOUT_FILENO, folder_ / "out", O_WRONLY);
    lseek(STDOUT_FILENO, 0, SEEK_END);
    standard_output({})->write(text_);
  }
  EXPECT_EQ(read_file(folder_ / "out"), (Contents{'>', '>'}));
}

std::size_t resident_peak_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("VmHWM:", 0) == 0) {
      return std::stoul(line.substr(6)) * 1024;
    }
  }
  ADD_FAILURE() << "no VmHWM";
  return 0;
}

TEST_F(Files, MemoryStaysWithinItsBound) {
  // A hole costs no memory to hold, so a file well above the bound can be used.
  ASSERT_EQ(truncate((folder_ / "text").c_str(), off_t{512} << 20), 0);
  const std::size_t before = resident_peak_bytes();
  constexpr unsigned threads = 4;
  encrypt_path(folder_ / "text", "/dev/null", {.threads = threads, .piece_bytes = max_piece_bytes});
  EXPECT_LE(resident_peak_bytes() - before, threads * (std::size_t{16} << 20));
}

}  // namespace
}  // namespace paes::stream
