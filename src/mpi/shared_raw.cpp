// SPDX-License-Identifier: Apache-2.0
#include "mpi/shared_raw.hpp"

#include <cstring>

#include "message/gcm_message.hpp"
#include "mpi/broadcast.hpp"
#include "mpi/placement.hpp"
#include "mpi/together.hpp"
#include "stream/raw/raw_gcm.hpp"

namespace paes::mpi {

namespace {

using stream::raw_tag_bytes;

// Collective. Each rank prefers an item size, which depends on its piece and its device, but shares
// must begin at the same places on all ranks. So all ranks use the smallest of the preferred sizes.
std::size_t agreed(Communicator& communicator, std::size_t item_bytes) {
  return static_cast<std::size_t>(communicator.least(static_cast<std::int64_t>(item_bytes)));
}

// The rank's share of the items of a message, in runs of at least 4 MiB.
Range own_items(const Communicator& communicator, const stream::Layout& layout) {
  const std::uint64_t run = (least_share_bytes + layout.in_bytes - 1) / layout.in_bytes;
  return share_of_groups(layout.all_items().count(), run, communicator.ranks(),
                         communicator.rank());
}

// Collects the ranks' hashes on rank 0 and joins them in the order of the ranks. The result has no
// meaning on other ranks. Hashes are as secret as a key.
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

void share(Communicator& communicator, RawSecrets& secrets) {
  broadcast(communicator, secrets.key);
  broadcast(communicator, secrets.iv);
  broadcast(communicator, secrets.aad);
}

stream::Totals crypt_raw(Communicator& communicator, SharedInput& input, SharedOutput& output,
                         const stream::RawTask& task, const stream::Work& work) {
  std::size_t item_bytes = 0;
  together(communicator, [&] {
    if (!task.key.is_parallel(task.direction)) {
      throw Error(ErrorCode::usage, input.name() + ": this direction of the mode is chained",
                  "paes does it as fast as many ranks would");
    }
    item_bytes = stream::RawTransfer::item_bytes_of(task, work);
    stream::check_raw_length(input.name(), task, input.bytes(), true);
  });
  item_bytes = agreed(communicator, item_bytes);
  const stream::Need need = stream::raw_need(task, input.bytes());
  output.expect(need);
  stream::MovedBytes own;
  together(communicator, work.progress, [&](const RankProgress& touch) {
    stream::RawTransfer message(input.name(), task, work, input.bytes(), item_bytes);
    own = message.run(input, output, own_items(communicator, message.layout()),
                      touch.in_place_of(work));
    input.check_unchanged();
  });
  // Only the rank with the last piece knows how long the text without padding is.
  const auto written_bytes =
      static_cast<std::uint64_t>(communicator.sum(static_cast<std::int64_t>(own.written_bytes)));
  const std::uint64_t padding = task.pads && !task.encrypts() ? task.key.block_size() : 0;
  together(communicator, [&] {
    if (written_bytes < need.bytes || written_bytes > need.bytes + padding) {
      throw Error(ErrorCode::failure, output.name() + ": the ranks' shares do not fit together");
    }
  });
  output.commit(written_bytes);
  return {task.encrypts() ? input.bytes() : written_bytes};
}

stream::Totals seal_gcm(Communicator& communicator, SharedInput& input, SharedOutput& output,
                        const GcmKey& key, Bytes iv, Bytes aad, const stream::Work& work) {
  const std::uint64_t text_bytes = input.bytes();
  std::size_t piece_bytes = 0;
  together(communicator, [&] {
    piece_bytes = stream::buffer_bytes(work);
    stream::check_gcm_limit(input.name(), text_bytes);
  });
  piece_bytes = agreed(communicator, piece_bytes);
  output.expect({text_bytes + raw_tag_bytes, stream::Filling::whole});
  stream::GcmTransfer message(input.name(), key, iv, aad, piece_bytes, text_bytes);
  together(communicator, work.progress, [&](const RankProgress& touch) {
    (void)message.seal(input, output, own_items(communicator, message.layout()),
                       touch.in_place_of(work));
    input.check_unchanged();
  });
  GhashPart all = join_in_order(communicator, message.message(), message.joined());
  const WipeOnExit wiped(all.value.bytes);
  on_first(communicator, [&] {
    Tag tag;
    message.message().tag(all, text_bytes, tag);
    output.write_at(text_bytes, Bytes(tag.bytes, raw_tag_bytes));
  });
  output.commit(text_bytes + raw_tag_bytes);
  return {text_bytes};
}

stream::Totals open_gcm(Communicator& communicator, SharedInput& input, SharedOutput& output,
                        const GcmKey& key, Bytes iv, Bytes aad, const stream::Work& work) {
  std::uint64_t text_bytes = 0;
  std::size_t piece_bytes = 0;
  together(communicator, [&] {
    piece_bytes = stream::buffer_bytes(work);
    text_bytes = stream::text_bytes_of_gcm(input.name(), input.bytes());
  });
  piece_bytes = agreed(communicator, piece_bytes);
  output.expect({text_bytes, stream::Filling::compressible});
  stream::GcmTransfer message(input.name(), key, iv, aad, piece_bytes, text_bytes);
  const Range own = own_items(communicator, message.layout());
  together(communicator, work.progress,
           [&](const RankProgress& touch) { message.hash(input, own, touch.in_place_of(work)); });
  GhashPart all = join_in_order(communicator, message.message(), message.joined());
  const WipeOnExit wiped_all(all.value.bytes);
  on_first(communicator, [&] { message.check_tag(input, all); });
  together(communicator, work.progress, [&](const RankProgress& touch) {
    touch.done_bytes.store(message.layout().text_bytes_of(own) / 2);
    message.open(input, output, touch.in_place_of(work));
    input.check_unchanged();
  });
  output.commit(text_bytes);
  return {text_bytes};
}

}  // namespace paes::mpi
