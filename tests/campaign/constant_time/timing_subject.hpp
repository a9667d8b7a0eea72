// SPDX-License-Identifier: Apache-2.0
// What timing.cpp measures: an operation and its two classes of inputs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "core/bytes.hpp"

namespace paes::timing {

// Fast, because a campaign draws some gigabytes (splitmix64: Steele, Lea, Flood, "Fast Splittable
// Pseudorandom Number Generators", 2014).
class Random {
 public:
  explicit Random(std::uint64_t seed) noexcept : state_(seed) {}
  std::uint64_t next() noexcept {
    state_ += 0x9e3779b97f4a7c15;
    std::uint64_t mixed = (state_ ^ (state_ >> 30)) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
    return mixed ^ (mixed >> 31);
  }
  void fill(MutableBytes out) noexcept {
    for (std::size_t at = 0; at < out.size(); at += 8) {
      const std::uint64_t word = next();
      std::memcpy(out.data() + at, &word, std::min<std::size_t>(8, out.size() - at));
    }
  }

 private:
  std::uint64_t state_;
};

enum class Class : unsigned { fixed, random };

enum class Expected {
  alike,   // the times of the classes must not differ
  apart,   // a control: unless they differ, nothing here proves anything
  either,  // known to depend on its input; reported without a verdict
};

struct Subject {
  std::string group;  // subjects of one group share a line of the summary
  std::string name;
  std::size_t input_bytes;
  // Writes an input of this class. All inputs of a round are written before the first is measured.
  std::function<void(Class, Random&, MutableBytes)> make;
  std::function<void(Bytes)> set;  // takes the input, which lies at the same place for both classes
  std::function<void()> run;       // what is timed
  unsigned share = 1;              // slow subjects are measured this many times more rarely
  bool is_cold = false;            // tables are not in the caches when it runs
  Expected expected = Expected::alike;
};

// Zeros are an input that most faults treat in a special way: all look-ups fall on one place, no
// carry is made, each digit of a scalar is zero.
inline void zeros_or_random(Class which, Random& random, MutableBytes input) {
  if (which == Class::random) {
    random.fill(input);
  } else {
    std::fill(input.begin(), input.end(), std::uint8_t{0});
  }
}

// The same subject, so that what it looks up has to come from memory. Each line that does takes
// hundreds of ticks, which shows soon; without this, tables stay in the first cache and a look-up
// takes the same time wherever it falls.
inline Subject with_tables_forgotten(Subject subject) {
  subject.name += ", tables not in caches";
  subject.is_cold = true;
  subject.share = 20;
  return subject;
}

// The compiler must compute the value.
template <typename Value>
inline void use(const Value& value) noexcept {
  asm volatile("" : : "r"(&value) : "memory");
}

[[nodiscard]] std::vector<Subject> control_subjects();
[[nodiscard]] std::vector<Subject> kernel_subjects();
[[nodiscard]] std::vector<Subject> secret_subjects();

}  // namespace paes::timing
