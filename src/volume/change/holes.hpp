// SPDX-License-Identifier: Apache-2.0
// Where a file's text has holes: blocks that read as zeros and of which the backing file stores
// little or nothing.
#pragma once

#include <cstdint>
#include <string_view>

#include "volume/change/writable_file.hpp"

namespace paes::volume {

// Both as lseek(2) with SEEK_DATA and SEEK_HOLE. What is told as a hole reads as zeros. What is
// told as data may do so, too: the file system may not know its holes, and nobody looks for long.
// ENXIO: `offset` is at the text's end or beyond it, or only a hole follows. `path` as for a read.
[[nodiscard]] Result<std::uint64_t> next_data(const Volume& volume, const WritableFile& file,
                                              std::string_view path, std::uint64_t offset);
[[nodiscard]] Result<std::uint64_t> next_hole(const Volume& volume, const WritableFile& file,
                                              std::string_view path, std::uint64_t offset);

}  // namespace paes::volume
