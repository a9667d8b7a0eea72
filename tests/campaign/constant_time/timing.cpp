// SPDX-License-Identifier: Apache-2.0
// Looks for differences of time, where valgrind cannot look at branches and addresses: kernels with
// instructions that it does not know, and what libcrypto computes. The method is dudect's (see
// timing_statistics.hpp): each subject is measured on a fixed input and on random ones, in random
// order, and the times of both must not differ: |t| stays below 4.5.
//
//   timing [--measurements N] [--limit T] [--seed N] [--only TEXT]
//
// The controls, which are known to depend on their inputs, must exceed |t| 10, or the others' low
// values would prove nothing. A difference too small for N measurements is not found.
#include <link.h>
#include <sched.h>

#include <bit>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <random>
#include <string_view>

#include "paes/error.hpp"
#include "timing_statistics.hpp"
#include "timing_subject.hpp"

namespace {

using paes::Bytes;
using paes::MutableBytes;
using paes::timing::Class;
using paes::timing::Difference;
using paes::timing::Expected;
using paes::timing::Random;
using paes::timing::Subject;
using paes::timing::Times;

constexpr double control_limit = 10;

struct Options {
  std::uint64_t measurements = 10'000'000;
  double limit = 4.5;
  std::uint64_t seed = std::random_device()();
  std::string_view only;
};

// No instruction before it is still running, and none after it has begun.
std::uint64_t ticks_now() noexcept {
  __builtin_ia32_lfence();
  const std::uint64_t ticks = __builtin_ia32_rdtsc();
  __builtin_ia32_lfence();
  return ticks;
}

// The constants of this program, where tables lie: what is only read, up to the unwinder's part.
Bytes constants() {
  Bytes found;
  (void)dl_iterate_phdr(
      [](dl_phdr_info* program, std::size_t /*size*/, void* result) {
        const std::span parts(program->dlpi_phdr, program->dlpi_phnum);
        for (const auto& end : parts) {
          for (const auto& part : parts) {
            if (end.p_type == PT_GNU_EH_FRAME && part.p_type == PT_LOAD && part.p_flags == PF_R &&
                end.p_vaddr - part.p_vaddr < part.p_memsz) {
              const std::uintptr_t from = program->dlpi_addr + part.p_vaddr;
              *static_cast<Bytes*>(result) = {std::bit_cast<const std::uint8_t*>(from),
                                              end.p_vaddr - part.p_vaddr};
            }
          }
        }
        return 1;  // the program comes first; libraries follow
      },
      &found);
  return found;
}

// Puts tables out of the caches, so that each line of them that a run touches takes long.
void forget_tables() noexcept {
  constexpr std::size_t line_bytes = 64;
  static const Bytes tables = constants();
  for (std::size_t at = 0; at < tables.size(); at += line_bytes) {
    // clflushopt, and a plain clflush where a processor does not know this prefix
    asm volatile(".byte 0x66\n\tclflush %0" : : "m"(tables[at]) : "memory");
  }
}

// Inputs of a round lie side by side. Each is copied to the place from which the subject takes it,
// so that nothing but its bytes tells its class.
class Round {
 public:
  Round(const Subject& subject, std::size_t most)
      : subject_(subject),
        inputs_(most * subject.input_bytes),
        current_(subject.input_bytes),
        classes_(most),
        ticks_(most) {}

  void measure(Random& random, std::size_t count) {
    const std::size_t bytes = subject_.input_bytes;
    for (std::size_t i = 0; i < count; ++i) {
      classes_[i] = static_cast<Class>(random.next() >> 63);
      subject_.make(classes_[i], random, MutableBytes(inputs_).subspan(i * bytes, bytes));
    }
    for (std::size_t i = 0; i < count; ++i) {
      std::memcpy(current_.data(), inputs_.data() + i * bytes, bytes);
      subject_.set(current_);
      if (subject_.is_cold) {
        forget_tables();
      }
      __builtin_ia32_mfence();
      const std::uint64_t start = ticks_now();
      subject_.run();
      ticks_[i] = ticks_now() - start;
    }
  }

  [[nodiscard]] std::uint64_t median(std::size_t count) {
    std::sort(ticks_.begin(), ticks_.begin() + static_cast<std::ptrdiff_t>(count));
    return ticks_[count / 2];
  }
  void add_to(Times& times, std::size_t count) const {
    for (std::size_t i = 0; i < count; ++i) {
      times.add(classes_[i], ticks_[i]);
    }
  }

