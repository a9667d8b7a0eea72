#include "mpi/container.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "mpi/placement.hpp"
#include "mpi/together.hpp"
#include "stream/part.hpp"

namespace paes::mpi {

namespace {

using stream::ChunkCipher;
using stream::ChunkRange;
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

// From the Secret of rank 0 into those of the others.
void share(Communicator& communicator, container::Suite suite, SecretBytes& key) {
  if (!communicator.is_first()) {
    key = SecretBytes(container::key_bytes(suite));
  }
  communicator.broadcast(key);
}

ChunkRange own_chunks(const Communicator& communicator, const Extent& extent) {
  const Range stripes = share_of(extent.stripes(), communicator.ranks(), communicator.rank());
  return extent.of_stripes(stripes.first, stripes.end);
}

// The caller's options, with what long work is given in their place.
stream::Options options_in(const stream::Options& options, const Touch& touch) {
  stream::Options inside = options;
  inside.cancel = &touch.stop;
  inside.progress = &touch.done_bytes;
  return inside;
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
  share(communicator, header.suite, sealed.input_key);
  communicator.broadcast(salt);
  const Extent extent{header.payload_offset(), input.bytes()};
  output.expect({extent.file_bytes(), stream::Filling::whole});
  together(communicator, options.progress, [&](const Touch& touch) {
    const ChunkCipher cipher(header.suite, sealed.input_key, salt, options.kernel,
                             options.engine_use);
    if (communicator.is_first()) {
      output.write_at(0, stream::encode_head(header, sealed.envelope, salt, cipher.commitment()));
    }
    stream::seal_part(cipher, extent, own_chunks(communicator, extent), input.reader(),
                      output.writer(), options_in(options, touch));
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
    std::array<ChunkRange, stream::Damage::max_ranges> ranges;
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
      const std::uint64_t offset = opened.header.payload_offset();
      const auto text = cobblestone::text_bytes(input.bytes() - std::min(input.bytes(), offset));
      if (!text) {
        stream::throw_truncated(input.name());
      }
      extent_ = {offset, *text};
      if (communicator.is_first() &&
          opened.input_key.size() != container::key_bytes(opened.header.suite)) {
        throw Error(ErrorCode::corrupt,
                    "envelope: holds " + std::to_string(opened.input_key.size()) +
                        " bytes, not a key of " +
                        std::to_string(container::key_bytes(opened.header.suite)));
      }
      input.read_at(extent_.payload_offset, MutableBytes(prefix));
    });
    share(communicator, opened.header.suite, opened.input_key);
    together(communicator, [&] {
      cipher_.emplace(opened.header.suite, opened.input_key, stream::salt_of(prefix),
                      options.kernel, options.engine_use);
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
      stream::check_last_chunk(input.name(), payload.cipher(), extent, input.reader());
    }
  });
  together(communicator, options.progress, [&](const Touch& touch) {
    stream::TextWriter writer(output.writer(), 0, extent.text_bytes);
    stream::open_part(input.name(), payload.cipher(), extent, own_chunks(communicator, extent),
                      input.reader(), writer, options_in(options, touch));
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
  stream::Damage own;
  together(communicator, options.progress, [&](const Touch& touch) {
    own = stream::verify_part(payload.cipher(), extent, own_chunks(communicator, extent),
                              input.reader(), options_in(options, touch));
    input.check_unchanged();
  });
  return {extent, of_all(communicator, own)};
}

}  // namespace paes::mpi
