// SPDX-License-Identifier: Apache-2.0
// Devices that exist only here, behind the functions of NVIDIA's run-time library
// (runtime_library.cpp defines them). A program that links this instead of that library runs its
// device code on the host without knowing it; translate.py made that code from the compiler's PTX.
//
// Work is done late: when something waits for it, or earlier, at random. Threads, warps, thread
// blocks and streams run in random order. The result depends only on the seed and on the order of
// the host's threads. Each error is a complaint of one line. A program that ends with complaints,
// or leaves something behind, prints them with the seed, and its exit code is 3.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace paes::ptx {

struct Options {
  unsigned devices = 1;
  int architecture = 90;  // 75 to 120: determines shared memory and threads
  unsigned multiprocessors = 2;
  std::size_t memory_bytes = std::size_t{256} << 20;  // per device
  bool pins = true;                                   // false: the system refuses to pin memory
  std::uint64_t seed = 0;

  // Reads PAES_PTX_DEVICES, PAES_PTX_ARCHITECTURE, PAES_PTX_MULTIPROCESSORS, PAES_PTX_MEMORY
  // (bytes) and PAES_PTX_SEED, which is random if it is not set.
  [[nodiscard]] static Options from_environment();
};

// How a call fails.
enum class Failing {
  once,    // this call, which does nothing
  lost,    // this call and all later ones on that device: the context is lost
  memory,  // this call, as if memory were short
  late,    // this call succeeds, but its work fails when it is done, and then the context is lost
};

// Makes the devices anew; nothing of them may be in use. Until a program calls this, the options of
// its environment hold.
void reset(const Options& options);

// Makes the call with this number fail, counted from 1 since the last reset.
void fail_at(std::uint64_t call, Failing how);
[[nodiscard]] std::uint64_t calls();
[[nodiscard]] bool has_failed();

// What was done wrong since the last reset: accesses outside of an allocation or misaligned, races,
// masks of a warp that name the wrong lanes, memory freed before it was wiped, round keys that
// outlive their key, copies of memory that is not pinned, work that nobody waited for.
[[nodiscard]] std::vector<std::string> complaints();
// What was not given back: memory of devices and of the host, streams, events.
[[nodiscard]] std::vector<std::string> left_behind();
// Call it when a test has seen the complaints, so that the end of the program does not report them
// again.
void forget_complaints();

[[nodiscard]] std::uint64_t launches(unsigned device);
[[nodiscard]] std::size_t used_bytes(unsigned device);

}  // namespace paes::ptx
