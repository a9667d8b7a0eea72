// SPDX-License-Identifier: Apache-2.0
// What the tests of paes/file.hpp share: keys, and stores that callbacks read.
#pragma once

#include <atomic>
#include <mutex>
#include <random>
#include <string>
#include <string_view>

#include "age/envelope.hpp"
#include "emulated/emulated_runtime.hpp"
#include "paes/file.hpp"
#include "sanitized.hpp"
#include "stream/file_sample.hpp"

namespace paes {

using stream::Contents;
using stream::error_of;
using stream::exists;
using stream::Folder;
using stream::random_buffer;
using stream::read_file;
using stream::write_file;

inline constexpr std::size_t chunk = file_chunk_bytes;

inline const Identity& my_identity() {
  static const Identity mine = Identity::generate();
  return mine;
}
inline SealFor for_me(unsigned key_bits = 256) {
  return {.recipients = {my_identity().recipient()}, .key_bits = key_bits};
}
inline OpenWith with_mine() { return {.identities = {my_identity()}}; }

// The key of a key manager.
inline CobblestoneKey own_key(std::size_t bytes = 32, std::string_view context = "",
                              std::uint64_t seed = 77) {
  return CobblestoneKey(
      random_buffer(bytes, seed),
      Bytes(reinterpret_cast<const std::uint8_t*>(context.data()), context.size()));
}
inline SealFor for_own(const CobblestoneKey& key = own_key()) { return {.key = key}; }
inline OpenWith with_own(const CobblestoneKey& key = own_key()) { return {.key = key}; }

// An encrypted file in memory.
inline Contents sealed(const Contents& text, const SealFor& seal_for,
                       const FileOptions& options = {}) {
  Contents file;
  Writer writer([&](Bytes bytes) { file.insert(file.end(), bytes.begin(), bytes.end()); }, seal_for,
                options);
  writer.write(text);
  EXPECT_EQ(writer.commit(), text.size());
  return file;
}

// A store that gives as many bytes as it likes.
inline ReadAt reads_of(const Contents& bytes) {
  return [&bytes](std::uint64_t offset, MutableBytes to) {
    EXPECT_LE(offset + to.size(), bytes.size());
    static thread_local std::mt19937_64 generator(1);
    const std::size_t count = generator() % 3 == 0 ? 1 + generator() % to.size() : to.size();
    std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(offset), count, to.begin());
    return count;
  };
}
inline FileSource store(const Contents& bytes) {
  return FileSource::callback(reads_of(bytes), bytes.size(), "store");
}

inline bool is_zero(Bytes bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::uint8_t byte) { return byte == 0; });
}

// All of a text by read_at, in one call.
inline Contents all_of(const Reader& reader) {
  Contents text(static_cast<std::size_t>(reader.size()));
  EXPECT_EQ(reader.read_at(0, text), text.size());
  return text;
}

// Not one more than before when this goes: no thread is left behind. The threads that the pool
// keeps are started first.
inline std::size_t threads_now() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    ++count;
  }
  return count;
}
inline std::size_t descriptors_now() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& one : std::filesystem::directory_iterator("/proc/self/fd")) {
    ++count;
  }
  return count;
}

}  // namespace paes
