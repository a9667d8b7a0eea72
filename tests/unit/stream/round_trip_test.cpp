// SPDX-License-Identifier: Apache-2.0
// Whatever the size, the schedule, the piece and the kind of input and output: the same ciphertext,
// and the text comes back.

#include <array>
#include <utility>

#include "age/age_payload.hpp"
#include "age/x25519.hpp"
#include "exec/executor.hpp"
#include "exec/schedule/schedule.hpp"
#include "stream/container/file_format.hpp"
#include "stream/file_sample.hpp"
#include "stream/reference_file.hpp"
#include "stream/transfer/memory_ends.hpp"

namespace paes::stream {
namespace {

TEST(RoundTrip, FilesOfEverySizeMatchTheSpecification) {
  const Folder folder;
  for (const auto suite : {container::Suite::cobblestone_128, container::Suite::cobblestone_256}) {
    for (const std::size_t size : sizes_around(4 * chunk)) {
      SCOPED_TRACE(size);
      const Contents text = random_buffer(size);
      write_file(folder / "text", text);
      const Setting setting{.suite = suite, .piece_bytes = 4 * chunk};
      EXPECT_EQ(encrypt_path(folder / "text", folder / "sealed", setting).text_bytes, size);
      EXPECT_TRUE(read_file(folder / "sealed") == reference(suite, text));
      EXPECT_EQ(verify_path(folder / "sealed", setting).text_bytes, size);
      EXPECT_EQ(decrypt_path(folder / "sealed", folder / "back", setting).text_bytes, size);
      EXPECT_TRUE(read_file(folder / "back") == text);
      EXPECT_EQ(folder.entries(), 3U);
      std::filesystem::remove(folder / "sealed");
      std::filesystem::remove(folder / "back");
    }
  }
}

TEST(RoundTrip, EveryScheduleThreadCountAndPieceGivesTheSameBytes) {
  const Folder folder;
  const Contents text = random_buffer(37 * chunk + 123);
  write_file(folder / "text", text);
  const Contents expected = reference(container::Suite::cobblestone_256, text);
  for (const Schedule schedule : named_schedules()) {
    for (const unsigned threads : {1U, 2U, 3U, 8U}) {
      for (const std::size_t piece :
           {std::size_t{1}, chunk, 3 * chunk, 16 * chunk, max_piece_bytes}) {
        SCOPED_TRACE(testing::Message() << threads << " threads, piece " << piece);
        const Setting setting{.schedule = schedule, .threads = threads, .piece_bytes = piece};
        encrypt_path(folder / "text", folder / "sealed", setting);
        ASSERT_TRUE(read_file(folder / "sealed") == expected);
        decrypt_path(folder / "sealed", folder / "back", setting);
        ASSERT_TRUE(read_file(folder / "back") == text);
        verify_path(folder / "sealed", setting);
        std::filesystem::remove(folder / "sealed");
        std::filesystem::remove(folder / "back");
      }
    }
  }
}

struct PipeCase {
  unsigned threads;
  std::size_t step;  // of the writer and of the reader at the other ends
  std::size_t text_bytes;
};

class Pipes : public testing::TestWithParam<PipeCase> {
 protected:
  void SetUp() override { ASSERT_EQ(mkfifo(in_.c_str(), 0600) | mkfifo(out_.c_str(), 0600), 0); }

  const PipeCase& pipe_case() { return GetParam(); }
  [[nodiscard]] Setting setting() const {
    return {.threads = GetParam().threads, .piece_bytes = 2 * chunk};
  }

