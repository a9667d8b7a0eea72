// SPDX-License-Identifier: Apache-2.0
// A container made, opened and verified in parts, in any order, is the container made at once: what
// ranks of a cluster and resumed runs stand on.
#include <utility>

#include "exec/thread_pool.hpp"
#include "stream/container/payload.hpp"
#include "stream/file_sample.hpp"
#include "stream/memory_sink.hpp"
#include "stream/reference_file.hpp"
#include "stream/transfer/memory_ends.hpp"

namespace paes::stream {
namespace {

constexpr std::size_t stripe_text_bytes = stripe_chunks * chunk;

class Part : public testing::TestWithParam<std::size_t> {
 protected:
  static constexpr container::Suite suite = container::Suite::cobblestone_256;

  Part() : text_(random_buffer(GetParam())), file_(reference(suite, text_)) {}

  [[nodiscard]] Work work() const {
    return {.executor = *executor_, .kernel = best_kernel(Cipher::aes), .piece_bytes = 3 * chunk};
  }
  // Of so many ranks each one's stripes, the last rank's first.
  [[nodiscard]] std::vector<Range> shares(std::uint64_t ranks) const {
    std::vector<Range> ranges;
    for (std::uint64_t rank = ranks; rank-- != 0;) {
      ranges.push_back(extent_.chunks_of(
          {extent_.stripes() * rank / ranks, extent_.stripes() * (rank + 1) / ranks}));
    }
    return ranges;
  }

  MovedBytes seal(Range chunks, Contents& to) {
    MemorySource source(text_, 0, memory_name);
    MemorySink sink(to, memory_name);
    return transfer(source, &sink,
                    sealing_layout(extent_.payload_offset, extent_.text_bytes, work()),
                    sealing(cipher_), chunks, work());
  }
  MovedBytes open(Range chunks, Contents& to) {
    MemorySource source(file_, 0, memory_name);
    MemorySink sink(to, memory_name);
    return transfer(source, &sink,
                    opening_layout(extent_.payload_offset, extent_.text_bytes, work()),
                    opening(cipher_, "made", extent_.payload_offset), chunks, work());
  }
  stream::Damage damage_in(Range chunks) {
    MemorySource source(file_, 0, memory_name);
    DamageLog log;
    (void)transfer(source, nullptr,
                   opening_layout(extent_.payload_offset, extent_.text_bytes, work()),
                   verifying(cipher_, log), chunks, work());
    return log.found();
  }

  Contents text_;
  Contents file_;
  container::Header header_ = container::layout({suite}, sample_envelope.size());
  Extent extent_{header_.payload_offset(), text_.size()};
  ChunkCipher cipher_{suite, sample_key(suite), container::context(suite), sample_salt,
                      best_kernel(Cipher::aes)};
  std::unique_ptr<Executor> executor_ = make_thread_pool(2);
};

INSTANTIATE_TEST_SUITE_P(Sizes, Part,
                         testing::Values(0, 1, chunk, stripe_text_bytes - 1, stripe_text_bytes,
                                         stripe_text_bytes + 1, 3 * stripe_text_bytes + 777));

TEST_P(Part, SealedInSharesIsTheWholeContainer) {
  for (const std::uint64_t ranks : {1U, 2U, 3U, 7U}) {
    Contents made = encode_head(header_, sample_envelope, sample_salt, cipher_.commitment());
    made.resize(extent_.file_bytes());
    std::uint64_t chunks = 0;
    for (const Range& range : shares(ranks)) {
      EXPECT_EQ(seal(range, made).text_bytes, extent_.text_of(range).count());
      chunks += range.count();
    }
    EXPECT_EQ(chunks, extent_.chunks());
    EXPECT_TRUE(made == file_) << ranks << " ranks";
  }
}

TEST_P(Part, OpenedInSharesIsTheWholeText) {
  Contents made(text_.size());
  std::uint64_t written_bytes = 0;
  for (const Range& range : shares(3)) {
    written_bytes += open(range, made).written_bytes;
    EXPECT_TRUE(damage_in(range).is_empty());
  }
  EXPECT_EQ(written_bytes, text_.size());
  EXPECT_TRUE(made == text_);
}

TEST_P(Part, DamageFailsTheShareWhereItIsAndNoOther) {
  file_[extent_.chunk_offset(0)] ^= 1;  // of an empty text: in the tag
  Contents made(text_.size());
  for (const Range& range : shares(2)) {
    const auto open_range = [&] { (void)open(range, made); };
    const stream::Damage found = damage_in(range);
    if (range.first == 0 && range.end != 0) {
      EXPECT_EQ(std::string(error_of(open_range).what()),
                "made: chunk 0 (from byte 0 of the plaintext, " +
                    std::to_string(extent_.chunk_offset(0)) +
                    " of the file) is damaged, misplaced or forged");
      EXPECT_EQ(found.ranges, std::vector<Range>({{0, 1}}));
    } else {
      open_range();
      EXPECT_TRUE(found.is_empty());
    }
  }
}

TEST_P(Part, StripesCoverEveryChunkOnce) {
  std::uint64_t next = 0;
  for (std::uint64_t stripe = 0; stripe < extent_.stripes(); ++stripe) {
    const Range range = extent_.chunks_of({stripe, stripe + 1});
    EXPECT_EQ(range.first, next);
    EXPECT_GT(range.end, range.first);
    EXPECT_LE(range.end - range.first, stripe_chunks);
    next = range.end;
  }
  EXPECT_EQ(next, extent_.chunks());
  const Range beyond = extent_.chunks_of({extent_.stripes(), extent_.stripes() + 9});
  EXPECT_EQ(beyond.first, beyond.end);
}

}  // namespace
}  // namespace paes::stream
