// SPDX-License-Identifier: Apache-2.0
// The studies' runs on a device, in rows of the lab's results. What is compared takes turns; each
// round gives a figure and a ratio, and each output is compared with the processor's before it is
// timed. Seconds are the host's, from text in pinned memory to text in pinned memory, including
// copies; the times of a copy or a kernel alone are the device's.
#include "gpu/studies.hpp"

#include "gpu/placed_study.hpp"

namespace paes::bench {
namespace {

using test::RawSubject;

constexpr RawSubject aes_128_ecb = {Cipher::aes, Mode::ecb, Direction::encrypt, 16};
// The sizes of Pousa's study (E1, E2, E4), of Pizzuti's (E7), and of Meyer's in whole blocks, plus
// one at which nested regions of the processor can end (E9).
constexpr std::size_t pousa_sizes[] = {kibibyte,      512 * kibibyte, mebibyte,
                                       15 * mebibyte, 128 * mebibyte, 255 * mebibyte};
constexpr std::size_t pizzuti_sizes[] = {kibibyte, 4 * kibibyte,  64 * kibibyte,
                                         mebibyte, 16 * mebibyte, 256 * mebibyte};
// More of them where the device gets faster than one thread, and one of exactly a buffer.
constexpr std::size_t computing_sizes[] = {
    256,          512,           kibibyte,      2 * kibibyte,
    4 * kibibyte, 8 * kibibyte,  64 * kibibyte, 512 * kibibyte,
    mebibyte,     16 * mebibyte, 256 * mebibyte};
constexpr std::size_t meyer_sizes[] = {320, 3600, 84992, 4499968};

class Studies : StudyBench {
 public:
  using StudyBench::StudyBench;

  // E1: computed AES on the device, beside one thread of the processor that computes the same.
  void executors() {
    const Section section(*this, "E1");
    for (const Direction direction : {Direction::encrypt, Direction::decrypt}) {
      RawSubject subject = aes_128_ecb;
      subject.direction = direction;
      expect(subject, bytes_);
      const std::size_t sequential_most = is_quick_ ? mebibyte : 15 * mebibyte;
      for (const std::size_t bytes : sizes(pousa_sizes)) {
        std::vector<Entrant> entrants;
        if (bytes <= sequential_most) {
          entrants.push_back(on_processor("compute", bytes));
        }
        entrants.push_back(on_device(device_kernel("cuda_compute"), bytes));
        in_turns(entrants);
        for (const Entrant& entrant : entrants) {
          record(entrant.of, "time", "s", entrant.taken);
          if (bytes <= sequential_most) {
            record(entrant.of, "speedup", "ratio", times_as_fast(entrants.front(), entrant));
          }
        }
      }
    }
    leave_out("CUDA's speedup above " + std::string(is_quick_ ? "1 MiB" : "15 MiB"),
              "for the time that one thread would take");
  }

  // E2: copies and kernel one after the other, and overlapped in pieces.
  void transfers() {
    const Section section(*this, "E2");
    expect(aes_128_ecb, bytes_);
    const cuda::DeviceKernel& kernel = device_kernel("cuda_compute");
    HostToHost host(session_, bytes_);
    host.expect(aes_128_ecb);
    cuda::DeviceOptions options;
    options.kernel = kernel.name;
    const auto bound = host.bind("overlapped", options, true);
    if (bound == nullptr) {
      return;
    }
    for (const std::size_t bytes : sizes(pousa_sizes)) {
      std::vector<Phases> phases;
      std::vector<Entrant> entrants = {on_device(kernel, bytes), on_device(kernel, bytes)};
      entrants[0].seconds = [&, total = entrants[0].seconds] {
        phases.push_back(phases_of(kernel, bytes));
        return total();
      };
      entrants[1].seconds = [&] {
        return host.run(bound.get(), bound->device().slots(), false, bytes).seconds;
      };
      (void)entrants[1].seconds();
      is_right(host.is_right(bytes), "overlapped");
      in_turns(entrants);
      phases.erase(phases.begin());  // the first warmed up
      const Factors& of = entrants[0].of;
      const auto each = [&](double Phases::*part) {
        std::vector<double> seconds;
        for (const Phases& one : phases) {
          seconds.push_back(one.*part);
        }
        return seconds;
      };
      record(of, "host to device", "s", each(&Phases::in));
      record(of, "encryption", "s", each(&Phases::work));
      record(of, "device to host", "s", each(&Phases::out));
      record(of, "total", "s", entrants[0].taken);
      record(of, "overlapped", "s", entrants[1].taken);
      record(of, "overlapped to total", "ratio", times_as_fast(entrants[0], entrants[1]));
    }
  }

