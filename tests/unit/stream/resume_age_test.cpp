// SPDX-License-Identifier: Apache-2.0
// Age files that were interrupted are continued under the file key and nonce that they have, and no
// nonce of a chunk is ever used for a second text. What does not depend on the format is in
// resume_test.cpp.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "age/header.hpp"
#include "age/x25519.hpp"
#include "crypto/libcrypto.hpp"
#include "exec/thread_pool.hpp"
#include "stream/container/age_format.hpp"
#include "stream/file_sample.hpp"
#include "stream/resume/resume.hpp"

namespace paes::stream {
namespace {

constexpr std::size_t stripe_text_bytes = stripe_chunks * age::chunking.text_bytes;

class ResumedAgeFile : public testing::Test {
 protected:
  ResumedAgeFile() { write_file(folder_ / "in", text_); }

  [[nodiscard]] Work how() const {
    return {.executor = *executor_, .kernel = best_kernel(Cipher::aes), .cancel = &cancel_};
  }
  [[nodiscard]] std::unique_ptr<Output> output_for(const std::string& name,
                                                   const Input& input) const {
    return create_output(
        folder_ / name,
        {.source = &input, .cancel = &cancel_, .file = {.role = FileRole::resumable}});
  }
  ResumableEncryption task() {
    ResumableEncryption task{std::nullopt, settings_, nullptr, nullptr, nullptr};
    task.open = [this](Bytes header) -> std::optional<SecretBytes> {
      return age::open_header(age::parse_checked(header), {identities_, {}});
    };
    task.make = [this] {
      ++made_;
      age::SealedHeader sealed = age::seal_header(recipients_);
      return NewKey{std::move(sealed.file_key), {sealed.text.begin(), sealed.text.end()}};
    };
    task.note = [this](const std::string& what_why) { notes_.push_back(what_why); };
    return task;
  }

