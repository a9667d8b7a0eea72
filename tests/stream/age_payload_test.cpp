// A payload format that the program does not have, written as one layout and two transforms, goes
// every way that the container goes: files and pipes at both ends, parts, damage.
#include "stream/age_payload.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <stdexcept>

#include "format/age_stream.hpp"
#include "stream/input.hpp"
#include "stream/memory_ends.hpp"
#include "stream/output.hpp"
#include "stream/sample.hpp"

namespace paes::stream {
namespace {

constexpr std::size_t age_chunk = AgePayload::chunk_text_bytes;

class AgePayloads : public testing::TestWithParam<std::size_t> {
 protected:
  AgePayloads() : text_(random_buffer(GetParam())) {
    write_file(folder_ / "text", text_);
    sealed_ = age::seal_payload(file_key_, text_);
    write_file(folder_ / "sealed", sealed_);
    EXPECT_EQ(mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  }

  [[nodiscard]] Options options() const {
    return {
        .executor = *executor_, .kernel = best_kernel(Cipher::aes), .grain_bytes = 2 * age_chunk};
  }
  [[nodiscard]] Bytes nonce() const { return Bytes(sealed_).first(AgePayload::nonce_bytes); }
  [[nodiscard]] AgePayload payload() const { return {file_key_, nonce()}; }

  Moved seal(Input& input, Output& output) const {
    const std::optional<std::uint64_t> bytes =
        input.is_seekable() ? std::optional(input.bytes()) : std::nullopt;
    const AgePayload payload = this->payload();
    const Layout layout = AgePayload::sealing_layout(bytes, options());
    output.write(nonce());
    const Moved moved =
        transfer(input, &output, layout, payload.sealing(), layout.all_items(), options());
    output.commit(layout.out_offset + moved.written_bytes);
    return moved;
  }
  Moved open(Input& input, Output& output) const {
    std::optional<std::uint64_t> bytes;
    if (input.is_seekable()) {
      bytes = input.bytes();
    } else {
      Contents nonce(AgePayload::nonce_bytes);
      EXPECT_EQ(input.read(MutableBytes(nonce)), nonce.size());
    }
    const AgePayload payload = this->payload();
    const Layout layout = AgePayload::opening_layout(bytes, options());
    const Moved moved =
        transfer(input, &output, layout, payload.opening(), layout.all_items(), options());
    output.commit(moved.written_bytes);
    return moved;
  }

  Folder folder_;
  Contents file_key_ = random_buffer(16, 3);
  Contents text_;
  Contents sealed_;
  std::unique_ptr<Executor> executor_ = make_executor(Schedule::omp_dynamic, 3);
};

INSTANTIATE_TEST_SUITE_P(Sizes, AgePayloads,
                         testing::Values(0, 1, age_chunk - 1, age_chunk, age_chunk + 1,
                                         2 * age_chunk, 7 * age_chunk, 7 * age_chunk + 99));

TEST_P(AgePayloads, FromFileToFile) {
  Input text = Input::open(folder_ / "text");
  Output out = Output::create(folder_ / "out", {});
  EXPECT_EQ(seal(text, out).text_bytes, text_.size());
  EXPECT_TRUE(read_file(folder_ / "out") == sealed_);
  Input sealed = Input::open(folder_ / "out");
  Output back = Output::create(folder_ / "back", {});
  EXPECT_EQ(open(sealed, back).text_bytes, text_.size());
  EXPECT_TRUE(read_file(folder_ / "back") == text_);
}

TEST_P(AgePayloads, FromPipeToPipe) {
  Contents piped;
  ASSERT_EQ(mkfifo((folder_ / "to").c_str(), 0600), 0);
  std::thread feeder = feed(folder_ / "pipe", text_, 4099);
  std::thread drainer = drain(folder_ / "to", piped, 5003);
  {
    Input text = Input::open(folder_ / "pipe");
    Output out = Output::create(folder_ / "to", {});
    EXPECT_EQ(seal(text, out).text_bytes, text_.size());
  }
  feeder.join();
  drainer.join();
  EXPECT_TRUE(piped == sealed_);
  feeder = feed(folder_ / "pipe", sealed_, 4099);
  {
    Input sealed = Input::open(folder_ / "pipe");
    Output back = Output::create(folder_ / "back", {});
    EXPECT_EQ(open(sealed, back).text_bytes, text_.size());
  }
  feeder.join();
  EXPECT_TRUE(read_file(folder_ / "back") == text_);
}

TEST_P(AgePayloads, InParts) {
  const AgePayload payload = this->payload();
  const Layout layout = AgePayload::opening_layout(sealed_.size(), options());
  Contents made(text_.size());
  MemorySource source(sealed_, 0, memory_name);
  MemorySink sink(made, memory_name);
  for (std::uint64_t item = layout.all_items().end; item-- != 0;) {
    (void)transfer(source, &sink, layout, payload.opening(), {item, item + 1}, options());
  }
  EXPECT_TRUE(made == text_);
}

TEST_P(AgePayloads, DamageAndCutsAreFound) {
  for (const std::size_t bytes :
       {sealed_.size() - 1, sealed_.size() - AgePayload::tag_bytes, sealed_.size()}) {
    Contents damaged(sealed_.begin(), sealed_.begin() + static_cast<std::ptrdiff_t>(bytes));
    if (bytes == sealed_.size()) {
      damaged.back() ^= 1;
    }
    std::thread feeder = feed(folder_ / "pipe", damaged, 4099);
    {
      Input sealed = Input::open(folder_ / "pipe");
      Output back = Output::create(folder_ / "none", {});
      EXPECT_EQ(error_of([&] { (void)open(sealed, back); }).code, ErrorCode::corrupt);
    }
    feeder.join();
    EXPECT_FALSE(exists(folder_ / "none"));
  }
}

// What is kept of a pipe between two buffers has 16 bytes, and a cut item needs somebody to tell.
TEST(Layouts, ThatDoNotFitAPipeAreRefused) {
  std::array<int, 2> ends = {};
  ASSERT_EQ(pipe(ends.data()), 0);
  ASSERT_EQ(close(ends[1]), 0);
  Input input = Input::of(Descriptor(ends[0]), "pipe", nullptr);
  const auto executor = make_executor(Schedule::serial, 1);
  const Options options = {
      .executor = *executor, .kernel = best_kernel(Cipher::aes), .grain_bytes = 64};
  const Layout fits = {.in_bytes = 64, .out_bytes = 64, .room_bytes = 64};
  Layout before = fits;
  before.before_bytes = 17;
  Layout ahead = fits;
  ahead.ahead_bytes = 17;
  Layout untold = fits;
  untold.min_in_bytes = 1;
  for (const Layout& layout : {before, ahead, untold}) {
    EXPECT_THROW((void)transfer(input, nullptr, layout, {}, {}, options), std::logic_error);
  }
}

}  // namespace
}  // namespace paes::stream
