// SPDX-License-Identifier: Apache-2.0
#include "paes-mpi/ranks.hpp"

#include <sched.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <string_view>
#include <vector>

#include "cli/passphrase.hpp"
#include "cli/process.hpp"
#include "cli/report.hpp"
#include "mpi/together.hpp"

namespace paes::cli {

namespace {

mpi::Communicator* communicator = nullptr;

// If a rank fails without the others' agreement, they may be waiting in a step that this rank will
// never take. So the whole job ends.
int run_agreed(const CommandLine& line) {
  try {
    Action action;
    mpi::together(ranks(), [&] { action = line.parse(); });
    return action();
  } catch (const mpi::AgreedError&) {
    throw;
  } catch (...) {
    communicator->abandon();
    throw;
  }
}

int run_with_mpi(const CommandLine& line) {
  never_prompt_in_background();
  mpi::Communicator all(cancel());
  communicator = &all;
  if (!all.is_first()) {
    silence();
  }
  // While the communicator lives, so that the message comes before the end of the job.
  return line.run_reporting([&] { return run_agreed(line); });
}

}  // namespace

mpi::Communicator& ranks() noexcept { return *communicator; }

int run_on_ranks(const Program& program, int argc, char** argv) {
  return run_program(program, argc, argv, run_with_mpi);
}

void on_first(const std::function<void()>& step) {
  mpi::together(ranks(), [&] {
    if (ranks().is_first()) {
      step();
    }
  });
}

unsigned own_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) {
    return 1;
  }
  const std::string_view as_text(reinterpret_cast<const char*>(&set), sizeof set);
  const std::array<std::uint64_t, 2> mine = {std::hash<std::string>()(ranks().host()),
                                             std::hash<std::string_view>()(as_text)};
  std::vector<std::array<std::uint64_t, 2>> all(ranks().ranks());
  const MutableBytes bytes = {reinterpret_cast<std::uint8_t*>(all.data()),
                              all.size() * sizeof mine};
  ranks().gather({reinterpret_cast<const std::uint8_t*>(&mine), sizeof mine}, bytes);
  ranks().broadcast(bytes);
  const auto sharing = static_cast<unsigned>(std::count(all.begin(), all.end(), mine));
  return std::max(1U, static_cast<unsigned>(CPU_COUNT(&set)) / std::max(sharing, 1U));
}

}  // namespace paes::cli
