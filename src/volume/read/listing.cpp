// SPDX-License-Identifier: Apache-2.0
#include "volume/read/listing.hpp"

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <memory>

namespace paes::volume {

namespace {

// About 3,000 entries; a folder of 20,000 takes seven calls. Only what is used costs memory.
constexpr std::size_t buffer_bytes = std::size_t{128} << 10;

// The head of an entry (getdents64(2)): inode, offset, length, type.
constexpr std::size_t length_offset = 16;
constexpr std::size_t type_offset = 18;
constexpr std::size_t name_offset = 19;

bool is_own_or_parent(std::string_view name) noexcept { return name == "." || name == ".."; }

}  // namespace

int for_each_entry(Bytes entries, const std::function<int(const Stored&)>& visit) {
  for (std::size_t at = 0; at + name_offset < entries.size();) {
    const std::uint8_t* const entry = entries.data() + at;
    const std::size_t length = load_le<std::uint16_t>(entry + length_offset);
    if (length <= name_offset || length > entries.size() - at) {
      return EIO;  // no system gives such entries
    }
    const char* const name = reinterpret_cast<const char*>(entry + name_offset);
    const Stored stored{{name, strnlen(name, length - name_offset)},
                        load_le<std::uint64_t>(entry),
                        entry[type_offset]};
    at += length;
    if (is_own_or_parent(stored.name)) {
      continue;
    }
    if (const int stop = visit(stored); stop != 0) {
      return stop;
    }
  }
  return 0;
}

int for_each_stored(const Backing& backing, int folder,
                    const std::function<int(const Stored&)>& visit) {
  if (const int error = backing.rewind(folder); error != 0) {
    return error;
  }
  const auto buffer = std::make_unique_for_overwrite<std::uint8_t[]>(buffer_bytes);
  for (;;) {
    const Result<std::size_t> filled = backing.entries(folder, {buffer.get(), buffer_bytes});
    if (!filled) {
      return filled.error();
    }
    if (*filled == 0) {
      return 0;
    }
    if (const int stop = for_each_entry({buffer.get(), *filled}, visit); stop != 0) {
      return stop;
    }
  }
}

}  // namespace paes::volume
