// SPDX-License-Identifier: Apache-2.0
// Whole files through the public header: round trips, what the program's own path makes and reads,
// outputs that appear complete or not at all, progress and stops.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>

#include "cuda/cuda_device.hpp"
#include "library/public_sample.hpp"
#include "stream/file/create_output.hpp"
#include "stream/reference_file.hpp"

namespace paes {
namespace {

constexpr std::size_t piece = 2 * chunk;

class PublicFile : public testing::Test {
 protected:
  void expect_only(std::initializer_list<const char*> names) const {
    EXPECT_EQ(folder_.entries(), names.size());
    for (const char* name : names) {
      EXPECT_TRUE(exists(folder_ / name)) << name;
    }
  }
  void write_text(std::size_t bytes) {
    text_ = random_buffer(bytes, bytes);
    write_file(plain_, text_);
  }

  Folder folder_;
  std::string plain_ = folder_ / "plain";
  std::string file_ = folder_ / "file.paes";
  std::string copy_ = folder_ / "copy";
  Contents text_;
};

TEST_F(PublicFile, RoundTripsAroundEveryEdge) {
  struct Way {
    SealFor seal_for;
    OpenWith open_with;
  };
  const Way ways[] = {{for_me(128), with_mine()},
                      {for_me(256), with_mine()},
                      {for_own(own_key(16)), with_own(own_key(16))},
                      {for_own(own_key(32, "context")), with_own(own_key(32, "context"))}};
  std::vector<std::size_t> sizes = stream::sizes_around(piece);
  sizes.push_back(2 * chunk - 1);
  sizes.push_back(2 * chunk + 1);
  unsigned turn = 0;
  for (const std::size_t bytes : sizes) {
    write_text(bytes);
    for (const Way& way : ways) {
      constexpr unsigned threads[] = {1, 2, 7, 0};
      const FileOptions options = {
          .threads = threads[turn++ % 4], .piece_bytes = piece, .overwrite = true};
      ASSERT_EQ(encrypt_file(plain_, file_, way.seal_for, options), bytes);
      ASSERT_EQ(decrypt_file(file_, copy_, way.open_with, options), bytes);
      ASSERT_TRUE(read_file(copy_) == text_) << bytes;
      const FileVerification found = verify_file(file_, way.open_with, options);
      EXPECT_TRUE(found.is_authentic);
      EXPECT_EQ(found.text_bytes, bytes);
      EXPECT_TRUE(found.damaged.empty());
      if (way.seal_for.key.is_empty()) {
        const FileInfo info = inspect_file(file_);
        EXPECT_EQ(info.text_bytes, bytes);
        EXPECT_EQ(info.key_bits, way.seal_for.key_bits);
        ASSERT_EQ(info.stanzas.size(), 1U);
        EXPECT_EQ(info.stanzas[0].type, "X25519");
      }
    }
    turn += 1;  // so that no way keeps its number of threads
  }
  expect_only({"plain", "file.paes", "copy"});
}

TEST_F(PublicFile, IsWhatTheProgramReadsAndWrites) {
  const Identity identity = Identity::generate();
  identity.save(folder_ / "identity");
  const Contents key_file = read_file(folder_ / "identity");
  const auto secret = age::parse_identity_file(key_file, "identity");
  const auto suite = container::Suite::cobblestone_128;
  write_text(5 * piece + 99);
  const stream::Work how = {.executor = serial_executor(), .kernel = best_kernel(Cipher::aes)};

  (void)encrypt_file(plain_, file_, {.recipients = {identity.recipient()}, .key_bits = 128});
  {
    stream::Input input = stream::Input::open(file_);
    const stream::Preamble preamble = stream::read_preamble(input);
    EXPECT_EQ(preamble.header.suite, suite);
    const SecretBytes input_key = age::open(preamble.envelope(), {secret, nullptr});
    const auto output = stream::create_output(copy_, {});
    (void)stream::decrypt_file(input, *output, stream::opened(input, preamble, input_key, how), {},
                               how);
    EXPECT_TRUE(read_file(copy_) == text_);
  }

  const Contents input_key = stream::sample_key(suite);
  const age::SharedRecipient recipient = secret[0]->recipients().front();
  const Contents envelope = age::seal_to_recipients(std::span(&recipient, 1), input_key);
  stream::Input input = stream::Input::open(plain_);
  const auto output = stream::create_output(folder_ / "other.paes", {});
  (void)stream::encrypt_with_salt(input, *output, suite, envelope, input_key, stream::sample_salt,
                                  how);
  EXPECT_EQ(
      decrypt_file(folder_ / "other.paes", copy_, {.identities = {identity}}, {.overwrite = true}),
      text_.size());
  EXPECT_TRUE(read_file(copy_) == text_);
  EXPECT_TRUE(all_of(Reader(folder_ / "other.paes", {.identities = {identity}})) == text_);
}

TEST_F(PublicFile, GoesThroughPipesAndCallbacks) {
  write_text(3 * piece + 5);
  ASSERT_EQ(mkfifo((folder_ / "fifo").c_str(), 0600), 0);
  for (const bool has_envelope : {true, false}) {
    const SealFor seal_for = has_envelope ? for_me() : for_own();
    const OpenWith open_with = has_envelope ? with_mine() : with_own();
    const FileOptions options = {.threads = 2, .piece_bytes = piece, .overwrite = true};
    std::thread feeder = stream::feed(folder_ / "fifo", text_, 1000);
    EXPECT_EQ(encrypt_file(folder_ / "fifo", file_, seal_for, options), text_.size());
    feeder.join();
    const Contents file = read_file(file_);
    feeder = stream::feed(folder_ / "fifo", file, 999);
    EXPECT_EQ(decrypt_file(folder_ / "fifo", copy_, open_with, options), text_.size());
    feeder.join();
    EXPECT_TRUE(read_file(copy_) == text_);
    feeder = stream::feed(folder_ / "fifo", file, 5000);
    EXPECT_TRUE(verify_file(folder_ / "fifo", open_with, options).is_authentic);
    feeder.join();
    EXPECT_EQ(decrypt_file(store(file), copy_, open_with, options), text_.size());
    EXPECT_TRUE(read_file(copy_) == text_);
    EXPECT_EQ(encrypt_file(store(text_), file_, seal_for, options), text_.size());
    EXPECT_TRUE(all_of(Reader(file_, open_with)) == text_);
  }
}

TEST_F(PublicFile, DamageIsFoundAndLeavesNothing) {
  write_text(4 * piece);
  (void)encrypt_file(plain_, file_, for_me());
  Contents file = read_file(file_);
  const std::uint64_t offset = inspect_file(file_).payload_offset;
  const auto place = [&](std::uint64_t number) {
    return static_cast<std::size_t>(offset + cobblestone::chunking.chunk_offset(number));
  };
  file[place(2) + 5] ^= 1;
  file[place(3)] ^= 1;
  file[place(7) + 16399] ^= 0x80;
  for (const unsigned threads : {1U, 3U}) {
    const FileOptions options = {.threads = threads, .piece_bytes = piece};
    const Error error =
        error_of([&] { (void)decrypt_file(store(file), copy_, with_mine(), options); });
    EXPECT_EQ(error.code, ErrorCode::corrupt);
    const FileVerification found = verify_file(store(file), with_mine(), options);
    EXPECT_FALSE(found.is_authentic);
    EXPECT_EQ(found.text_bytes, text_.size());
    ASSERT_EQ(found.damaged.size(), 2U);
    EXPECT_EQ(found.damaged[0].first, 2 * chunk);
    EXPECT_EQ(found.damaged[0].end, 4 * chunk);
    EXPECT_EQ(found.damaged[1].first, 7 * chunk);
    EXPECT_EQ(found.damaged[1].end, 8 * chunk);
  }
  expect_only({"plain", "file.paes"});
}

TEST_F(PublicFile, WrongKeysAndOptionsLeaveNothing) {
  write_text(100);
  (void)encrypt_file(plain_, file_, for_me());
  const auto code_of = [](const std::function<void()>& action) { return error_of(action).code; };
  EXPECT_EQ(
      code_of([&] { (void)decrypt_file(file_, copy_, {.identities = {Identity::generate()}}); }),
      ErrorCode::wrong_key);
  EXPECT_EQ(code_of([&] { (void)decrypt_file(file_, copy_, with_own()); }), ErrorCode::wrong_key);
  EXPECT_EQ(code_of([&] { (void)decrypt_file(file_, copy_, {}); }), ErrorCode::usage);
  EXPECT_EQ(code_of([&] { (void)decrypt_file(plain_, copy_, with_mine()); }), ErrorCode::corrupt);
  EXPECT_EQ(code_of([&] { (void)encrypt_file(plain_, copy_, {}); }), ErrorCode::usage);
  EXPECT_EQ(code_of([&] { (void)encrypt_file(plain_, copy_, for_me(), {.kernel = "none"}); }),
            ErrorCode::usage);
  EXPECT_EQ(
      code_of([&] { (void)encrypt_file(plain_, copy_, for_me(), {.piece_bytes = SIZE_MAX}); }),
      ErrorCode::usage);
  EXPECT_EQ(code_of([&] { (void)encrypt_file(plain_, file_, for_me()); }), ErrorCode::failure);
  EXPECT_EQ(code_of([&] { (void)encrypt_file(folder_ / "none", copy_, for_me()); }),
            ErrorCode::failure);
  for (const char* name : {"symbolic", "hard", "plain"}) {
    if (std::string(name) == "symbolic") {
      std::filesystem::create_symlink("plain", folder_ / name);
    } else if (std::string(name) == "hard") {
      std::filesystem::create_hard_link(plain_, folder_ / name);
    }
    EXPECT_EQ(
        code_of([&] { (void)encrypt_file(plain_, folder_ / name, for_me(), {.overwrite = true}); }),
        ErrorCode::usage);
  }
  EXPECT_TRUE(read_file(plain_) == text_);
  expect_only({"plain", "file.paes", "symbolic", "hard"});
}

TEST_F(PublicFile, ModesFollowTheSourceWithoutSetIdBits) {
  write_text(10);
  const auto mode_of = [](const std::string& path) {
    struct stat status = {};
    EXPECT_EQ(stat(path.c_str(), &status), 0);
    return status.st_mode & 07777;
  };
  const mode_t before = umask(027);
  ASSERT_EQ(chmod(plain_.c_str(), 06755), 0);
  (void)encrypt_file(plain_, file_, for_me());
  EXPECT_EQ(mode_of(file_), 0755U);
  (void)decrypt_file(file_, copy_, with_mine());
  EXPECT_EQ(mode_of(copy_), 0700U);
  (void)encrypt_file(store(text_), file_, for_me(), {.overwrite = true});
  EXPECT_EQ(mode_of(file_), 0640U);
  (void)decrypt_file(store(read_file(file_)), copy_, with_mine(), {.overwrite = true});
  EXPECT_EQ(mode_of(copy_), 0600U);
  (void)umask(before);
}

TEST_F(PublicFile, ADeviceMakesAndReadsTheSame) {
  write_text(5 * piece + 9);
  const auto runtime = std::make_shared<cuda::EmulatedRuntime>();
  {
    const FileOptions options = {
        .threads = 3,
        .device = cuda::make_device(runtime, {.slots = 2, .piece_bytes = piece}),
        .piece_bytes = std::size_t{16} << 20};
    (void)encrypt_file(plain_, file_, for_own(), options);
    const std::uint64_t launches = runtime->launches()[0];
    EXPECT_NE(launches, 0U);
    EXPECT_TRUE(all_of(Reader(file_, with_own())) == text_);
    (void)decrypt_file(file_, copy_, with_own(), options);
    EXPECT_GT(runtime->launches()[0], launches);
    EXPECT_TRUE(read_file(copy_) == text_);
    EXPECT_TRUE(verify_file(file_, with_own(), options).is_authentic);
  }
  EXPECT_EQ(runtime->complaints(), std::vector<std::string>());
}

// A store that answers a little later, so that there is something to report and to stop.
class SlowStore {
 public:
  explicit SlowStore(const Contents& bytes) : bytes_(bytes) {}
  [[nodiscard]] FileSource source() {
    return FileSource::callback(
        [this](std::uint64_t offset, MutableBytes to) {
          if (offset != 0) {
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
          }
          std::copy_n(bytes_.begin() + static_cast<long>(offset), to.size(), to.begin());
          return to.size();
        },
        bytes_.size(), "store");
  }

