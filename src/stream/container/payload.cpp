// SPDX-License-Identifier: Apache-2.0
#include "stream/container/payload.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <utility>

#include "paes/error.hpp"

namespace paes::stream {

namespace {

// " (from byte 16384 of the plaintext, 20480 of the file)"
std::string place_of(const Extent& extent, std::uint64_t chunk) {
  return " (from byte " + std::to_string(chunk * extent.chunking.text_bytes) +
         " of the plaintext, " + std::to_string(extent.chunk_offset(chunk)) + " of the file)";
}

std::size_t chunks_a_buffer(const Work& work, const Chunking& chunking) {
  return std::max<std::size_t>(buffer_bytes(work) / chunking.text_bytes, 1);
}

}  // namespace

Chunk chunk_at(Buffer& buffer, std::size_t index, std::size_t text_bytes,
               const Chunking& chunking) noexcept {
  const std::size_t before = index * chunking.text_bytes;
  assert(before <= text_bytes && text_bytes <= buffer.items * chunking.text_bytes);
  const std::size_t bytes = std::min(text_bytes - before, chunking.text_bytes);
  std::uint8_t* const text = buffer.item(index);
  return {buffer.first_item + index, {text, bytes}, {text + bytes, chunking.tag_bytes}};
}

void copy_wanted(const Chunk& chunk, std::size_t full_bytes, const WantedText& wanted) noexcept {
  const std::uint64_t begin = chunk.number * full_bytes;
  const std::uint64_t from = std::max(begin, wanted.offset);
  const std::uint64_t to = std::min(begin + chunk.text.size(), wanted.offset + wanted.to.size());
  if (from < to) {
    std::memcpy(wanted.to.data() + (from - wanted.offset), chunk.text.data() + (from - begin),
                static_cast<std::size_t>(to - from));
  }
}

void append_chunk(std::vector<Range>& ranges, std::uint64_t chunk) {
  if (!ranges.empty() && ranges.back().end == chunk) {
    ++ranges.back().end;
  } else {
    ranges.push_back({chunk, chunk + 1});
  }
}

Extent extent_of(const Source& source, std::uint64_t payload_offset, const Chunking& chunking) {
  if (!source.is_seekable()) {
    return {payload_offset, 0, chunking};
  }
  const auto text = chunking.text_of(source.bytes() - std::min(source.bytes(), payload_offset));
  if (!text) {
    throw_truncated(source.name());
  }
  return {payload_offset, *text, chunking};
}

void throw_truncated(const std::string& name) {
  throw Error(ErrorCode::corrupt, name + ": truncated, or bytes were added or lost",
              "get a complete copy");
}

void check_chunk_limit(const std::string& name, std::uint64_t chunks, const Chunking& chunking) {
  if (chunks > chunking.max_chunks) {
    constexpr unsigned pebibyte_bits = 50;
    const std::uint64_t most = chunking.max_chunks * chunking.text_bytes >> pebibyte_bits;
    throw Error(ErrorCode::usage,
                name + ": longer than a payload may be (" + std::to_string(most) + " PiB)");
  }
}

namespace {

[[noreturn]] void throw_last_damaged(const std::string& name, const Extent& extent) {
  throw Error(ErrorCode::corrupt, name + ": the last chunk" +
                                      place_of(extent, extent.chunks() - 1) +
                                      " is damaged, or the file was cut or extended");
}

}  // namespace

void check_last_chunk(const Source& source, const PayloadCipher& cipher, const Extent& extent) {
  const Chunking& chunking = cipher.chunking();
  const std::uint64_t last = extent.chunks() - 1;
  const Range place = extent.file_of({last, extent.chunks()});
  Buffer buffer({.in_bytes = chunking.chunk_bytes(), .out_bytes = chunking.text_bytes});
  buffer.first_item = last;
  buffer.items = 1;
  buffer.bytes = static_cast<std::size_t>(place.count());
  buffer.is_last = true;
  source.read_at(place.first, buffer.contents());
  if (!cipher.verify(buffer).empty()) {
    throw_last_damaged(source.name(), extent);
  }
}

Layout sealing_layout(std::uint64_t payload_offset, std::optional<std::uint64_t> text_bytes,
                      const Work& work, const Chunking& chunking) {
  return {.in_bytes = chunking.text_bytes,
          .out_bytes = chunking.chunk_bytes(),
          .last = chunking.last,
          .out_offset = payload_offset + chunking.prefix_bytes,
          .total_bytes = text_bytes,
          .items_a_buffer = chunks_a_buffer(work, chunking)};
}

Layout opening_layout(std::uint64_t payload_offset, std::optional<std::uint64_t> text_bytes,
                      const Work& work, const Chunking& chunking) {
  std::optional<std::uint64_t> total_bytes;
  if (text_bytes) {
    total_bytes = chunking.payload_bytes(*text_bytes) - chunking.prefix_bytes;
  }
  return {.in_bytes = chunking.chunk_bytes(),
          .out_bytes = chunking.text_bytes,
          .last = chunking.last,
          .min_in_bytes = chunking.tag_bytes,
          .in_offset = payload_offset + chunking.prefix_bytes,
          .total_bytes = total_bytes,
          .items_a_buffer = chunks_a_buffer(work, chunking)};
}

namespace {

void check_authentic(std::optional<std::uint64_t> damaged, const PayloadCipher& cipher,
                     const std::string& name, std::uint64_t payload_offset) {
  if (damaged) {
    const Extent extent{payload_offset, 0, cipher.chunking()};
    throw Error(ErrorCode::corrupt, name + ": chunk " + std::to_string(*damaged) +
                                        place_of(extent, *damaged) +
                                        " is damaged, misplaced or forged");
  }
}

}  // namespace

Transform sealing(const PayloadCipher& cipher) {
  return {.run = [&cipher](Buffer& buffer) { cipher.seal(buffer); }, .device = cipher.device()};
}

Transform opening(const PayloadCipher& cipher, std::string name, std::uint64_t payload_offset) {
  return {.run =
              [&cipher, name = std::move(name), payload_offset](Buffer& buffer) {
                check_authentic(cipher.open(buffer, nullptr), cipher, name, payload_offset);
              },
          .device = cipher.device()};
}

Transform opening_only_chunk(const PayloadCipher& cipher, std::string name, const Extent& extent) {
  return {.run =
              [&cipher, name = std::move(name), &extent](Buffer& buffer) {
                if (cipher.open(buffer, nullptr)) {
                  throw_last_damaged(name, extent);
                }
              },
          .device = cipher.device()};
}

Transform opening_into(const WantedText& wanted, const PayloadCipher& cipher,
                       const std::string& name, std::uint64_t payload_offset) {
  return {.run =
              [&wanted, &cipher, &name, payload_offset](Buffer& buffer) {
                check_authentic(cipher.open(buffer, &wanted), cipher, name, payload_offset);
              },
          .device = cipher.device()};
}

Transform verifying(const PayloadCipher& cipher, DamageLog& log) {
  return {.run =
              [&cipher, &log](Buffer& buffer) {
                for (const Range& damaged : cipher.verify(buffer)) {
                  log.add(damaged);
                }
              },
          .device = cipher.device()};
}

}  // namespace paes::stream
