// SPDX-License-Identifier: Apache-2.0
#include "mpi/shared_container.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "mpi/broadcast.hpp"
#include "mpi/placement.hpp"
#include "mpi/together.hpp"
#include "stream/container/chunk_cipher.hpp"
#include "stream/transfer/sparse_sink.hpp"

namespace paes::mpi {

namespace {

using stream::ChunkCipher;
using stream::Extent;
using Salt = std::array<std::uint8_t, cobblestone::salt_bytes>;

Range own_chunks(const Communicator& communicator, const Extent& extent) {
  return extent.chunks_of(share_of(extent.stripes(), communicator.ranks(), communicator.rank()));
}

stream::Totals encrypt_salted(Communicator& communicator, SharedInput& input, SharedOutput& output,
                              SharedPayload sealed, Salt salt, const stream::Work& work) {
  container::Header header = {};
  together(communicator, [&] {
    stream::check_chunk_limit(input.name(), cobblestone::chunking.chunks_of(input.bytes()));
    if (communicator.is_first()) {
      header = container::layout(sealed.shape, sealed.envelope.size());
    }
  });
  broadcast(communicator, header);
  broadcast(communicator, sealed.input_key);
  broadcast(communicator, salt);
  const Extent extent{header.payload_offset(), input.bytes()};
  output.expect({extent.file_bytes(), stream::Filling::whole});
  together(communicator, work.progress, [&](const RankProgress& touch) {
    const ChunkCipher cipher(header.suite, sealed.input_key, container::context(header.suite), salt,
                             work.kernel, work.device_use);
    if (communicator.is_first()) {
      output.write_at(0, stream::encode_head(header, sealed.envelope, salt, cipher.commitment()));
    }
    (void)stream::transfer(
        input, &output, stream::sealing_layout(extent.payload_offset, extent.text_bytes, work),
        stream::sealing(cipher), own_chunks(communicator, extent), touch.in_place_of(work));
    input.check_unchanged();
  });
  output.commit(extent.file_bytes());
  return {extent.text_bytes};
}

// Collective. Gives every rank the damage that all ranks found. Ranks own chunks in order. A rank
// that could not list all of its ranges has filled the list, so the ranges of later ranks are only
// counted.
stream::Damage of_all(Communicator& communicator, const stream::Damage& own) {
  struct DamageList {
    std::array<Range, stream::Damage::max_ranges> ranges;
    std::uint64_t count;
    std::uint64_t more_chunks;
  };
  DamageList mine = {{}, own.ranges.size(), own.more_chunks};
  std::copy(own.ranges.begin(), own.ranges.end(), mine.ranges.begin());
  stream::DamageLog log;
  for (const DamageList& found : gathered(communicator, mine)) {
    log.add(
        {{found.ranges.begin(), found.ranges.begin() + static_cast<std::ptrdiff_t>(found.count)},
         found.more_chunks});
  }
  return log.found();
}

// Collective. Returns the payload on every rank once its commitment has been checked.
stream::OpenedPayload opened_on_all(Communicator& communicator, SharedInput& input,
                                    SharedHeader& opened, const stream::Work& work) {
  broadcast(communicator, opened.header);
  broadcast(communicator, opened.input_key);
  std::optional<stream::OpenedPayload> payload;
  together(communicator, [&] {
    payload.emplace(stream::open_container(input, opened.header, opened.input_key, work));
  });
  return std::move(*payload);
}

}  // namespace

stream::Totals encrypt(Communicator& communicator, SharedInput& input, SharedOutput& output,
                       SharedPayload sealed, const stream::Work& work) {
  Salt salt = {};
  on_first(communicator, [&] { random_bytes(salt); });
  return encrypt_salted(communicator, input, output, std::move(sealed), salt, work);
}

stream::Totals encrypt_with_salt(Communicator& communicator, SharedInput& input,
                                 SharedOutput& output, SharedPayload sealed, Bytes salt,
                                 const stream::Work& work) {
  Salt chosen = {};
  std::copy_n(salt.begin(), chosen.size(), chosen.begin());
  return encrypt_salted(communicator, input, output, std::move(sealed), chosen, work);
}

stream::Totals decrypt(Communicator& communicator, SharedInput& input, SharedOutput& output,
                       SharedHeader opened, const stream::Work& work) {
  const stream::OpenedPayload payload = opened_on_all(communicator, input, opened, work);
  const Extent& extent = payload.extent;
  output.expect({extent.text_bytes, stream::Filling::sparse});
  on_first(communicator, [&] { stream::check_last_chunk(input, *payload.cipher, extent); });
  together(communicator, work.progress, [&](const RankProgress& touch) {
    stream::SparseSink sink(output);
    (void)stream::transfer(input, &sink,
                           stream::opening_layout(extent.payload_offset, extent.text_bytes, work),
                           stream::opening(*payload.cipher, input.name(), extent.payload_offset),
                           own_chunks(communicator, extent), touch.in_place_of(work));
    input.check_unchanged();
  });
  output.commit(extent.text_bytes);
  return {extent.text_bytes};
}

stream::Verification verify(Communicator& communicator, SharedInput& input, SharedHeader opened,
                            const stream::Work& work) {
  const stream::OpenedPayload payload = opened_on_all(communicator, input, opened, work);
  const Extent& extent = payload.extent;
  stream::DamageLog own;
  together(communicator, work.progress, [&](const RankProgress& touch) {
    (void)stream::transfer(input, nullptr,
                           stream::opening_layout(extent.payload_offset, extent.text_bytes, work),
                           stream::verifying(*payload.cipher, own),
                           own_chunks(communicator, extent), touch.in_place_of(work));
    input.check_unchanged();
  });
  return {extent, of_all(communicator, own.found())};
}

}  // namespace paes::mpi