 private:
  const Contents& bytes_;
};

// Progress grows up to the text's length, one call at a time, from one thread that is not the
// caller's.
TEST_F(PublicFile, ReportsItsProgress) {
  write_text(40 * chunk);
  const Contents file = sealed(text_, for_own());
  for (const bool encrypts : {true, false}) {
    std::atomic<int> inside{0};
    std::uint64_t last_bytes = 0;
    int calls = 0;
    const FileOptions options = {
        .threads = 2,
        .piece_bytes = chunk,
        .overwrite = true,
        .progress = [&](std::uint64_t done_bytes, std::uint64_t total_bytes) {
          EXPECT_EQ(++inside, 1);
          EXPECT_EQ(total_bytes, text_.size());
          EXPECT_GE(done_bytes, last_bytes);
          EXPECT_LE(done_bytes, total_bytes);
          last_bytes = done_bytes;
          ++calls;
          --inside;
        }};
    if (encrypts) {
      (void)encrypt_file(SlowStore(text_).source(), file_, for_own(), options);
    } else {
      (void)decrypt_file(SlowStore(file).source(), copy_, with_own(), options);
    }
    EXPECT_GT(calls, 1);
    EXPECT_EQ(last_bytes, text_.size());
  }
}

TEST_F(PublicFile, APathWithAZeroByteIsRefused) {
  write_text(10);
  const std::string path = plain_ + std::string("\0more", 5);
  const FileOptions options = {.overwrite = true};
  EXPECT_EQ(error_of([&] { encrypt_file(store(text_), path, for_own(), options); }).code,
            ErrorCode::usage);
  EXPECT_EQ(error_of([&] { (void)FileSource(path); }).code, ErrorCode::usage);
  EXPECT_EQ(error_of([&] { (void)Identity::load(path); }).code, ErrorCode::usage);
  EXPECT_EQ(error_of([&] { (void)FileSource(static_cast<const char*>(nullptr)); }).code,
            ErrorCode::usage);
}

// As the header says: a file that has its name is not taken back.
TEST_F(PublicFile, TheLastReportStopsNothing) {
  write_text(3 * chunk);
  int calls_with_output = 0;
  const FileOptions options = {.overwrite = true, .progress = [&](std::uint64_t, std::uint64_t) {
                                 if (std::filesystem::exists(file_)) {
                                   ++calls_with_output;
                                   throw std::runtime_error("too late");
                                 }
                               }};
  EXPECT_EQ(encrypt_file(store(text_), file_, for_own(), options), text_.size());
  EXPECT_EQ(calls_with_output, 1);
  EXPECT_TRUE(verify_file(file_, with_own()).is_authentic);
}

TEST_F(PublicFile, AReportThatThrowsStopsTheWork) {
  struct Own {};
  write_text(60 * chunk);
  const std::size_t threads = threads_now();
  const FileOptions options = {.threads = 1,
                               .piece_bytes = chunk,
                               .progress = [](std::uint64_t, std::uint64_t) { throw Own{}; }};
  SlowStore slow(text_);
  const std::size_t descriptors = descriptors_now();
  EXPECT_THROW((void)encrypt_file(slow.source(), file_, for_own(), options), Own);
  EXPECT_EQ(threads_now(), threads);
  EXPECT_EQ(descriptors_now(), descriptors);
  expect_only({"plain"});
}

TEST_F(PublicFile, ACancelStopsTheWork) {
  write_text(60 * chunk);
  const Contents file = sealed(text_, for_own());
  for (const bool is_before : {true, false}) {
    for (const unsigned threads : {1U, 3U}) {
      const auto check = [&](const Contents& bytes, const auto& action) {
        Cancel cancel;
        std::thread other;
        if (is_before) {
          cancel.request();
        } else {
          other = std::thread([&] {
            std::this_thread::sleep_for(std::chrono::milliseconds(60));
            cancel.request();
          });
        }
        SlowStore slow(bytes);
        const Error error = error_of([&] {
          action(slow.source(),
                 FileOptions{.threads = threads, .piece_bytes = chunk, .cancel = &cancel});
        });
        EXPECT_EQ(error.code, ErrorCode::failure);
        EXPECT_EQ(std::string(error.what()).rfind("interrupted", 0), 0U) << error.what();
        if (other.joinable()) {
          other.join();
        }
        expect_only({"plain"});
      };
      check(text_, [&](const FileSource& from, const FileOptions& options) {
        (void)encrypt_file(from, file_, for_own(), options);
      });
      check(file, [&](const FileSource& from, const FileOptions& options) {
        (void)decrypt_file(from, copy_, with_own(), options);
      });
      check(file, [&](const FileSource& from, const FileOptions& options) {
        (void)verify_file(from, with_own(), options);
      });
    }
  }
}

TEST_F(PublicFile, ACancelEndsAWaitForAPipe) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  ASSERT_EQ(mkfifo((folder_ / "fifo").c_str(), 0600), 0);
  write_text(100);
  for (const char* what : {"input", "report", "output"}) {
    Cancel cancel;
    const FileSource from = std::string(what) == "output" ? FileSource(plain_)
                                                          : FileSource::descriptor(ends[0], "pipe");
    FileOptions options = {.threads = 2, .overwrite = true, .cancel = &cancel};
    struct Own {};
    if (std::string(what) == "report") {
      options.progress = [](std::uint64_t, std::uint64_t) { throw Own{}; };
      EXPECT_THROW((void)encrypt_file(from, file_, for_own(), options), Own);
      continue;
    }
    std::thread other([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      cancel.request();
    });
    const std::string to = std::string(what) == "output" ? folder_ / "fifo" : file_;
    const Error error = error_of([&] { (void)encrypt_file(from, to, for_own(), options); });
    EXPECT_EQ(std::string(error.what()).rfind("interrupted", 0), 0U) << error.what();
    other.join();
  }
  close(ends[0]);
  close(ends[1]);
  expect_only({"plain", "fifo"});
}

TEST_F(PublicFile, ACallbacksOwnExceptionPassesThrough) {
  struct Own {};
  write_text(10 * chunk);
  const Contents file = sealed(text_, for_own());
  for (const unsigned threads : {1U, 3U}) {
    const auto failing = [&](const Contents& bytes) {
      return FileSource::callback(
          [&bytes](std::uint64_t offset, MutableBytes to) {
            if (offset > 5 * chunk) {
              throw Own{};
            }
            std::copy_n(bytes.begin() + static_cast<long>(offset), to.size(), to.begin());
            return to.size();
          },
          bytes.size(), "store");
    };
    const FileOptions options = {.threads = threads, .piece_bytes = chunk};
    EXPECT_THROW((void)encrypt_file(failing(text_), file_, for_own(), options), Own);
    EXPECT_THROW((void)decrypt_file(failing(file), copy_, with_own(), options), Own);
    EXPECT_THROW((void)verify_file(failing(file), with_own(), options), Own);
  }
  expect_only({"plain"});
}

}  // namespace
}  // namespace paes
