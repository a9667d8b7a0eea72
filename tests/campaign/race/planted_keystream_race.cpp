// SPDX-License-Identifier: Apache-2.0
// The protocol of the keystream engine's entries with a fault in it, for the test that
// ThreadSanitizer sees one: a worker publishes keystream without releasing what it wrote. And
// without the fault, for the test that it invents none.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <thread>
#include <vector>

#include "keystream/entry.hpp"
#include "keystream/xor.hpp"

namespace {

using paes::keystream::Entry;
using paes::keystream::EntryState;

constexpr std::size_t chunk_bytes = 4096;
constexpr std::uint64_t chunks = 200;

// Not one value for all: a compiler would call memset, which ThreadSanitizer is told to overlook,
// as all libraries' functions.
std::uint8_t byte_of(std::uint64_t chunk, std::size_t i) {
  return static_cast<std::uint8_t>(chunk + i);
}

void work(Entry& entry, bool is_faulty) {
  for (std::uint64_t chunk = 0; chunk < chunks; ++chunk) {
    std::uint64_t seen = entry.word.load(std::memory_order_acquire);
    while (Entry::state_of(seen) != EntryState::empty ||
           !entry.change(seen, chunk, EntryState::filling)) {
      std::this_thread::yield();
      seen = entry.word.load(std::memory_order_acquire);
    }
    for (std::size_t i = 0; i < chunk_bytes; ++i) {
      entry.slot[i] = byte_of(chunk, i);
    }
    if (is_faulty) {
      entry.word.store(Entry::word_of(chunk, EntryState::ready), std::memory_order_relaxed);
    } else {
      entry.publish(chunk, EntryState::ready);
    }
  }
}

// How many chunks came as they should have.
std::uint64_t use(Entry& entry) {
  const std::vector<std::uint8_t> text(chunk_bytes, 0);
  std::vector<std::uint8_t> out(chunk_bytes);
  std::uint64_t right = 0;
  for (std::uint64_t chunk = 0; chunk < chunks; ++chunk) {
    std::uint64_t seen = Entry::word_of(chunk, EntryState::ready);
    while (!entry.change(seen, chunk, EntryState::taken)) {
      std::this_thread::yield();
      seen = Entry::word_of(chunk, EntryState::ready);
    }
    paes::keystream::xor_and_wipe({entry.slot, chunk_bytes}, text.data(), out.data());
    entry.publish(chunk, EntryState::empty);
    std::size_t i = 0;
    right += std::all_of(out.begin(), out.end(),
                         [&](std::uint8_t byte) { return byte == byte_of(chunk, i++); })
                 ? 1U
                 : 0U;
  }
  return right;
}

}  // namespace

int main(int argc, char** argv) {
  const bool is_faulty = argc == 2 && std::strcmp(argv[1], "race") == 0;
  if (!is_faulty && (argc != 2 || std::strcmp(argv[1], "ordered") != 0)) {
    std::fputs("planted_keystream_race: race or ordered\n", stderr);
    return 2;
  }
  std::vector<std::uint8_t> slot(chunk_bytes);
  Entry entry;
  entry.slot = slot.data();
  std::thread worker([&] { work(entry, is_faulty); });
  const std::uint64_t right = use(entry);
  worker.join();
  return right == chunks ? 0 : 1;
}
