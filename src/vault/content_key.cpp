// SPDX-License-Identifier: Apache-2.0
#include "vault/content_key.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "core/secret.hpp"
#include "crypto/libcrypto.hpp"
#include "encoding/encodings.hpp"

namespace paes::vault {

namespace {

// The place of a value, which belongs to no file.
constexpr BlockPlace value_place = {};

bool is_zero(Bytes bytes) noexcept {
  return std::all_of(bytes.begin(), bytes.end(), [](std::uint8_t byte) { return byte == 0; });
}

base64::Form form_of(const Features& features) noexcept {
  return {base64::Alphabet::url, !features.has_raw_base64};
}

std::vector<std::uint8_t> seal_value(const ContentKey& key, Bytes value) {
  const BlockLayout layout = key.layout();
  std::array<std::uint8_t, max_iv_bytes> random{};
  const MutableBytes iv = MutableBytes(random).first(layout.iv_bytes);
  random_bytes(iv);
  std::vector<std::uint8_t> sealed(value.size() + layout.overhead());
  key.seal(value_place, iv, value, sealed);
  return sealed;
}

// `value` is a vector or a string.
template <typename Value>
std::optional<Value> open_value(const ContentKey& key, Bytes sealed) {
  const std::size_t overhead = key.layout().overhead();
  if (sealed.size() <= overhead) {
    return std::nullopt;
  }
  Value value(sealed.size() - overhead, {});
  if (!open_block(key, value_place, sealed,
                  {reinterpret_cast<std::uint8_t*>(value.data()), value.size()})) {
    return std::nullopt;
  }
  return value;
}

// Empty if the text is not canonical.
std::optional<std::vector<std::uint8_t>> decoded(std::string_view text, base64::Form form) {
  std::vector<std::uint8_t> data(base64::decoded_bytes(text, form));
  if (!base64::decode_public(text, data, form)) {
    return std::nullopt;
  }
  return data;
}

}  // namespace

bool open_block(const ContentKey& key, const BlockPlace& place, Bytes sealed, MutableBytes text) {
  const BlockLayout layout = key.layout();
  if (sealed.size() <= layout.overhead()) {
    return false;
  }
  const MutableBytes used = text.first(sealed.size() - layout.overhead());
  if (!is_zero(sealed.first(layout.iv_bytes))) {
    return key.open(place, sealed, used);
  }
  std::memset(used.data(), 0, used.size());
  return sealed.size() == layout.stride() && is_zero(sealed);
}

std::size_t open_blocks(const ContentKey& key, const FileId& id, std::uint64_t first_block,
                        Bytes sealed, MutableBytes text) {
  const std::size_t stride = key.layout().stride();
  std::size_t opened = 0;
  while (!sealed.empty()) {
    const Bytes block = sealed.first(std::min(stride, sealed.size()));
    if (!open_block(key, {first_block + opened, &id}, block, text)) {
      break;
    }
    ++opened;
    sealed = sealed.subspan(block.size());
    text = text.subspan(block.size() - key.layout().overhead());
  }
  return opened;
}

std::string seal_link_target(const ContentKey& key, std::string_view target,
                             const Features& features) {
  if (features.has_plaintext_names || target.empty()) {
    return std::string(target);
  }
  std::string stored;
  base64::append_public(seal_value(key, libcrypto::bytes_of(target)), stored, form_of(features));
  return stored;
}

std::optional<std::string> open_link_target(const ContentKey& key, std::string_view stored,
                                            const Features& features) {
  if (features.has_plaintext_names || stored.empty()) {
    return std::string(stored);
  }
  const auto sealed = decoded(stored, form_of(features));
  return sealed ? open_value<std::string>(key, *sealed) : std::nullopt;
}

namespace {

std::uint64_t target_length(const ContentKey& key, std::uint64_t sealed) noexcept {
  const std::uint64_t overhead = key.layout().overhead();
  return sealed <= overhead ? 0 : sealed - overhead;
}

}  // namespace

std::uint64_t link_target_length(const ContentKey& key, std::string_view stored,
                                 const Features& features) noexcept {
  return features.has_plaintext_names
             ? stored.size()
             : target_length(key, base64::decoded_bytes(stored, form_of(features)));
}

std::uint64_t link_target_length(const ContentKey& key, std::uint64_t stored,
                                 const Features& features) noexcept {
  return features.has_plaintext_names ? stored
                                      : target_length(key, stored / 4 * 3 + stored % 4 * 3 / 4);
}

std::vector<std::uint8_t> seal_attribute(const ContentKey& key, Bytes value) {
  return value.empty() ? std::vector<std::uint8_t>() : seal_value(key, value);
}

std::optional<std::vector<std::uint8_t>> open_attribute(const ContentKey& key, Bytes stored) {
  if (stored.empty()) {
    return std::vector<std::uint8_t>();
  }
  using Value = std::vector<std::uint8_t>;
  if (auto value = open_value<Value>(key, stored)) {
    return value;
  }
  // Old releases of gocryptfs wrote Base 64, with or without padding.
  const std::string_view text = libcrypto::text_of(stored);
  const auto sealed = decoded(text, {base64::Alphabet::url, text.ends_with('=')});
  return sealed ? open_value<Value>(key, *sealed) : std::nullopt;
}

}  // namespace paes::vault