  Folder folder_;
  std::string in_ = folder_ / "in";
  std::string out_ = folder_ / "out";
};

TEST_P(Pipes, OnBothEnds) {
  const Contents text = random_buffer(pipe_case().text_bytes);
  const Contents expected = reference(container::Suite::cobblestone_256, text);
  Contents sealed;
  std::thread writer = feed(in_, text, pipe_case().step);
  std::thread reader = drain(out_, sealed, pipe_case().step);
  EXPECT_EQ(encrypt_path(in_, out_, setting()).text_bytes, text.size());
  writer.join();
  reader.join();
  EXPECT_TRUE(sealed == expected);

  Contents back;
  writer = feed(in_, sealed, pipe_case().step);
  reader = drain(out_, back, pipe_case().step);
  EXPECT_EQ(decrypt_path(in_, out_, setting()).text_bytes, text.size());
  writer.join();
  reader.join();
  EXPECT_TRUE(back == text);

  writer = feed(in_, sealed, pipe_case().step);
  EXPECT_EQ(verify_path(in_, setting()).text_bytes, text.size());
  writer.join();
}

TEST_P(Pipes, IntoAndOutOfFiles) {
  const Contents text = random_buffer(pipe_case().text_bytes);
  const Contents expected = reference(container::Suite::cobblestone_256, text);
  std::thread writer = feed(in_, text, pipe_case().step);
  encrypt_path(in_, folder_ / "sealed", setting());
  writer.join();
  EXPECT_TRUE(read_file(folder_ / "sealed") == expected);

  Contents back;
  std::thread reader = drain(out_, back, pipe_case().step);
  decrypt_path(folder_ / "sealed", out_, setting());
  reader.join();
  EXPECT_TRUE(back == text);

  writer = feed(in_, expected, pipe_case().step);
  decrypt_path(in_, folder_ / "back", setting());
  writer.join();
  EXPECT_TRUE(read_file(folder_ / "back") == text);
}

std::vector<PipeCase> pipe_cases() {
  std::vector<PipeCase> cases;
  for (const unsigned threads : {1U, 2U, 3U}) {
    for (const std::size_t size : sizes_around(2 * chunk)) {
      cases.push_back({threads, 4095, size});
    }
    cases.push_back({threads, 1, chunk + 1});
    cases.push_back({threads, 7, 2 * chunk + 5});
    cases.push_back({threads, 1 << 20, 40 * chunk});
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Cases, Pipes, testing::ValuesIn(pipe_cases()));

TEST(RoundTrip, ProgressCountsTheText) {
  const Folder folder;
  const Contents text = random_buffer(100000);
  write_file(folder / "text", text);
  std::atomic<std::uint64_t> progress{0};
  encrypt_path(folder / "text", folder / "sealed", {.progress = &progress});
  EXPECT_EQ(progress.exchange(0), text.size());
  decrypt_path(folder / "sealed", folder / "back", {.progress = &progress});
  EXPECT_EQ(progress.exchange(0), text.size());
  verify_path(folder / "sealed", {.progress = &progress});
  EXPECT_EQ(progress.load(), text.size());
}

TEST(RoundTrip, ASaltIsNeverUsedTwice) {
  const Folder folder;
  write_file(folder / "text", random_buffer(10));
  const auto executor = make_serial_executor();
  for (const char* name : {"a", "b"}) {
    Input input = Input::open(folder / "text");
    const auto output = create_output(folder / name, {});
    encrypt_file(input, *output, sample_payload(),
                 {.executor = *executor, .kernel = best_kernel(Cipher::aes)});
  }
  const Contents a = read_file(folder / "a");
  const Contents b = read_file(folder / "b");
  ASSERT_EQ(a.size(), b.size());
  const auto payload = static_cast<std::ptrdiff_t>(
      container::layout({container::Suite::cobblestone_256}, sample_envelope.size())
          .payload_offset());
  EXPECT_TRUE(std::equal(a.begin(), a.begin() + payload, b.begin()));
  EXPECT_FALSE(std::equal(a.begin() + payload, a.begin() + payload + cobblestone::salt_bytes,
                          b.begin() + payload));
}

// What is drawn for a file is drawn for it alone: the key that its head seals, and the salt or
// nonce.
TEST(NewPayload, HasNothingInCommonWithAnother) {
  const std::array identities = {age::generate_x25519()};
  const std::array recipients = {identities[0]->recipients().front()};
  for (const FileFormat* format : file_formats()) {
    if (format->is_bare()) {
      continue;
    }
    const auto drawn = [&] {
      const NewPayload payload = format->new_payload(
          {recipients}, {container::Suite::cobblestone_256}, {.kernel = best_kernel(Cipher::aes)});
      MemorySource source(payload.head, 0, memory_name);
      const SecretBytes key = EncryptedFile(source).head().open_key({identities, nullptr});
      const auto at = payload.head.begin() + static_cast<std::ptrdiff_t>(payload.offset);
      return std::pair(Contents(key.data(), key.data() + key.size()),
                       Contents(at, at + age::payload_nonce_bytes));
    };
    const auto one = drawn();
    const auto other = drawn();
    EXPECT_NE(one.first, other.first) << format->name;
    EXPECT_NE(one.second, other.second) << format->name;
  }
}

TEST(RoundTrip, APieceAboveTheLimitIsRefused) {
  const Folder folder;
  write_file(folder / "text", random_buffer(10));
  const Error error = error_of([&] {
    encrypt_path(folder / "text", folder / "sealed", {.piece_bytes = max_piece_bytes + 1});
  });
  EXPECT_EQ(error.code, ErrorCode::usage);
  EXPECT_EQ(folder.entries(), 1U);
}

}  // namespace
}  // namespace paes::stream
