// The GHASH of a contiguous run of blocks, hashed from zero. Parts join in order and associatively,
// so threads, ranks and GPUs reduce them alike: hash(A || B) = hash(A) * H^blocks(B) ^ hash(B).
#pragma once

#include "cipher/ghash.hpp"

namespace paes {

struct GhashPart {
  Block value = {};
  std::uint64_t blocks = 0;
};

[[nodiscard]] inline GhashPart combine(const Block& h, const GhashPart& first,
                                       const GhashPart& second) noexcept {
  GhashPart joined{ghash_multiply(first.value, ghash_power(h, second.blocks)),
                   first.blocks + second.blocks};
  for (std::size_t i = 0; i < block_bytes; ++i) {
    joined.value.bytes[i] ^= second.value.bytes[i];
  }
  return joined;
}

}  // namespace paes