  // E4: computing against tables, with and without the copies, and each beside one thread of the
  // processor that does the same.
  void tables() {
    const Section section(*this, "E4");
    expect(aes_128_ecb, bytes_);
    const std::size_t computing_most = is_quick_ ? mebibyte : 15 * mebibyte;
    const std::size_t tables_most = is_quick_ ? 15 * mebibyte : 255 * mebibyte;
    for (const std::size_t bytes : sizes(pousa_sizes)) {
      std::vector<Entrant> whole, alone;
      for (const char* const name : {"cuda_compute", "cuda_tables"}) {
        const cuda::DeviceKernel& kernel = device_kernel(name);
        whole.push_back(on_device(kernel, bytes));
        alone.push_back({whole.back().of, [&, bytes] { return phases_of(kernel, bytes).work; }});
      }
      if (bytes <= tables_most) {
        whole.push_back(on_processor("tables", bytes));
      }
      if (bytes <= computing_most) {
        whole.push_back(on_processor("compute", bytes));
      }
      in_turns(whole);
      in_turns(alone);
      for (std::size_t i = 0; i < alone.size(); ++i) {
        record(whole[i].of, "time", "s", whole[i].taken);
        record(whole[i].of, "ratio to compute", "ratio", times_as_fast(whole[0], whole[i]));
        record(alone[i].of, "time without copies", "s", alone[i].taken);
        record(alone[i].of, "ratio to compute without copies", "ratio",
               times_as_fast(alone[0], alone[i]));
      }
      // The first two are computing and tables on the device, and the next two the reverse.
      for (std::size_t i = alone.size(); i < whole.size(); ++i) {
        const std::size_t on_it = whole.size() == 3 || i == 2 ? 1 : 0;
        record(whole[i].of, "time", "s", whole[i].taken);
        record(whole[on_it].of, "speedup", "ratio", times_as_fast(whole[i], whole[on_it]));
      }
    }
    leave_out("CUDA's speedup over one thread above " +
                  std::string(is_quick_ ? "15 MiB with tables, above 1 MiB with computing"
                                        : "15 MiB with computing"),
              "for the time that one thread would take");
  }

  // E7: 3DES beside AES-256, ECB beside CTR, in both directions, each beside one thread of the
  // processor. Both first compute every step, then both use their fastest kernels whose time is
  // the same for all data.
  void ciphers() {
    const Section section(*this, "E7");
    for (const Direction direction : {Direction::encrypt, Direction::decrypt}) {
      for (const std::size_t bytes : sizes(computing_sizes)) {
        compare_ciphers(true, direction, bytes);
      }
      for (const std::size_t bytes : sizes(pizzuti_sizes)) {
        compare_ciphers(false, direction, bytes);
      }
    }
    if (is_quick_) {
      leave_out("256 MiB in buffers or from pageable memory", "for the time");
    }
    leave_out("CUDA's speedup above " +
                  std::string(is_quick_ ? "64 KiB (encryption in ECB: 1 MiB)"
                                        : "1 MiB (encryption in ECB: 16 MiB)") +
                  " with every step computed" +
                  (is_quick_ ? ", and above 16 MiB with other kernels" : ""),
              "for the time that one thread would take");
  }

