// SPDX-License-Identifier: Apache-2.0
// Cobblestone streams in memory: what the one seals, the other and Reader open, whatever the pieces
// and the threads; each call writes what it says; damage, cuts and misuse are errors.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <random>
#include <string>
#include <utility>

#include "format/cobblestone.hpp"
#include "library/public_sample.hpp"
#include "paes/cobblestone.hpp"
#include "refusal.hpp"
#include "without_call.hpp"

namespace paes {
namespace {

using cobblestone::chunk_bytes;
using cobblestone::prefix_bytes;
using cobblestone::tag_bytes;
using test::refusal;

const Contents text = random_buffer((1 << 20) + 5, 3);
// Small: all of it can be damaged.
const Contents small_text = random_buffer(chunk + 30, 4);

const std::size_t sizes[] = {0, 1, chunk - 1, chunk, chunk + 1, 3 * chunk, text.size()};

Contents first(const Contents& all, std::size_t bytes) {
  return {all.begin(), all.begin() + static_cast<std::ptrdiff_t>(bytes)};
}

// How many bytes of what is left the next call gets.
using Step = std::function<std::size_t(std::size_t left)>;
const Step whole = [](std::size_t left) { return left; };
Step steps_of(std::size_t bytes) {
  return [bytes](std::size_t left) { return std::min(left, bytes); };
}
Step random_steps(std::uint64_t seed) {
  return [generator = std::mt19937_64(seed)](std::size_t left) mutable {
    return std::min<std::size_t>(left, generator() % (generator() % 3 == 0 ? 5 * chunk : 300));
  };
}

// Writes into memory that is one byte larger than `bytes`. Gives what was written.
Contents written(std::size_t bytes, const std::function<std::size_t(MutableBytes)>& write) {
  Contents out(bytes + 1, 0xaa);
  EXPECT_EQ(write(out), bytes);
  EXPECT_EQ(out.back(), 0xaa);
  out.pop_back();
  return out;
}

// One call, which writes exactly what it has said.
template <typename Stream>
Contents updated(Stream& stream, Bytes in) {
  return written(stream.update_bytes(in.size()),
                 [&](MutableBytes out) { return stream.update(in, out); });
}
template <typename Stream>
Contents finalized(Stream& stream) {
  return written(stream.finalize_bytes(), [&](MutableBytes out) { return stream.finalize(out); });
}

void append(Contents& all, const Contents& more) {
  all.insert(all.end(), more.begin(), more.end());
}

// All that comes out of an encryptor or a decryptor.
template <typename Stream>
Contents through(Stream stream, Bytes in, const Step& step = whole) {
  Contents out;
  do {
    const std::size_t bytes = step(in.size());
    append(out, updated(stream, in.first(bytes)));
    in = in.subspan(bytes);
  } while (!in.empty());
  append(out, finalized(stream));
  return out;
}

Contents encrypted(Bytes in, const Step& step = whole, const CobblestoneOptions& options = {}) {
  return through(CobblestoneEncryptor(own_key(), options), in, step);
}
Contents decrypted(Bytes in, const Step& step = whole, const CobblestoneOptions& options = {}) {
  return through(CobblestoneDecryptor(own_key(), options), in, step);
}

// Each call must refuse, and write nothing.
template <typename Stream>
void expect_every_call_refused(Stream& stream, ErrorCode code) {
  Contents out(2 * chunk, 0xaa);
  EXPECT_EQ(stream.update_bytes(chunk_bytes), 0U);
  EXPECT_EQ(stream.finalize_bytes(), 0U);
  (void)refusal(code, [&] { (void)stream.update(small_text, out); });
  (void)refusal(code, [&] { (void)stream.update({}, {}); });
  (void)refusal(code, [&] { (void)stream.finalize(out); });
  EXPECT_EQ(out, Contents(out.size(), 0xaa));
}

TEST(PublicCobblestone, OpensWhatItSealsInPiecesOfAnySizeOnAnyNumberOfThreads) {
  const Step all_steps[] = {whole,           steps_of(1000),        steps_of(chunk - 1),
                            steps_of(chunk), steps_of(chunk_bytes), steps_of(40 * chunk + 7),
                            random_steps(1)};
  for (const std::size_t bytes : sizes) {
    for (const unsigned threads : {1U, 3U}) {
      for (const Step& step : all_steps) {
        const Contents part = first(text, bytes);
        const Contents file = encrypted(part, step, {.threads = threads});
        EXPECT_EQ(file.size(), prefix_bytes + bytes + (bytes / chunk + 1) * tag_bytes);
        ASSERT_TRUE(decrypted(file, step, {.threads = threads}) == part) << bytes;
      }
    }
  }
}

TEST(PublicCobblestone, TakesSingleBytes) {
  const Contents file = encrypted(small_text, steps_of(1));
  EXPECT_TRUE(decrypted(file, steps_of(1)) == small_text);
}

TEST(PublicCobblestone, ReaderOpensWhatTheEncryptorSeals) {
  for (const std::size_t key_bytes : {16U, 32U}) {
    const CobblestoneKey key = own_key(key_bytes, "a context");
    for (const std::size_t bytes : sizes) {
      const Contents part = first(text, bytes);
      const Contents file = through(CobblestoneEncryptor(key, {.threads = 3}), part);
      const Reader reader(store(file), with_own(key), {.threads = 1});
      ASSERT_TRUE(all_of(reader) == part) << bytes;
    }
  }
}

TEST(PublicCobblestone, ReaderReadsAnyPlaceOfAStreamInMemory) {
  const Contents file = encrypted(text);
  const Reader reader(store(file), with_own());
  Contents to(100);
  EXPECT_EQ(reader.read_at(5 * chunk - 50, to), to.size());
  EXPECT_TRUE(std::equal(to.begin(), to.end(), text.begin() + 5 * chunk - 50));
}

TEST(PublicCobblestone, TheDecryptorOpensWhatWriterSeals) {
  for (const std::size_t key_bytes : {16U, 32U}) {
    const CobblestoneKey key = own_key(key_bytes, "a context");
    for (const std::size_t bytes : sizes) {
      const Contents part = first(text, bytes);
      const Contents file = sealed(part, for_own(key));
      ASSERT_TRUE(through(CobblestoneDecryptor(key, {.threads = 3}), file) == part) << bytes;
    }
  }
}

TEST(PublicCobblestone, EachStreamHasASaltOfItsOwn) {
  EXPECT_NE(first(encrypted(small_text), prefix_bytes), first(encrypted(small_text), prefix_bytes));
}

TEST(PublicCobblestone, WritesEveryChunkAsSoonAsItIsComplete) {
  CobblestoneEncryptor encryptor(own_key());
  Contents file;
  const auto update = [&](std::size_t bytes, std::size_t written_bytes) {
    EXPECT_EQ(encryptor.update_bytes(bytes), written_bytes);
    append(file, updated(encryptor, Bytes(text).first(bytes)));
  };
  update(0, prefix_bytes);
  update(chunk - 1, 0);
  update(0, 0);
  update(1, chunk_bytes);
  update(2 * chunk + 5, 2 * chunk_bytes);
  update(chunk - 5, chunk_bytes);
  EXPECT_EQ(encryptor.finalize_bytes(), tag_bytes);
  append(file, finalized(encryptor));

  CobblestoneDecryptor decryptor(own_key());
  Bytes left = file;
  const auto open = [&](std::size_t bytes, std::size_t written_bytes) {
    EXPECT_EQ(decryptor.update_bytes(bytes), written_bytes);
    EXPECT_EQ(updated(decryptor, left.first(bytes)).size(), written_bytes);
    left = left.subspan(bytes);
  };
  open(prefix_bytes - 1, 0);
  EXPECT_EQ(decryptor.finalize_bytes(), 0U);
  open(chunk_bytes, 0);
  open(1, chunk);
  open(2 * chunk_bytes + 20, 2 * chunk);
  EXPECT_EQ(decryptor.finalize_bytes(), 20 - tag_bytes);
  open(chunk_bytes - 20, chunk);
  open(tag_bytes, 0);
  EXPECT_EQ(decryptor.finalize_bytes(), 0U);
  EXPECT_TRUE(left.empty());
  (void)finalized(decryptor);
}

TEST(PublicCobblestone, KnowsTheLimitOfAStream) {
  const CobblestoneEncryptor encryptor(own_key());
  constexpr std::size_t most = cobblestone::max_chunks * chunk - 1;
  EXPECT_EQ(encryptor.update_bytes(most),
            prefix_bytes + (cobblestone::max_chunks - 1) * chunk_bytes);
  EXPECT_EQ(encryptor.update_bytes(most + 1), SIZE_MAX);
  EXPECT_EQ(encryptor.update_bytes(SIZE_MAX), SIZE_MAX);
}

// Too little memory for the output, or the input's own: nothing has happened then.
template <typename Stream>
void expect_bad_output_changes_nothing(Stream stream, const Contents& in,
                                       const Contents& expected) {
  const std::size_t bytes = stream.update_bytes(in.size());
  Contents out(bytes, 0xaa);
  for (const std::size_t too_few : {std::size_t{0}, std::size_t{1}, bytes - 1}) {
    (void)refusal(ErrorCode::usage,
                  [&] { (void)stream.update(in, MutableBytes(out).first(too_few)); });
  }
  EXPECT_EQ(out, Contents(bytes, 0xaa));
  Contents shared = in;
  shared.resize(in.size() + bytes);
  for (const std::size_t from : {std::size_t{0}, in.size() - 1}) {
    (void)refusal(ErrorCode::usage, [&] {
      (void)stream.update(Bytes(shared).first(in.size()),
                          MutableBytes(shared).subspan(from, bytes));
    });
  }
  EXPECT_TRUE(first(shared, in.size()) == in);
  EXPECT_EQ(stream.update_bytes(in.size()), bytes);
  Contents all = updated(stream, in);

  const std::size_t last_bytes = stream.finalize_bytes();
  Contents last(last_bytes, 0xaa);
  (void)refusal(ErrorCode::usage, [&] { (void)stream.finalize({}); });
  (void)refusal(ErrorCode::usage,
                [&] { (void)stream.finalize(MutableBytes(last).first(last_bytes - 1)); });
  EXPECT_EQ(last, Contents(last_bytes, 0xaa));
  append(all, finalized(stream));
  if (expected.empty()) {
    EXPECT_TRUE(decrypted(all) == in);
  } else {
    EXPECT_TRUE(all == expected);
  }
}

TEST(PublicCobblestone, ABadOutputChangesNothing) {
  expect_bad_output_changes_nothing(CobblestoneEncryptor(own_key()), small_text, {});
  expect_bad_output_changes_nothing(CobblestoneDecryptor(own_key()), encrypted(small_text),
                                    small_text);
}

TEST(PublicCobblestone, NothingFollowsTheEnd) {
  CobblestoneEncryptor encryptor(own_key());
  const Contents file = finalized(encryptor);
  expect_every_call_refused(encryptor, ErrorCode::usage);
  CobblestoneDecryptor decryptor(own_key());
  (void)updated(decryptor, file);
  EXPECT_EQ(finalized(decryptor), Contents());
  expect_every_call_refused(decryptor, ErrorCode::usage);
}

// Feeds a file that is not right. Gives the error, after which nothing but zeros is left of the
// failing call, and no further call does anything.
Error error_of_opening(const Contents& file, const CobblestoneOptions& options = {},
                       const CobblestoneKey& key = own_key()) {
  CobblestoneDecryptor decryptor(key, options);
  Contents out(std::max(decryptor.update_bytes(file.size()), chunk) + 10, 0xaa);
  const Error error = error_of([&] {
    (void)decryptor.update(file, out);
    std::fill(out.begin(), out.end(), std::uint8_t{0xaa});
    (void)decryptor.finalize(out);
  });
  EXPECT_TRUE(is_zero(out));
  expect_every_call_refused(decryptor, ErrorCode::failure);
  return error;
}

TEST(PublicCobblestoneDamage, EveryByteIsAuthenticated) {
  Contents file = encrypted(small_text);
  for (std::size_t at = 0; at < file.size(); at += test::is_sanitized && at > 100 ? 97 : 1) {
    const auto flip = static_cast<std::uint8_t>(1U << (at % 8));
    file[at] ^= flip;
    ASSERT_EQ(error_of_opening(file).code,
              at < prefix_bytes ? ErrorCode::wrong_key : ErrorCode::corrupt)
        << at;
    file[at] ^= flip;
  }
}

TEST(PublicCobblestoneDamage, EveryCutIsFound) {
  const Contents file = encrypted(small_text);
  for (std::size_t bytes = 0; bytes < file.size();
       bytes += test::is_sanitized && bytes > 100 ? 97 : 1) {
    ASSERT_EQ(error_of_opening(first(file, bytes)).code, ErrorCode::corrupt) << bytes;
  }
  // A whole number of chunks looks complete to anyone who does not know that the last is short.
  const Contents even = encrypted(first(text, 3 * chunk));
  EXPECT_EQ(error_of_opening(first(even, even.size() - tag_bytes)).code, ErrorCode::corrupt);
}

TEST(PublicCobblestoneDamage, ChunksThatAreMovedRepeatedOrAddedAreFound) {
  const Contents file = encrypted(first(text, 3 * chunk));
  const auto chunk_0 = file.begin() + prefix_bytes;
  Contents swapped = file;
  std::swap_ranges(swapped.begin() + prefix_bytes, swapped.begin() + prefix_bytes + chunk_bytes,
                   swapped.begin() + prefix_bytes + chunk_bytes);
  Contents repeated = file;
  repeated.insert(repeated.begin() + prefix_bytes, chunk_0, chunk_0 + chunk_bytes);
  Contents dropped = file;
  dropped.erase(dropped.begin() + prefix_bytes, dropped.begin() + prefix_bytes + chunk_bytes);
  Contents longer = file;
  longer.push_back(0);
  for (const Contents& wrong : {swapped, repeated, dropped, longer}) {
    EXPECT_EQ(error_of_opening(wrong).code, ErrorCode::corrupt);
  }
}

TEST(PublicCobblestoneDamage, OneForgedChunkLeavesNothingOfACallOnSeveralThreads) {
  Contents file = encrypted(text);
  file[prefix_bytes + 40 * chunk_bytes + 7] ^= 1;
  for (const unsigned threads : {1U, 3U}) {
    const Error error = error_of_opening(file, {.threads = threads});
    EXPECT_EQ(error.code, ErrorCode::corrupt);
    EXPECT_NE(std::string(error.what()).find("chunk 40 "), std::string::npos) << error.what();
  }
}

TEST(PublicCobblestoneDamage, AnotherKeyOrContextIsSaid) {
  const Contents file = encrypted(small_text);
  for (const CobblestoneKey& key : {own_key(32, "", 78), own_key(32, "context"), own_key(16)}) {
    EXPECT_EQ(error_of_opening(file, {}, key).code, ErrorCode::wrong_key);
  }
}

TEST(PublicCobblestone, OptionsAreChecked) {
  for (const CobblestoneOptions& options :
       {CobblestoneOptions{.kernel = "none"}, CobblestoneOptions{.threads = UINT32_MAX}}) {
    (void)refusal(ErrorCode::usage, [&] { CobblestoneEncryptor(own_key(), options); });
    (void)refusal(ErrorCode::usage, [&] { CobblestoneDecryptor(own_key(), options); });
  }
  (void)refusal(ErrorCode::usage, [] { CobblestoneEncryptor(CobblestoneKey{}); });
  (void)refusal(ErrorCode::usage, [] { CobblestoneDecryptor(CobblestoneKey{}); });
  for (const char* kernel : {"auto", "openssl", "bitslice"}) {
    const Contents file = encrypted(small_text, whole, {.kernel = kernel, .threads = 0});
    EXPECT_TRUE(decrypted(file, whole, {.kernel = kernel, .threads = 0}) == small_text);
  }
}

// Only what needs the threads asks for them. No other test has as many.
TEST(PublicCobblestone, ThreadsThatCannotStartChangeNothing) {
  CobblestoneEncryptor encryptor(own_key(), {.threads = 66});
  CobblestoneDecryptor decryptor(own_key(), {.threads = 66});
  const Contents other = encrypted(text);
  Contents out(other.size(), 0xaa);
  const std::string thrown = run_without({SYS_clone, SYS_clone3}, EAGAIN, [&] {
    (void)refusal(ErrorCode::failure, [&] { (void)encryptor.update(text, out); });
    (void)refusal(ErrorCode::failure, [&] { (void)decryptor.update(other, out); });
  });
  EXPECT_EQ(thrown, "");
  EXPECT_EQ(out, Contents(out.size(), 0xaa));
  Contents file = updated(encryptor, text);
  append(file, finalized(encryptor));
  EXPECT_TRUE(decrypted(file) == text);
  Contents opened = updated(decryptor, other);
  append(opened, finalized(decryptor));
  EXPECT_TRUE(opened == text);
}

TEST(PublicCobblestone, CanBeMoved) {
  CobblestoneEncryptor encryptor(own_key());
  Contents file = updated(encryptor, Bytes(small_text).first(100));
  CobblestoneEncryptor moved = std::move(encryptor);
  append(file, updated(moved, Bytes(small_text).subspan(100)));
  encryptor = std::move(moved);  // NOLINT(bugprone-use-after-move)
  append(file, finalized(encryptor));
  CobblestoneDecryptor decryptor(own_key());
  Contents opened = updated(decryptor, Bytes(file).first(100));
  CobblestoneDecryptor other = std::move(decryptor);
  append(opened, updated(other, Bytes(file).subspan(100)));
  decryptor = std::move(other);  // NOLINT(bugprone-use-after-move)
  append(opened, finalized(decryptor));
  EXPECT_TRUE(opened == small_text);
}

// Parent and child would seal different texts under the same nonces.
class CobblestoneInAForkedChild : public testing::TestWithParam<pid_t (*)()> {};

// No handler of pthread_atfork hears of the second one.
INSTANTIATE_TEST_SUITE_P(Ways, CobblestoneInAForkedChild, testing::Values(&fork, &_Fork));

TEST_P(CobblestoneInAForkedChild, AnEncryptorIsRefused) {
  CobblestoneEncryptor encryptor(own_key());
  Contents file = updated(encryptor, Bytes(small_text).first(100));
  const pid_t child = GetParam()();
  ASSERT_GE(child, 0);
  if (child == 0) {
    Contents out(2 * chunk_bytes);
    int refused = 0;
    for (const std::function<void()>& use : std::initializer_list<std::function<void()>>{
             [&] { (void)encryptor.update(small_text, out); },
             [&] { (void)encryptor.finalize(out); }}) {
      try {
        use();
      } catch (const Error& error) {
        refused += error.code == ErrorCode::failure ? 1 : 0;
      }
    }
    _exit(is_zero(out) ? refused : 0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 2);
  append(file, updated(encryptor, Bytes(small_text).subspan(100)));
  append(file, finalized(encryptor));
  EXPECT_TRUE(decrypted(file) == small_text);
}

}  // namespace
}  // namespace paes
