// SPDX-License-Identifier: Apache-2.0
// The vocabulary of translated device code: a lane, which is one thread of a grid; what it can
// reach; and the instructions for which C++ has no operator. translate.py writes code that includes
// only this header, and machine.hpp runs that code.
//
// A kernel is a function of a lane. It returns when the thread has ended, or where it must wait for
// other threads; when called again, it continues from there. Every access to memory is checked: its
// alignment, its bounds, and in shared memory whether another thread of the block accesses the same
// bytes with nothing that orders the two. An error throws a Fault, except for a race, which is only
// noted, because the kernel can go on.
//
// Addresses are those of a device that exists only here. None of them is an address of the host, so
// code that confuses the two fails at once.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <type_traits>

namespace paes::ptx {

using b8 = std::uint8_t;
using b16 = std::uint16_t;
using b32 = std::uint32_t;
using b64 = std::uint64_t;
using s8 = std::int8_t;
using s16 = std::int16_t;
using s32 = std::int32_t;
using s64 = std::int64_t;

inline constexpr unsigned warp_lanes = 32;

enum class Space : std::uint8_t { none, global, constant };
enum class Access { read, write };

// Device code did something that would end a context on a device.
struct Fault {
  enum class Kind { address, misaligned, launch } kind;
  std::string what;
};

// An allocated range of device addresses. It begins at its own multiple of 2^32.
struct Window {
  std::uint8_t* host = nullptr;
  b32 bytes = 0;
  Space space = Space::none;
};

// A device's memory as seen by its code. Its windows follow each other.
struct Windows {
  static constexpr unsigned bits = 32;
  b64 first = 0;  // the number of the first
  Window* all = nullptr;
  b64 count = 0;

  // Null unless the whole access lies in one window of that space.
  [[nodiscard]] std::uint8_t* find(b64 address, b32 bytes, Space space) const {
    const b64 number = (address >> bits) - first;
    if (number >= count) {
      return nullptr;
    }
    const Window& window = all[number];
    const auto offset = static_cast<b32>(address);
    return window.space == space && offset < window.bytes && bytes <= window.bytes - offset
               ? window.host + offset
               : nullptr;
  }
};

// Who last wrote and read a part of shared memory, and when. Times are numbers that grow with every
// synchronisation.
struct Cell {
  b32 written = 0;
  b32 read = 0;
  b16 writer = 0;
  b16 reader = 0;                           // a thread, or one of the two below
  static constexpr b16 many = 0xffff;       // threads of several warps
  static constexpr b16 of_a_warp = 0x8000;  // and the warp's number: several of its threads
};

// What the threads of a thread block share.
struct SharedMemory {
  std::uint8_t* bytes = nullptr;
  b32 size = 0;
  b32 base = 0;  // address of the first byte: what lies before it is the system's
  Cell* cells = nullptr;
  b32 now = 1;
  b32 began = 1;    // when this thread block did
  b32 barrier = 1;  // when all of its threads last met
  // When two lanes of a warp last met, by warp, lane and lane.
  b32 (*met)[warp_lanes][warp_lanes] = nullptr;
};

enum class Stop : std::uint8_t { ready, finished, barrier, warp, exchange };

struct KernelCode;

struct Lane {
  const KernelCode* code = nullptr;
  // Special registers.
  b32 thread = 0, threads = 0, block = 0, blocks = 0;

  const std::uint8_t* parameters = nullptr;
  const b64* variables = nullptr;  // addresses of the module's variables
  const Windows* windows = nullptr;
  SharedMemory* shared_memory = nullptr;
  std::uint8_t* local_memory = nullptr;
  b32 local_bytes = 0;

  // Where the kernel continues, and the registers that it needs there.
  unsigned entry = 0;
  b64* kept = nullptr;

  // Why it stopped, at which line, and what it passes to the lanes in its mask.
  Stop stop = Stop::ready;
  int line = 0;
  b32 mask = 0, given = 0, from = 0, clamp = 0, exchanged = 0;
  bool is_from_relative = false;  // `from` has the bits in which that lane's number differs

  [[nodiscard]] Stop finish() { return stop = Stop::finished; }
  [[nodiscard]] Stop wait_at_barrier(int at) {
    line = at;
    return stop = Stop::barrier;
  }
  [[nodiscard]] Stop wait_for_warp(int at, b32 of) {
    line = at;
    mask = of;
    return stop = Stop::warp;
  }
  // Takes what the lane passes whose number differs from this lane's in the bits of `by`.
  [[nodiscard]] Stop exchange(int at, b32 value, b32 by, b32 segment, b32 of) {
    line = at;
    is_from_relative = true;
    return give(value, by, segment, of);
  }
  // Takes what the lane of this number passes.
  [[nodiscard]] Stop take_from(int at, b32 value, b32 number, b32 segment, b32 of) {
    line = at;
    is_from_relative = false;
    return give(value, number, segment, of);
  }

