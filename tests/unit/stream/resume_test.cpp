// SPDX-License-Identifier: Apache-2.0
// What was interrupted is continued to the right bytes, or starts afresh with another key when
// anything does not fit; and no nonce is ever used for a second text.
#include "stream/resume/resume.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "exec/thread_pool.hpp"
#include "stream/memory_sink.hpp"
#include "stream/reference_file.hpp"
#include "stream/transfer/memory_ends.hpp"

namespace paes::stream {
namespace {

constexpr std::size_t stripe_text_bytes = stripe_chunks * chunk;
constexpr container::Suite suite = container::Suite::cobblestone_256;

// Loses the second half of every write.
class HalfSink : public Sink {
 public:
  explicit HalfSink(Sink& sink) : sink_(sink) {}
  [[nodiscard]] const std::string& name() const noexcept override { return sink_.name(); }
  [[nodiscard]] bool is_seekable() const noexcept override { return true; }
  void write_at(std::uint64_t offset, std::span<const iovec> from) override {
    sink_.write_at(offset, from.first(from.size() / 2));
  }

 private:
  Sink& sink_;
};

class Resume : public testing::Test {
 protected:
  Resume() { write_source(text_); }

  void write_source(const Contents& text) const { write_file(folder_ / "in", text); }
  [[nodiscard]] Work how() const {
    return {.executor = *executor_, .kernel = best_kernel(Cipher::aes), .cancel = &cancel_};
  }
  [[nodiscard]] std::unique_ptr<Output> output_for(const std::string& name, const Input& input,
                                                   bool overwrite = false) const {
    return create_output(folder_ / name,
                         {.overwrite = overwrite,
                          .source = &input,
                          .cancel = &cancel_,
                          .file = {.role = FileRole::resumable, .permissions = 0640}});
  }

  // The task of one run: its envelopes are made up, and open to who knows the key.
  ResumableEncryption task() {
    ResumableEncryption task{container::Shape{suite}, settings_, nullptr, nullptr, nullptr};
    task.open = [this](Bytes envelope) -> std::optional<SecretBytes> {
      const bool is_known = can_open_ && std::equal(envelope.begin(), envelope.end(),
                                                    envelope_.begin(), envelope_.end());
      return is_known ? std::optional(SecretBytes(Bytes(key_))) : std::nullopt;
    };
    task.make = [this] {
      ++made_;
      key_ = random_buffer(32, 1000 + made_);
      envelope_ = random_buffer(200, 2000 + made_);
      return NewKey{SecretBytes(Bytes(key_)), envelope_};
    };
    task.note = [this](const std::string& what_why) { notes_.push_back(what_why); };
    return task;
  }

  // As a run that dies when the first `stripes` were recorded, and the next was half written.
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
    HalfSink half(*output);
    StripeWork torn(started.work, started.input_key, input, half, files.journal(), files.partial(),
                    "out.partial", how());
    seal_stripes(
        torn, {stripes, stripes + 1}, [] {}, how());
  }

  Totals encrypt(bool overwrite = false) {
    Input input = Input::open(folder_ / "in");
    const auto output = output_for("out", input, overwrite);
    return encrypt_resumably(input, *output, task(), how());
  }

