#include "mpi/container.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "mpi/placement.hpp"
#include "mpi/together.hpp"
#include "stream/payload.hpp"
#include "stream/sparse_sink.hpp"

namespace paes::mpi {

namespace {

using stream::ChunkCipher;
using stream::Extent;
using Salt = std::array<std::uint8_t, cobblestone::salt_bytes>;

// What all ranks have to know besides the key: the first bytes of the container.
void share(Communicator& communicator, container::Header& header) {
  std::array<std::uint8_t, container::header_bytes> bytes = {};
  if (communicator.is_first()) {
    bytes = container::encode(header);
  }
  communicator.broadcast(bytes);
  together(communicator, [&] { header = container::parse(bytes); });
}

Range own_chunks(const Communicator& communicator, const Extent& extent) {
  return extent.chunks_of(share_of(extent.stripes(), communicator.ranks(), communicator.rank()));
}

stream::Totals encrypt_salted(Communicator& communicator, SharedInput& input, SharedOutput& output,
                              Sealed sealed, Salt salt, const stream::Options& options) {
  container::Header header = {};
  together(communicator, [&] {
    stream::check_chunk_limit(input.name(), cobblestone::chunk_count(input.bytes()));
    if (communicator.is_first()) {
      header = container::layout(sealed.suite, sealed.envelope.size());
    }
  });
  share(communicator, header);
  share_key(communicator, header.suite, sealed.input_key);
  communicator.broadcast(salt);
  const Extent extent{header.payload_offset(), input.bytes()};
  output.expect({extent.file_bytes(), stream::Filling::whole});
  together(communicator, options.progress, [&](const Touch& touch) {
    const ChunkCipher cipher(header.suite, sealed.input_key, salt, options.kernel,
                             options.device_use);
    if (communicator.is_first()) {
      output.write_at(0, stream::encode_head(header, sealed.envelope, salt, cipher.commitment()));
    }
    (void)stream::transfer(
        input, &output, stream::sealing_layout(extent.payload_offset, extent.text_bytes, options),
        stream::sealing(cipher), own_chunks(communicator, extent), touch.in_place_of(options));
    input.check_unchanged();
  });
  together(communicator, [&] { output.sync(); });
  output.commit(extent.file_bytes());
  return {extent.text_bytes};
}

// Collective. What all ranks have found, on all of them. Their chunks are in the order of the
// ranks, so that a rank which names fewer than all of its ranges leaves no room for those of the
// next.
stream::Damage of_all(Communicator& communicator, const stream::Damage& own) {
  struct Found {
    std::array<Range, stream::Damage::max_ranges> ranges;
    std::uint64_t count;
    std::uint64_t more_chunks;
  };
  Found mine = {{}, own.ranges.size(), own.more_chunks};
  std::copy(own.ranges.begin(), own.ranges.end(), mine.ranges.begin());
  std::vector<Found> all(communicator.ranks());
  const MutableBytes bytes = {reinterpret_cast<std::uint8_t*>(all.data()),
                              all.size() * sizeof mine};
  communicator.gather({reinterpret_cast<const std::uint8_t*>(&mine), sizeof mine}, bytes);
  communicator.broadcast(bytes);
  stream::DamageLog log;
  for (const Found& found : all) {
    log.add(
        {{found.ranges.begin(), found.ranges.begin() + static_cast<std::ptrdiff_t>(found.count)},
         found.more_chunks});
  }
  return log.found();
}

// A payload as every rank knows it once its commitment has been checked.
class Payload {
 public:
  Payload(Communicator& communicator, SharedInput& input, Opened& opened,
          const stream::Options& options) {
    share(communicator, opened.header);
    stream::PayloadPrefix prefix = {};
    together(communicator, [&] {
      extent_ = stream::extent_of(input, opened.header);
      if (communicator.is_first()) {
        stream::check_key_length(opened.header.suite, opened.input_key.size());
      }
      prefix = stream::read_prefix(input, opened.header);
    });
    share_key(communicator, opened.header.suite, opened.input_key);
    together(communicator, [&] {
      cipher_.emplace(opened.header.suite, opened.input_key, stream::salt_of(prefix),
                      options.kernel, options.device_use);
      stream::check_commitment(input.name(), *cipher_, prefix);
    });
  }

  [[nodiscard]] const Extent& extent() const noexcept { return extent_; }
  [[nodiscard]] const ChunkCipher& cipher() const noexcept { return *cipher_; }

 private:
  Extent extent_;
  std::optional<ChunkCipher> cipher_;
};

}  // namespace

void share_key(Communicator& communicator, container::Suite suite, SecretBytes& key) {
  if (!communicator.is_first()) {
    key = SecretBytes(container::key_bytes(suite));
  }
  communicator.broadcast(key);
}

stream::Totals encrypt(Communicator& communicator, SharedInput& input, SharedOutput& output,
                       Sealed sealed, const stream::Options& options) {
  Salt salt = {};
  together(communicator, [&] {
    if (communicator.is_first()) {
      random_bytes(salt);
    }
  });
  return encrypt_salted(communicator, input, output, std::move(sealed), salt, options);
}

stream::Totals encrypt_with_salt(Communicator& communicator, SharedInput& input,
                                 SharedOutput& output, Sealed sealed, Bytes salt,
                                 const stream::Options& options) {
  Salt chosen = {};
  std::copy_n(salt.begin(), chosen.size(), chosen.begin());
  return encrypt_salted(communicator, input, output, std::move(sealed), chosen, options);
}

stream::Totals decrypt(Communicator& communicator, SharedInput& input, SharedOutput& output,
                       Opened opened, const stream::Options& options) {
  const Payload payload(communicator, input, opened, options);
  const Extent& extent = payload.extent();
  output.expect({extent.text_bytes, stream::Filling::sparse});
  together(communicator, [&] {
    if (communicator.is_first()) {
      stream::check_last_chunk(input, payload.cipher(), extent);
    }
  });
  together(communicator, options.progress, [&](const Touch& touch) {
    stream::SparseSink sink(output);
    (void)stream::transfer(
        input, &sink, stream::opening_layout(extent.payload_offset, extent.text_bytes, options),
        stream::opening(payload.cipher(), input.name(), extent.payload_offset),
        own_chunks(communicator, extent), touch.in_place_of(options));
    input.check_unchanged();
  });
  together(communicator, [&] { output.sync(); });
  output.commit(extent.text_bytes);
  return {extent.text_bytes};
}

stream::Verification verify(Communicator& communicator, SharedInput& input, Opened opened,
                            const stream::Options& options) {
  const Payload payload(communicator, input, opened, options);
  const Extent& extent = payload.extent();
  stream::DamageLog own;
  together(communicator, options.progress, [&](const Touch& touch) {
    (void)stream::transfer(
        input, nullptr, stream::opening_layout(extent.payload_offset, extent.text_bytes, options),
        stream::verifying(payload.cipher(), own), own_chunks(communicator, extent),
        touch.in_place_of(options));
    input.check_unchanged();
  });
  return {extent, of_all(communicator, own.found())};
}

}  // namespace paes::mpi
