#include "stream/payload.hpp"

#include <algorithm>
#include <utility>

#include "paes/error.hpp"

namespace paes::stream {

using cobblestone::chunk_bytes;
using cobblestone::chunk_text_bytes;

namespace {

// The bytes from `offset` on, which on a pipe are the next ones; fewer at the end of the input.
std::size_t read_some(const Source& source, std::uint64_t offset, MutableBytes to) {
  if (source.is_seekable()) {
    const std::uint64_t left = source.bytes() - std::min(source.bytes(), offset);
    to = to.first(static_cast<std::size_t>(std::min<std::uint64_t>(left, to.size())));
  }
  return source.read_at(offset, to);
}

// " (from byte 16384 of the plaintext, 20480 of the file)"
std::string place_of(std::uint64_t payload_offset, std::uint64_t chunk) {
  return " (from byte " + std::to_string(chunk * chunk_text_bytes) + " of the plaintext, " +
         std::to_string(payload_offset + cobblestone::chunk_offset(chunk)) + " of the file)";
}

}  // namespace

Preamble read_preamble(const Input& input) {
  try {
    std::array<std::uint8_t, container::header_bytes> first_bytes;
    const std::size_t got = read_some(input, 0, first_bytes);
    Preamble preamble{container::parse(Bytes(first_bytes).first(got)), {}};
    preamble.bytes.resize(static_cast<std::size_t>(preamble.header.payload_offset()));
    std::copy(first_bytes.begin(), first_bytes.end(), preamble.bytes.begin());
    const MutableBytes rest = MutableBytes(preamble.bytes).subspan(first_bytes.size());
    if (read_some(input, first_bytes.size(), rest) != rest.size()) {
      throw Error(ErrorCode::corrupt, "header: the file ends before the payload",
                  "it is truncated; get a complete copy");
    }
    container::check_padding(preamble.header, preamble.bytes);
    return preamble;
  } catch (const Error& error) {
    // The format knows no file names; errors of the input itself begin with one already.
    if (error.code != ErrorCode::corrupt) {
      throw;
    }
    throw Error(error.code, input.name() + ": " + error.what(), error.hint);
  }
}

PayloadPrefix read_prefix(const Source& source, const container::Header& header) {
  PayloadPrefix prefix;
  if (source.read_at(header.payload_offset(), MutableBytes(prefix)) != prefix.size()) {
    throw_truncated(source.name());
  }
  return prefix;
}

std::vector<std::uint8_t> encode_head(const container::Header& header, Bytes envelope, Bytes salt,
                                      Bytes commitment) {
  std::vector<std::uint8_t> head = container::encode_preamble(header, envelope);
  head.insert(head.end(), salt.begin(), salt.end());
  head.insert(head.end(), commitment.begin(), commitment.end());
  return head;
}

Extent extent_of(const Source& source, const container::Header& header) {
  const std::uint64_t offset = header.payload_offset();
  const auto text = cobblestone::text_bytes(source.bytes() - std::min(source.bytes(), offset));
  if (!text) {
    throw_truncated(source.name());
  }
  return {offset, *text};
}

void throw_truncated(const std::string& name) {
  throw Error(ErrorCode::corrupt, name + ": truncated, or bytes were added or lost",
              "get a complete copy");
}

void check_chunk_limit(const std::string& name, std::uint64_t chunks) {
  if (chunks > cobblestone::max_chunks) {
    throw Error(ErrorCode::usage, name + ": longer than a payload may be (4 PiB)");
  }
}

void check_commitment(const std::string& name, const ChunkCipher& cipher,
                      const PayloadPrefix& prefix) {
  if (!equal_constant_time(cipher.commitment(), Bytes(prefix).subspan(cobblestone::salt_bytes))) {
    throw Error(ErrorCode::corrupt, name +
                                        ": the key in the envelope is not the payload's, or the "
                                        "beginning of the payload is damaged");
  }
}

void check_last_chunk(const Source& source, const ChunkCipher& cipher, const Extent& extent) {
  const std::uint64_t last = extent.chunks() - 1;
  const Range place = extent.file_of({last, extent.chunks()});
  Buffer buffer({.in_bytes = chunk_bytes, .out_bytes = chunk_text_bytes});
  buffer.first_item = last;
  buffer.items = 1;
  buffer.bytes = static_cast<std::size_t>(place.count());
  source.read_at(place.first, buffer.contents());
  if (!cipher.verify(buffer).empty()) {
    throw Error(ErrorCode::corrupt, source.name() + ": the last chunk" +
                                        place_of(extent.payload_offset, last) +
                                        " is damaged, or the file was cut or extended");
  }
}

Layout sealing_layout(std::uint64_t payload_offset, std::optional<std::uint64_t> text_bytes,
                      const Options& options) {
  return {.in_bytes = chunk_text_bytes,
          .out_bytes = chunk_bytes,
          .last = LastItem::is_short,
          .out_offset = payload_offset + cobblestone::prefix_bytes,
          .total_bytes = text_bytes,
          .items_a_buffer = buffer_bytes(options) / chunk_text_bytes};
}

Layout opening_layout(std::uint64_t payload_offset, std::optional<std::uint64_t> text_bytes,
                      const Options& options) {
  std::optional<std::uint64_t> total_bytes;
  if (text_bytes) {
    total_bytes = cobblestone::payload_bytes(*text_bytes) - cobblestone::prefix_bytes;
  }
  return {.in_bytes = chunk_bytes,
          .out_bytes = chunk_text_bytes,
          .last = LastItem::is_short,
          .min_in_bytes = cobblestone::tag_bytes,
          .in_offset = payload_offset + cobblestone::prefix_bytes,
          .total_bytes = total_bytes,
          .items_a_buffer = buffer_bytes(options) / chunk_text_bytes};
}

Transform sealing(const ChunkCipher& cipher) {
  return {.run = [&cipher](Buffer& buffer) { cipher.seal(buffer); }, .device = cipher.device()};
}

Transform opening(const ChunkCipher& cipher, std::string name, std::uint64_t payload_offset) {
  return {.run =
              [&cipher, name = std::move(name), payload_offset](Buffer& buffer) {
                if (const auto damaged = cipher.open(buffer)) {
                  throw Error(ErrorCode::corrupt, name + ": chunk " + std::to_string(*damaged) +
                                                      place_of(payload_offset, *damaged) +
                                                      " is damaged, misplaced or forged");
                }
              },
          .device = cipher.device()};
}

Transform verifying(const ChunkCipher& cipher, DamageLog& log) {
  return {.run =
              [&cipher, &log](Buffer& buffer) {
                for (const Range& damaged : cipher.verify(buffer)) {
                  log.add(damaged);
                }
              },
          .device = cipher.device()};
}

}  // namespace paes::stream