  // As a run that dies when the first `stripes` were recorded, and the next was written as well.
  void interrupt_encryption(std::uint64_t stripes) {
    Input input = Input::open(folder_ / "in");
    const auto output = output_for("out", input);
    ResumableFiles& files = *output->resumable();
    const SourceStamp source = distinct_stamp(input, nullptr);
    const StartedEncryption started = start_encryption(input, files, task(), source, false, how());
    StripeWork work(started.work, started.input_key, input, *output, files.journal(),
                    files.partial(), "out.partial", how());
    seal_stripes(
        work, {0, stripes}, [] {}, how());
    work.journal.flush();
    const Descriptor nowhere(open((folder_ / "other").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    StripeWork torn(started.work, started.input_key, input, *output, nowhere.number(),
                    files.partial(), "out.partial", how());
    seal_stripes(
        torn, {stripes, stripes + 1}, [] {}, how());
    (void)unlink((folder_ / "other").c_str());
  }
  Totals encrypt() {
    Input input = Input::open(folder_ / "in");
    const auto output = output_for("out", input);
    return encrypt_resumably(input, *output, task(), how());
  }

  // Header and nonce of an age file.
  [[nodiscard]] Contents head_of(const std::string& name) const {
    Input input = Input::open(folder_ / name);
    const EncryptedFile file(input);
    Contents head(static_cast<std::size_t>(file.head().payload_offset()) +
                  age::payload_nonce_bytes);
    EXPECT_EQ(input.read_at(0, MutableBytes(head)), head.size());
    return head;
  }
  [[nodiscard]] Contents text_in(const std::string& name) const {
    Input input = Input::open(folder_ / name);
    const EncryptedFile file(input);
    const auto output = create_output(folder_ / "back", {.overwrite = true});
    (void)stream::decrypt_file(input, *output, file.head().open(input, {identities_, {}}, how()),
                               {}, how());
    return read_file(folder_ / "back");
  }
  void overwrite(const std::string& name, std::uint64_t at, const Contents& with) const {
    const Descriptor file(open((folder_ / name).c_str(), O_WRONLY | O_CLOEXEC));
    ASSERT_EQ(pwrite(file.number(), with.data(), with.size(), static_cast<off_t>(at)),
              static_cast<ssize_t>(with.size()));
  }
  // Neither file key nor nonce of what was left is used again.
  void expect_afresh(const std::string& why) {
    const Contents head = head_of("out.partial");
    const unsigned made = made_;
    EXPECT_EQ(encrypt().kept_text_bytes, 0U);
    EXPECT_EQ(made_, made + 1);
    const Contents other = head_of("out");
    EXPECT_FALSE(other == head);
    EXPECT_FALSE(std::equal(head.end() - 16, head.end(), other.end() - 16));
    ASSERT_EQ(notes_.size(), 1U);
    EXPECT_EQ(notes_[0], (folder_ / "out") + ".partial: starting afresh, because " + why);
    EXPECT_TRUE(text_in("out") == text_);
  }
  // The source gets another text, and the journal is for it, as if its stamps were what they were.
  void change_and_forge_the_stamp(std::uint64_t at, std::uint64_t stripes) {
    text_[at] ^= 1;
    write_file(folder_ / "in", text_);
    const Input input = Input::open(folder_ / "in");
    const Contents head = head_of("out.partial");
    const Bytes header = Bytes(head).first(head.size() - age::payload_nonce_bytes);
    const SecretBytes file_key = age::open_header(age::parse_checked(header), {identities_, {}});
    const JournalKey key(file_key, Bytes(head).last(age::payload_nonce_bytes));
    const JournalHeader forged = key.header(
        {JournalKind::encrypt, text_.size(), input.stamp(), head, settings_, age::chunking});
    const Descriptor file(open((folder_ / "out.journal").c_str(), O_RDWR | O_TRUNC | O_CLOEXEC));
    ASSERT_EQ(pwrite(file.number(), forged.data(), forged.size(), 0), 256);
    Journal journal(key, forged, file.number(), file.number(), "out.journal");
    for (std::uint64_t stripe = 0; stripe < stripes; ++stripe) {
      journal.complete(stripe);
    }
    journal.flush();
  }

  Folder folder_;
  Cancel cancel_;
  std::unique_ptr<Executor> executor_ = make_thread_pool(2);
  std::vector<age::SharedIdentity> identities_ = {age::generate_x25519()};
  std::vector<age::SharedRecipient> recipients_ = identities_.front()->recipients();
  Contents text_ = random_buffer(2 * stripe_text_bytes + 5000);
  Contents settings_ = random_buffer(32, 5);
  unsigned made_ = 0;
  std::vector<std::string> notes_;
};

TEST_F(ResumedAgeFile, ContinuesUnderTheSameFileKeyAndNonce) {
  for (const std::uint64_t stripes : {0U, 1U, 2U}) {
    (void)unlink((folder_ / "out").c_str());
    interrupt_encryption(stripes);
    const Contents head = head_of("out.partial");
    const unsigned made = made_;
    EXPECT_EQ(encrypt().kept_text_bytes, stripes * stripe_text_bytes);
    EXPECT_EQ(made_, made);
    EXPECT_TRUE(notes_.empty());
    EXPECT_TRUE(head_of("out") == head);
    EXPECT_TRUE(text_in("out") == text_);
    EXPECT_FALSE(exists(folder_ / "out.partial"));
    EXPECT_FALSE(exists(folder_ / "out.journal"));
  }
}

// The last chunk is marked in its nonce, and may be whole.
TEST_F(ResumedAgeFile, ATextOfWholeStripes) {
  text_.resize(2 * stripe_text_bytes);
  write_file(folder_ / "in", text_);
  interrupt_encryption(1);
  EXPECT_EQ(encrypt().kept_text_bytes, stripe_text_bytes);
  (void)unlink((folder_ / "out").c_str());
  interrupt_encryption(2);
  EXPECT_EQ(encrypt().kept_text_bytes, 2 * stripe_text_bytes);
  EXPECT_TRUE(notes_.empty());
  EXPECT_TRUE(text_in("out") == text_);
}

TEST_F(ResumedAgeFile, AChangedSourceStartsAfresh) {
  interrupt_encryption(1);
  text_[0] ^= 1;
  write_file(folder_ / "in", text_);
  expect_afresh((folder_ / "in") + " has changed since");
}

TEST_F(ResumedAgeFile, OtherRecipientsStartAfresh) {
  interrupt_encryption(1);
  settings_[0] ^= 1;
  expect_afresh("it is for other recipients");
}

TEST_F(ResumedAgeFile, ADamagedNonceStartsAfresh) {
  interrupt_encryption(1);
  overwrite("out.partial", head_of("out.partial").size() - 1, {0x55});
  expect_afresh("its journal is damaged or belongs to another file");
}

TEST_F(ResumedAgeFile, OtherTextUnderAForgedStampStartsAfreshOverWhatIsWritten) {
  const std::string why = (folder_ / "in") + " is not what was encrypted before";
  interrupt_encryption(1);
  change_and_forge_the_stamp(stripe_text_bytes + 1, 1);
  expect_afresh(why);
  notes_.clear();
  (void)unlink((folder_ / "out").c_str());
  interrupt_encryption(1);
  change_and_forge_the_stamp(1, 1);
  const std::uint64_t place = head_of("out.partial").size();
  overwrite("out.partial", place + 2 * age::chunking.chunk_bytes(), Contents(100, 0x55));
  expect_afresh(why);
}

// The last stripe is meant, whose last chunk has a nonce like no other.
TEST_F(ResumedAgeFile, OtherTextOfTheLastChunkStartsAfresh) {
  interrupt_encryption(2);
  change_and_forge_the_stamp(text_.size() - 1, 2);
  expect_afresh((folder_ / "in") + " is not what was encrypted before");
}

TEST_F(ResumedAgeFile, DamageInACompleteStripeIsRepaired) {
  interrupt_encryption(2);
  overwrite("out.partial", head_of("out.partial").size() + 12345, Contents(100, 0x55));
  EXPECT_EQ(encrypt().kept_text_bytes, 2 * stripe_text_bytes - default_piece_bytes);
  EXPECT_TRUE(notes_.empty());
  EXPECT_TRUE(text_in("out") == text_);
}

TEST_F(ResumedAgeFile, NoFormatContinuesAnother) {
  interrupt_encryption(1);
  Input input = Input::open(folder_ / "in");
  ResumableEncryption container = task();
  container.shape = container::Shape{container::Suite::cobblestone_256};
  container.make = [] { return NewKey{SecretBytes(Bytes(random_buffer(32))), sample_envelope}; };
  {
    const auto output = output_for("out", input);
    const Totals totals = encrypt_resumably(input, *output, container, how());
    EXPECT_EQ(totals.kept_text_bytes, 0U);
  }
  ASSERT_EQ(notes_.size(), 1U);
  EXPECT_EQ(notes_[0],
            (folder_ / "out") + ".partial: starting afresh, because it is of another format");
}

class ResumedAgeDecryption : public ResumedAgeFile {
 protected:
  ResumedAgeDecryption() {
    std::fill_n(text_.begin() + 100'000, 200'000, 0);  // a hole in the output
    write_file(folder_ / "in", text_);
    seal(recipients_, true);
  }

  // Writes "sealed" for these recipients: the same file key and payload if it is there already.
  void seal(std::span<const age::SharedRecipient> recipients, bool afresh) {
    if (afresh) {
      Input source = Input::open(folder_ / "in");
      const age::SealedHeader header = age::seal_header(recipients);
      const auto output = create_output(folder_ / "sealed", {.overwrite = true});
      (void)stream::encrypt_file(source, *output,
                                 new_age_payload(libcrypto::bytes_of(header.text), header.file_key),
                                 how());
      return;
    }
    const Contents sealed = read_file(folder_ / "sealed");
    const age::ParsedHeader header = age::parse_checked(sealed);
    const SecretBytes key = age::open_header(header, {identities_, {}});
    const std::string text = age::header_for({.recipients = recipients}, key);
    Contents rekeyed(text.begin(), text.end());
    rekeyed.insert(rekeyed.end(), sealed.begin() + static_cast<std::ptrdiff_t>(header.bytes),
                   sealed.end());
    write_file(folder_ / "sealed", rekeyed);
  }
  template <typename Use>
  auto with_key(const Use& use) {
    Input input = Input::open(folder_ / "sealed");
    const EncryptedFile file(input);
    const SecretBytes key = file.head().open_key({identities_, {}});
    const auto output = output_for("out", input);
    return use(input, *output, PayloadPlace(file.head()), key);
  }
  void interrupt(std::uint64_t stripes) {
    with_key([&](Input& input, Output& output, const PayloadPlace& payload, Bytes key) {
      ResumableFiles& files = *output.resumable();
      const StripePlan started = start_decryption(input, output, payload, key, nullptr, how());
      StripeWork work(started, key, input, output, files.journal(), files.partial(), "out.partial",
                      how());
      open_stripes(work, {0, stripes}, how());
      work.journal.flush();
    });
  }
  Totals decrypt() {
    return with_key([&](Input& input, Output& output, const PayloadPlace& payload, Bytes key) {
      return decrypt_resumably(
          input, output, payload, key,
          [this](const std::string& what_why) { notes_.push_back(what_why); }, how());
    });
  }
};

TEST_F(ResumedAgeDecryption, Continues) {
  for (const std::uint64_t stripes : {0U, 1U, 2U, 3U}) {
    (void)unlink((folder_ / "out").c_str());
    interrupt(stripes);
    EXPECT_EQ(decrypt().kept_text_bytes,
              std::min<std::uint64_t>(stripes * stripe_text_bytes, text_.size()));
    EXPECT_TRUE(notes_.empty());
    EXPECT_TRUE(read_file(folder_ / "out") == text_);
    EXPECT_FALSE(exists(folder_ / "out.journal"));
  }
}

TEST_F(ResumedAgeDecryption, WrongTextIsWrittenAgain) {
  interrupt(2);
  overwrite("out.partial", 150'000, Contents(8192, 0x55));
  overwrite("out.partial", stripe_text_bytes + 50'000, Contents(1, 0x55));
  EXPECT_EQ(decrypt().kept_text_bytes, 2 * stripe_text_bytes - 2 * default_piece_bytes);
  EXPECT_TRUE(read_file(folder_ / "out") == text_);
}

TEST_F(ResumedAgeDecryption, ContinuesAfterTheRecipientsHaveChanged) {
  interrupt(1);
  const age::SharedIdentity other = age::generate_x25519();
  recipients_.push_back(other->recipients().front());
  seal(recipients_, false);
  EXPECT_EQ(decrypt().kept_text_bytes, stripe_text_bytes);
  EXPECT_TRUE(notes_.empty());
  EXPECT_TRUE(read_file(folder_ / "out") == text_);
}

TEST_F(ResumedAgeDecryption, AnotherFileStartsAfresh) {
  interrupt(1);
  text_[7] ^= 1;
  write_file(folder_ / "in", text_);
  seal(recipients_, true);
  EXPECT_EQ(decrypt().kept_text_bytes, 0U);
  EXPECT_EQ(notes_.size(), 1U);
  EXPECT_TRUE(read_file(folder_ / "out") == text_);
}

TEST_F(ResumedAgeDecryption, DamageInTheSourceKeepsWhatIsAuthentic) {
  interrupt(1);
  const Contents whole = read_file(folder_ / "sealed");
  const std::uint64_t place = whole.size() - 10'000;
  overwrite("sealed", place, {static_cast<std::uint8_t>(whole[place] ^ 1)});
  const Error error = error_of([&] { (void)decrypt(); });
  EXPECT_EQ(error.code, ErrorCode::corrupt);
  EXPECT_FALSE(exists(folder_ / "out"));
  write_file(folder_ / "sealed", whole);
  EXPECT_GE(decrypt().kept_text_bytes, stripe_text_bytes);
  EXPECT_TRUE(read_file(folder_ / "out") == text_);
}

}  // namespace
}  // namespace paes::stream
