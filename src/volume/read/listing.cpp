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

Result<void> for_each_entry(Bytes entries,
                            const std::function<Result<void>(const StoredEntry&)>& visit) {
  for (std::size_t at = 0; at + name_offset < entries.size();) {
    const std::uint8_t* const entry = entries.data() + at;
    const std::size_t length = load_le<std::uint16_t>(entry + length_offset);
    if (length <= name_offset || length > entries.size() - at) {
      return Errno(EIO);  // no system gives such entries
    }
    const char* const name = reinterpret_cast<const char*>(entry + name_offset);
    const StoredEntry stored{{name, strnlen(name, length - name_offset)},
                             load_le<std::uint64_t>(entry),
                             entry[type_offset]};
    at += length;
    if (is_own_or_parent(stored.name)) {
      continue;
    }
    if (const Result<void> visited = visit(stored); !visited) {
      return visited;
    }
  }
  return {};
}

Result<void> for_each_stored(const Backing& backing, FolderRef folder,
                             const std::function<Result<void>(const StoredEntry&)>& visit) {
  if (const Result<void> rewound = backing.rewind(folder); !rewound) {
    return rewound;
  }
  const auto buffer = std::make_unique_for_overwrite<std::uint8_t[]>(buffer_bytes);
  for (;;) {
    const Result<std::size_t> filled = backing.entries(folder, {buffer.get(), buffer_bytes});
    if (!filled) {
      return filled.error();
    }
    if (*filled == 0) {
      return {};
    }
    if (const Result<void> visited = for_each_entry({buffer.get(), *filled}, visit); !visited) {
      return visited;
    }
  }
}

}  // namespace paes::volume
