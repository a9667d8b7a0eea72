// What rank 0 finds in a container: the header, and the key that the envelope holds.
#pragma once

#include <optional>

#include "mpi/container.hpp"
#include "mpi/shared_file.hpp"
#include "mpi/together.hpp"
#include "paes/keys.hpp"

namespace paes::cli {

// Collective; `unlocker` is there on rank 0 alone.
[[nodiscard]] mpi::Opened open_envelope(std::optional<Unlocker>& unlocker, mpi::SharedInput& input);

}  // namespace paes::cli