  // E9: one thread per block; 16 threads per block, many blocks per launch; that with a copy for
  // each block; a launch for each step of each block; that with a copy for each block as well; and
  // with a thread block for each byte and memory for each block, too. One thread of the processor
  // stands beside them.
  void inside_a_block() {
    const Section section(*this, "E9");
    expect(aes_128_ecb, sizes(meyer_sizes).back());
    const std::size_t few = 84992;
    const std::size_t most = is_quick_ ? few : 4499968;
    for (const std::size_t bytes : sizes(meyer_sizes)) {
      std::vector<Entrant> entrants;
      const auto add = [&](const char* split, Entrant made) {
        made.of.push_back({"split", quoted(split)});
        entrants.push_back(std::move(made));
      };
      add("blocks", on_device(device_kernel("cuda_compute"), bytes));
      add("inside", on_device(cuda::study_kernel_inside, bytes));
      if (bytes <= most) {
        add("copies", copied_by_block(cuda::study_kernel_inside, bytes));
        add("steps", block_by_block(cuda::study_kernel_steps, bytes, false));
      }
      if (bytes <= few) {
        add("launches", on_device(cuda::study_kernel_steps, bytes));
        add("grid", block_by_block(cuda::study_kernel_grid, bytes, true));
      }
      add("blocks", on_processor("compute", bytes));
      in_turns(entrants);
      for (const Entrant& entrant : entrants) {
        record(entrant.of, "time", "s", entrant.taken);
        record(entrant.of, "rate to across", "ratio", times_as_fast(entrants.front(), entrant));
      }
    }
    leave_out(is_quick_
                  ? "a copy for each block of 4.5 MB, or a launch for each step, on the GPU"
                  : "one copy and a launch for each step, or a thread block for each byte, of "
                    "4.5 MB on the GPU",
              "for the time, which grows with the size");
  }

  // E10: all cores, the device, and both, on data many times as large as the device's memory for
  // it.
  void together() {
    const Section section(*this, "E10");
    const std::size_t bytes = session_.text->size();
    HostToHost host(session_, bytes);
    for (const RawSubject& subject :
         {RawSubject{Cipher::aes, Mode::ctr, Direction::encrypt, 16},
          RawSubject{Cipher::des_ede3, Mode::ctr, Direction::encrypt, 24}}) {
      host.expect(subject);
      const auto bound = host.bind("hybrid", {}, true);
      if (bound == nullptr) {
        return;
      }
      const unsigned cores = session_.report.threads;
      const unsigned slots = bound->device().slots();
      std::vector<double> shares;
      const auto entrant = [&](const char* way, const HostToHost::Bound* device, unsigned threads,
                               bool is_shared) {
        Entrant made = {{{"cipher", quoted(cipher_of(subject))},
                         {"way", quoted(way)},
                         {"threads", std::to_string(threads)},
                         {"slots", std::to_string(device == nullptr ? 0 : slots)},
                         {"piece_bytes", std::to_string(bound->device().piece_bytes())},
                         {"bytes", std::to_string(bytes)}},
                        [&host, &shares, device, threads, is_shared, bytes] {
                          const HostToHost::Taken taken =
                              host.run(device, threads, is_shared, bytes);
                          if (is_shared) {
                            shares.push_back(taken.device_share);
                          }
                          return taken.seconds;
                        }};
        (void)made.seconds();
        is_right(host.is_right(bytes), way);
        return made;
      };
      std::vector<Entrant> entrants = {entrant("processor", nullptr, cores, false),
                                       entrant("device", bound.get(), slots, false),
                                       entrant("hybrid", bound.get(), cores + slots, true)};
      shares.clear();
      in_turns(entrants);
      shares.erase(shares.begin());  // the first warmed up
      for (const Entrant& one : entrants) {
        record(one.of, "rate", "GB/s", rates_of(one, bytes));
        record(one.of, "rate to processor", "ratio", times_as_fast(entrants[0], one));
        record(one.of, "rate to device", "ratio", times_as_fast(entrants[1], one));
      }
      record(entrants[2].of, "share of device", "share", shares);
    }
    leave_out("ranks that have a GPU each", "there is one GPU");
  }

  // E17: where the tables lie, threads in a thread block, and streams.
  void places() {
    const Section section(*this, "E17");
    measure_placed_kernels(session_, *this, is_quick_);
  }

 private:
  // The most bytes that one thread of the processor gets in E7: 3DES computed step by step takes
  // 0.4 s for a mebibyte.
  [[nodiscard]] std::size_t most_on_processor(bool computes, const RawSubject& subject) const {
    if (!computes) {
      return (is_quick_ ? 16 : 256) * mebibyte;
    }
    const bool is_first = subject.mode == Mode::ecb && subject.direction == Direction::encrypt;
    return is_quick_ ? (is_first ? mebibyte : 64 * kibibyte) : (is_first ? 16 : 1) * mebibyte;
  }