 private:
  const Subject& subject_;
  std::vector<std::uint8_t> inputs_;
  std::vector<std::uint8_t> current_;
  std::vector<Class> classes_;
  std::vector<std::uint64_t> ticks_;
};

// Measures a subject, prints its row, and returns the difference that was found.
double measure(const Subject& subject, const Options& options, Random& random) {
  constexpr std::size_t most = 512;
  const std::uint64_t measurements = options.measurements / subject.share;
  const std::size_t warm_up = std::clamp<std::uint64_t>(measurements, 1, 64);
  Round round(subject, most);
  round.measure(random, warm_up);
  Times times(round.median(warm_up));
  for (std::uint64_t done = 0; done < measurements;) {
    const std::size_t count = std::min<std::uint64_t>(most, measurements - done);
    round.measure(random, count);
    round.add_to(times, count);
    done += count;
  }
  const Difference difference = times.difference();
  std::printf("%-58s %9llu %8llu ticks  |t| %7.2f  %s\n",
              (subject.group + ": " + subject.name).c_str(),
              static_cast<unsigned long long>(measurements),
              static_cast<unsigned long long>(times.median_ticks()), difference.t,
              difference.where.c_str());
  (void)std::fflush(stdout);
  return difference.t;
}

class Summary {
 public:
  explicit Summary(double limit) : limit_(limit) {}

  void add(const Subject& subject, double t) {
    if (subject.expected == Expected::either) {
      lines_.push_back(subject.group + ", " + subject.name + ": |t| " + rounded(t) +
                       ", without a verdict");
      return;
    }
    const bool is_control = subject.expected == Expected::apart;
    const bool is_good = is_control ? t > control_limit : t < limit_;
    ++(is_good ? passed_ : failed_);
    if (!is_good) {
      std::printf("FAILED: %s: %s: %s\n", subject.group.c_str(), subject.name.c_str(),
                  is_control ? "the control was not seen, so this campaign is blind"
                             : "its time depends on its input");
    }
    if (is_control) {
      lines_.push_back("control " + subject.group + ": " + subject.name + ": |t| " + rounded(t));
    } else {
      Group& group = groups_[subject.group];
      ++group.subjects;
      group.t = std::max(group.t, t);
    }
  }

  [[nodiscard]] bool print() const {
    for (const auto& [name, group] : groups_) {
      std::printf("campaign: %s: |t| at most %s (%u measured)\n", name.c_str(),
                  rounded(group.t).c_str(), group.subjects);
    }
    for (const std::string& line : lines_) {
      std::printf("campaign: %s\n", line.c_str());
    }
    std::printf("timing: %u passed, %u failed\n", passed_, failed_);
    return failed_ == 0 && passed_ != 0;
  }

 private:
  struct Group {
    unsigned subjects = 0;
    double t = 0;
  };

  static std::string rounded(double t) {
    char text[32];
    (void)std::snprintf(text, sizeof text, "%.1f", t);
    return text;
  }

  double limit_;
  std::map<std::string, Group> groups_;
  std::vector<std::string> lines_;
  unsigned passed_ = 0;
  unsigned failed_ = 0;
};

bool read_options(int argc, char** argv, Options& options) {
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view name = argv[i];
    const char* const value = argv[i + 1];
    if (name == "--measurements") {
      options.measurements = std::strtoull(value, nullptr, 10);
    } else if (name == "--limit") {
      options.limit = std::strtod(value, nullptr);
    } else if (name == "--seed") {
      options.seed = std::strtoull(value, nullptr, 10);
    } else if (name == "--only") {
      options.only = value;
    } else {
      return false;
    }
  }
  return argc % 2 == 1 && options.measurements > 0;
}

// The clocks and caches of two processors need not agree.
void stay_on_this_processor() {
  const int here = sched_getcpu();
  cpu_set_t one;
  CPU_ZERO(&one);
  if (here >= 0) {
    CPU_SET(static_cast<unsigned>(here), &one);
    (void)sched_setaffinity(0, sizeof one, &one);
  }
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (!read_options(argc, argv, options)) {
    (void)std::fputs("usage: timing [--measurements N] [--limit T] [--seed N] [--only TEXT]\n",
                     stderr);
    return 2;
  }
  try {
    stay_on_this_processor();
    std::printf("seed %llu\n", static_cast<unsigned long long>(options.seed));
    Random random(options.seed);
    Summary summary(options.limit);
    for (const auto& subjects : {paes::timing::control_subjects(), paes::timing::kernel_subjects(),
                                 paes::timing::secret_subjects()}) {
      for (const Subject& subject : subjects) {
        if ((subject.group + ": " + subject.name).find(options.only) != std::string::npos) {
          summary.add(subject, measure(subject, options, random));
        }
      }
    }
    return summary.print() ? 0 : 1;
  } catch (const paes::Error& error) {
    std::puts(error.what());
    return 1;
  }
}
