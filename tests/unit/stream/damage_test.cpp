// SPDX-License-Identifier: Apache-2.0
// Nothing that was changed, cut, moved, repeated or added gets through, no output file appears, and
// what a pipe received before a failure is a prefix of the true text.

#include "age/envelope.hpp"
#include "age/x25519.hpp"
#include "exec/executor.hpp"
#include "exec/thread_pool.hpp"
#include "stream/file_sample.hpp"

namespace paes::stream {
namespace {

using cobblestone::chunk_bytes;
constexpr std::size_t chunk = cobblestone::chunk_text_bytes;

// A real three-chunk file, envelope included.
class Damage : public testing::Test {
 protected:
  Damage() : text_(random_buffer(2 * chunk + 100)) {
    const age::SharedRecipient recipients[] = {identities_[0]->recipients().front()};
    const Contents envelope = age::seal_to_recipients(recipients, key_);
    write_file(folder_ / "text", text_);
    const auto executor = make_serial_executor();
    {
      Input input = Input::open(folder_ / "text");
      const auto output = create_output(folder_ / "sealed", {});
      const Work work = {.executor = *executor, .kernel = best_kernel(Cipher::aes)};
      encrypt_file(input, *output, new_container({suite_}, envelope, key_, work), work);
    }
    good_ = read_file(folder_ / "sealed");
    std::filesystem::remove(folder_ / "text");
    std::filesystem::remove(folder_ / "sealed");
    payload_ =
        static_cast<std::size_t>(container::layout({suite_}, envelope.size()).payload_offset());
  }

  static std::vector<age::SharedIdentity> one_identity() {
    std::vector<age::SharedIdentity> identities;
    identities.push_back(age::generate_x25519());
    return identities;
  }

  // What `paes verify` and `paes decrypt` do; nothing when the file was accepted. The envelope is
  // opened only if asked for: flips behind it need not wait for its public-key cryptography.
  std::optional<ErrorCode> reject(const std::string& path, const std::string& out = {},
                                  unsigned threads = 1, bool opens_envelope = true) const {
    const auto executor = make_thread_pool(threads);
    const Work work{
        .executor = *executor, .kernel = best_kernel(Cipher::aes), .piece_bytes = chunk};
    try {
      Input input = Input::open(path);
      const Preamble preamble = read_preamble(input);
      SecretBytes held;
      if (opens_envelope) {
        held = age::open(preamble.envelope(), {identities_, {}});
      }
      const Bytes key = opens_envelope ? Bytes(held) : Bytes(key_);
      if (out.empty()) {
        return verify_file(input, opened(input, preamble, key, work), work).is_authentic()
                   ? std::nullopt
                   : std::optional(ErrorCode::corrupt);
      } else {
        const auto output = create_output(out, {.source = &input});
        decrypt_file(input, *output, opened(input, preamble, key, work), {}, work);
      }
    } catch (const Error& error) {
      return error.code;
    }
    return std::nullopt;
  }

