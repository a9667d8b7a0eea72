// SPDX-License-Identifier: Apache-2.0
// The options that say which other work is measured and how much of it, in paes-bench and
// paes-mpi-bench.
#pragma once

#include <string>
#include <vector>

#include "paes-bench/libcrypto_work.hpp"

namespace CLI {
class App;
}

namespace paes::cli {

struct LibcryptoWorkOptions {
  std::vector<std::string> algorithms{libcrypto_algorithms().begin(), libcrypto_algorithms().end()};
  std::uint64_t message_bytes = std::uint64_t{16} << 20;
  std::uint64_t piece_bytes = std::uint64_t{256} << 10;
  std::uint64_t agreements = 1024;

  void declare(CLI::App& app);
  // Throws Error(usage) for an unknown algorithm, pieces that are no whole blocks, and more memory
  // than half of what there is.
  void check() const;
  [[nodiscard]] LibcryptoWorkSize size() const noexcept {
    return {message_bytes, piece_bytes, agreements};
  }
};

// Throws Error(failure) if an output is wrong.
void require_right(const std::string& algorithm, const LibcryptoWork& work);

}  // namespace paes::cli
