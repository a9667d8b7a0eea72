// SPDX-License-Identifier: Apache-2.0
// Streams on a device: the same bytes as without, in every way it can share the work with the CPU;
// what it leaves to the kernel; damage found; and nothing left of an output when it fails.
#include <gtest/gtest.h>

#include "cuda/cuda_device.hpp"
#include "emulated/emulated_runtime.hpp"
#include "exec/thread_pool.hpp"
#include "fake_device.hpp"
#include "stream/raw/raw.hpp"
#include "stream/raw/raw_gcm.hpp"
#include "stream/reference_file.hpp"

namespace paes::stream {
namespace {

struct Way {
  const char* name;
  WhenBusy when_busy;
  unsigned threads;
  unsigned slots;
  bool is_emulated = false;  // the CUDA device over an emulated runtime, else one of the tests' own
};
constexpr Way ways[] = {{"alone", WhenBusy::wait, 1, 1},
                        {"taking_turns", WhenBusy::wait, 4, 2},
                        {"hybrid", WhenBusy::decline, 4, 2},
                        {"without_slots", WhenBusy::decline, 2, 0},
                        {"emulated_alone", WhenBusy::wait, 3, 2, true},
                        {"emulated_hybrid", WhenBusy::decline, 4, 2, true}};

// A device of the test's way, that has seen its calls and has nothing to complain about.
class TestedDevice {
 public:
  explicit TestedDevice(const Way& way, std::size_t piece_bytes) {
    if (way.is_emulated) {
      runtime_ = std::make_shared<cuda::EmulatedRuntime>();
      device_ = cuda::make_device(runtime_, {.slots = way.slots, .piece_bytes = piece_bytes});
    } else {
      auto fake = std::make_unique<FakeDevice>(way.slots, piece_bytes);
      fake_ = fake.get();
      device_ = std::move(fake);
    }
  }
  ~TestedDevice() {
    device_.reset();
    if (runtime_ != nullptr) {
      EXPECT_EQ(runtime_->complaints(), std::vector<std::string>());
    }
  }
  TestedDevice(const TestedDevice&) = delete;
  TestedDevice& operator=(const TestedDevice&) = delete;

  [[nodiscard]] Device* get() { return device_.get(); }
  [[nodiscard]] bool is_used() const {
    return runtime_ != nullptr ? runtime_->launches()[0] != 0 : fake_->calls() != 0;
  }
  // Only the tests' own device counts these.
  [[nodiscard]] std::uint64_t calls_outside_pinned_memory() const {
    return fake_ == nullptr ? 0 : fake_->calls_outside_pinned_memory();
  }