  [[nodiscard]] Contents salt_in(const std::string& name) const {
    Input input = Input::open(folder_ / name);
    const Preamble preamble = read_preamble(input);
    const PayloadPrefix prefix = read_prefix(input, preamble.header.payload_offset());
    return {prefix.begin(), prefix.begin() + cobblestone::salt_bytes};
  }
  [[nodiscard]] std::uint64_t place_of(std::uint64_t stripe) const {
    return container::layout({suite}, 200).payload_offset() +
           cobblestone::chunking.chunk_offset(stripe * stripe_chunks);
  }
  void overwrite(const std::string& name, std::uint64_t at, const Contents& with) const {
    const Descriptor file(open((folder_ / name).c_str(), O_WRONLY | O_CLOEXEC));
    ASSERT_EQ(pwrite(file.number(), with.data(), with.size(), static_cast<off_t>(at)),
              static_cast<ssize_t>(with.size()));
  }
  // The output is complete, holds `text`, and nothing else is left.
  void expect_complete(const Contents& text) {
    EXPECT_FALSE(exists(folder_ / "out.partial"));
    EXPECT_FALSE(exists(folder_ / "out.journal"));
    struct stat status = {};
    ASSERT_EQ(stat((folder_ / "out").c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0640U);
    Input input = Input::open(folder_ / "out");
    const Preamble preamble = read_preamble(input);
    const auto output = create_output(folder_ / "back", {.overwrite = true});
    (void)stream::decrypt_file(input, *output, opened(input, preamble, key_, how()), {}, how());
    EXPECT_TRUE(read_file(folder_ / "back") == text);
  }
  // What was left is not continued, and neither key nor salt of it is used again.
  void expect_afresh(const Contents& text, const std::string& why) {
    const Contents salt = salt_in("out.partial");
    const unsigned made = made_;
    EXPECT_EQ(encrypt().kept_text_bytes, 0U);
    EXPECT_EQ(made_, made + 1);
    EXPECT_FALSE(salt_in("out") == salt);
    ASSERT_EQ(notes_.size(), 1U);
    EXPECT_EQ(notes_[0], (folder_ / "out") + ".partial: starting afresh, because " + why);
    expect_complete(text);
  }

  Folder folder_;
  Cancel cancel_;
  std::unique_ptr<Executor> executor_ = make_thread_pool(2);
  Contents text_ = random_buffer(3 * stripe_text_bytes + 5000);
  Contents settings_ = random_buffer(32, 5);
  Contents key_;
  Contents envelope_;
  bool can_open_ = true;
  unsigned made_ = 0;
  std::vector<std::string> notes_;
};

TEST_F(Resume, WithoutAnInterruptionNothingIsLeft) {
  const Totals totals = encrypt();
  EXPECT_EQ(totals.text_bytes, text_.size());
  EXPECT_EQ(totals.kept_text_bytes, 0U);
  EXPECT_TRUE(notes_.empty());
  expect_complete(text_);
}

TEST_F(Resume, EncryptionContinuesUnderTheSameSalt) {
  for (const std::uint64_t stripes : {0U, 1U, 2U, 3U}) {
    (void)unlink((folder_ / "out").c_str());
    interrupt_encryption(stripes);
    EXPECT_FALSE(exists(folder_ / "out"));
    const Contents salt = salt_in("out.partial");
    const unsigned made = made_;
    EXPECT_EQ(encrypt().kept_text_bytes, stripes * stripe_text_bytes);
    EXPECT_EQ(made_, made);
    EXPECT_TRUE(salt_in("out") == salt);
    EXPECT_TRUE(notes_.empty());
    expect_complete(text_);
  }
}

TEST_F(Resume, AChangedSourceStartsAfresh) {
  interrupt_encryption(2);
  Contents text = text_;
  text[0] ^= 1;
  write_source(text);
  expect_afresh(text, (folder_ / "in") + " has changed since");
}

TEST_F(Resume, OtherRecipientsStartAfresh) {
  interrupt_encryption(2);
  settings_[0] ^= 1;
  expect_afresh(text_, "it is for other recipients");
}

TEST_F(Resume, AKeyThatDoesNotOpenItStartsAfresh) {
  interrupt_encryption(2);
  can_open_ = false;
  expect_afresh(text_, "no identity or passphrase given opens it");
}

TEST_F(Resume, ADamagedHeadStartsAfresh) {
  interrupt_encryption(2);
  overwrite("out.partial", place_of(0) - 1, {0x55});  // of the commitment
  expect_afresh(text_, "its beginning is not the one that the journal was made for");
}

TEST_F(Resume, ADamagedJournalStartsAfresh) {
  interrupt_encryption(2);
  overwrite("out.journal", 200, {0x55});
  expect_afresh(text_, "its journal is damaged or belongs to another file");
}

TEST_F(Resume, AJournalCutAtItsHeaderStartsAfresh) {
  interrupt_encryption(2);
  ASSERT_EQ(truncate((folder_ / "out.journal").c_str(), 100), 0);
  expect_afresh(text_, "its journal is damaged");
}

TEST_F(Resume, APartialFileOfAnotherLengthStartsAfresh) {
  interrupt_encryption(2);
  ASSERT_EQ(truncate((folder_ / "out.partial").c_str(), static_cast<off_t>(place_of(2))), 0);
  expect_afresh(text_, "it is damaged");
}

TEST_F(Resume, DamageInACompleteStripeIsRepaired) {
  interrupt_encryption(2);
  overwrite("out.partial", place_of(1) + 12345, Contents(100, 0x55));
  // The piece of 256 KiB with the damage is done again.
  EXPECT_EQ(encrypt().kept_text_bytes, 2 * stripe_text_bytes - default_piece_bytes);
  EXPECT_TRUE(notes_.empty());
  expect_complete(text_);
}

// The attack that matters: the source has another text and yet the same time stamps. Whoever can do
// that still makes us write no second ciphertext under a nonce that is on the disk with a first.
class SourceWithForgedStamp : public Resume {
 protected:
  // Interrupts, then changes a byte; afterwards the journal is for the source as it is now, as if
  // its stamps were what they had been. `stripes` of it are recorded.
  Contents interrupt_and_change(std::uint64_t at, std::uint64_t stripes) {
    interrupt_encryption(2);
    Contents text = text_;
    text[at] ^= 1;
    write_source(text);
    Input input = Input::open(folder_ / "in");
    Input partial = Input::open(folder_ / "out.partial");
    const Preamble preamble = read_preamble(partial);
    const PayloadPrefix prefix = read_prefix(partial, preamble.header.payload_offset());
    Contents head = preamble.bytes;
    head.insert(head.end(), prefix.begin(), prefix.end());
    const JournalKey key(key_, salt_of(prefix));
    const JournalHeader header =
        key.header({JournalKind::encrypt, text.size(), input.stamp(), head, settings_});
    const Descriptor file(open((folder_ / "out.journal").c_str(), O_RDWR | O_TRUNC | O_CLOEXEC));
    EXPECT_EQ(pwrite(file.number(), header.data(), header.size(), 0), 256);
    Journal journal(key, header, file.number(), file.number(), "out.journal");
    for (std::uint64_t stripe = 0; stripe < stripes; ++stripe) {
      journal.complete(stripe);
    }
    journal.flush();
    return text;
  }
  [[nodiscard]] std::string why() const {
    return (folder_ / "in") + " is not what was encrypted before";
  }
};

TEST_F(SourceWithForgedStamp, StartsAfreshOverAnUnfinishedStripe) {
  expect_afresh(interrupt_and_change(stripe_text_bytes + 1, 1), why());
}

TEST_F(SourceWithForgedStamp, StartsAfreshOverATornStripe) {
  expect_afresh(interrupt_and_change(2 * stripe_text_bytes + 1, 2), why());
}

TEST_F(SourceWithForgedStamp, StartsAfreshOverADamagedStripe) {
  const Contents text = interrupt_and_change(1, 2);
  overwrite("out.partial", place_of(0) + 5 * cobblestone::chunk_bytes, Contents(100, 0x55));
  expect_afresh(text, why());
}

TEST_F(SourceWithForgedStamp, ContinuesWhereNothingWasWritten) {
  const Contents text = interrupt_and_change(text_.size() - 1, 2);
  EXPECT_EQ(encrypt().kept_text_bytes, 2 * stripe_text_bytes);
  expect_complete(text);
}

TEST_F(Resume, ASourceThatChangesMeanwhileIsNotWrittenAndLeavesNothing) {
  interrupt_encryption(1);
  Input input = Input::open(folder_ / "in");
  const auto output = output_for("out", input);
  ResumableFiles& files = *output->resumable();
  // Between the decision and the first read.
  ResumableEncryption changing = task();
  changing.open = [&, open = changing.open](Bytes envelope) {
    auto key = open(envelope);
    Contents text = text_;
    text[2 * stripe_text_bytes] ^= 1;
    write_source(text);
    return key;
  };
  const Contents before = read_file(folder_ / "out.partial");
  const Descriptor partial(dup(files.partial()));
  const Error error = error_of([&] { (void)encrypt_resumably(input, *output, changing, how()); });
  EXPECT_EQ(error.what(), (folder_ / "in") + ": changed while it was read");
  EXPECT_EQ(error.hint, "");
  EXPECT_FALSE(exists(folder_ / "out.partial"));
  EXPECT_FALSE(exists(folder_ / "out.journal"));
  Contents after(before.size());
  ASSERT_EQ(pread(partial.number(), after.data(), after.size(), 0),
            static_cast<ssize_t>(after.size()));
  EXPECT_TRUE(after == before) << "something of the changed source was written";
}

TEST_F(Resume, AFailureSaysHowToGoOnOnlyWhereThereIsSomethingToGoOnWith) {
  cancel_.request();
  const Error nothing = error_of([&] { (void)encrypt(); });
  EXPECT_EQ(nothing.hint, "");
  EXPECT_EQ(folder_.entries(), 1U);
}

TEST_F(Resume, TwoRunsAtOnceAreOneTooMany) {
  const Input input = Input::open(folder_ / "in");
  const auto first = output_for("out", input);
  EXPECT_EQ(error_of([&] { (void)output_for("out", input); }).what(),
            (folder_ / "out") + ": another run with --resume is writing it");
  const auto other = output_for("other", input);
}

// A device whose memory, say, has failed before the first stripe.
class DeviceThatBindsNothing final : public Device {
 public:
  [[nodiscard]] const char* name() const noexcept override { return "broken"; }
  [[nodiscard]] unsigned slots() const noexcept override { return 1; }
  [[nodiscard]] std::size_t piece_bytes() const noexcept override { return 1 << 16; }
  void pin(void* /*memory*/, std::size_t /*bytes*/) noexcept override {}
  void unpin(void* /*memory*/) noexcept override {}
  [[nodiscard]] std::unique_ptr<DeviceRaw> bind_raw(Cipher, Mode, Direction, Bytes,
                                                    std::size_t) override {
    return nullptr;
  }
  [[nodiscard]] std::unique_ptr<DeviceGcm> bind_gcm(Bytes /*key*/) override {
    throw Error(ErrorCode::failure, "broken: cannot bind");
  }
};

TEST_F(Resume, ADeviceThatFailsAtOnceLeavesNothing) {
  DeviceThatBindsNothing device;
  Work with_device = how();
  with_device.device_use = {&device, WhenBusy::wait};
  Input input = Input::open(folder_ / "in");
  const auto output = output_for("out", input);
  const Error error =
      error_of([&] { (void)encrypt_resumably(input, *output, task(), with_device); });
  EXPECT_STREQ(error.what(), "broken: cannot bind");
  EXPECT_FALSE(exists(folder_ / "out.partial"));
  EXPECT_FALSE(exists(folder_ / "out.journal"));
}

TEST_F(Resume, WhatWasNotStartedLeavesNothing) {
  { const auto output = output_for("out", Input::open(folder_ / "in")); }
  EXPECT_EQ(folder_.entries(), 1U);
}

TEST_F(Resume, WhatIsInTheWayIsNotTouched) {
  const Input input = Input::open(folder_ / "in");
  write_file(folder_ / "precious", text_);
  const auto refused = [&] {
    return std::string(error_of([&] { (void)output_for("out", input); }).what());
  };
  for (const std::string suffix : {".partial", ".journal"}) {
    const std::string path = (folder_ / "out") + suffix;
    const std::string in_the_way = path + ": is in the way, ";
    ASSERT_EQ(symlink("precious", path.c_str()), 0);
    EXPECT_EQ(refused(), in_the_way + "and is a symbolic link");
    ASSERT_EQ(unlink(path.c_str()), 0);
    ASSERT_EQ(symlink("nowhere", path.c_str()), 0);
    EXPECT_EQ(refused(), in_the_way + "and is a symbolic link");
    EXPECT_FALSE(exists(folder_ / "nowhere"));
    ASSERT_EQ(unlink(path.c_str()), 0);
    ASSERT_EQ(link((folder_ / "precious").c_str(), path.c_str()), 0);
    EXPECT_EQ(refused(), in_the_way + "and has another name as well");
    ASSERT_EQ(unlink(path.c_str()), 0);
    ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
    EXPECT_EQ(refused(), in_the_way + "and is not a regular file");
    ASSERT_EQ(unlink(path.c_str()), 0);
    ASSERT_EQ(mkdir(path.c_str(), 0700), 0);
    EXPECT_EQ(refused(), in_the_way + "and is not a regular file");
    ASSERT_EQ(rmdir(path.c_str()), 0);
    write_file(path, text_);
    ASSERT_EQ(chmod(path.c_str(), 0622), 0);
    EXPECT_EQ(refused(), in_the_way + "and can be written by other users");
    ASSERT_EQ(chmod(path.c_str(), 0600), 0);
    EXPECT_NE(refused().find("journal"), std::string::npos);  // none beside it, or none at all
    EXPECT_TRUE(read_file(path) == text_);
    ASSERT_EQ(unlink(path.c_str()), 0);
    EXPECT_EQ(folder_.entries(), 2U) << "something new was left";
  }
  EXPECT_TRUE(read_file(folder_ / "precious") == text_);
}

TEST_F(Resume, AnOutputThatExistsIsReplacedOnlyIfAsked) {
  interrupt_encryption(1);
  write_file(folder_ / "out", Contents{1, 2, 3});
  EXPECT_EQ(error_of([&] { (void)encrypt(); }).what(), (folder_ / "out") + ": already exists");
  EXPECT_EQ(read_file(folder_ / "out").size(), 3U);
  EXPECT_EQ(encrypt(true).kept_text_bytes, stripe_text_bytes);
  expect_complete(text_);
}

class ResumedDecryption : public Resume {
 protected:
  // With pages of zero bytes here and there, as files have them.
  ResumedDecryption() {
    for (std::size_t at = 0; at + 8192 < text_.size(); at += 100'000) {
      std::fill_n(text_.begin() + static_cast<std::ptrdiff_t>(at), 8192, 0);
    }
    write_source(text_);
    (void)encrypt_path(folder_ / "in", folder_ / "sealed");
    key_ = sample_key(suite);
  }

