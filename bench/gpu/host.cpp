// SPDX-License-Identifier: Apache-2.0
// Data in the host's memory before and after: what the copies alone allow, the device with slots of
// several sizes and numbers, and for comparison the processor alone and both together.
#include <cstdio>

#include "gpu/host_to_host.hpp"

namespace paes::bench {
namespace {

using test::RawSubject;
constexpr RawSubject aes_128_ctr = {Cipher::aes, Mode::ctr, Direction::encrypt, 16};
constexpr RawSubject others[] = {
    {Cipher::aes, Mode::ctr, Direction::encrypt, 32},
    {Cipher::aes, Mode::ecb, Direction::encrypt, 16},
    {Cipher::aes, Mode::cbc, Direction::decrypt, 16},
    {Cipher::aes, Mode::xts, Direction::encrypt, 32},
    {Cipher::des_ede3, Mode::ctr, Direction::encrypt, 24},
};

CopyRates measure_copies(GpuSession& session) {
  const auto host = session.host_memory(session.text->size());
  const std::size_t piece = std::min(16 * mebibyte, host->size() / 4);
  const auto first = session.device_memory(piece);
  const auto second = session.device_memory(piece);
  const std::size_t rounds = host->size() / piece;
  const cuda::Stream other = session.runtime.open_stream(0);
  const auto rate = [&](bool in, bool out) {
    std::vector<double> seconds;
    for (int round = 0; round < 6; ++round) {
      const double taken = seconds_of([&] {
        for (std::size_t i = 0; i < rounds; ++i) {
          if (in) {
            session.runtime.copy_in(session.stream, first->data(), session.text->data() + i * piece,
                                    piece);
          }
          if (out) {
            session.runtime.copy_out(other, host->data() + i * piece, second->data(), piece);
          }
        }
        session.runtime.wait(session.stream);
        session.runtime.wait(other);
      });
      if (round > 0) {  // the first warms up
        seconds.push_back(taken);
      }
    }
    return static_cast<double>(rounds * piece) / median(seconds) / 1e9;
  };
  const CopyRates rates = {rate(true, false), rate(false, true), rate(true, true)};
  session.runtime.close_stream(other);
  std::printf("copies of pinned memory: in %.2f GB/s, out %.2f GB/s, both at once %.2f GB/s each\n",
              rates.in, rates.out, rates.both);
  return rates;
}

std::string device_kernel_name(Cipher cipher) {
  for (const cuda::DeviceKernel* const kernel : cuda::device_kernels()) {
    if (kernel->cipher == cipher) {
      return kernel->name;
    }
  }
  return "";
}

// Measures one way five times, after a check. `options` is null for the processor alone.
void measure(GpuSession& session, HostToHost& host, const char* way,
             const cuda::DeviceOptions* options, unsigned threads, bool is_pinned, bool shares) {
  std::unique_ptr<HostToHost::Bound> bound;
  if (options != nullptr) {
    bound = host.bind(way, *options, is_pinned);
    if (bound == nullptr) {
      return;
    }
  }
  const std::string name = host.subject().name();
  HostRow row = {
      name.substr(0, name.find(' ')),
      bound == nullptr ? host.processor().name : device_kernel_name(host.subject().cipher),
      way,
      bound == nullptr ? 0 : bound->device().slots(),
      bound == nullptr ? mebibyte : bound->device().piece_bytes(),
      threads,
      host.bytes(),
      0,
      0};
  std::vector<double> seconds;
  for (int round = 0; round < 6; ++round) {
    const double taken = host.run(bound.get(), threads, shares, host.bytes()).seconds;
    if (round > 0) {
      seconds.push_back(taken);
    } else if (!host.is_right(host.bytes())) {
      std::printf("FAILED: %s, %s\n", name.c_str(), way);
      ++session.report.failures;
      return;
    }
  }
  row.repetitions = static_cast<unsigned>(seconds.size());
  row.seconds_median = median(seconds);
  session.report.host.push_back(row);
  print(row, *session.report.copies);
}

}  // namespace

void measure_host(GpuSession& session) {
  if (!session.has_time_for("from host to host")) {
    return;
  }
  session.report.copies = measure_copies(session);
  HostToHost host(session, session.text->size());
  const unsigned cores = session.report.threads;
  const std::size_t largest = session.is_emulated ? mebibyte : 16 * mebibyte;
  host.expect(aes_128_ctr);
  for (std::size_t piece = mebibyte; piece <= largest; piece *= 2) {
    for (const unsigned slots : {2U, 3U, 4U}) {
      cuda::DeviceOptions options;
      options.slots = slots;
      options.piece_bytes = piece;
      if (session.has_time_for("a size of slots")) {
        measure(session, host, "pinned", &options, slots, true, false);
      }
    }
  }
  cuda::DeviceOptions options;
  options.piece_bytes = std::min(options.piece_bytes, largest);
  const auto beside = [&](const RawSubject& subject) {
    if (!session.has_time_for(subject.name() + " from host to host")) {
      return;
    }
    host.expect(subject);
    measure(session, host, "pinned", &options, options.slots, true, false);
    measure(session, host, "pageable", &options, options.slots, false, false);
    measure(session, host, "processor", nullptr, cores, true, false);
    measure(session, host, "hybrid", &options, cores + options.slots, true, true);
    if (subject.mode == Mode::ctr) {
      cuda::DeviceOptions keystream = options;
      keystream.copies_keystream = true;
      measure(session, host, "keystream", &keystream, options.slots, true, false);
    }
  };
  beside(aes_128_ctr);
  for (const RawSubject& subject : others) {
    beside(subject);
  }
}

}  // namespace paes::bench