 private:
  std::shared_ptr<cuda::EmulatedRuntime> runtime_;
  FakeDevice* fake_ = nullptr;
  std::unique_ptr<Device> device_;
};

class Devices : public testing::TestWithParam<Way> {
 protected:
  [[nodiscard]] static DeviceUse use(TestedDevice& device) {
    return {device.get(), GetParam().when_busy};
  }
  [[nodiscard]] static Setting setting(TestedDevice& device) {
    return {.threads = GetParam().threads, .piece_bytes = 4 * chunk, .device_use = use(device)};
  }
  static void expect_used(const TestedDevice& device) {
    EXPECT_EQ(device.is_used(), GetParam().slots != 0);
  }
  Folder folder_;
};

TEST_P(Devices, ContainersAreTheSame) {
  for (const auto suite : {container::Suite::cobblestone_128, container::Suite::cobblestone_256}) {
    for (const std::size_t size : sizes_around(4 * chunk)) {
      SCOPED_TRACE(size);
      TestedDevice device(GetParam(), 4 * chunk);
      Setting with = setting(device);
      with.suite = suite;
      const Contents text = random_buffer(size);
      write_file(folder_ / "text", text);
      encrypt_path(folder_ / "text", folder_ / "sealed", with);
      ASSERT_TRUE(read_file(folder_ / "sealed") == reference(suite, text));
      EXPECT_EQ(verify_path(folder_ / "sealed", with).text_bytes, size);
      EXPECT_EQ(decrypt_path(folder_ / "sealed", folder_ / "back", with).text_bytes, size);
      ASSERT_TRUE(read_file(folder_ / "back") == text);
      const bool is_checked_alone = size == 0 || size >= chunk;  // an empty chunk ends whole chunks
      EXPECT_EQ(device.calls_outside_pinned_memory(),
                GetParam().is_emulated || GetParam().slots == 0 || !is_checked_alone ? 0U : 1U)
          << "before it decrypts several chunks, the last one alone is checked";
      expect_used(device);
      std::filesystem::remove(folder_ / "sealed");
      std::filesystem::remove(folder_ / "back");
    }
  }
}

TEST_P(Devices, PipesAreTheSame) {
  const std::string in = folder_ / "in";
  const std::string out = folder_ / "out";
  ASSERT_EQ(mkfifo(in.c_str(), 0600) | mkfifo(out.c_str(), 0600), 0);
  for (const std::size_t size : sizes_around(2 * chunk)) {
    TestedDevice device(GetParam(), 2 * chunk);
    const Contents text = random_buffer(size);
    Contents sealed;
    std::thread writer = feed(in, text, 9999);
    std::thread reader = drain(out, sealed, 4097);
    encrypt_path(in, out, setting(device));
    writer.join();
    reader.join();
    ASSERT_TRUE(sealed == reference(container::Suite::cobblestone_256, text));
    Contents back;
    writer = feed(in, sealed, 9999);
    reader = drain(out, back, 4097);
    decrypt_path(in, out, setting(device));
    writer.join();
    reader.join();
    EXPECT_TRUE(back == text);
    expect_used(device);
  }
}

TEST_P(Devices, DamageIsFoundInEveryChunk) {
  constexpr std::size_t chunks = 9;
  const Contents text = random_buffer((chunks - 1) * chunk + 100);
  const Contents good = reference(container::Suite::cobblestone_256, text);
  const auto payload = static_cast<std::size_t>(
      container::layout({container::Suite::cobblestone_256}, sample_envelope.size())
          .payload_offset());
  for (std::size_t number = 0; number < chunks; ++number) {
    for (const std::size_t at : {std::size_t{0}, std::size_t{99}, std::size_t{115}}) {
      SCOPED_TRACE(testing::Message() << "chunk " << number << ", byte " << at);
      TestedDevice device(GetParam(), 4 * chunk);
      Contents damaged = good;
      damaged[payload + cobblestone::chunking.chunk_offset(number) + at] ^= 0x10;
      write_file(folder_ / "damaged", damaged);
      const Verification found = verification_of(folder_ / "damaged", setting(device));
      EXPECT_EQ(found.damage.ranges, std::vector<Range>({{number, number + 1}}));
      EXPECT_EQ(found.extent.text_bytes, text.size());
      const Error error =
          error_of([&] { decrypt_path(folder_ / "damaged", folder_ / "back", setting(device)); });
      EXPECT_EQ(error.code, ErrorCode::corrupt);
      EXPECT_EQ(folder_.entries(), 1U);
    }
  }
}

struct RawCase {
  Cipher cipher;
  Mode mode;
  std::size_t unit_bytes;
};
constexpr RawCase raw_cases[] = {{Cipher::aes, Mode::ecb, 0},      {Cipher::aes, Mode::cbc, 0},
                                 {Cipher::aes, Mode::cfb, 0},      {Cipher::aes, Mode::ofb, 0},
                                 {Cipher::aes, Mode::ctr, 0},      {Cipher::aes, Mode::xts, 512},
                                 {Cipher::aes, Mode::xts, 0},      {Cipher::aes, Mode::xts, 4096},
                                 {Cipher::aes, Mode::xts, 520},    {Cipher::des_ede3, Mode::ecb, 0},
                                 {Cipher::des_ede3, Mode::cbc, 0}, {Cipher::des_ede3, Mode::cfb, 0},
                                 {Cipher::des_ede3, Mode::ctr, 0}};

// The whole message in one call of the kernel.
Contents at_once(const RawKey& key, Direction direction, Bytes iv, const Contents& text) {
  Contents out(text.size());
  RawPosition position = key.start(iv);
  key.crypt(direction, position, text, out, serial_executor(), text.size());
  return out;
}

TEST_P(Devices, RawMessagesAreTheSame) {
  constexpr std::size_t piece = 2 * chunk;
  const auto executor = make_thread_pool(GetParam().threads);
  for (const RawCase& which : raw_cases) {
    const std::size_t key_bytes =
        which.cipher == Cipher::aes ? (which.mode == Mode::xts ? 64 : 16) : 24;
    const Contents key_text = random_buffer(key_bytes, 4);
    // Where blocks wait for each other, bitsliced 3DES computes a whole flight for each.
    const Kernel& kernel = which.cipher == Cipher::aes ? best_kernel(which.cipher)
                                                       : find_kernel(which.cipher, "openssl");
    const RawKey plain(which.cipher, which.mode, key_text, kernel, which.unit_bytes);
    Contents iv(plain.iv_bytes(), 0xff);  // counters and unit numbers carry at once
    for (const std::size_t size : {std::size_t{0}, std::size_t{16}, std::size_t{24}, piece - 16,
                                   piece, 3 * piece + 1, 5 * piece + 1040, 5 * piece + 4097}) {
      if (!plain.takes(size)) {
        continue;
      }
      for (const Direction direction : {Direction::encrypt, Direction::decrypt}) {
        SCOPED_TRACE(testing::Message()
                     << row_of(which.mode).name << which.unit_bytes << ", " << size << " bytes");
        TestedDevice device(GetParam(), piece);
        const RawKey key(which.cipher, which.mode, key_text, kernel, which.unit_bytes, use(device));
        const Contents text = random_buffer(size, 5);
        write_file(folder_ / "in", text);
        {
          Input input = Input::open(folder_ / "in");
          const auto output = create_output(folder_ / "out", {.source = &input});
          crypt_raw(input, *output, {.key = key, .direction = direction, .iv = iv},
                    {.executor = *executor,
                     .kernel = kernel,
                     .piece_bytes = piece,
                     .device_use = use(device)});
        }
        EXPECT_TRUE(read_file(folder_ / "out") == at_once(plain, direction, iv, text));
        // Not every cipher has a device kernel.
        const bool has_kernel = !GetParam().is_emulated || key.has_device(direction);
        const bool is_for_device = plain.is_parallel(direction) && GetParam().slots != 0 &&
                                   which.unit_bytes % 16 == 0 && has_kernel &&
                                   (which.mode != Mode::xts || which.unit_bytes != 0);
        EXPECT_EQ(device.is_used(),
                  is_for_device && size >= std::max<std::size_t>(which.unit_bytes, 1));
        std::filesystem::remove(folder_ / "out");
      }
    }
  }
}

TEST_P(Devices, PaddingComesAndGoes) {
  const auto executor = make_thread_pool(GetParam().threads);
  for (const Mode mode : {Mode::ecb, Mode::cbc}) {
    for (const std::size_t size : {std::size_t{0}, std::size_t{15}, 2 * chunk, 5 * chunk + 7}) {
      TestedDevice device(GetParam(), 2 * chunk);
      const Kernel& kernel = best_kernel(Cipher::aes);
      const RawKey key(Cipher::aes, mode, random_buffer(16), kernel, 0, use(device));
      const Contents iv = random_buffer(key.iv_bytes());
      const Contents text = random_buffer(size);
      write_file(folder_ / "in", text);
      const auto run = [&](const char* from, const char* to, Direction direction) {
        Input input = Input::open(folder_ / from);
        const auto output = create_output(folder_ / to, {.source = &input});
        crypt_raw(input, *output, {.key = key, .direction = direction, .iv = iv, .pads = true},
                  {.executor = *executor,
                   .kernel = kernel,
                   .piece_bytes = 2 * chunk,
                   .device_use = use(device)});
      };
      run("in", "sealed", Direction::encrypt);
      run("sealed", "back", Direction::decrypt);
      EXPECT_TRUE(read_file(folder_ / "back") == text);
      expect_used(device);
      std::filesystem::remove(folder_ / "sealed");
      std::filesystem::remove(folder_ / "back");
    }
  }
}

TEST_P(Devices, GcmAsOneMessageIsTheSame) {
  const auto executor = make_thread_pool(GetParam().threads);
  const Kernel& kernel = best_kernel(Cipher::aes);
  const Contents key_text = random_buffer(32, 1);
  const Contents iv = random_buffer(12, 2);
  const Contents aad = random_buffer(21, 3);
  for (const std::size_t size : {std::size_t{0}, std::size_t{15}, std::size_t{16}, 2 * chunk,
                                 2 * chunk + 1, 7 * chunk + 333}) {
    SCOPED_TRACE(size);
    TestedDevice device(GetParam(), 2 * chunk);
    const GcmKey key(key_text, kernel, use(device));
    const Work work{.executor = *executor,
                    .kernel = kernel,
                    .piece_bytes = 2 * chunk,
                    .device_use = use(device)};
    const Contents text = random_buffer(size);
    write_file(folder_ / "in", text);
    {
      Input input = Input::open(folder_ / "in");
      const auto output = create_output(folder_ / "sealed", {.source = &input});
      seal_gcm(input, *output, key, iv, aad, work);
    }
    Contents want(size + 16);
    GcmKey(key_text, kernel)
        .seal(iv, aad, text, MutableBytes(want).first(size), MutableBytes(want).last(16));
    EXPECT_TRUE(read_file(folder_ / "sealed") == want);
    {
      Input input = Input::open(folder_ / "sealed");
      const auto output = create_output(folder_ / "back", {.source = &input});
      open_gcm(input, *output, key, iv, aad, work);
    }
    EXPECT_TRUE(read_file(folder_ / "back") == text);
    EXPECT_EQ(device.is_used(), GetParam().slots != 0 && size >= 16);
    std::filesystem::remove(folder_ / "sealed");
    std::filesystem::remove(folder_ / "back");
  }
}

INSTANTIATE_TEST_SUITE_P(Ways, Devices, testing::ValuesIn(ways),
                         [](const auto& instance) { return std::string(instance.param.name); });

TEST(DeviceFailures, NothingOfTheOutputSurvives) {
  const Folder folder;
  const Contents text = random_buffer(40 * chunk);
  write_file(folder / "text", text);
  encrypt_path(folder / "text", folder / "sealed");
  for (const WhenBusy when_busy : {WhenBusy::wait, WhenBusy::decline}) {
    for (const std::uint64_t call : {1U, 2U, 5U}) {
      for (const char* to : {"out", "back"}) {
        FakeDevice device(2, 2 * chunk);
        device.fail_at(call);
        const Setting setting{
            .threads = 3, .piece_bytes = 2 * chunk, .device_use = {&device, when_busy}};
        const Error error = error_of([&] {
          if (std::string(to) == "out") {
            encrypt_path(folder / "text", folder / to, setting);
          } else {
            decrypt_path(folder / "sealed", folder / to, setting);
          }
        });
        EXPECT_EQ(error.code, ErrorCode::failure);
        EXPECT_STREQ(error.what(), "fake: failed");
        EXPECT_EQ(folder.entries(), 2U);
      }
    }
  }
}

TEST(DevicePiece, IsNoMoreThanTheDeviceLikes) {
  const Folder folder;
  write_file(folder / "text", random_buffer(32 * chunk));
  FakeDevice device(1, 2 * chunk);
  const DeviceUse use{&device, WhenBusy::wait};
  encrypt_path(folder / "text", folder / "sealed",
               {.threads = 1, .piece_bytes = max_device_piece_bytes, .device_use = use});
  EXPECT_EQ(device.calls(), 17U);
}

}  // namespace
}  // namespace paes::stream
