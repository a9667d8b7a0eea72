// SPDX-License-Identifier: Apache-2.0
// Files of age on the path of all files: from files and pipes to both, in parts, armored, damaged,
// cut and extended; and the format's community test vectors.
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <map>
#include <set>
#include <stdexcept>

#include "age/age_payload.hpp"
#include "age/armor.hpp"
#include "age/testkit.hpp"
#include "age/x25519.hpp"
#include "exec/executor.hpp"
#include "exec/thread_pool.hpp"
#include "stream/container/age_format.hpp"
#include "stream/container/container_file.hpp"
#include "stream/container/file_format.hpp"
#include "stream/file/input.hpp"
#include "stream/file/output.hpp"
#include "stream/file_sample.hpp"
#include "stream/memory_sink.hpp"
#include "stream/transfer/memory_ends.hpp"

namespace paes::stream {
namespace {

constexpr std::size_t age_chunk = age::chunking.text_bytes;

class AgeFolder {
 public:
  AgeFolder() { EXPECT_EQ(mkfifo(pipe().c_str(), 0600), 0); }

  [[nodiscard]] std::string operator/(const std::string& name) const { return folder_ / name; }
  [[nodiscard]] std::string pipe() const { return folder_ / "pipe"; }
  [[nodiscard]] Work how() const {
    return {
        .executor = *executor_, .kernel = best_kernel(Cipher::aes), .piece_bytes = 2 * age_chunk};
  }

  // What `work` does with these bytes as a file, or as a pipe.
  template <typename Task>
  auto with_input(const Contents& bytes, bool is_pipe, const Task& work) const {
    if (!is_pipe) {
      write_file(folder_ / "input", bytes);
      Input input = Input::open(folder_ / "input");
      return work(input);
    }
    std::thread feeder = feed(pipe(), bytes, 4099);
    try {
      auto result = [&] {
        Input input = Input::open(pipe());
        return work(input);
      }();
      feeder.join();
      return result;
    } catch (...) {
      feeder.join();
      throw;
    }
  }

  [[nodiscard]] Contents encrypt(const Contents& text, bool is_pipe, Encoding encoding,
                                 const age::SharedRecipient& recipient) const {
    return with_input(text, is_pipe, [&](Input& input) {
      const std::array recipients = {recipient};
      const auto output = create_output(folder_ / "sealed", {.overwrite = true});
      const NewPayload payload =
          find_format("age").new_payload({recipients}, {}, {.kernel = best_kernel(Cipher::aes)});
      EXPECT_EQ(stream::encrypt_file(input, *output, payload, how(), encoding).text_bytes,
                text.size());
      return read_file(folder_ / "sealed");
    });
  }

  [[nodiscard]] Contents decrypt(const Contents& sealed, bool is_pipe,
                                 const age::Credentials& credentials,
                                 const std::optional<ByteRange>& range = {}) const {
    return with_input(sealed, is_pipe, [&](Input& input) {
      const EncryptedFile file(input);
      const OpenedPayload payload =
          file.head().open(file.source(), credentials, {.kernel = best_kernel(Cipher::aes)});
      const auto output = create_output(folder_ / "opened", {.overwrite = true});
      (void)stream::decrypt_file(file.source(), *output, payload, range, how());
      return read_file(folder_ / "opened");
    });
  }

  [[nodiscard]] Verification verify(const Contents& sealed, bool is_pipe,
                                    const age::Credentials& credentials) const {
    return with_input(sealed, is_pipe, [&](Input& input) {
      const EncryptedFile file(input);
      return stream::verify_file(
          file.source(),
          file.head().open(file.source(), credentials, {.kernel = best_kernel(Cipher::aes)}),
          how());
    });
  }

 private:
  Folder folder_;
  std::unique_ptr<Executor> executor_ = make_thread_pool(3);
};

class AgeFiles : public testing::TestWithParam<std::size_t> {
 protected:
  [[nodiscard]] Contents encrypt(bool is_pipe, Encoding encoding) const {
    return folder_.encrypt(text_, is_pipe, encoding, identity_->recipients().front());
  }
  [[nodiscard]] age::Credentials credentials() const { return {identities_, nullptr}; }