  // `damaged` as a file and as a pipe, verified and decrypted to a file and to a pipe.
  void expect_rejected_everywhere(const Contents& damaged, unsigned threads) {
    write_file(folder_ / "damaged", damaged);
    EXPECT_TRUE(is_rejection(reject(folder_ / "damaged", {}, threads)));
    EXPECT_TRUE(is_rejection(reject(folder_ / "damaged", folder_ / "out", threads)));
    EXPECT_FALSE(exists(folder_ / "out"));

    const std::string in = folder_ / "in";
    const std::string out = folder_ / "out_pipe";
    ASSERT_EQ(mkfifo(in.c_str(), 0600) | mkfifo(out.c_str(), 0600), 0);
    std::thread writer = feed(in, damaged, 5000);
    EXPECT_TRUE(is_rejection(reject(in, folder_ / "out", threads)));
    EXPECT_FALSE(exists(folder_ / "out"));
    writer.join();

    // Both ends are open before and after, because a damaged preamble opens no output.
    const int from = open(out.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    const int keep = open(out.c_str(), O_WRONLY | O_CLOEXEC);
    Contents received;
    writer = feed(in, damaged, 5000);
    EXPECT_TRUE(is_rejection(reject(in, out, threads)));
    writer.join();
    close(keep);
    // All of it fits into the pipe, so nobody had to read while it was written.
    Contents piece(65536);
    for (ssize_t got = 0; (got = ::read(from, piece.data(), piece.size())) > 0;) {
      received.insert(received.end(), piece.begin(), piece.begin() + got);
    }
    close(from);
    ASSERT_LE(received.size(), text_.size());
    EXPECT_TRUE(std::equal(received.begin(), received.end(), text_.begin()));
    EXPECT_LT(received.size(), text_.size());
    for (const char* name : {"damaged", "in", "out_pipe"}) {
      std::filesystem::remove(folder_ / name);
    }
    EXPECT_EQ(folder_.entries(), 0U);
  }

  static bool is_rejection(const std::optional<ErrorCode>& code) {
    return code == ErrorCode::corrupt || code == ErrorCode::wrong_key;
  }

  [[nodiscard]] Contents chunk_of(std::size_t number) const {
    const auto begin = good_.begin() + static_cast<std::ptrdiff_t>(
                                           payload_ + cobblestone::chunking.chunk_offset(number));
    const auto end = number == 2 ? good_.end() : begin + chunk_bytes;
    return {begin, end};
  }
  // Preamble, salt and commitment, then these chunks.
  [[nodiscard]] Contents assemble(const std::vector<Contents>& chunks) const {
    Contents file(good_.begin(), good_.begin() + static_cast<std::ptrdiff_t>(
                                                     payload_ + cobblestone::prefix_bytes));
    for (const Contents& one : chunks) {
      file.insert(file.end(), one.begin(), one.end());
    }
    return file;
  }

  // Without optimisation a bit of each byte has to do; which one changes from byte to byte.
#ifdef NDEBUG
  static constexpr std::size_t step = 1;
#else
  static constexpr std::size_t step = 73;
#endif

  container::Suite suite_ = container::Suite::cobblestone_256;
  Folder folder_;
  std::vector<age::SharedIdentity> identities_ = one_identity();
  Contents key_ = sample_key(suite_);
  Contents text_;
  Contents good_;
  std::size_t payload_ = 0;
};

TEST_F(Damage, TheSampleItselfIsAccepted) {
  write_file(folder_ / "good", good_);
  EXPECT_FALSE(reject(folder_ / "good"));
  EXPECT_FALSE(reject(folder_ / "good", folder_ / "out", 2));
  EXPECT_TRUE(read_file(folder_ / "out") == text_);
  EXPECT_EQ(good_.size(), payload_ + cobblestone::chunking.payload_bytes(text_.size()));
}

TEST_F(Damage, EveryFlippedBitIsRejected) {
  const std::size_t bits = good_.size() * 8;
  constexpr std::size_t parts = 16;
  const auto executor = make_thread_pool(2);
  std::atomic<std::size_t> tried{0};
  executor->for_each(parts, [&](std::size_t part) {
    const std::string path = folder_ / std::to_string(part);
    write_file(path, good_);
    const int file = open(path.c_str(), O_WRONLY | O_CLOEXEC);
    for (std::size_t bit = part * step; bit < bits; bit += parts * step) {
      const auto at = static_cast<off_t>(bit / 8);
      const auto flipped = static_cast<std::uint8_t>(good_[bit / 8] ^ (1U << (bit % 8)));
      ASSERT_EQ(pwrite(file, &flipped, 1, at), 1);
      ASSERT_TRUE(is_rejection(reject(path, {}, 1, bit / 8 < payload_))) << "bit " << bit;
      ASSERT_EQ(pwrite(file, &good_[bit / 8], 1, at), 1);
      tried.fetch_add(1, std::memory_order_relaxed);
    }
    close(file);
  });
  EXPECT_EQ(tried.load(), (bits + step - 1) / step);
}

TEST_F(Damage, EveryTruncationIsRejected) {
  write_file(folder_ / "cut", good_);
  for (std::size_t bytes = good_.size(); bytes-- > 0;) {
    ASSERT_EQ(truncate((folder_ / "cut").c_str(), static_cast<off_t>(bytes)), 0);
    if (bytes % step == 0 || bytes < 100) {
      ASSERT_TRUE(is_rejection(reject(folder_ / "cut", {}, 1, bytes <= payload_)))
          << bytes << " bytes";
    }
  }
}

TEST_F(Damage, SampledFlipsLeaveNoOutput) {
  for (std::size_t byte = 0; byte < good_.size(); byte += 997) {
    SCOPED_TRACE(byte);
    Contents damaged = good_;
    damaged[byte] = static_cast<std::uint8_t>(damaged[byte] ^ (1U << (byte % 8)));
    expect_rejected_everywhere(damaged, static_cast<unsigned>(1 + byte % 3));
  }
}

TEST_F(Damage, SampledTruncationsLeaveNoOutput) {
  std::vector<std::size_t> lengths = {0, 1, 15, 16, 17, payload_, payload_ + 24, payload_ + 56};
  for (const std::size_t number : {0U, 1U, 2U}) {
    for (const std::size_t more : {0U, 1U, 15U, 16U, 17U, 16399U}) {
      lengths.push_back(payload_ + cobblestone::chunking.chunk_offset(number) + more);
    }
  }
  for (const std::size_t bytes : lengths) {
    if (bytes < good_.size()) {
      SCOPED_TRACE(bytes);
      expect_rejected_everywhere(
          Contents(good_.begin(), good_.begin() + static_cast<std::ptrdiff_t>(bytes)), 2);
    }
  }
}

TEST_F(Damage, ChunksSwappedRepeatedDroppedOrAppended) {
  const Contents a = chunk_of(0);
  const Contents b = chunk_of(1);
  const Contents last = chunk_of(2);
  const std::vector<std::vector<Contents>> orders = {
      {b, a, last},
      {a, last},
      {b, last},
      {last},
      {a, b},
      {a, b, b, last},
      {a, a, b, last},
      {a, a, last},
      {a, b, last, last},
      {a, b, last, a},
      {a, b, a},
      {a, last, b},
      {last, a, b},
      {a, b, last, {0}},
      {},
      {a, b, Contents(16)},
      {a, b, Contents(15)},
      {a, b, last, a, b},
  };
  EXPECT_TRUE(assemble({a, b, last}) == good_);
  for (std::size_t i = 0; i < orders.size(); ++i) {
    SCOPED_TRACE(i);
    expect_rejected_everywhere(assemble(orders[i]), 2);
  }
}

TEST_F(Damage, AnotherFilesChunksAndHeadAreRejected) {
  // The same input key, another salt: neither chunks nor salt and commitment can be exchanged.
  write_file(folder_ / "text", text_);
  encrypt_path(folder_ / "text", folder_ / "other");
  const Contents other = read_file(folder_ / "other");
  std::filesystem::remove(folder_ / "text");
  std::filesystem::remove(folder_ / "other");
  ASSERT_EQ(other.size() - 4096, good_.size() - 4096);
  const auto chunks = static_cast<std::ptrdiff_t>(payload_ + cobblestone::prefix_bytes);
  Contents mixed(good_.begin(), good_.begin() + chunks);
  mixed.insert(mixed.end(), other.begin() + chunks, other.end());
  expect_rejected_everywhere(mixed, 2);
  const auto prefix = static_cast<std::ptrdiff_t>(payload_);
  mixed.assign(good_.begin(), good_.begin() + prefix);
  mixed.insert(mixed.end(), other.begin() + prefix, other.begin() + chunks);
  mixed.insert(mixed.end(), good_.begin() + chunks, good_.end());
  expect_rejected_everywhere(mixed, 2);
}

TEST_F(Damage, ALateFailureOnAPipeSaysWhatWasWritten) {
  Contents damaged = good_;
  damaged.back() ^= 1;
  const std::string in = folder_ / "in";
  const std::string out = folder_ / "out";
  ASSERT_EQ(mkfifo(in.c_str(), 0600) | mkfifo(out.c_str(), 0600), 0);
  Contents received;
  std::thread writer = feed(in, damaged, 5000);
  std::thread reader = drain(out, received, 4096);
  const auto executor = make_serial_executor();
  const Error error = error_of([&] {
    Input input = Input::open(in);
    const Preamble preamble = read_preamble(input);
    const auto output = create_output(out, {});
    const Work work = {
        .executor = *executor, .kernel = best_kernel(Cipher::aes), .piece_bytes = chunk};
    decrypt_file(input, *output, opened(input, preamble, key_, work), {}, work);
  });
  writer.join();
  reader.join();
  EXPECT_EQ(error.code, ErrorCode::corrupt);
  EXPECT_EQ(std::string(error.what()),
            in + ": chunk 2 (from byte 32768 of the plaintext, " +
                std::to_string(payload_ + cobblestone::chunking.chunk_offset(2)) +
                " of the file) is damaged, misplaced or forged; 32768 "
                "bytes before that were already written to " +
                out);
  EXPECT_TRUE(received == Contents(text_.begin(), text_.begin() + 2 * chunk));
}

}  // namespace
}  // namespace paes::stream
