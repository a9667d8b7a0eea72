// SPDX-License-Identifier: Apache-2.0
// Jobs of device kernels that no row of the kernel table can ask for, emulated: counters of all
// their bits, data units, many messages a launch, texts whose hashes take several levels, and grids
// of every shape. What a kernel's row can ask for, the tests of kernels ask of these, too.
#include <gtest/gtest.h>

#include <algorithm>

#include "cipher/ghash.hpp"
#include "emulated_device_kernels.hpp"
#include "reference.hpp"
#include "varied_bytes.hpp"

namespace paes::test {
namespace {

using Buffer = std::vector<std::uint8_t>;
using cuda::DeviceKernel;
using cuda::DeviceShape;

// Room for four tables of AES and for multiples of the hash key by four bits, but not by eight: an
// A100's.
constexpr std::size_t medium_shared_bytes = std::size_t{163} << 10;
constexpr DeviceShape shapes[] = {{1, large_shared_bytes, 32},
                                  {3, large_shared_bytes, 64},
                                  {2, large_shared_bytes, 256},
                                  {2, medium_shared_bytes, 64},
                                  {2, 64 * 1024, 96}};

// A key on the emulated device.
class DeviceKey {
 public:
  DeviceKey(const DeviceKernel& kernel, const Buffer& key)
      : image_(kernel.image_bytes), key_bytes_(key.size()) {
    kernel.prepare(key, image_.data());
  }
  [[nodiscard]] cuda::Launch on(const DeviceShape& shape) const {
    return {image_.data(), key_bytes_, shape, 0, nullptr};
  }

 private:
  DeviceMemory image_;
  std::size_t key_bytes_;
};

Block block_of(const Buffer& bytes) {
  Block block = {};
  std::copy(bytes.begin(), bytes.end(), block.bytes);
  return block;
}

Buffer contents(const DeviceMemory& memory, std::size_t bytes) {
  return {memory.data(), memory.data() + bytes};
}

class Jobs : public ::testing::TestWithParam<const DeviceKernel*> {
 protected:
  static const DeviceKernel& kernel() { return *GetParam(); }
  static bool is_aes() { return kernel().cipher == Cipher::aes; }
  static std::size_t block_size() { return block_bytes_of(kernel().cipher); }
  static Buffer key(std::uint64_t seed = 1) { return varied_bytes(is_aes() ? 16 : 24, seed); }
  // Slower by far than the others.
  static bool is_slow() { return std::string(kernel().name).find("compute") != std::string::npos; }

