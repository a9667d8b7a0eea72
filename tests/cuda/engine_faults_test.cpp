// The device engine when something fails: every call of the emulated runtime once, for good, or for
// want of memory; and everything wiped and given back each time.
#include <gtest/gtest.h>

#include <new>

#include "cuda/emulated_engine.hpp"
#include "cuda/engine.hpp"
#include "message/gcm.hpp"

namespace paes::cuda {
namespace {

using Fault = EmulatedRuntime::Fault;

TEST(CudaSlots, AreIdleWhateverIsThrown) {
  EmulatedRuntime runtime;
  Slots slots(runtime, 1, piece_bytes, {});
  Block block = {{1}};
  const auto throws_at_work = [&](Slot& slot) {
    std::memcpy(slot.host_blocks(), &block, sizeof block);
    runtime.copy_out(slot.stream(), slot.host_blocks(), slot.text(), sizeof block);
    throw std::bad_alloc();
  };
  EXPECT_THROW((void)slots.run(WhenBusy::wait, throws_at_work), std::bad_alloc);
  ASSERT_TRUE(slots.run(WhenBusy::wait, [&](Slot& slot) {
    EXPECT_NE(slot.host_blocks()[0].bytes[0], 1) << "the copy is still under way";
  }));
}

// What a program does from the first call to the last. True: the engine did all of it.
bool run_scenario(EmulatedRuntime& runtime, const std::shared_ptr<Runtime>& shared, bool pins,
                  bool& declined) {
  const RawCase which = {Cipher::aes, Mode::xts, 32, 512};
  const Buffer key = varied_bytes(32, 1);
  const Buffer in = varied_bytes(4096, 2);
  const Block start = {{1}};
  const auto engine = make_engine(shared, {.slots = 2, .piece_bytes = piece_bytes});
  Buffer text = in;
  if (engine != nullptr && pins) {
    engine->pin(text.data(), text.size());
  }
  struct Unpin {
    Engine* engine;
    void* memory;
    ~Unpin() {
      if (engine != nullptr) {
        engine->unpin(memory);
      }
    }
  } const unpin{engine.get(), text.data()};
  const RawKey raw(which.cipher, which.mode, key, best_kernel(which.cipher), which.unit_bytes,
                   {engine.get(), WhenBusy::wait});
  const Buffer want = expected(which, Direction::encrypt, key, start, in);
  const std::uint64_t launches = runtime.launches()[0];
  for (unsigned round = 0; round < 3; ++round) {
    text = in;
    RawPosition position{start};
    raw.crypt(Direction::encrypt, position, text, text, *make_executor(Schedule::serial, 1),
              text.size());
    EXPECT_TRUE(text == want);
  }
  if (has_gcm()) {
    const GcmKey gcm(varied_bytes(16, 3), best_kernel(Cipher::aes), {engine.get(), WhenBusy::wait});
    Chunks chunks(3, 100);
    (void)gcm.run_on_engine(GcmOperation::seal, chunks.messages);
  }
  declined = runtime.launches()[0] - launches < 6;
  return true;
}

class Faults : public testing::TestWithParam<std::tuple<Fault, bool>> {};

TEST_P(Faults, OfEveryCallLeaveNothingBehind) {
  const auto [fault, pins] = GetParam();
  std::uint64_t errors = 0;
  std::uint64_t fallbacks = 0;
  for (std::uint64_t call = 1;; ++call) {
    SCOPED_TRACE(call);
    const auto runtime = std::make_shared<EmulatedRuntime>();
    runtime->fail_at(call, fault);
    bool declined = false;
    try {
      run_scenario(*runtime, runtime, pins, declined);
    } catch (const Error& error) {
      ++errors;
      EXPECT_EQ(error.code, ErrorCode::failure);
      EXPECT_EQ(std::string(error.what()).rfind("cuda: ", 0), 0U) << error.what();
      EXPECT_NE(std::string(error.what()).find(": emulated fault"), std::string::npos);
    }
    EXPECT_EQ(runtime->complaints(), std::vector<std::string>());
    if (!runtime->has_failed()) {
      EXPECT_FALSE(declined);
      EXPECT_GT(call, 40U);
      break;
    }
    fallbacks += declined ? 1U : 0U;
  }
  if (fault == Fault::out_of_memory) {
    EXPECT_GT(fallbacks, 10U);
  } else {
    EXPECT_GT(errors, 20U);
    EXPECT_EQ(fallbacks, 0U);
  }
}

std::string name_of_faults(const testing::TestParamInfo<Faults::ParamType>& instance) {
  constexpr const char* names[] = {"once", "context_lost", "out_of_memory"};
  const auto [fault, pins] = instance.param;
  return std::string(names[static_cast<unsigned>(fault)]) + (pins ? "_pinned" : "_staged");
}

INSTANTIATE_TEST_SUITE_P(All, Faults,
                         testing::Combine(testing::Values(Fault::once, Fault::context_lost,
                                                          Fault::out_of_memory),
                                          testing::Bool()),
                         name_of_faults);

TEST(CudaMemory, ShortOfItSlotsShrinkAndThenTheCpuWorks) {
  constexpr std::size_t wanted = std::size_t{1} << 20;
  unsigned shrunk = 0;
  unsigned without = 0;
  for (std::size_t memory = 0; memory <= std::size_t{12} << 20; memory += 300'000) {
    SCOPED_TRACE(memory);
    const auto runtime = std::make_shared<EmulatedRuntime>(EmulatedOptions{.memory_bytes = memory});
    std::vector<std::string> notes;
    const auto engine = make_engine(
        runtime,
        {.piece_bytes = wanted, .note = [&](const std::string& note) { notes.push_back(note); }});
    ASSERT_NE(engine, nullptr);
    const auto bound =
        engine->bind_raw(Cipher::aes, Mode::ctr, Direction::encrypt, varied_bytes(16, 1), 0);
    EXPECT_EQ(bound == nullptr, engine->slots() == 0);
    EXPECT_EQ(notes.size(), engine->slots() == 0 || engine->piece_bytes() < wanted ? 1U : 0U);
    shrunk += engine->slots() != 0 && engine->piece_bytes() < wanted ? 1U : 0U;
    without += engine->slots() == 0 ? 1U : 0U;
  }
  EXPECT_GT(shrunk, 3U);
  EXPECT_GT(without, 1U);
}

}  // namespace
}  // namespace paes::cuda
