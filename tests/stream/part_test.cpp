// A container made, opened and verified in parts, in any order, is the container made at once: what
// ranks of a cluster and resumed runs stand on.
#include "stream/part.hpp"

#include <cstring>
#include <utility>

#include "stream/reference.hpp"

namespace paes::stream {
namespace {

constexpr std::size_t stripe_text_bytes = stripe_chunks * chunk;

ReadAt reader_of(const Buffer& from) {
  return [&from](std::uint64_t offset, std::span<const iovec> to) {
    for (const iovec& one : to) {
      ASSERT_LE(offset + one.iov_len, from.size());
      std::memcpy(one.iov_base, from.data() + offset, one.iov_len);
      offset += one.iov_len;
    }
  };
}

WriteAt writer_of(Buffer& to) {
  return [&to](std::uint64_t offset, std::span<const iovec> from) {
    for (const iovec& one : from) {
      ASSERT_LE(offset + one.iov_len, to.size());
      std::memcpy(to.data() + offset, one.iov_base, one.iov_len);
      offset += one.iov_len;
    }
  };
}

class Part : public testing::TestWithParam<std::size_t> {
 protected:
  static constexpr container::Suite suite = container::Suite::cobblestone_256;

  Part() : text_(random_buffer(GetParam())), file_(reference(suite, text_)) {}

  [[nodiscard]] Options options() const {
    return {.executor = *executor_, .kernel = best_kernel(Cipher::aes), .grain_bytes = 3 * chunk};
  }
  // Of so many ranks each one's stripes, the last rank's first.
  [[nodiscard]] std::vector<ChunkRange> shares(std::uint64_t ranks) const {
    std::vector<ChunkRange> ranges;
    for (std::uint64_t rank = ranks; rank-- != 0;) {
      ranges.push_back(extent_.of_stripes(extent_.stripes() * rank / ranks,
                                          extent_.stripes() * (rank + 1) / ranks));
    }
    return ranges;
  }

  Buffer text_;
  Buffer file_;
  container::Header header_ = container::layout(suite, sample_envelope.size());
  Extent extent_{header_.payload_offset(), text_.size()};
  ChunkCipher cipher_{suite, sample_key(suite), sample_salt, best_kernel(Cipher::aes)};
  std::unique_ptr<Executor> executor_ = make_executor(Schedule::omp_dynamic, 2);
};

INSTANTIATE_TEST_SUITE_P(Sizes, Part,
                         testing::Values(0, 1, chunk, stripe_text_bytes - 1, stripe_text_bytes,
                                         stripe_text_bytes + 1, 3 * stripe_text_bytes + 777));

TEST_P(Part, SealedInSharesIsTheWholeContainer) {
  for (const std::uint64_t ranks : {1U, 2U, 3U, 7U}) {
    Buffer made = encode_head(header_, sample_envelope, sample_salt, cipher_.commitment());
    made.resize(extent_.file_bytes());
    std::uint64_t chunks = 0;
    for (const ChunkRange& range : shares(ranks)) {
      seal_part(cipher_, extent_, range, reader_of(text_), writer_of(made), options());
      chunks += range.end - range.first;
    }
    EXPECT_EQ(chunks, extent_.chunks());
    EXPECT_TRUE(made == file_) << ranks << " ranks";
  }
}

TEST_P(Part, OpenedInSharesIsTheWholeText) {
  Buffer made(text_.size());
  TextWriter writer(writer_of(made), 0, text_.size());
  for (const ChunkRange& range : shares(3)) {
    open_part("made", cipher_, extent_, range, reader_of(file_), writer, options());
    EXPECT_TRUE(verify_part(cipher_, extent_, range, reader_of(file_), options()).is_empty());
  }
  EXPECT_EQ(writer.written_bytes(), text_.size());
  EXPECT_TRUE(made == text_);
}

TEST_P(Part, DamageFailsTheShareWhereItIsAndNoOther) {
  file_[extent_.chunk_offset(0)] ^= 1;  // of an empty text: in the tag
  Buffer made(text_.size());
  TextWriter writer(writer_of(made), 0, text_.size());
  for (const ChunkRange& range : shares(2)) {
    const auto open = [&] {
      open_part("made", cipher_, extent_, range, reader_of(file_), writer, options());
    };
    const stream::Damage found = verify_part(cipher_, extent_, range, reader_of(file_), options());
    if (range.first == 0 && range.end != 0) {
      EXPECT_EQ(std::string(error_of(open).what()),
                "made: chunk 0 (from byte 0 of the plaintext, " +
                    std::to_string(extent_.chunk_offset(0)) +
                    " of the file) is damaged, misplaced or forged");
      EXPECT_EQ(found.ranges, std::vector<ChunkRange>({{0, 1}}));
    } else {
      open();
      EXPECT_TRUE(found.is_empty());
    }
  }
}

TEST_P(Part, StripesCoverEveryChunkOnce) {
  std::uint64_t next = 0;
  for (std::uint64_t stripe = 0; stripe < extent_.stripes(); ++stripe) {
    const ChunkRange range = extent_.of_stripes(stripe, stripe + 1);
    EXPECT_EQ(range.first, next);
    EXPECT_GT(range.end, range.first);
    EXPECT_LE(range.end - range.first, stripe_chunks);
    next = range.end;
  }
  EXPECT_EQ(next, extent_.chunks());
  const ChunkRange beyond = extent_.of_stripes(extent_.stripes(), extent_.stripes() + 9);
  EXPECT_EQ(beyond.first, beyond.end);
}

}  // namespace
}  // namespace paes::stream
