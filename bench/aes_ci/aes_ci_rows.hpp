// SPDX-License-Identifier: Apache-2.0
// A way of writing AES-128-ECB encryption, and how it was compiled.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace paes::bench {

struct AesCiRow {
  const char* name;
  const char* compiled;  // "O0" or "O3"
  // `out` has room for one more byte.
  void (*encrypt)(const std::uint8_t* key, const std::uint8_t* in, std::uint8_t* out,
                  std::size_t blocks);
};

[[nodiscard]] std::vector<AesCiRow> unoptimized_rows();
[[nodiscard]] std::vector<AesCiRow> optimized_rows();

}  // namespace paes::bench