  static Buffer run(const DeviceShape& shape, cuda::Job job, const Buffer& text) {
    const DeviceMemory in(text.data(), text.size());
    const DeviceMemory out(text.size());
    job.in = in.data();
    job.out = out.data();
    job.bytes = text.size();
    EXPECT_EQ(cuda::Emulation::of(kernel()).run(DeviceKey(kernel(), key()).on(shape), job), 0);
    return contents(out, text.size());
  }
};

TEST_P(Jobs, ARowSaysWhatItsLaunchesAre) {
  const cuda::DeviceRuns& runs = cuda::Emulation::of(kernel());
  EXPECT_EQ(kernel().has(Operation::xts_encrypt), runs.run_tweaks != nullptr);
  EXPECT_EQ(kernel().has_gcm(), runs.run_gcm != nullptr);
}

TEST_P(Jobs, CountersCarryThroughAllTheirBits) {
  const std::size_t size = block_size();
  for (const unsigned before : {1U, 3U, 40U}) {
    for (const std::size_t ones :
         {size, size - 1, std::size_t{6}, std::size_t{4}, std::size_t{2}}) {
      Buffer counter = varied_bytes(size, 2);
      std::fill(counter.end() - static_cast<std::ptrdiff_t>(ones), counter.end(),
                std::uint8_t{0xff});
      counter.back() = static_cast<std::uint8_t>(0x100 - before);
      const Buffer text = varied_bytes(700 * size + 5, 3);
      const Buffer expected =
          reference_raw(kernel().cipher, Mode::ctr, Direction::encrypt, key(), counter, text);
      for (const DeviceShape& shape : shapes) {
        cuda::Job job = {Operation::ctr, nullptr, nullptr, 0};
        job.counter = block_of(counter);
        ASSERT_TRUE(run(shape, job, text) == expected)
            << before << " blocks before a carry out of " << ones << " bytes, "
            << shape.multiprocessors << " by " << shape.threads;
      }
    }
  }
}

// The third byte of a counter, too, changes within a thread's share.
TEST_P(Jobs, LongCounterMode) {
  const std::size_t blocks = is_slow() ? 2000 : 140000;
  const Buffer text = varied_bytes(blocks * block_size(), 4);
  const Buffer counter = varied_bytes(block_size(), 5);
  cuda::Job job = {Operation::ctr, nullptr, nullptr, 0};
  job.counter = block_of(counter);
  EXPECT_TRUE(run(shapes[2], job, text) ==
              reference_raw(kernel().cipher, Mode::ctr, Direction::encrypt, key(), counter, text));
}

TEST_P(Jobs, EveryShapeGivesTheSameBytes) {
  const std::size_t size = block_size();
  const std::size_t row = std::size_t{256} * kernel().blocks;
  for (const std::size_t blocks : {std::size_t{1}, row - 1, row, row + 1, 3 * row + 7}) {
    if (is_slow() && blocks > row + 1) {
      continue;
    }
    const Buffer text = varied_bytes(blocks * size, 6);
    for (unsigned index = 0; index < operation_count; ++index) {
      const auto operation = static_cast<Operation>(index);
      if (!kernel().has(operation) || formula_of(operation).has_tweak()) {
        continue;
      }
      cuda::Job job = {operation, nullptr, nullptr, 0};
      job.counter = block_of(varied_bytes(size, 7));
      job.before = block_of(varied_bytes(size, 8));
      const Buffer expected = run(shapes[0], job, text);
      ASSERT_FALSE(expected == text);
      for (const DeviceShape& shape : shapes) {
        ASSERT_TRUE(run(shape, job, text) == expected)
            << "operation " << index << ", " << blocks << " blocks, " << shape.threads
            << " threads";
      }
    }
  }
}

struct Units {
  std::uint32_t blocks;  // of a unit; 0: one unit
  std::uint32_t text_blocks;
};
constexpr Units units[] = {{1, 70},     {3, 100}, {31, 200}, {32, 200},    {33, 34},
                           {256, 1000}, {0, 1},   {0, 4500}, {2100, 5000}, {5000, 4999}};

TEST_P(Jobs, DataUnits) {
  if (!is_aes()) {
    GTEST_SKIP() << "NOT RUN: " << kernel().name << ": XTS is a mode of 128-bit blocks";
  }
  const Buffer data_key = key();
  const Buffer tweak_key = key(9);
  Buffer both = data_key;
  both.insert(both.end(), tweak_key.begin(), tweak_key.end());
  // Its low half is about to carry.
  Buffer number(16, 0xff);
  std::fill(number.begin() + 9, number.end(), std::uint8_t{0});
  for (const Units& unit : units) {
    if (is_slow() && unit.text_blocks > 1000) {
      continue;
    }
    const Buffer text = varied_bytes(std::size_t{16} * unit.text_blocks, 10);
    for (const Direction direction : {Direction::encrypt, Direction::decrypt}) {
      const Buffer expected = reference_raw(Cipher::aes, Mode::xts, direction, both, number, text,
                                            std::size_t{16} * unit.blocks);
      for (const DeviceShape& shape : shapes) {
        const DeviceMemory first(number.data(), 16);
        const DeviceMemory tweaks(std::size_t{16} *
                                  cuda::tweak_count(unit.text_blocks, unit.blocks));
        ASSERT_EQ(cuda::Emulation::of(kernel()).run_tweaks(
                      DeviceKey(kernel(), tweak_key).on(shape),
                      {first.blocks(), false, unit.blocks, unit.text_blocks, tweaks.blocks()}),
                  0);
        cuda::Job job = {row_of(Mode::xts).operation(direction), nullptr, nullptr, 0};
        job.tweaks = tweaks.blocks();
        job.unit_blocks = unit.blocks;
        ASSERT_TRUE(run(shape, job, text) == expected)
            << unit.text_blocks << " blocks in units of " << unit.blocks;
      }
    }
  }
}

// Equal messages at strides, of which the last may be shorter.
struct Messages {
  std::uint32_t count;
  std::size_t bytes;
  std::size_t last_bytes;
  std::size_t aad_bytes;
};
constexpr Messages message_sets[] = {
    {1, 0, 0, 0}, {5, 0, 0, 20}, {37, 1000, 17, 0}, {9, 4096, 4096, 5}, {3, 1600, 0, 48}};

void seal_and_open(const DeviceKernel& kernel, const Messages& set, const DeviceShape& shape,
                   std::size_t key_bytes) {
  const Buffer key = varied_bytes(key_bytes, 11);
  const DeviceKey device_key(kernel, key);
  const Buffer aad = varied_bytes(set.aad_bytes, 12);
  const std::size_t stride = (set.bytes + 31) / 16 * 16;  // with a gap that must stay as it was
  const Buffer text = varied_bytes(set.count * stride, 13);
  HashSubkey h = {};
  const Buffer hashed = reference_ecb(key, Buffer(16));
  std::copy(hashed.begin(), hashed.end(), h.bytes);
  Buffer padded = aad;
  padded.resize((aad.size() + 15) / 16 * 16);
  HashValue aad_hash = {};
  ghash_update(h, aad_hash, padded.data(), padded.size() / 16);
  Buffer expected = text;
  Buffer expected_tags;
  Buffer counters;
  for (std::size_t i = 0; i < set.count; ++i) {
    const Buffer iv = varied_bytes(12, 100 + i);
    counters.insert(counters.end(), iv.begin(), iv.end());
    counters.insert(counters.end(), {0, 0, 0, 1});
    const std::size_t bytes = i + 1 == set.count ? set.last_bytes : set.bytes;
    const Sealed sealed = reference_seal(key, iv, aad, Bytes(text.data() + i * stride, bytes));
    std::copy(sealed.ciphertext.begin(), sealed.ciphertext.end(),
              expected.begin() + static_cast<std::ptrdiff_t>(i * stride));
    expected_tags.insert(expected_tags.end(), sealed.tag.begin(), sealed.tag.end());
  }
  const DeviceMemory data(text.data(), text.size());
  const DeviceMemory device_counters(counters.data(), counters.size());
  const DeviceMemory device_aad(aad_hash.bytes, 16);
  const DeviceMemory tags(std::size_t{16} * set.count);
  cuda::GcmJob job = {};
  job.in = data.data();
  job.out = data.data();
  job.in_stride = job.out_stride = stride;
  job.count = set.count;
  job.text_bytes = set.bytes;
  job.last_text_bytes = set.last_bytes;
  job.counters = device_counters.blocks();
  job.aad_hash = aad.empty() ? nullptr : device_aad.blocks();
  job.aad_bytes = aad.size();
  job.tags = tags.blocks();
  for (const GcmOperation operation :
       {GcmOperation::seal, GcmOperation::verify, GcmOperation::open}) {
    job.operation = operation;
    std::memset(tags.data(), 0, expected_tags.size());
    ASSERT_EQ(cuda::Emulation::of(kernel).run_gcm(device_key.on(shape), job), 0);
    const bool is_open = operation == GcmOperation::open;
    ASSERT_TRUE(contents(data, text.size()) == (is_open ? text : expected))
        << "operation " << static_cast<unsigned>(operation) << ", " << set.count << " messages";
    ASSERT_TRUE(contents(tags, expected_tags.size()) == expected_tags)
        << "operation " << static_cast<unsigned>(operation) << ", " << set.count << " messages";
  }
}

TEST_P(Jobs, ManyMessages) {
  if (!kernel().has_gcm()) {
    GTEST_SKIP() << "NOT RUN: " << kernel().name << ": lacks GCM";
  }
  for (const Messages& set : message_sets) {
    for (const DeviceShape& shape : shapes) {
      for (const std::size_t key_bytes : {std::size_t{16}, std::size_t{24}, std::size_t{32}}) {
        seal_and_open(kernel(), set, shape, key_bytes);
      }
    }
  }
}

// Around one short chunk and one of 1024 blocks, around 1024 short chunks, from where on chunks are
// longer, and more than 1024 of those, so that the hashes of chunks' hashes are hashed, too.
TEST_P(Jobs, HashesOfLongTexts) {
  if (!kernel().has_gcm()) {
    GTEST_SKIP() << "NOT RUN: " << kernel().name << ": lacks GCM";
  }
  const DeviceKey device_key(kernel(), key());
  HashSubkey h = {};
  const Buffer hashed = reference_ecb(key(), Buffer(16));
  std::copy(hashed.begin(), hashed.end(), h.bytes);
  for (const std::size_t blocks :
       {std::size_t{0}, std::size_t{1}, std::size_t{256}, std::size_t{257}, std::size_t{1025},
        std::size_t{5000}, std::size_t{256} * 1024, std::size_t{256} * 1024 + 1,
        std::size_t{1024} * 1024 + 1}) {
    const Buffer text = varied_bytes(blocks * 16, 14);
    HashValue expected = {};
    ghash_update(h, expected, text.data(), blocks);
    const DeviceMemory in(text.data(), text.size());
    const DeviceMemory scratch(cuda::gcm_scratch_count(text.size()) * 16);
    const DeviceMemory hash(16);
    cuda::GcmJob job = {};
    job.operation = GcmOperation::hash;
    job.in = in.data();
    job.text_bytes = text.size();
    job.tags = hash.blocks();
    job.scratch = scratch.blocks();
    ASSERT_EQ(cuda::Emulation::of(kernel()).run_gcm(device_key.on(shapes[1]), job), 0);
    ASSERT_EQ(std::memcmp(hash.data(), expected.bytes, 16), 0) << blocks << " blocks";
  }
}

INSTANTIATE_TEST_SUITE_P(DeviceKernels, Jobs,
                         ::testing::ValuesIn(cuda::device_kernels().begin(),
                                             cuda::device_kernels().end()),
                         [](const auto& row) { return std::string(row.param->name); });

}  // namespace
}  // namespace paes::test