  // Buffers are something else than the whole only if there are several. A quick run is to take
  // seconds.
  [[nodiscard]] std::vector<CopyWay> ways_through_device(bool computes, std::size_t bytes) const {
    if (!computes || (is_quick_ && bytes > 16 * mebibyte)) {
      return {CopyWay{}};
    }
    std::vector<CopyWay> ways = {{false, true}, {false, false}};
    if (bytes > buffer_bytes()) {
      ways.insert(ways.end(), {{true, true}, {true, false}});
    }
    return ways;
  }

  void compare_ciphers(bool computes, Direction direction, std::size_t bytes) {
    const RawSubject subjects[] = {{Cipher::aes, Mode::ecb, direction, 32},
                                   {Cipher::aes, Mode::ctr, direction, 32},
                                   {Cipher::des_ede3, Mode::ecb, direction, 24},
                                   {Cipher::des_ede3, Mode::ctr, direction, 24}};
    const std::vector<CopyWay> ways = ways_through_device(computes, bytes);
    // For each cipher the ways through the device, then the processor's thread if it gets so much.
    std::vector<Entrant> entrants;
    std::vector<std::size_t> starts;
    for (const RawSubject& subject : subjects) {
      expect(subject, bytes);
      starts.push_back(entrants.size());
      for (const CopyWay way : ways) {
        entrants.push_back(on_device(kernel_of(subject, computes), bytes, way));
        Factors& of = entrants.back().of;
        of.push_back({"way", quoted(way.has_buffers ? "buffers" : "whole")});
        of.push_back({"memory", quoted(way.is_pinned ? "pinned" : "pageable")});
        if (way.has_buffers) {
          of.push_back({"buffer_bytes", std::to_string(buffer_bytes())});
        }
      }
      if (bytes <= most_on_processor(computes, subject)) {
        entrants.push_back(on_processor(computes ? "compute" : "auto", bytes));
      }
    }
    starts.push_back(entrants.size());
    in_turns(entrants);
    for (std::size_t cipher = 0; cipher + 1 < starts.size(); ++cipher) {
      const std::size_t thread = starts[cipher] + ways.size();
      for (std::size_t i = starts[cipher]; i < starts[cipher + 1]; ++i) {
        Entrant& entrant = entrants[i];
        entrant.of.push_back({"choice", quoted(computes ? "compute" : "auto")});
        record(entrant.of, "time", "s", entrant.taken);
        // AES-256 in ECB is first, and has a thread if any cipher does.
        record(entrant.of, "rate to aes-256-ecb", "ratio",
               times_as_fast(entrants[i - starts[cipher]], entrant));
        if (i < thread && thread < starts[cipher + 1]) {
          record(entrant.of, "speedup", "ratio", times_as_fast(entrants[thread], entrant));
        }
      }
    }
  }

  static const cuda::DeviceKernel& kernel_of(const RawSubject& subject, bool computes) {
    if (computes) {
      return device_kernel(subject.cipher == Cipher::aes ? "cuda_compute" : "cuda_des_compute");
    }
    for (const cuda::DeviceKernel* const kernel : cuda::device_kernels()) {
      if (kernel->cipher == subject.cipher) {
        return *kernel;  // the first one is the best
      }
    }
    throw Error(ErrorCode::failure, "there is no device kernel");
  }
};

struct Part {
  const char* name;
  void (Studies::*run)();
};
// E9 takes longest, so it is the first to be left out.
constexpr Part parts[] = {
    {"E1", &Studies::executors},      {"E2", &Studies::transfers}, {"E4", &Studies::tables},
    {"E7", &Studies::ciphers},        {"E10", &Studies::together}, {"E17", &Studies::places},
    {"E9", &Studies::inside_a_block},
};

}  // namespace

void measure_studies(GpuSession& session, const std::vector<std::string>& only, bool is_quick) {
  for (const std::string& name : only) {
    if (std::none_of(std::begin(parts), std::end(parts),
                     [&](const Part& part) { return part.name == name; })) {
      throw Error(ErrorCode::usage, "no study is named " + name);
    }
  }
  Studies studies(session, is_quick);
  for (const Part& part : parts) {
    const bool is_wanted =
        only.empty() || std::find(only.begin(), only.end(), part.name) != only.end();
    if (is_wanted && session.has_time_for(std::string(part.name) + " of the studies")) {
      (studies.*part.run)();
      session.keep();
    }
  }
}

}  // namespace paes::bench
