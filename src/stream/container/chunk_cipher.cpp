// SPDX-License-Identifier: Apache-2.0
#include "stream/container/chunk_cipher.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <utility>

#include "cipher/mode/gcm_blocks.hpp"
#include "paes/error.hpp"

namespace paes::stream {

using cobblestone::chunk_text_bytes;
using cobblestone::tag_bytes;

namespace {

Secret<cobblestone::StreamKeys> derive_checked(container::Suite suite, Bytes input_key,
                                               Bytes context, Bytes salt) {
  if (input_key.size() != container::key_bytes(suite)) {
    throw Error(ErrorCode::corrupt, "envelope: holds " + std::to_string(input_key.size()) +
                                        " bytes, not a key of " +
                                        std::to_string(container::key_bytes(suite)));
  }
  return cobblestone::derive(suite, input_key, salt, context);
}

}  // namespace

ChunkCipher::ChunkCipher(container::Suite suite, Bytes input_key, Bytes context, Bytes salt,
                         const Kernel& kernel, DeviceUse use)
    : device_(use.device),
      keys_(derive_checked(suite, input_key, context, salt)),
      gcm_(Bytes(keys_->key, container::key_bytes(suite)), kernel, use) {}

bool ChunkCipher::run_on_device(GcmOperation operation, Buffer& buffer, std::size_t text_bytes,
                                std::vector<Tag>& tags) const {
  if (!gcm_.has_device() || buffer.items == 0) {
    return false;
  }
  std::vector<CounterBlock> pre_counters;
  pre_counters.reserve(buffer.items);
  for (std::size_t i = 0; i < buffer.items; ++i) {
    pre_counters.push_back(
        gcm::pre_counter_block(cobblestone::chunk_nonce(*keys_, buffer.first_item + i)));
  }
  tags.resize(buffer.items);
  return gcm_.run_on_device(operation,
                            {.text = buffer.item(0),
                             .stride_bytes = buffer.stride_bytes(),
                             .count = buffer.items,
                             .text_bytes = chunk_text_bytes,
                             .last_text_bytes = text_bytes - (buffer.items - 1) * chunk_text_bytes,
                             .pre_counters = pre_counters.data(),
                             .tags = tags.data()});
}

void ChunkCipher::seal(Buffer& buffer) const {
  std::vector<Tag> tags;
  const bool is_sealed = run_on_device(GcmOperation::seal, buffer, buffer.bytes, tags);
  for (std::size_t i = 0; i < buffer.items; ++i) {
    const Chunk chunk = chunk_at(buffer, i, buffer.bytes, cobblestone::chunking);
    if (is_sealed) {
      std::memcpy(chunk.tag.data(), tags[i].bytes, tag_bytes);
    } else {
      gcm_.seal(cobblestone::chunk_nonce(*keys_, chunk.number), {}, chunk.text, chunk.text,
                chunk.tag);
    }
  }
  buffer.bytes += buffer.items * tag_bytes;
}

std::vector<Range> ChunkCipher::check(GcmOperation operation, Buffer& buffer,
                                      const WantedText* wanted) const {
  const std::size_t text_bytes = buffer.bytes - buffer.items * tag_bytes;
  std::vector<Tag> tags;
  const bool has_tags = run_on_device(operation, buffer, text_bytes, tags);
  // The right tag of a forged chunk would validate the forgery.
  const WipeOnExit wiped({reinterpret_cast<std::uint8_t*>(tags.data()), tags.size() * sizeof(Tag)});
  std::vector<Range> damaged;
  for (std::size_t i = 0; i < buffer.items; ++i) {
    const Chunk chunk = chunk_at(buffer, i, text_bytes, cobblestone::chunking);
    const auto is_authentic = [&](Bytes nonce) {
      return operation == GcmOperation::open
                 ? gcm_.open(nonce, {}, chunk.text, chunk.text, chunk.tag)
                 : gcm_.verify(nonce, {}, chunk.text, chunk.tag);
    };
    if (!(has_tags ? equal_constant_time(Bytes(tags[i].bytes, tag_bytes), chunk.tag)
                   : is_authentic(cobblestone::chunk_nonce(*keys_, chunk.number)))) {
      append_chunk(damaged, chunk.number);
    } else if (wanted != nullptr) {
      copy_wanted(chunk, cobblestone::chunk_text_bytes, *wanted);
    }
  }
  if (has_tags && !damaged.empty() && operation == GcmOperation::open) {
    wipe(buffer.item(0), buffer.items * buffer.stride_bytes());
  }
  buffer.bytes = text_bytes;
  return damaged;
}

std::optional<std::uint64_t> ChunkCipher::open(Buffer& buffer, const WantedText* wanted) const {
  const std::vector<Range> damaged = check(GcmOperation::open, buffer, wanted);
  return damaged.empty() ? std::nullopt : std::optional(damaged.front().first);
}

std::vector<Range> ChunkCipher::verify(Buffer& buffer) const {
  return check(GcmOperation::verify, buffer, nullptr);
}

void ChunkCipher::seal_chunk(std::uint64_t number, Bytes text, MutableBytes sealed) const noexcept {
  gcm_.seal(cobblestone::chunk_nonce(*keys_, number), {}, text, sealed.first(text.size()),
            sealed.subspan(text.size()));
}

bool ChunkCipher::open_chunk(std::uint64_t number, Bytes sealed, MutableBytes text) const noexcept {
  return gcm_.open(cobblestone::chunk_nonce(*keys_, number), {}, sealed.first(text.size()), text,
                   sealed.subspan(text.size()));
}

namespace {

bool is_committed_to(const ChunkCipher& cipher, const PayloadPrefix& prefix) {
  return equal_constant_time(cipher.commitment(), Bytes(prefix).subspan(cobblestone::salt_bytes));
}

}  // namespace

void check_commitment(const std::string& name, const ChunkCipher& cipher,
                      const PayloadPrefix& prefix) {
  if (!is_committed_to(cipher, prefix)) {
    throw Error(ErrorCode::corrupt, name +
                                        ": the key in the envelope is not the payload's, or the "
                                        "beginning of the payload is damaged");
  }
}

namespace {

container::Suite suite_of_key(Bytes key) {
  for (const auto suite : {container::Suite::cobblestone_128, container::Suite::cobblestone_256}) {
    if (key.size() == container::key_bytes(suite)) {
      return suite;
    }
  }
  throw Error(ErrorCode::usage, "key: " + std::to_string(key.size()) + " bytes",
              "Cobblestone takes 16 or 32");
}

std::array<std::uint8_t, cobblestone::salt_bytes> random_salt() {
  std::array<std::uint8_t, cobblestone::salt_bytes> salt{};
  random_bytes(salt);
  return salt;
}

// No envelope has been opened here, so most likely the key is another one.
void check_own_key(const std::string& name, const ChunkCipher& cipher,
                   const PayloadPrefix& prefix) {
  if (!is_committed_to(cipher, prefix)) {
    throw Error(ErrorCode::wrong_key, name +
                                          ": key or context is another one, or the beginning is "
                                          "damaged");
  }
}

}  // namespace

NewPayload new_container(const container::Shape& shape, Bytes envelope, Bytes input_key,
                         const Work& work) {
  const container::Header header = container::layout(shape, envelope.size());
  const auto salt = random_salt();
  auto cipher = std::make_unique<ChunkCipher>(
      shape.suite, input_key, container::context(shape.suite), salt, work.kernel, work.device_use);
  std::vector<std::uint8_t> head = encode_head(header, envelope, salt, cipher->commitment());
  return {header.payload_offset(), std::move(head), std::move(cipher)};
}

NewBareCipher new_bare_cipher(Bytes key, Bytes context, const Kernel& kernel, DeviceUse use) {
  const auto salt = random_salt();
  auto cipher = std::make_unique<ChunkCipher>(suite_of_key(key), key, context, salt, kernel, use);
  PayloadPrefix prefix;
  const auto commitment = std::copy(salt.begin(), salt.end(), prefix.begin());
  std::copy(cipher->commitment().begin(), cipher->commitment().end(), commitment);
  return {prefix, std::move(cipher)};
}

NewPayload new_bare_payload(Bytes key, Bytes context, const Work& work) {
  NewBareCipher made = new_bare_cipher(key, context, work.kernel, work.device_use);
  return {0, {made.prefix.begin(), made.prefix.end()}, std::move(made.cipher)};
}

OpenedPayload open_container(const Source& source, const container::Header& header, Bytes input_key,
                             const Work& work) {
  const Extent extent = extent_of(source, header.payload_offset());
  const PayloadPrefix prefix = read_prefix(source, header.payload_offset());
  auto cipher =
      std::make_unique<ChunkCipher>(header.suite, input_key, container::context(header.suite),
                                    salt_of(prefix), work.kernel, work.device_use);
  check_commitment(source.name(), *cipher, prefix);
  return {extent, std::move(cipher)};
}

std::unique_ptr<const ChunkCipher> open_bare_cipher(const std::string& name,
                                                    const PayloadPrefix& prefix, Bytes key,
                                                    Bytes context, const Kernel& kernel,
                                                    DeviceUse use) {
  auto cipher = std::make_unique<const ChunkCipher>(suite_of_key(key), key, context,
                                                    salt_of(prefix), kernel, use);
  check_own_key(name, *cipher, prefix);
  return cipher;
}

OpenedPayload open_bare_payload(const Source& source, Bytes key, Bytes context, const Work& work) {
  const Extent extent = extent_of(source, 0);
  const PayloadPrefix prefix = read_prefix(source, 0);
  return {extent,
          open_bare_cipher(source.name(), prefix, key, context, work.kernel, work.device_use)};
}

}  // namespace paes::stream
