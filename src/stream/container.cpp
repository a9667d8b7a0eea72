// The commitment is checked before any chunk. Decryption stops at a damaged chunk. It checks the
// last chunk of a seekable input first, so that a cut file fails at once. Verification finds all
// damaged chunks.
#include "stream/container.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "paes/error.hpp"
#include "stream/sparse_sink.hpp"

namespace paes::stream {

using cobblestone::chunk_text_bytes;

namespace {

Totals encrypt_salted(Input& input, Output& output, container::Suite suite, Bytes envelope,
                      Bytes input_key, Bytes salt, const Options& options) {
  const container::Header header = container::layout(suite, envelope.size());
  const ChunkCipher cipher(suite, input_key, salt, options.kernel, options.device_use);
  Layout layout = sealing_layout(header.payload_offset(), std::nullopt, options);
  if (input.is_seekable()) {
    const Extent extent{header.payload_offset(), input.bytes()};
    check_chunk_limit(input.name(), extent.chunks());
    output.expect({extent.file_bytes(), Filling::whole});
    layout.total_bytes = extent.text_bytes;
  }
  layout.check_length = [&](std::uint64_t bytes, bool is_all) {
    check_chunk_limit(input.name(), bytes / chunk_text_bytes + (is_all ? 1 : 0));
  };
  input.expect_sequential();
  Moved moved;
  output.complete([&] {
    output.write(encode_head(header, envelope, salt, cipher.commitment()));
    moved = transfer(input, &output, layout, sealing(cipher), layout.all_items(), options);
    input.check_unchanged();
    return layout.out_offset + moved.written_bytes;
  });
  return {moved.text_bytes};
}

// One payload being read: where it lies, and its cipher.
struct Payload {
  Payload(const Input& input, const Preamble& preamble, Bytes input_key, const Options& options)
      : extent(input.is_seekable() ? extent_of(input, preamble.header)
                                   : Extent{preamble.header.payload_offset(), 0}),
        prefix(read_prefix(input, preamble.header)),
        cipher(preamble.header.suite, input_key, salt_of(prefix), options.kernel,
               options.device_use),
        layout(opening_layout(extent.payload_offset,
                              input.is_seekable() ? std::optional(extent.text_bytes) : std::nullopt,
                              options)) {
    check_commitment(input.name(), cipher, prefix);
    const std::string& name = input.name();
    layout.check_length = [&name](std::uint64_t bytes, bool is_all) {
      if (bytes / cobblestone::chunk_bytes + (is_all ? 1 : 0) > cobblestone::max_chunks) {
        throw_truncated(name);
      }
    };
    layout.on_cut = [&name] { throw_truncated(name); };
  }

  Extent extent;  // of a pipe the offset alone
  PayloadPrefix prefix;
  ChunkCipher cipher;
  Layout layout;
};

void check_not_beyond(const ByteRange& range, std::uint64_t text_bytes) {
  // The range "0-" is everything, and is valid for an empty text too.
  const bool is_everything = range.first == 0 && !range.last;
  if (range.first < text_bytes || is_everything) {
    return;
  }
  throw Error(ErrorCode::usage, "range: begins at " + std::to_string(range.first) +
                                    ", but the text has only " + std::to_string(text_bytes) +
                                    " bytes");
}

// The wanted bytes of the text. The range may end beyond the text.
Range resolve(const std::optional<ByteRange>& range) {
  if (!range) {
    return {0, UINT64_MAX};
  }
  const bool to_end = !range->last || *range->last == UINT64_MAX;
  return {range->first, to_end ? UINT64_MAX : *range->last + 1};
}

}  // namespace

Totals encrypt(Input& input, Output& output, container::Suite suite, Bytes envelope,
               Bytes input_key, const Options& options) {
  std::array<std::uint8_t, cobblestone::salt_bytes> salt;
  random_bytes(salt);
  return encrypt_salted(input, output, suite, envelope, input_key, salt, options);
}

// Has its own section, so that the linker drops it from programs that do not call it. The release
// program must not: `./dev check` looks for its name there.
Totals encrypt_with_salt(Input& input, Output& output, container::Suite suite, Bytes envelope,
                         Bytes input_key, Bytes salt, const Options& options) {
  return encrypt_salted(input, output, suite, envelope, input_key, salt, options);
}

Totals decrypt(Input& input, Output& output, const Preamble& preamble, Bytes input_key,
               const std::optional<ByteRange>& range, const Options& options) {
  input.expect_sequential();
  Payload payload(input, preamble, input_key, options);
  Layout& layout = payload.layout;
  layout.wanted = resolve(range);
  Range chunks;
  if (input.is_seekable()) {
    const std::uint64_t text_bytes = payload.extent.text_bytes;
    check_last_chunk(input, payload.cipher, payload.extent);
    layout.wanted.end = std::min(layout.wanted.end, text_bytes);
    if (range) {
      check_not_beyond(*range, text_bytes);
    }
    output.expect({layout.wanted.count(), Filling::sparse});
    chunks = {layout.wanted.first / chunk_text_bytes,
              (layout.wanted.end + chunk_text_bytes - 1) / chunk_text_bytes};
  }
  SparseSink sink(output);
  Moved moved;
  output.complete([&] {
    moved = transfer(input, &sink, layout,
                     opening(payload.cipher, input.name(), payload.extent.payload_offset), chunks,
                     options);
    input.check_same_size();
    if (range && !input.is_seekable()) {
      check_not_beyond(*range, moved.text_bytes);
    }
    return moved.written_bytes;
  });
  return {moved.written_bytes};
}

Verification verify(Input& input, const Preamble& preamble, Bytes input_key,
                    const Options& options) {
  input.expect_sequential();
  Payload payload(input, preamble, input_key, options);
  Verification found{payload.extent, {}};
  payload.layout.on_cut = [&] { found.is_cut = true; };
  DamageLog log;
  const Moved moved = transfer(input, nullptr, payload.layout, verifying(payload.cipher, log),
                               payload.layout.all_items(), options);
  input.check_same_size();
  found.extent.text_bytes = moved.text_bytes;
  found.damage = log.found();
  return found;
}

}  // namespace paes::stream
