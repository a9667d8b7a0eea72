// SPDX-License-Identifier: Apache-2.0
// Devices that exist only here, behind the functions of NVIDIA's run-time library
// (runtime_library.cpp defines them). A program that links this in place of that library runs its
// device code, which translate.py made of the compiler's PTX, on the host, and does not know it.
//
// Work is done late: when something waits for it, or before, at random. Threads, warps, thread
// blocks and streams go in random order. What comes of it depends on the seed alone, and on the
// order of the host's threads. What is done wrong is a complaint, one line each. A program that
// ends with complaints, or leaves something behind, prints them with the seed, and its exit code is
// 3.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace paes::ptx {

struct Options {
  unsigned devices = 1;
  int architecture = 90;  // 75 to 120: shared memory and threads are as such a device has them
  unsigned multiprocessors = 2;
  std::size_t memory_bytes = std::size_t{256} << 20;  // of each device
  bool pins = true;                                   // else the system refuses to pin memory
  std::uint64_t seed = 0;

  // PAES_PTX_DEVICES, PAES_PTX_ARCHITECTURE, PAES_PTX_MULTIPROCESSORS, PAES_PTX_MEMORY (bytes) and
  // PAES_PTX_SEED, which is random if it is not set.
  [[nodiscard]] static Options from_environment();
};

// How a call fails.
enum class Failing {
  once,    // it alone, and does nothing
  lost,    // it and all after it on that device: the context is lost
  memory,  // it alone, as if memory were short
  late,    // it succeeds, but what it entered fails when it is done, and then the context is lost
};

// The devices begin anew. Nothing of them may be in use. What a program has not called this for has
// the options of its environment.
void reset(const Options& options);

// Lets the call with this number fail, counted from the last reset, from 1.
void fail_at(std::uint64_t call, Failing how);
[[nodiscard]] std::uint64_t calls();
[[nodiscard]] bool has_failed();

// What was done wrong since the last reset: accesses outside of what was allocated or not aligned,
// races, masks of a warp that name the wrong lanes, memory freed before it was wiped, round keys
// that outlive their key, copies of memory that is not pinned, work that nobody waited for.
[[nodiscard]] std::vector<std::string> complaints();
// What was not given back: memory of devices and of the host, streams, events.
[[nodiscard]] std::vector<std::string> left_behind();
// So that the end of the program does not report again what a test has seen.
void forget_complaints();

[[nodiscard]] std::uint64_t launches(unsigned device);
[[nodiscard]] std::size_t used_bytes(unsigned device);

}  // namespace paes::ptx
