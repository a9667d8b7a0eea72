// The names that new outputs have until they are complete (new_temporary_name). A run that was
// killed may leave such a file, with all that it had written, and the next one names it. A run
// holds a lock on its own for as long as it lives.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/descriptor.hpp"

namespace paes::stream {

[[nodiscard]] bool is_temporary_name(std::string_view name) noexcept;

struct Temporary {
  Descriptor file;
  std::string name;  // in the folder, or empty
};

// A new file of this user alone, for writing, and locked so that find_abandoned knows that it is in
// use. It has no name where the system can make such files and `may_be_unnamed`. Not open where
// none can be made; errno then says why.
[[nodiscard]] Temporary make_temporary(int folder, bool may_be_unnamed);

// A folder with a million files is not read to its end for the sake of each small one.
inline constexpr std::size_t max_entries_looked_at = 10'000;

struct Abandoned {
  std::vector<std::string> files;  // in order
  // Whether a run on another host, or on a file system that runs take no locks on, may still be
  // writing them.
  bool may_be_in_use = false;
};

// Regular files of such a name and of this user that nobody has locked; none where the folder
// cannot be listed.
[[nodiscard]] Abandoned find_abandoned(const std::string& folder);

}  // namespace paes::stream
