// SPDX-License-Identifier: Apache-2.0
// Runs translated device code: the memory of a device, and grids of lanes in random order.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "emulate/ptx/lane.hpp"

namespace paes::ptx {

// Numbers that a seed determines (splitmix64, by Sebastiano Vigna, in the public domain).
class Random {
 public:
  explicit Random(std::uint64_t seed = 0) : state_(seed) {}
  [[nodiscard]] std::uint64_t next() {
    std::uint64_t mixed = state_ += 0x9e3779b97f4a7c15;
    mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111eb;
    return mixed ^ mixed >> 31;
  }
  [[nodiscard]] std::size_t below(std::size_t count) {
    return static_cast<std::size_t>(next() % count);
  }
  template <class T>
  void shuffle(std::vector<T>& items) {
    for (std::size_t left = items.size(); left > 1; --left) {
      std::swap(items[left - 1], items[below(left)]);
    }
  }

 private:
  std::uint64_t state_;
};

// The code that the program was linked with.
[[nodiscard]] const std::vector<KernelCode>& kernels();
[[nodiscard]] const std::vector<VariableCode>& variables();
// A mangled name without the parts that differ from one run of the compiler to the next.
[[nodiscard]] std::string plain_name(const std::string& mangled);

// Reports something that was done wrong, once.
void complain(const std::string& what);

// The content of freshly allocated memory: anything but zeros.
inline constexpr std::uint8_t fresh_byte = 0xdd;

// The limits of a device of some architecture, in bytes and threads (CUDA C++ Programming Guide,
// "Technical Specifications per Compute Capability").
struct Shape {
  int architecture;
  b32 shared_of_block;
  b32 shared_of_multiprocessor;
  b32 shared_reserved;  // per thread block, for the system
  b32 threads_of_multiprocessor;
};
// The shape of the nearest architecture that is not newer.
[[nodiscard]] const Shape& shape_of(int architecture);

// The memory of one device. An address is the device's number plus 1 from bit 44 on, the number of
// a window from bit 32 on, and an offset. A freed window is reused as late as possible.
class DeviceMemory {
 public:
  DeviceMemory(unsigned ordinal, std::size_t bytes);
  DeviceMemory(DeviceMemory&&) = default;

  // 0 if there is no room.
  [[nodiscard]] b64 allocate(std::size_t bytes);
  // Null unless the address is the beginning of an allocation.
  [[nodiscard]] const Window* allocated(b64 address) const;
  void free(b64 address);

  [[nodiscard]] std::uint8_t* find(b64 address, std::size_t bytes, Space space) const {
    return bytes > ~b32{0} ? nullptr : windows_.find(address, static_cast<b32>(bytes), space);
  }
  [[nodiscard]] const Windows& windows() const { return windows_; }
  // The addresses of a file's variables, in the order in which it registered them.
  [[nodiscard]] const std::vector<b64>& variables_of(const std::string& file) const {
    return variables_.at(file);
  }
  [[nodiscard]] b64 variable(std::size_t number) const { return by_number_[number]; }
  [[nodiscard]] std::size_t used_bytes() const { return used_; }
  [[nodiscard]] std::size_t allocations() const { return blocks_.size(); }

 private:
  [[nodiscard]] b64 open_window(std::uint8_t* host, std::size_t bytes, Space space);

  static constexpr b64 most_windows = 4096;
  std::size_t bytes_;
  std::size_t used_ = 0;
  std::vector<Window> all_;
  Windows windows_;
  std::deque<b64> unused_;
  std::map<b64, std::unique_ptr<std::uint8_t[]>> blocks_;
  std::vector<std::vector<std::uint8_t>> of_variables_;
  std::map<std::string, std::vector<b64>> variables_;
  std::vector<b64> by_number_;
};

// A launch.
struct Grid {
  const KernelCode* code;
  b32 blocks, threads;
  b32 shared_bytes;  // variables and what the launch asked for
  std::vector<std::uint8_t> parameters;
};

// The multiprocessors of all devices, which run one grid at a time.
class Machine {
 public:
  Machine();
  // Throws a Fault. `shape` says where shared memory begins.
  void run(const Grid& grid, const DeviceMemory& memory, const Shape& shape, Random& random);

 private:
  void begin_block(const Grid& grid, b32 block);
  void run_block(Random& random);
  void run_warp(b32 warp, Random& random);
  // Lets lanes go on whose shuffle or synchronisation is complete. True if there were any.
  bool resolve(b32 warp);
  [[nodiscard]] bool is_complete(const Lane& lane, std::span<const Lane> warp) const;
  void release(std::span<Lane> warp, b32 number, const Lane& like);
  void pass_barrier();

  SharedMemory shared_;
  std::vector<std::uint8_t> shared_bytes_;
  std::vector<Cell> cells_;
  std::vector<std::uint8_t> local_;
  std::vector<b64> kept_;
  std::unique_ptr<b32[][warp_lanes][warp_lanes]> met_;
  std::vector<Lane> lanes_;
};

}  // namespace paes::ptx
