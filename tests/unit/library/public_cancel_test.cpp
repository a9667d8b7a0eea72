// SPDX-License-Identifier: Apache-2.0
// Keys that keep a call of the library waiting: a plugin that hangs, and a passphrase that costs
// much. A Cancel and a report that throws end the call soon, and leave nothing.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "core/secret.hpp"
#include "encoding/encodings.hpp"
#include "library/public_sample.hpp"

namespace paes {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

// A call may take this long after its end was asked for. It is meant to take a fifth of it; other
// programs may need the processor as well.
constexpr auto soon = 5s;

std::string bech32_of(std::string_view human_part) {
  const std::vector<std::uint8_t> data(20, 'A');
  SecretBytes text(bech32::text_length(human_part, data.size()));
  bech32::encode(human_part, data, text);
  return {text.data(), text.data() + text.size()};
}

// A folder at the front of PATH with a plugin that neither reads nor writes.
class HungPlugin {
 public:
  HungPlugin() {
    const std::string program = folder_ / "age-plugin-hung";
    const std::string script = "#!/bin/sh\nexec sleep 600\n";
    write_file(program, Contents(script.begin(), script.end()));
    EXPECT_EQ(chmod(program.c_str(), 0755), 0);
    const std::string here = std::filesystem::path(program).parent_path();
    setenv("PATH", (here + ":" + path_).c_str(), 1);
  }
  ~HungPlugin() { setenv("PATH", path_.c_str(), 1); }
  HungPlugin(const HungPlugin&) = delete;
  HungPlugin& operator=(const HungPlugin&) = delete;

  [[nodiscard]] static Recipient recipient() { return Recipient(bech32_of("age1hung")); }
  [[nodiscard]] static Identity identity() { return Identity(bech32_of("AGE-PLUGIN-HUNG-")); }

 private:
  Folder folder_;
  std::string path_ = std::getenv("PATH");
};

// Runs the call with a Cancel that is requested while it waits.
void expect_cancelled(const std::function<void(const FileOptions& options)>& call) {
  Cancel cancel;
  Clock::time_point requested;
  std::thread stops([&] {
    std::this_thread::sleep_for(300ms);
    requested = Clock::now();
    cancel.request();
  });
  const Error error = error_of([&] { call({.overwrite = true, .cancel = &cancel}); });
  const Clock::time_point ended = Clock::now();
  stops.join();
  EXPECT_TRUE(std::string(error.what()).find("interrupted") != std::string::npos) << error.what();
  EXPECT_GE(ended, requested) << "it ended by itself";
  EXPECT_LT(ended - requested, soon);
}

class CancelledKeys : public ::testing::Test {
 protected:
  CancelledKeys() { (void)encrypt_file(store(text_), file_, for_me()); }

  Folder folder_;
  std::string file_ = folder_ / "file.paes";
  std::string out_ = folder_ / "out";
  Contents text_ = random_buffer(1000, 1);
};

TEST_F(CancelledKeys, APluginThatHangs) {
  const HungPlugin plugin;
  const SealFor seal_for = {.recipients = {plugin.recipient()}};
  const OpenWith open_with = {.identities = {plugin.identity()}};
  expect_cancelled([&](const FileOptions& options) {
    (void)encrypt_file(store(text_), out_, seal_for, options);
  });
  expect_cancelled(
      [&](const FileOptions& options) { (void)decrypt_file(file_, out_, open_with, options); });
  expect_cancelled(
      [&](const FileOptions& options) { (void)verify_file(file_, open_with, options); });
  expect_cancelled([&](const FileOptions& options) { (void)Reader(file_, open_with, options); });
  expect_cancelled([&](const FileOptions& options) { (void)Writer(out_, seal_for, options); });
  const Contents before = read_file(file_);
  expect_cancelled(
      [&](const FileOptions& options) { (void)rekey_file(file_, open_with, for_me(), options); });
  expect_cancelled(
      [&](const FileOptions& options) { (void)rekey_file(file_, with_mine(), seal_for, options); });
  expect_cancelled([&](const FileOptions& options) {
    (void)change_recipients(file_, with_mine(), {.add = {plugin.recipient()}}, options);
  });
  EXPECT_FALSE(exists(out_));
  EXPECT_TRUE(read_file(file_) == before);
}

TEST_F(CancelledKeys, AReportThatThrowsEndsThePlugin) {
  const HungPlugin plugin;
  struct Own {};
  const auto begin = Clock::now();
  const FileOptions options = {.progress = [](std::uint64_t, std::uint64_t) { throw Own{}; }};
  EXPECT_THROW(
      (void)encrypt_file(store(text_), out_, {.recipients = {plugin.recipient()}}, options), Own);
  EXPECT_LT(Clock::now() - begin, soon);
  EXPECT_FALSE(exists(out_));
}

// Its work factor is changed: nobody can open it, and to find that takes a gigabyte and seconds.
Contents costly_envelope() {
  const std::string passphrase = "geheim";
  Contents envelope = age::seal_to_passphrase(
      Bytes(reinterpret_cast<const std::uint8_t*>(passphrase.data()), passphrase.size()),
      Contents(32), 10);
  const auto line_end = std::find(envelope.begin() + 30, envelope.end(), '\n');
  EXPECT_EQ(std::string(line_end - 3, line_end), " 10");
  *(line_end - 2) = '2';
  return envelope;
}

TEST_F(CancelledKeys, APassphraseThatCostsMuch) {
  const Contents envelope = costly_envelope();
  write_file(folder_ / "keys", envelope);
  const Passphrase passphrase("geheim");
  expect_cancelled([&](const FileOptions& options) {
    (void)Identity::load(folder_ / "keys", passphrase, options.cancel);
  });
  expect_cancelled([&](const FileOptions& options) {
    (void)decrypt_file(store(envelope), out_, {.passphrase = passphrase}, options);
  });
  EXPECT_FALSE(exists(out_));
}

TEST(Cancel, MakesItsDescriptorWhenItIsWantedAndReadableAtOnceAfterARequest) {
  const auto is_readable = [](const Cancel& cancel) {
    pollfd event = {cancel.descriptor(), POLLIN, 0};
    return poll(&event, 1, 0) == 1;
  };
  Cancel before;
  EXPECT_FALSE(is_readable(before));
  EXPECT_EQ(before.descriptor(), before.descriptor());
  before.request();
  EXPECT_TRUE(is_readable(before));
  Cancel after;
  after.request();
  EXPECT_TRUE(is_readable(after));
}

TEST_F(CancelledKeys, ACancelNeedsNoDescriptorUntilSomethingWaits) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit few{64, before.rlim_max};
  const Contents sealed = read_file(file_);
  std::vector<std::unique_ptr<Cancel>> cancels;
  std::vector<std::unique_ptr<Reader>> readers;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  const auto all = [&] {
    for (int i = 0; i < 200; ++i) {
      cancels.push_back(std::make_unique<Cancel>());
      readers.push_back(std::make_unique<Reader>(store(sealed), with_mine(),
                                                 FileOptions{.cancel = cancels.back().get()}));
    }
  };
  EXPECT_NO_THROW(all());
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  readers.clear();  // before what they use
}

}  // namespace
}  // namespace paes
