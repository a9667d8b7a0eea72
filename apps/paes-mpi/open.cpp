#include "paes-mpi/open.hpp"

#include "paes-mpi/ranks.hpp"
#include "stream/container.hpp"

namespace paes::cli {

mpi::Opened open_envelope(std::optional<Unlocker>& unlocker, mpi::SharedInput& input) {
  mpi::Opened opened;
  on_first([&] {
    const stream::Preamble preamble = stream::read_preamble(input.here());
    opened = {preamble.header, unlocker->open(preamble.envelope())};
  });
  return opened;
}

}  // namespace paes::cli