  // The host's address for an access of this many bytes.
  template <b32 Bytes, Access How>
  [[nodiscard]] std::uint8_t* global(b64 address, int at) const {
    return in_window(address, Bytes, Space::global, How, at);
  }
  template <b32 Bytes, Access How>
  [[nodiscard]] std::uint8_t* constant(b64 address, int at) const {
    static_assert(How == Access::read);
    return in_window(address, Bytes, Space::constant, How, at);
  }
  template <b32 Bytes, Access How>
  [[nodiscard]] std::uint8_t* local(b64 address, int at) const {
    const b64 offset = address - local_base;
    if (offset % Bytes != 0) {
      misaligned(address, Bytes, at);
    }
    if (offset >= local_bytes || Bytes > local_bytes - offset) {
      out_of_bounds("local", address, Bytes, How, at);
    }
    return local_memory + offset;
  }
  // `Unit` is the kernel's smallest access to shared memory.
  template <b32 Bytes, Access How, b32 Unit>
  [[nodiscard]] std::uint8_t* shared(b64 address, int at) {
    const b64 offset = address - shared_memory->base;
    if (offset % Bytes != 0) {
      misaligned(address, Bytes, at);
    }
    if (offset >= shared_memory->size || Bytes > shared_memory->size - offset) {
      out_of_bounds("shared", address, Bytes, How, at);
    }
    Cell* const cells = shared_memory->cells + offset / Unit;
    for (b32 i = 0; i < Bytes / Unit; ++i) {
      note<How>(cells[i], at);
    }
    return shared_memory->bytes + offset;
  }
  [[nodiscard]] b64 shared_address(b32 offset) const { return shared_memory->base + offset; }

  [[noreturn]] void fail(int at, const char* what) const;

 private:
  [[nodiscard]] Stop give(b32 value, b32 lane, b32 segment, b32 of) {
    given = value;
    from = lane;
    clamp = segment;
    mask = of;
    return stop = Stop::exchange;
  }

  [[nodiscard]] std::uint8_t* in_window(b64 address, b32 bytes, Space space, Access how,
                                        int at) const {
    if (address % bytes != 0) {
      misaligned(address, bytes, at);
    }
    std::uint8_t* const found = windows->find(address, bytes, space);
    if (found == nullptr) {
      out_of_bounds(space == Space::global ? "global" : "constant", address, bytes, how, at);
    }
    return found;
  }

  template <Access How>
  void note(Cell& cell, int at) {
    const SharedMemory& memory = *shared_memory;
    const auto me = static_cast<b16>(thread);
    if (cell.written >= memory.barrier && cell.writer != me) {
      meets_writer(cell, How, at);
    }
    if constexpr (How == Access::write) {
      if (cell.read >= memory.barrier && cell.reader != me) {
        meets_reader(cell, at);
      }
      cell.written = memory.now;
      cell.writer = me;
    } else {
      if (cell.written < memory.began) {
        reads_nothing(at);
      }
      if (cell.read < memory.barrier) {
        cell.reader = me;
      } else if (cell.reader != me && cell.reader != Cell::many) {
        add_reader(cell);
      }
      cell.read = memory.now;
    }
  }
  [[nodiscard]] bool has_met(b32 other, b32 time) const;
  void add_reader(Cell& cell) const;
  // These decide whether something orders this access after the recorded one.
  void meets_writer(const Cell& cell, Access how, int at) const;
  void meets_reader(const Cell& cell, int at) const;
  void reads_nothing(int at) const;

  [[noreturn]] void misaligned(b64 address, b32 bytes, int at) const;
  [[noreturn]] void out_of_bounds(const char* space, b64 address, b32 bytes, Access how,
                                  int at) const;

