// GCM as one message by many ranks: each hashes its own ciphertext, and rank 0 joins the hashes in
// the order of the ranks.
#include <array>
#include <cstring>
#include <vector>

#include "message/gcm_message.hpp"
#include "mode/gcm.hpp"
#include "mpi/own_pieces.hpp"
#include "mpi/raw.hpp"
#include "stream/grain.hpp"

namespace paes::mpi {

namespace {

constexpr std::size_t tag_bytes = gcm::max_tag_bytes;

std::size_t piece_bytes_of(const stream::Options& options) {
  return stream::chunks_of_grain(options) * cobblestone::chunk_text_bytes;
}

// Placement moves whole pieces, so that ranks hash whole ones.
OwnPieces own_pieces(const Communicator& communicator, std::uint64_t text_bytes,
                     const stream::Options& options) {
  const std::size_t piece = piece_bytes_of(options);
  return {communicator, text_bytes, piece, (batch_bytes + piece - 1) / piece * piece};
}

void check_limit(const SharedInput& input, std::uint64_t text_bytes) {
  if (text_bytes > gcm::max_plaintext_bytes) {
    throw Error(ErrorCode::usage, input.name() + ": longer than GCM allows (64 GiB less 32 bytes)");
  }
}

// The ranks' hashes, which are as secret as a key, on rank 0 and joined there; of no meaning on the
// others.
GhashPart join_in_order(Communicator& communicator, const GcmMessage& message, GhashPart own) {
  constexpr std::size_t part_bytes = sizeof own.value.bytes + sizeof own.blocks;
  SecretBytes mine(part_bytes);
  std::memcpy(mine.data(), own.value.bytes, sizeof own.value.bytes);
  store_le(mine.data() + sizeof own.value.bytes, own.blocks);
  wipe(own.value.bytes);
  SecretBytes all(communicator.is_first() ? part_bytes * communicator.ranks() : 0);
  communicator.gather(mine, all);
  GhashPart joined;
  if (communicator.is_first()) {
    for (unsigned rank = 0; rank < communicator.ranks(); ++rank) {
      const std::uint8_t* const from = all.data() + rank * part_bytes;
      GhashPart part;
      const WipeOnExit wiped(part.value.bytes);
      std::memcpy(part.value.bytes, from, sizeof part.value.bytes);
      part.blocks = load_le<std::uint64_t>(from + sizeof part.value.bytes);
      joined = message.join(joined, part);
    }
  }
  return joined;
}

}  // namespace

stream::Totals seal_gcm(Communicator& communicator, SharedInput& input, SharedOutput& output,
                        const GcmKey& key, Bytes iv, Bytes aad, const stream::Options& options) {
  together(communicator, [&] { check_limit(input, input.bytes()); });
  output.expect({input.bytes() + tag_bytes, stream::Filling::whole});
  const GcmMessage message(key, iv, aad);
  const OwnPieces own = own_pieces(communicator, input.bytes(), options);
  GcmParts parts(message);
  together(communicator, options.progress, [&](const Touch& touch) {
    stream::Flow flow = own.reading(input, 0, 0);
    flow.engine = options.engine_use.engine;
    flow.transform = [&](stream::Batch& batch) {
      const MutableBytes bytes = stream::Pieces::bytes_of(batch);
      parts.add(batch.first_chunk, message.encrypt(own.offset_of(batch), bytes, bytes));
      touch.done_bytes.fetch_add(bytes.size(), std::memory_order_relaxed);
    };
    own.write_to(flow, output);
    stream::run(flow, options.executor, 1, &touch.stop);
    input.check_unchanged();
  });
  GhashPart all = join_in_order(communicator, message, parts.joined());
  const WipeOnExit wiped(all.value.bytes);
  together(communicator, [&] {
    if (communicator.is_first()) {
      Block tag;
      message.tag(all, input.bytes(), tag);
      output.write_at(input.bytes(), Bytes(tag.bytes, tag_bytes));
    }
  });
  together(communicator, [&] { output.sync(); });
  output.commit(input.bytes() + tag_bytes);
  return {input.bytes()};
}

namespace {

void check_tag(const SharedInput& input, const GcmMessage& message, const GhashPart& all,
               std::uint64_t text_bytes) {
  std::array<std::uint8_t, tag_bytes> tag = {};
  input.read_at(text_bytes, tag);
  Block expected;
  const WipeOnExit wiped(expected.bytes);  // of a forgery, what the forger lacks
  message.tag(all, text_bytes, expected);
  if (!equal_constant_time(Bytes(expected.bytes, tag_bytes), tag)) {
    throw Error(ErrorCode::corrupt, input.name() + ": the tag does not match",
                "it is damaged or forged, or the key, the IV or --aad is another");
  }
}

}  // namespace

stream::Totals open_gcm(Communicator& communicator, SharedInput& input, SharedOutput& output,
                        const GcmKey& key, Bytes iv, Bytes aad, const stream::Options& options) {
  together(communicator, [&] {
    if (input.bytes() < tag_bytes) {
      throw Error(ErrorCode::corrupt, input.name() + ": too short to hold a tag",
                  "it is truncated");
    }
    check_limit(input, input.bytes() - tag_bytes);
  });
  const std::uint64_t text_bytes = input.bytes() - tag_bytes;
  output.expect({text_bytes, stream::Filling::compressible});
  const GcmMessage message(key, iv, aad);
  const OwnPieces own = own_pieces(communicator, text_bytes, options);
  stream::Flow flow = own.reading(input, 0, 0);
  flow.engine = options.engine_use.engine;

  // What the first pass hashed, piece by piece: the second lets nothing else out.
  std::vector<Block> checked(static_cast<std::size_t>(own.count()));
  const WipeOnExit wiped(
      {reinterpret_cast<std::uint8_t*>(checked.data()), checked.size() * sizeof(Block)});
  GcmParts parts(message);
  together(communicator, options.progress, [&](const Touch& touch) {
    flow.transform = [&](stream::Batch& batch) {
      const GhashPart part = message.hash(stream::Pieces::bytes_of(batch));
      checked[static_cast<std::size_t>(batch.first_chunk)] = part.value;
      parts.add(batch.first_chunk, part);
      touch.done_bytes.fetch_add(batch.bytes / 2, std::memory_order_relaxed);
    };
    stream::run(flow, options.executor, 1, &touch.stop);
  });
  GhashPart all = join_in_order(communicator, message, parts.joined());
  const WipeOnExit wiped_all(all.value.bytes);
  together(communicator, [&] {
    if (communicator.is_first()) {
      check_tag(input, message, all, text_bytes);
    }
  });

  together(communicator, options.progress, [&](const Touch& touch) {
    touch.done_bytes.store(own.range().count() / 2);
    flow.transform = [&](stream::Batch& batch) {
      const MutableBytes bytes = stream::Pieces::bytes_of(batch);
      const GhashPart part = message.decrypt(own.offset_of(batch), bytes, bytes);
      const Block& expected = checked[static_cast<std::size_t>(batch.first_chunk)];
      if (!equal_constant_time(part.value.bytes, expected.bytes)) {
        throw Error(ErrorCode::corrupt, input.name() + ": changed between its check and its use");
      }
      touch.done_bytes.fetch_add(batch.bytes - batch.bytes / 2, std::memory_order_relaxed);
    };
    own.write_to(flow, output);
    stream::run(flow, options.executor, 1, &touch.stop);
    input.check_unchanged();
  });
  together(communicator, [&] { output.sync(); });
  output.commit(text_bytes);
  return {text_bytes};
}

}  // namespace paes::mpi
