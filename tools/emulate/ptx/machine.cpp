// SPDX-License-Identifier: Apache-2.0
#include "emulate/ptx/machine.hpp"

#include <cxxabi.h>

#include <cstdio>
#include <cstdlib>
#include <regex>

namespace paes::ptx {

namespace {

constexpr b32 most_threads = 1024;
constexpr b32 most_shared = 256 << 10;

std::vector<KernelCode>& entered_kernels() {
  static std::vector<KernelCode> all;
  return all;
}
std::vector<VariableCode>& entered_variables() {
  static std::vector<VariableCode> all;
  return all;
}

std::string demangled(const char* name) {
  int status = 0;
  char* const text = abi::__cxa_demangle(name, nullptr, nullptr, &status);
  std::string result = status == 0 ? text : name;
  std::free(text);
  return result;
}

std::string place_of(const Lane& lane, int line) {
  return std::string(lane.code->file) + ":" + std::to_string(line);
}

std::string who_is(const Lane& lane) {
  return "thread " + std::to_string(lane.thread) + " of block " + std::to_string(lane.block) +
         " in " + demangled(lane.code->name);
}

std::string hexadecimal(b64 value) {
  char text[20];
  (void)std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

const char* word_of(Access how) { return how == Access::read ? "read" : "write"; }

[[noreturn]] void fail_at(const Lane& lane, int line, Fault::Kind kind, const std::string& what) {
  throw Fault{kind, place_of(lane, line) + ": " + what + ", " + who_is(lane)};
}

// Each place complains only once, whichever threads meet there.
void note_race(const Lane& lane, int line, const char* what, b32 other) {
  complain(place_of(lane, line) + ": race in shared memory: " + what + " by thread " +
           (other == Cell::many        ? "of another warp"
            : other >= Cell::of_a_warp ? "of warp " + std::to_string(other - Cell::of_a_warp)
                                       : std::to_string(other)) +
           " without a barrier between, " + who_is(lane));
}

}  // namespace

void enter(const KernelCode& code) { entered_kernels().push_back(code); }
void enter(const VariableCode& code) { entered_variables().push_back(code); }
const std::vector<KernelCode>& kernels() { return entered_kernels(); }
const std::vector<VariableCode>& variables() { return entered_variables(); }

std::string plain_name(const std::string& mangled) {
  // nvcc puts a hash of its arguments into the names that a file keeps to itself.
  static const std::regex inner("[0-9]+_INTERNAL_[0-9a-f]{8}_[0-9]+_[A-Za-z0-9_]+?_cu_[0-9a-f]{8}");
  static const std::regex unnamed(
      "[0-9]+_GLOBAL__N__[0-9a-f]{8}_[0-9]+_([A-Za-z0-9_]+?)_cu_[0-9a-f]{8}");
  return std::regex_replace(std::regex_replace(mangled, inner, ""), unnamed, "($1)");
}

const Shape& shape_of(int architecture) {
  static constexpr Shape shapes[] = {
      {75, 64 << 10, 64 << 10, 0, 1024},          {80, 163 << 10, 164 << 10, 1 << 10, 2048},
      {86, 99 << 10, 100 << 10, 1 << 10, 1536},   {87, 163 << 10, 164 << 10, 1 << 10, 1536},
      {89, 99 << 10, 100 << 10, 1 << 10, 1536},   {90, 227 << 10, 228 << 10, 1 << 10, 2048},
      {110, 227 << 10, 228 << 10, 1 << 10, 1536}, {120, 99 << 10, 100 << 10, 1 << 10, 1536}};
  const Shape* found = shapes;
  for (const Shape& shape : shapes) {
    found = shape.architecture <= architecture ? &shape : found;
  }
  return *found;
}

// The errors that a lane finds.

void Lane::fail(int at, const char* what) const { fail_at(*this, at, Fault::Kind::launch, what); }

void Lane::misaligned(b64 address, b32 bytes, int at) const {
  fail_at(*this, at, Fault::Kind::misaligned,
          "misaligned access of " + std::to_string(bytes) + " bytes at " + hexadecimal(address));
}

void Lane::out_of_bounds(const char* space, b64 address, b32 bytes, Access how, int at) const {
  fail_at(*this, at, Fault::Kind::address,
          std::string(space) + " " + word_of(how) + " out of bounds: " + std::to_string(bytes) +
              " bytes at " + hexadecimal(address));
}

// Whether this lane has met the lane that accessed a cell at that time since then.
bool Lane::has_met(b32 other, b32 time) const {
  const b32 warp = thread / warp_lanes;
  const auto& met = shared_memory->met[warp][thread % warp_lanes];
  if (other >= Cell::of_a_warp) {
    // If there were several lanes, only the warp is known, and this lane's last meeting decides.
    return other != Cell::many && other - Cell::of_a_warp == warp &&
           met[thread % warp_lanes] > time;
  }
  return other / warp_lanes == warp && met[other % warp_lanes] > time;
}

void Lane::add_reader(Cell& cell) const {
  if (has_met(cell.reader, cell.read)) {
    cell.reader = static_cast<b16>(thread);  // what orders others after this orders them after all
    return;
  }
  const auto warp = static_cast<b16>(thread / warp_lanes);
  const b32 other =
      cell.reader >= Cell::of_a_warp ? cell.reader - Cell::of_a_warp : cell.reader / warp_lanes;
  cell.reader = other == warp ? static_cast<b16>(Cell::of_a_warp + warp) : Cell::many;
}

void Lane::meets_writer(const Cell& cell, Access how, int at) const {
  if (!has_met(cell.writer, cell.written)) {
    note_race(*this, at, how == Access::read ? "read after a write" : "write after a write",
              cell.writer);
  }
}

void Lane::meets_reader(const Cell& cell, int at) const {
  if (!has_met(cell.reader, cell.read)) {
    note_race(*this, at, "write after a read", cell.reader);
  }
}

void Lane::reads_nothing(int at) const {
  complain(place_of(*this, at) + ": read of shared memory that nobody has written, " +
           who_is(*this));
}

// Memory.

DeviceMemory::DeviceMemory(unsigned ordinal, std::size_t bytes)
    : bytes_(bytes), all_(most_windows) {
  windows_ = {b64{ordinal + 1} << 12, all_.data(), most_windows};
  for (b64 number = 0; number < most_windows; ++number) {
    unused_.push_back(number);
  }
  std::map<std::string, std::size_t> constants;
  for (const VariableCode& variable : variables()) {
    if (variable.space == Space::constant) {
      constants[variable.file] += variable.bytes;
    }
    std::vector<std::uint8_t>& memory = of_variables_.emplace_back(variable.bytes);
    if (variable.first != nullptr) {
      std::memcpy(memory.data(), variable.first, variable.bytes);
    }
    const b64 address = open_window(memory.data(), variable.bytes, variable.space);
    variables_[variable.file].push_back(address);
    by_number_.push_back(address);
  }
  for (const auto& [file, size] : constants) {
    if (size > std::size_t{64} << 10) {
      complain(file + ": more than 64 KiB of constant memory");
    }
  }
  for (const KernelCode& kernel : kernels()) {
    variables_[kernel.file];
  }
}

b64 DeviceMemory::open_window(std::uint8_t* host, std::size_t bytes, Space space) {
  const b64 number = unused_.front();
  unused_.pop_front();
  all_[number] = {host, static_cast<b32>(bytes), space};
  return (windows_.first + number) << Windows::bits;
}

b64 DeviceMemory::allocate(std::size_t bytes) {
  if (bytes > bytes_ - used_ || bytes > ~b32{0} || unused_.empty()) {
    return 0;
  }
  auto memory = std::make_unique_for_overwrite<std::uint8_t[]>(bytes);
  std::memset(memory.get(), fresh_byte, bytes);
  const b64 address = open_window(memory.get(), bytes, Space::global);
  blocks_[address] = std::move(memory);
  used_ += bytes;
  return address;
}

const Window* DeviceMemory::allocated(b64 address) const {
  return blocks_.contains(address) ? &all_[(address >> Windows::bits) - windows_.first] : nullptr;
}

void DeviceMemory::free(b64 address) {
  const b64 number = (address >> Windows::bits) - windows_.first;
  used_ -= all_[number].bytes;
  all_[number] = {};
  blocks_.erase(address);
  unused_.push_back(number);
}

// Grids.

Machine::Machine()
    : shared_bytes_(most_shared),
      cells_(most_shared),
      met_(new b32[most_threads / warp_lanes][warp_lanes][warp_lanes]()),
      lanes_(most_threads) {
  shared_.bytes = shared_bytes_.data();
  shared_.cells = cells_.data();
  shared_.met = met_.get();
}

void Machine::run(const Grid& grid, const DeviceMemory& memory, const Shape& shape,
                  Random& random) {
  const KernelCode& code = *grid.code;
  shared_.base = shape.shared_reserved;
  shared_.size = grid.shared_bytes;
  lanes_.resize(grid.threads);
  kept_.assign(std::size_t{grid.threads} * code.kept, 0);
  local_.assign(std::size_t{grid.threads} * code.local_bytes, fresh_byte);
  for (b32 i = 0; i < grid.threads; ++i) {
    lanes_[i] = {};
    lanes_[i].code = &code;
    lanes_[i].parameters = grid.parameters.data();
    lanes_[i].variables = memory.variables_of(code.file).data();
    lanes_[i].windows = &memory.windows();
    lanes_[i].shared_memory = &shared_;
    lanes_[i].kept = kept_.data() + std::size_t{i} * code.kept;
    lanes_[i].local_memory = local_.data() + std::size_t{i} * code.local_bytes;
    lanes_[i].local_bytes = code.local_bytes;
  }
  std::vector<b32> order(grid.blocks);
  for (b32 i = 0; i < grid.blocks; ++i) {
    order[i] = i;
  }
  random.shuffle(order);
  for (const b32 block : order) {
    begin_block(grid, block);
    run_block(random);
  }
}

void Machine::begin_block(const Grid& grid, b32 block) {
  ++shared_.now;
  shared_.began = shared_.barrier = shared_.now;
  for (b32 i = 0; i < grid.threads; ++i) {
    Lane& lane = lanes_[i];
    lane.thread = i;
    lane.threads = grid.threads;
    lane.block = block;
    lane.blocks = grid.blocks;
    lane.entry = 0;
    lane.stop = Stop::ready;
  }
}

void Machine::run_block(Random& random) {
  const auto warps = static_cast<b32>((lanes_.size() + warp_lanes - 1) / warp_lanes);
  for (;;) {
    std::vector<b32> ready(warps);
    for (b32 i = 0; i < warps; ++i) {
      ready[i] = i;
    }
    while (!ready.empty()) {
      b32& chosen = ready[random.below(ready.size())];
      run_warp(chosen, random);
      if (!resolve(chosen)) {
        chosen = ready.back();
        ready.pop_back();
      }
    }
    if (std::all_of(lanes_.begin(), lanes_.end(),
                    [](const Lane& lane) { return lane.stop == Stop::finished; })) {
      return;
    }
    pass_barrier();
  }
}

void Machine::run_warp(b32 warp, Random& random) {
  const std::size_t first = std::size_t{warp} * warp_lanes;
  // One of 512 orders, which is cheap: an odd step visits all lanes.
  const std::size_t start = random.below(warp_lanes);
  const std::size_t step = 2 * random.below(warp_lanes / 2) + 1;
  for (std::size_t i = 0; i < warp_lanes; ++i) {
    const std::size_t at = first + (start + i * step) % warp_lanes;
    if (at < lanes_.size() && lanes_[at].stop == Stop::ready) {
      (void)lanes_[at].code->run(lanes_[at]);
    }
  }
}

bool Machine::is_complete(const Lane& lane, std::span<const Lane> warp) const {
  const b32 me = lane.thread % warp_lanes;
  if ((lane.mask >> me & 1) == 0) {
    fail_at(lane, lane.line, Fault::Kind::launch,
            "a lane that its own mask does not name: " + hexadecimal(lane.mask));
  }
  for (b32 i = 0; i < warp_lanes; ++i) {
    if ((lane.mask >> i & 1) == 0) {
      continue;
    }
    if (i >= warp.size() || warp[i].stop == Stop::finished) {
      fail_at(
          lane, lane.line, Fault::Kind::launch,
          "a mask that names a lane which does not exist or has ended: " + hexadecimal(lane.mask));
    }
    if (warp[i].stop != lane.stop || warp[i].mask != lane.mask || warp[i].line != lane.line) {
      return false;
    }
  }
  return true;
}

void Machine::release(std::span<Lane> warp, b32 number, const Lane& like) {
  const b32 mask = like.mask;
  const bool meets = like.stop == Stop::warp;
  if (meets) {
    ++shared_.now;
  }
  for (b32 i = 0; i < warp.size(); ++i) {
    if ((mask >> i & 1) == 0) {
      continue;
    }
    Lane& lane = warp[i];
    if (meets) {
      for (b32 other = 0; other < warp_lanes; ++other) {
        if ((mask >> other & 1) != 0) {
          shared_.met[number][i][other] = shared_.now;
        }
      }
    } else {
      const b32 source = lane.is_from_relative ? i ^ lane.from : lane.from;
      if (lane.clamp != warp_lanes - 1 || source >= warp_lanes || (mask >> source & 1) == 0) {
        fail_at(lane, lane.line, Fault::Kind::launch,
                "an exchange with lane " + std::to_string(source) +
                    ", which the mask does not name: " + hexadecimal(mask));
      }
      lane.exchanged = warp[source].given;
    }
    lane.stop = Stop::ready;
  }
}

bool Machine::resolve(b32 number) {
  const std::size_t first = std::size_t{number} * warp_lanes;
  const std::span<Lane> warp(&lanes_[first],
                             std::min<std::size_t>(warp_lanes, lanes_.size() - first));
  bool any = false;
  for (Lane& lane : warp) {
    if ((lane.stop == Stop::warp || lane.stop == Stop::exchange) && is_complete(lane, warp)) {
      release(warp, number, lane);
      any = true;
    }
  }
  return any;
}

// No lane can go on unless all go on together.
void Machine::pass_barrier() {
  const auto waits = std::find_if(lanes_.begin(), lanes_.end(),
                                  [](const Lane& lane) { return lane.stop != Stop::finished; });
  for (const Lane& lane : lanes_) {
    if (lane.stop != Stop::barrier) {
      const Lane& one = lane.stop == Stop::finished ? *waits : lane;
      fail_at(one, one.line, Fault::Kind::launch,
              lane.stop == Stop::finished
                  ? "a barrier that other threads never reach, for they have ended"
                  : "a warp whose lanes never meet: mask " + hexadecimal(lane.mask));
    }
    if (lane.line != lanes_[0].line) {
      fail_at(lane, lane.line, Fault::Kind::launch, "threads of a block at different barriers");
    }
  }
  shared_.barrier = ++shared_.now;
  for (Lane& lane : lanes_) {
    lane.stop = Stop::ready;
  }
}

}  // namespace paes::ptx
