// SPDX-License-Identifier: Apache-2.0
// A message in random parts, on random executors with random piece sizes, equals the message in one
// call; a batch equals its messages one by one. What is random comes from a seed that a failure
// tells.
#include <algorithm>

#include "differential_subject.hpp"
#include "exec/executor.hpp"
#include "exec/schedule/schedule.hpp"

namespace paes::test {
namespace {

class Random {
 public:
  explicit Random(std::uint64_t seed) : generator_(seed) {}
  std::uint64_t next() { return generator_(); }
  std::size_t below(std::size_t limit) { return static_cast<std::size_t>(generator_() % limit); }

 private:
  std::mt19937_64 generator_;
};

std::vector<std::unique_ptr<Executor>> executors() {
  std::vector<std::unique_ptr<Executor>> made;
  made.push_back(make_serial_executor());
  for (const Schedule schedule : named_schedules()) {
    made.push_back(make_executor(schedule, 2));
    made.push_back(make_executor(schedule, 3));
  }
  return made;
}

std::size_t repetitions(const Subject& subject) {
  switch (effort()) {
    case Effort::small:
      return 4;
    case Effort::deep:
      return subject.is_slow() ? 100 : 1000;
    default:
      return subject.is_slow() ? 20 : 60;
  }
}

// A length that the key takes; often short, sometimes several flights.
std::size_t random_length(Random& random, const Subject& subject, const RawKey& key) {
  const std::size_t most = subject.is_slow() ? 3000 : 30000;
  for (;;) {
    std::size_t length = random.below(random.below(3) == 0 ? 200 : most);
    if (subject.mode == Mode::ecb || subject.mode == Mode::cbc) {
      length -= length % subject.block_size();
    }
    if (key.takes(length)) {
      return length;
    }
  }
}

TEST(RawParts, RandomPartsEqualOneCall) {
  const Seed seed;
  SCOPED_TRACE(seed.text());
  const auto all_executors = executors();
  Random random(seed.value());
  for (const Subject& subject : subjects()) {
    for (std::size_t repetition = 0; repetition < repetitions(subject); ++repetition) {
      const std::vector<std::size_t> sizes = subject.key_sizes();
      const Buffer key_bytes = varied_bytes(sizes[random.below(sizes.size())], random.next());
      const std::size_t unit = subject.mode == Mode::xts ? 16 + random.below(600) : 0;
      const RawKey key(subject.kernel->cipher, subject.mode, key_bytes, *subject.kernel, unit);
      Buffer iv = subject.iv(random.next());
      if (random.below(2) == 0 && !iv.empty()) {  // near a carry, from whichever end it counts
        std::fill(iv.begin() + 1, iv.end() - 1, std::uint8_t{0xff});
      }
      const std::size_t length = random_length(random, subject, key);
      const Buffer text = varied_bytes(length, random.next());
      const Buffer expected = subject.reference(key_bytes, iv, text, unit);
      const bool in_place = random.below(2) == 0;
      Buffer in = text;
      Buffer apart(length);
      Buffer& out = in_place ? in : apart;
      RawPosition position = key.start(iv);
      std::string story;
      for (std::size_t at = 0; at < length;) {
        const std::size_t steps = (length - at) / key.step_bytes();
        std::size_t part = random.below(steps + 1) * key.step_bytes();
        if (random.below(4) == 0) {
          part = length - at;
        }
        const std::size_t chosen = random.below(all_executors.size());
        const std::size_t piece = 1 + random.below(length + 1);
        story += " " + std::to_string(part) + "/" + std::to_string(piece);
        key.crypt(subject.direction, position, Bytes(in).subspan(at, part),
                  MutableBytes(out).subspan(at, part), *all_executors[chosen], piece);
        at += part;
        if (steps == 0 && at < length) {  // only the last, short part is left
          key.crypt(subject.direction, position, Bytes(in).subspan(at),
                    MutableBytes(out).subspan(at), *all_executors[chosen], piece);
          at = length;
        }
      }
      ASSERT_TRUE(out == expected) << subject.name() << " of " << length << " bytes in parts"
                                   << story << ", unit " << unit << ", in place " << in_place;
    }
    exercised().add(*subject.kernel);
  }
}

TEST(RawParts, BatchesEqualSingleCalls) {
  const Seed seed;
  SCOPED_TRACE(seed.text());
  const auto all_executors = executors();
  Random random(seed.value());
  for (const Subject& subject : subjects()) {
    const std::size_t most = std::min<std::size_t>(3 * subject.kernel->lanes + 3, 600);
    // Hundreds of messages each.
    const std::size_t batches = effort() == Effort::deep ? 12 : effort() == Effort::small ? 2 : 5;
    for (std::size_t batch = 0; batch < batches; ++batch) {
      const std::vector<std::size_t> sizes = subject.key_sizes();
      const Buffer key_bytes = varied_bytes(sizes[random.below(sizes.size())], random.next());
      const RawKey key(subject.kernel->cipher, subject.mode, key_bytes, *subject.kernel);
      const std::size_t count = random.below(most);
      std::vector<Buffer> ivs;
      std::vector<Buffer> texts;
      std::vector<Buffer> expected;
      std::vector<Buffer> outs;
      for (std::size_t i = 0; i < count; ++i) {
        std::size_t length = random.below(400);
        while (!key.takes(length)) {
          length = random.below(400) / 16 * 16;
        }
        ivs.push_back(subject.iv(random.next()));
        texts.push_back(varied_bytes(length, random.next()));
        expected.emplace_back(length);
        crypt_whole(key, subject.direction, ivs[i], texts[i], expected[i]);
        outs.emplace_back(length);
      }
      const bool in_place = random.below(2) == 0;
      std::vector<RawMessage> messages;
      for (std::size_t i = 0; i < count; ++i) {
        messages.push_back({ivs[i], texts[i], in_place ? texts[i] : outs[i]});
      }
      key.crypt_batch(subject.direction, messages,
                      *all_executors[random.below(all_executors.size())]);
      ASSERT_TRUE((in_place ? texts : outs) == expected)
          << subject.name() << ", " << count << " messages, in place " << in_place;
    }
  }
}

}  // namespace
}  // namespace paes::test
