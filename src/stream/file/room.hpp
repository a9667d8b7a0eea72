// SPDX-License-Identifier: Apache-2.0
// Whether the output fits into the free space. This is checked before hours of work, and errors
// give both figures. Other programs use and free space meanwhile, so the answer is certain only in
// some cases.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "paes/error.hpp"

namespace paes::stream {

// How much of its length an output takes.
enum class Filling : unsigned {
  whole,         // all of it, for it is as good as random
  compressible,  // all of it, unless the file system compresses
  sparse,        // all of it but pages of zero bytes
};

struct Need {
  std::uint64_t bytes = 0;
  Filling filling = Filling::whole;
};

// Throws Error(failure) if it certainly does not fit, and returns a warning if it may not, else "".
// `descriptor` is the output's or its folder's. `taken_bytes` of the output have room already.
[[nodiscard]] std::string check_room(const std::string& name, int descriptor, const Need& need,
                                     std::uint64_t taken_bytes);

// How much room a file takes.
[[nodiscard]] std::uint64_t taken_bytes(int descriptor) noexcept;

// The error for errno after a write to a regular file. If there was no room, it says how much was
// needed, if known, and how much was found. The first `before_bytes` of the file are not ours.
[[nodiscard]] Error write_error(const std::string& name, int descriptor,
                                const std::optional<Need>& need, std::uint64_t before_bytes = 0);

}  // namespace paes::stream