  void interrupt(std::uint64_t stripes) {
    Input input = Input::open(folder_ / "sealed");
    const auto output = output_for("out", input);
    ResumableFiles& files = *output->resumable();
    const Preamble preamble = read_preamble(input);
    const StripePlan started = start_decryption(input, *output, preamble, key_, nullptr, how());
    StripeWork work(started, key_, input, *output, files.journal(), files.partial(), "out.partial",
                    how());
    open_stripes(work, {0, stripes}, how());
    work.journal.flush();
  }

  Totals decrypt() {
    Input input = Input::open(folder_ / "sealed");
    const auto output = output_for("out", input);
    const Preamble preamble = read_preamble(input);
    return decrypt_resumably(
        input, *output, preamble, key_,
        [this](const std::string& what_why) { notes_.push_back(what_why); }, how());
  }
  void expect_text() const {
    EXPECT_TRUE(read_file(folder_ / "out") == text_);
    EXPECT_FALSE(exists(folder_ / "out.partial"));
    EXPECT_FALSE(exists(folder_ / "out.journal"));
  }
};

TEST_F(ResumedDecryption, Continues) {
  for (const std::uint64_t stripes : {0U, 1U, 3U, 4U}) {
    (void)unlink((folder_ / "out").c_str());
    interrupt(stripes);
    EXPECT_EQ(decrypt().kept_text_bytes,
              std::min<std::uint64_t>(stripes * stripe_text_bytes, text_.size()));
    EXPECT_TRUE(notes_.empty());
    expect_text();
  }
}

TEST_F(ResumedDecryption, WrongTextIsWrittenAgain) {
  interrupt(3);
  overwrite("out.partial", 100'000, Contents(8192, 0x55));                  // over zero pages
  overwrite("out.partial", stripe_text_bytes + 50'000, Contents(1, 0x55));  // over text
  overwrite("out.partial", 3 * stripe_text_bytes, Contents(4999, 0x55));    // never written
  EXPECT_EQ(decrypt().kept_text_bytes, 3 * stripe_text_bytes - 2 * default_piece_bytes);
  expect_text();
}

TEST_F(ResumedDecryption, WrongTextIsWrittenAgainWhereNoHolesCanBeMade) {
  interrupt(1);
  Contents written(text_.size(), 0x55);
  std::copy_n(text_.begin(), stripe_text_bytes, written.begin());
  Input input = Input::open(folder_ / "sealed");
  const Preamble preamble = read_preamble(input);
  const Extent extent = extent_of(input, preamble.header.payload_offset());
  const StripePlan started = {
      suite, read_prefix(input, preamble.header.payload_offset()), extent, {}, true};
  const Descriptor journal(open((folder_ / "none").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  const Descriptor file(open((folder_ / "none").c_str(), O_RDONLY | O_CLOEXEC));  // takes no holes
  MemorySink sink(written, memory_name);
  StripeWork work(started, key_, input, sink, journal.number(), file.number(), "none", how());
  open_stripes(work, {1, extent.stripes()}, how());
  EXPECT_TRUE(written == text_);
}

TEST_F(ResumedDecryption, AnotherFileStartsAfresh) {
  interrupt(2);
  std::fill(text_.begin(), text_.end(), 7);
  key_ = random_buffer(32, 77);
  Input input = Input::open(folder_ / "in");
  {
    write_source(text_);
    Input source = Input::open(folder_ / "in");
    const auto output = create_output(folder_ / "sealed", {.overwrite = true});
    const NewPayload payload = new_container({suite}, sample_envelope, key_, how());
    (void)stream::encrypt_file(source, *output, payload, how());
  }
  EXPECT_EQ(decrypt().kept_text_bytes, 0U);
  ASSERT_EQ(notes_.size(), 1U);
  EXPECT_EQ(notes_[0], (folder_ / "out") +
                           ".partial: starting afresh, because its journal is damaged or belongs "
                           "to another file");
  expect_text();
}

TEST_F(ResumedDecryption, DamageInTheSourceKeepsWhatIsAuthentic) {
  interrupt(2);
  const Contents whole = read_file(folder_ / "sealed");
  overwrite("sealed", place_of(2) + 5, {static_cast<std::uint8_t>(whole[place_of(2) + 5] ^ 1)});
  const Error error = error_of([&] { (void)decrypt(); });
  EXPECT_EQ(error.code, ErrorCode::corrupt);
  EXPECT_NE(error.hint.find("run the same command again"), std::string::npos);
  EXPECT_FALSE(exists(folder_ / "out"));
  write_file(folder_ / "sealed", whole);
  EXPECT_GE(decrypt().kept_text_bytes, 2 * stripe_text_bytes);
  expect_text();
}

}  // namespace
}  // namespace paes::stream
