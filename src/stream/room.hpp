// Whether what will be written fits into what is free: looked at before hours of work, and said
// with both figures. Other programs take and give back room meanwhile, so only too little is
// certain.
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

// Throws Error(failure) where it certainly does not fit. Gives back a warning where it may not, or
// "". `descriptor` is the output's or its folder's; `taken_bytes` of it have their room already.
[[nodiscard]] std::string check_room(const std::string& name, int descriptor, const Need& need,
                                     std::uint64_t taken_bytes);

// How much room a file takes.
[[nodiscard]] std::uint64_t taken_bytes(int descriptor) noexcept;

// What errno says of a write into a regular file; where there was no room for it, also how much was
// needed, as far as that is known, and how much there was. `before_bytes` of the file are not ours.
[[nodiscard]] Error write_error(const std::string& name, int descriptor,
                                const std::optional<Need>& need, std::uint64_t before_bytes = 0);

}  // namespace paes::stream
