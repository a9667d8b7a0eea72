// SPDX-License-Identifier: Apache-2.0
#include "paes-mpi-bench/job_machines.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/bytes.hpp"
#include "paes-mpi/ranks.hpp"

namespace paes::cli {

namespace {

// Where one rank runs. Ranks send it as bytes.
struct RankPlace {
  std::uint64_t host;
  std::uint64_t machine;
  std::uint64_t device;  // 0: none
  std::uint64_t threads;
  cpu_set_t processors;
};

// A running system has an id of its own, which its containers and namespaces share.
std::string machine_id() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  return std::getline(file, id) ? id : ranks().host();
}

cpu_set_t usable_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) {
    // A machine with more processors than a set has room for.
    const long online = std::min<long>(sysconf(_SC_NPROCESSORS_ONLN), CPU_SETSIZE);
    for (long processor = 0; processor < online; ++processor) {
      CPU_SET(static_cast<std::size_t>(processor), &set);
    }
  }
  return set;
}

struct Machine {
  cpu_set_t processors;
  std::uint64_t threads;
};

}  // namespace

JobMachines find_job_machines(unsigned threads, const std::string& device) {
  const std::hash<std::string> hash;
  const RankPlace mine = {hash(ranks().host()), hash(machine_id()),
                          device.empty() ? 0 : hash(device), threads, usable_processors()};
  std::vector<RankPlace> all(ranks().ranks());
  ranks().gather({reinterpret_cast<const std::uint8_t*>(&mine), sizeof mine},
                 {reinterpret_cast<std::uint8_t*>(all.data()), all.size() * sizeof mine});
  std::set<std::uint64_t> hosts;
  std::set<std::uint64_t> devices;
  std::map<std::uint64_t, Machine> machines;
  for (const RankPlace& place : all) {
    hosts.insert(place.host);
    if (place.device != 0) {
      devices.insert(place.device);
    }
    Machine& machine = machines[place.machine];
    CPU_OR(&machine.processors, &machine.processors, &place.processors);
    machine.threads += place.threads;
  }
  JobMachines found = {hosts.size(), machines.size(), 0, false, devices.size()};
  for (const auto& [id, machine] : machines) {
    const auto processors = static_cast<std::size_t>(CPU_COUNT(&machine.processors));
    found.cores += processors;
    found.is_oversubscribed |= machine.threads > processors;
  }
  return found;
}

}  // namespace paes::cli