  AgeFolder folder_;
  Contents text_ = random_buffer(GetParam());
  age::SharedIdentity identity_ = age::generate_x25519();
  std::array<age::SharedIdentity, 1> identities_ = {identity_};
};

INSTANTIATE_TEST_SUITE_P(Sizes, AgeFiles,
                         testing::Values(0, 1, age_chunk - 1, age_chunk, age_chunk + 1,
                                         2 * age_chunk, 7 * age_chunk, 7 * age_chunk + 99));

TEST_P(AgeFiles, ComeBackWholeFromFilesAndPipes) {
  for (const Encoding encoding : {Encoding::binary, Encoding::armored}) {
    for (const bool is_pipe : {false, true}) {
      const Contents sealed = encrypt(is_pipe, encoding);
      if (encoding == Encoding::armored) {
        const Contents binary = encrypt(false, Encoding::binary);  // has the same length each time
        EXPECT_EQ(sealed.size(), age::armored_bytes(binary.size()));
      } else if (sealed.size() <= container::max_envelope_bytes) {
        const SecretBytes opened = age::open(sealed, credentials());
        EXPECT_TRUE(
            std::equal(opened.data(), opened.data() + opened.size(), text_.begin(), text_.end()));
      }
      EXPECT_TRUE(folder_.decrypt(sealed, false, credentials()) == text_);
      EXPECT_TRUE(folder_.decrypt(sealed, true, credentials()) == text_);
      for (const bool from_pipe : {false, true}) {
        const Verification found = folder_.verify(sealed, from_pipe, credentials());
        EXPECT_TRUE(found.is_authentic());
        EXPECT_EQ(found.extent.text_bytes, text_.size());
      }
    }
  }
}

TEST_P(AgeFiles, GiveTheirRanges) {
  const Contents binary = encrypt(false, Encoding::binary);
  const Contents armored = encrypt(false, Encoding::armored);
  for (const std::uint64_t first : {std::uint64_t{0}, text_.size() / 2, text_.size() - 1}) {
    const ByteRange range{first, first + age_chunk};
    if (first >= text_.size()) {
      continue;
    }
    const auto begin = text_.begin() + static_cast<std::ptrdiff_t>(first);
    const auto count = std::min<std::uint64_t>(age_chunk + 1, text_.size() - first);
    const Contents wanted(begin, begin + static_cast<std::ptrdiff_t>(count));
    EXPECT_TRUE(folder_.decrypt(binary, false, credentials(), range) == wanted);
    EXPECT_TRUE(folder_.decrypt(binary, true, credentials(), range) == wanted);
    EXPECT_TRUE(folder_.decrypt(armored, false, credentials(), range) == wanted);
  }
}

TEST_P(AgeFiles, ThatWereCutExtendedOrDamagedAreRefused) {
  const Contents sealed = encrypt(false, Encoding::binary);
  const std::size_t payload = sealed.size() - age::chunking.payload_bytes(text_.size());
  std::vector<Contents> bad;
  for (const std::ptrdiff_t lost : {1, 15, 16, 17}) {
    bad.emplace_back(sealed.begin(), sealed.end() - lost);
  }
  bad.emplace_back(sealed.begin(), sealed.begin() + static_cast<std::ptrdiff_t>(payload + 16));
  bad.emplace_back(sealed.begin(), sealed.begin() + static_cast<std::ptrdiff_t>(payload + 5));
  bad.push_back(sealed);
  bad.back().push_back(0);
  bad.push_back(sealed);
  bad.back().resize(sealed.size() + age::chunking.chunk_bytes());
  for (const std::size_t at : {payload, payload + 16, sealed.size() - 1}) {
    bad.push_back(sealed);
    bad.back()[at] ^= 1;
  }
  if (text_.size() > 2 * age_chunk) {
    // at a chunk's end, and two chunks in each other's place
    const auto first = sealed.begin() + static_cast<std::ptrdiff_t>(payload + 16);
    constexpr auto chunk = static_cast<std::ptrdiff_t>(age::chunking.chunk_bytes());
    bad.emplace_back(sealed.begin(), first + 2 * chunk);
    bad.push_back(sealed);
    const auto moved = bad.back().begin() + static_cast<std::ptrdiff_t>(payload + 16);
    std::swap_ranges(moved, moved + chunk, moved + chunk);
  }
  for (const Contents& damaged : bad) {
    for (const bool is_pipe : {false, true}) {
      (void)unlink((folder_ / "opened").c_str());
      EXPECT_EQ(error_of([&] { (void)folder_.decrypt(damaged, is_pipe, credentials()); }).code,
                ErrorCode::corrupt);
      EXPECT_FALSE(exists(folder_ / "opened"));
      try {
        EXPECT_FALSE(folder_.verify(damaged, is_pipe, credentials()).is_authentic());
      } catch (const Error& error) {
        EXPECT_EQ(error.code, ErrorCode::corrupt);
      }
    }
  }
}

// Verification names every damaged chunk and the last one if the file was cut after a chunk.
TEST_P(AgeFiles, NameTheirDamagedChunks) {
  if (text_.size() < 7 * age_chunk) {
    return;
  }
  Contents sealed = encrypt(false, Encoding::binary);
  const std::size_t first = sealed.size() - age::chunking.payload_bytes(text_.size()) + 16;
  sealed[first + age::chunking.chunk_bytes()] ^= 1;
  sealed[first + 4 * age::chunking.chunk_bytes() - 1] ^= 1;
  sealed.resize(first + 6 * age::chunking.chunk_bytes());
  for (const bool is_pipe : {false, true}) {
    const Verification found = folder_.verify(sealed, is_pipe, credentials());
    const std::vector<Range> wanted = {{1, 2}, {3, 4}, {5, 6}};
    ASSERT_EQ(found.damage.ranges.size(), wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      EXPECT_EQ(found.damage.ranges[i].first, wanted[i].first);
      EXPECT_EQ(found.damage.ranges[i].end, wanted[i].end);
    }
    EXPECT_EQ(found.extent.file_of({1, 2}).first, first + age::chunking.chunk_bytes());
  }
}

TEST_P(AgeFiles, InParts) {
  const Contents sealed = encrypt(false, Encoding::binary);
  MemorySource source(sealed, 0, memory_name);
  const EncryptedFile file(source);
  const OpenedPayload payload =
      file.head().open(file.source(), credentials(), {.kernel = best_kernel(Cipher::aes)});
  const Layout layout =
      opening_layout(payload.extent.payload_offset, text_.size(), folder_.how(), age::chunking);
  Contents made(text_.size());
  MemorySink sink(made, memory_name);
  const Transform transform = opening(*payload.cipher, memory_name, payload.extent.payload_offset);
  for (std::uint64_t item = layout.all_items().end; item-- != 0;) {
    (void)transfer(source, &sink, layout, transform, {item, item + 1}, folder_.how());
  }
  EXPECT_TRUE(made == text_);
}

// What becomes of the vector as a file or from a pipe, in the vectors' words.
std::string outcome(const AgeFolder& folder, const test::Vector& vector, bool is_pipe) {
  const test::VectorKeys keys(vector);
  try {
    EXPECT_EQ(test::sha256(folder.decrypt(vector.file, is_pipe, keys.credentials())),
              vector.payload_sha256);
    return "success";
  } catch (const Error& error) {
    const std::string what = error.what();
    const auto says = [&](const char* words) { return what.find(words) != std::string::npos; };
    if (error.code == ErrorCode::wrong_key) {
      return "no match";
    }
    if (says("work factor")) {
      EXPECT_EQ(error.code, ErrorCode::failure);
      return "header failure";
    }
    EXPECT_EQ(error.code, ErrorCode::corrupt) << what;
    return says("MAC")                                ? "HMAC failure"
           : says(": armor: ")                        ? "armor failure"
           : says("envelope: ") || says(": header: ") ? "header failure"
                                                      : "payload failure";
  }
}

TEST(AgeTestkit, EveryFileEndsAsItSays) {
  const AgeFolder folder;
  // What does not begin as armor is a file that no format knows.
  const std::set<std::string> no_begin_of_armor = {"armor_garbage_leading", "armor_lowercase",
                                                   "armor_whitespace_begin", "armor_wrong_type"};
  std::map<std::string, int> seen;
  for (const test::Vector& vector : test::read_vectors()) {
    SCOPED_TRACE(vector.name);
    // The nonce, which the vectors count to the header, is a part of the payload here.
    const bool is_unknown = no_begin_of_armor.contains(vector.name);
    const bool lacks_nonce =
        vector.name == "stream_no_nonce" || vector.name == "stream_short_nonce";
    for (const bool is_pipe : {false, true}) {
      EXPECT_EQ(outcome(folder, vector, is_pipe), is_unknown    ? "header failure"
                                                  : lacks_nonce ? "payload failure"
                                                                : vector.expect);
    }
    ++seen[vector.expect];
  }
  EXPECT_EQ(seen["success"], 21);
  EXPECT_EQ(seen["armor failure"], 22);
  EXPECT_EQ(seen["no match"], 8);
  EXPECT_EQ(seen["header failure"], 53);
  EXPECT_EQ(seen["HMAC failure"], 1);
  EXPECT_EQ(seen["payload failure"], 19);
}

TEST(Armor, IsTheSameInPiecesOfAnySize) {
  const Contents file = random_buffer(1000);
  std::string whole;
  age::ArmorWriter writer;
  writer.add(file, whole);
  writer.end(whole);
  EXPECT_EQ(whole.size(), age::armored_bytes(file.size()));
  for (const std::size_t piece : {1U, 7U, 47U, 48U, 49U, 333U}) {
    std::string text;
    Contents back;
    age::ArmorWriter writes;
    age::ArmorReader reads;
    for (std::size_t at = 0; at < file.size(); at += piece) {
      writes.add(Bytes(file).subspan(at, std::min(piece, file.size() - at)), text);
    }
    writes.end(text);
    EXPECT_EQ(text, whole);
    for (std::size_t at = 0; at < text.size(); at += piece) {
      reads.add(libcrypto::bytes_of(text).subspan(at, std::min(piece, text.size() - at)), back);
    }
    reads.end(back);
    EXPECT_TRUE(back == file);
  }
}

TEST(Armor, HasWholeLinesWhateverTheLength) {
  for (std::size_t bytes = 0; bytes < 200; ++bytes) {
    const Contents file = random_buffer(bytes);
    std::string text;
    age::ArmorWriter writer;
    if (bytes != 0) {
      writer.add(file, text);
    }
    writer.end(text);
    EXPECT_EQ(text.size(), age::armored_bytes(bytes)) << bytes;
    EXPECT_TRUE(text.starts_with(age::armor_begin)) << bytes;
    for (std::size_t at = 0, end = 0; (end = text.find('\n', at)) != std::string::npos;
         at = end + 1) {
      EXPECT_LE(end - at, age::armor_columns) << bytes;
    }
  }
}

TEST(Armor, HasLittleWhitespaceAroundIt) {
  std::string armor;
  age::ArmorWriter writer;
  writer.add(random_buffer(10), armor);
  writer.end(armor);
  const auto read = [](const std::string& text) {
    age::ArmorReader reader;
    Contents file;
    reader.add(libcrypto::bytes_of(text), file);
    reader.end(file);
  };
  const std::string most(age::max_armor_whitespace, '\n');
  EXPECT_NO_THROW(read(most + armor + most));
  EXPECT_EQ(error_of([&] { read("\n\n" + most + armor); }).code, ErrorCode::corrupt);
  EXPECT_EQ(error_of([&] { read(armor + "\n\n" + most); }).code, ErrorCode::corrupt);
  EXPECT_EQ(error_of([&] { read(std::string(2000, ' ') + armor); }).code, ErrorCode::corrupt);
  // The last line need not end.
  const std::string line(age::max_armor_whitespace, ' ');
  EXPECT_NO_THROW(read(armor + line));
  for (const std::string& more : {line + " ", "\n" + line, "\n\n" + line.substr(1)}) {
    EXPECT_EQ(error_of([&] { read(armor + more); }).code, ErrorCode::corrupt);
  }
  for (int c = 0; c < 256; ++c) {
    const bool is_white = c == ' ' || (c >= '\t' && c <= '\r');
    const std::string before(1, static_cast<char>(c));
    EXPECT_EQ(age::is_armored(libcrypto::bytes_of(before + armor)), is_white) << c;
    if (!is_white) {
      EXPECT_EQ(error_of([&] { read(armor + before); }).code, ErrorCode::corrupt) << c;
    } else {
      EXPECT_NO_THROW(read(armor + before)) << c;
    }
  }
}

TEST(Armor, LinesMayEndWithACarriageReturn) {
  std::string armor;
  age::ArmorWriter writer;
  const Contents file = random_buffer(100);
  writer.add(file, armor);
  writer.end(armor);
  std::string changed;
  for (const char c : armor) {
    changed += c == '\n' ? std::string("\r\n") : std::string(1, c);
  }
  age::ArmorReader reader;
  Contents back;
  reader.add(libcrypto::bytes_of(changed), back);
  reader.end(back);
  EXPECT_TRUE(back == file);
}

// What is kept of a pipe between two buffers has 16 bytes, and a cut item needs somebody to tell.
TEST(Layouts, ThatDoNotFitAPipeAreRefused) {
  std::array<int, 2> ends = {};
  ASSERT_EQ(pipe(ends.data()), 0);
  ASSERT_EQ(close(ends[1]), 0);
  Input input = Input::of(Descriptor(ends[0]), "pipe", nullptr);
  const auto executor = make_serial_executor();
  const Work how = {.executor = *executor, .kernel = best_kernel(Cipher::aes), .piece_bytes = 64};
  const Layout fits = {.in_bytes = 64, .out_bytes = 64, .room_bytes = 64};
  Layout before = fits;
  before.before_bytes = 17;
  Layout ahead = fits;
  ahead.ahead_bytes = 17;
  Layout untold = fits;
  untold.min_in_bytes = 1;
  for (const Layout& layout : {before, ahead, untold}) {
    EXPECT_THROW((void)transfer(input, nullptr, layout, {}, {}, how), std::logic_error);
  }
}

}  // namespace
}  // namespace paes::stream