 public:
  static constexpr b64 local_base = 1 << 20;
};

inline constexpr b64 local_base = Lane::local_base;

// Registers and memory have the same byte order on the device as here.
template <class T>
[[nodiscard]] T load(const std::uint8_t* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}
template <class T>
void store(std::uint8_t* at, T value) {
  std::memcpy(at, &value, sizeof value);
}

// Instructions. The width is that of the first operand.

template <class T>
[[nodiscard]] T shift_left(T value, b32 distance) {
  return distance >= 8 * sizeof(T) ? T{0} : static_cast<T>(value << distance);
}
template <class T>
[[nodiscard]] T shift_right(T value, b32 distance) {
  constexpr b32 most = 8 * sizeof(T) - 1;
  if (distance > most) {
    return std::is_signed_v<T> ? static_cast<T>(value >> most) : T{0};
  }
  return static_cast<T>(value >> distance);
}
template <class T>
[[nodiscard]] T low_product(T a, T b) {
  return static_cast<T>(b64{a} * b64{b});
}
[[nodiscard]] inline b32 wide_product(b16 a, b16 b) { return b32{a} * b32{b}; }
[[nodiscard]] inline b64 wide_product(b32 a, b32 b) { return b64{a} * b64{b}; }
[[nodiscard]] inline s32 wide_product(s16 a, s16 b) { return s32{a} * s32{b}; }
[[nodiscard]] inline s64 wide_product(s32 a, s32 b) { return s64{a} * s64{b}; }
// On a device, division by zero is no fault and has these results.
template <class T>
[[nodiscard]] T quotient(T a, T b) {
  return b == 0 ? std::numeric_limits<T>::max() : static_cast<T>(a / b);
}
template <class T>
[[nodiscard]] T remainder(T a, T b) {
  return b == 0 ? a : static_cast<T>(a % b);
}
[[nodiscard]] inline b32 join_halves(b16 low, b16 high) { return b32{high} << 16 | low; }
[[nodiscard]] inline b64 join_halves(b32 low, b32 high) { return b64{high} << 32 | low; }
[[nodiscard]] inline b32 funnel_left(b32 low, b32 high, b32 distance) {
  return static_cast<b32>(join_halves(low, high) << distance % 32 >> 32);
}
[[nodiscard]] inline b32 funnel_right(b32 low, b32 high, b32 distance) {
  return static_cast<b32>(join_halves(low, high) >> distance % 32);
}
// A digit of the selector chooses each byte of the result: one of the eight of `low` and `high`,
// or, if the digit's highest bit is set, eight copies of that byte's highest bit.
[[nodiscard]] inline b32 permute_bytes(b32 low, b32 high, b32 selector) {
  const b64 bytes = join_halves(low, high);
  b32 result = 0;
  for (unsigned i = 0; i < 4; ++i) {
    const b32 digit = selector >> 4 * i & 15;
    b32 byte = static_cast<b32>(bytes >> 8 * (digit & 7)) & 0xff;
    if ((digit & 8) != 0) {
      byte = (byte & 0x80) != 0 ? 0xff : 0;
    }
    result |= byte << 8 * i;
  }
  return result;
}
// Adds the products of unsigned bytes to `sum`.
[[nodiscard]] constexpr b32 dot_bytes(b32 a, b32 b, b32 sum) {
  for (unsigned at = 0; at < 32; at += 8) {
    sum += (a >> at & 0xff) * (b >> at & 0xff);
  }
  return sum;
}
// Bit (a << 2 | b << 1 | c) of the table, for each bit.
template <unsigned Table>
[[nodiscard]] inline b32 lut3(b32 a, b32 b, b32 c) {
  b32 result = 0;
  for (unsigned i = 0; i < 8; ++i) {
    if ((Table >> i & 1) != 0) {
      result |= ((i & 4) != 0 ? a : ~a) & ((i & 2) != 0 ? b : ~b) & ((i & 1) != 0 ? c : ~c);
    }
  }
  return result;
}
// Puts the lowest `count` bits of `value` at `position` of `into`.
template <class T>
[[nodiscard]] T insert_bits(T value, T into, b32 position, b32 count) {
  constexpr b32 width = 8 * sizeof(T);
  position &= 0xff;
  count &= 0xff;
  if (count == 0 || position >= width) {
    return into;
  }
  const T ones = count >= width ? std::numeric_limits<T>::max() : (T{1} << count) - 1;
  const T mask = ones << position;
  return (into & ~mask) | (value << position & mask);
}
template <class T>
[[nodiscard]] T extract_bits(T value, b32 position, b32 count) {
  constexpr b32 width = 8 * sizeof(T);
  position &= 0xff;
  count &= 0xff;
  const T moved = shift_right(value, position);
  return count >= width ? moved : moved & ((T{1} << count) - 1);
}

// The contents of a file of device code.

struct Parameter {
  b32 offset, bytes;
};

// A run of instructions that are executed together, from a line of the PTX on.
struct BlockOfCode {
  int line;
  int instructions;
  bool ran = false;
};

struct KernelCode {
  const char* file;
  const char* name;
  Stop (*run)(Lane&);
  b32 most_threads;
  b32 shared_bytes;  // of variables; memory that a launch asks for begins at dynamic_offset
  b32 dynamic_offset;
  b32 kept;
  b32 local_bytes;
  std::span<const Parameter> parameters;
  std::span<BlockOfCode> blocks;
};

struct VariableCode {
  const char* file;
  const char* name;
  Space space;
  b32 bytes;
  b32 alignment;
  const std::uint8_t* first;  // its initial content; null: zeros
};

void enter(const KernelCode& code);
void enter(const VariableCode& code);

template <class Code>
struct Registered {
  explicit Registered(const Code& code) { enter(code); }
};

}  // namespace paes::ptx
