// The names that new outputs have until they are complete (new_temporary_name). A run that was
// killed may leave such a file, with all that it had written, and the next one names it. A run
// holds a lock on its own for as long as it lives.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace paes::stream {

[[nodiscard]] bool is_temporary_name(std::string_view name) noexcept;

// So that find_abandoned knows that it is in use. `is_shared`: other processes write it as well.
void lock_temporary(int descriptor, bool is_shared) noexcept;

// A folder with a million files is not read to its end for the sake of each small one.
inline constexpr std::size_t max_entries_looked_at = 10'000;

// Regular files of such a name and of this user that no run on this host has locked, in order;
// nothing where the folder cannot be listed. A run on another host may still be writing them, and
// one whose lock the file system cannot hold.
[[nodiscard]] std::vector<std::string> find_abandoned(const std::string& folder);

}  // namespace paes::stream
