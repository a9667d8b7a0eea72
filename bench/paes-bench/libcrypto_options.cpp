// SPDX-License-Identifier: Apache-2.0
#include "paes-bench/libcrypto_options.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <CLI/CLI.hpp>

#include "cli/decimal.hpp"
#include "paes-bench/bench_report.hpp"
#include "paes/error.hpp"

namespace paes::cli {

void LibcryptoWorkOptions::declare(CLI::App& app) {
  app.add_option("--algorithm", algorithms,
                 libcrypto_algorithm_names() + "; several with commas (the default is all)")
      ->delimiter(',');
  takes_bytes(
      app.add_option("--size", message_bytes, "bytes of a cipher's message (the default is 16MiB)"))
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 37));
  takes_bytes(app.add_option("--piece", piece_bytes,
                             "bytes of it that a thread takes at a time (the default is 256KiB)"))
      ->check(CLI::Range(std::uint64_t{64}, std::uint64_t{1} << 37));
  app.add_option("--agreements", agreements, "agreements with X25519 (the default is 1024)")
      ->check(decimal())
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 20));
}

void LibcryptoWorkOptions::check() const {
  for (const std::string& algorithm : algorithms) {
    check_libcrypto_algorithm(algorithm);
  }
  if (piece_bytes % 64 != 0) {
    throw Error(ErrorCode::usage,
                fmt::format("--piece: {} bytes are no whole blocks of 64", piece_bytes));
  }
  // Text, wanted output and output, for each algorithm.
  const double memory =
      static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  if (3.0 * static_cast<double>(message_bytes) * static_cast<double>(algorithms.size()) >
      memory / 2) {
    throw Error(ErrorCode::usage, fmt::format("--size: {} would take more than half of the memory",
                                              exact_bytes(message_bytes)));
  }
}

void require_right(const std::string& algorithm, const LibcryptoWork& work) {
  if (!work.is_right()) {
    throw Error(ErrorCode::failure,
                algorithm + ": wrong output; nothing is reported of a run with a wrong output");
  }
}

}  // namespace paes::cli
