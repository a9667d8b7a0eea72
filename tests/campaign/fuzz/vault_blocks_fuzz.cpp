// SPDX-License-Identifier: Apache-2.0
// Content of a vault's backing files: nothing opens but holes and what was sealed. The first byte
// chooses the cipher; the rest is a file, a block, a link, an attribute, and a change of a block
// that is authentic.
#include <algorithm>
#include <array>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "crypto/libcrypto.hpp"
#include "fuzz/property.hpp"
#include "kernel/registry.hpp"
#include "vault/content_key.hpp"

using namespace paes::vault;
using paes::Bytes;
using paes::MutableBytes;
using paes::fuzz::require;
using Buffer = std::vector<std::uint8_t>;

namespace {

constexpr FileId some_id = {7};

std::unique_ptr<ContentKey> made(ContentCipher cipher) {
  const Buffer key(cipher == ContentCipher::aes_siv ? 64 : 32, 3);
  return make_content_key(cipher, key, paes::best_kernel(paes::Cipher::aes));
}

bool is_zero(Bytes bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::uint8_t byte) { return byte == 0; });
}

void check_lengths(const BlockLayout& layout, Bytes input) {
  std::uint64_t stored = 0;
  std::copy_n(input.begin(), std::min(input.size(), sizeof stored),
              reinterpret_cast<std::uint8_t*>(&stored));
  const std::uint64_t text = layout.text_length(stored);
  require(stored == 0 ? text == 0 : text < stored, "the text is shorter than its file");
  const std::uint64_t length = stored >> 2;
  require(layout.text_length(layout.stored_length(length)) == length, "lengths come back");
}

void check_file(const ContentKey& key, Bytes file) {
  FileId id;
  const Bytes header = file.first(std::min(file.size(), header_bytes));
  if (parse_header(header, id)) {
    std::array<std::uint8_t, header_bytes> again;
    write_header(id, again);
    require(std::equal(again.begin(), again.end(), header.begin()), "the header comes back");
  } else {
    id = some_id;
  }
  const Bytes blocks = file.subspan(header.size());
  Buffer text(key.layout().text_length(file.size()));
  const std::size_t opened = open_blocks(key, id, 0, blocks, text);
  const std::size_t bytes = opened * key.layout().stride();
  require(bytes <= blocks.size() && is_zero(blocks.first(bytes)), "only holes are opened");
  require(is_zero(Bytes(text).first(opened * block_bytes)), "holes are zeros");
}

// Seals the first byte's number of bytes, and changes the block by the others.
void check_changed(const ContentKey& key, Bytes change) {
  if (change.empty()) {
    return;
  }
  const BlockLayout layout = key.layout();
  const Buffer text(std::size_t{1} + change[0], 0x5a);
  const BlockPlace place = {change.size(), &some_id};
  Buffer sealed(text.size() + layout.overhead());
  key.seal(place, Buffer(layout.iv_bytes, 9), text, sealed);
  const Bytes mask = change.subspan(1, std::min(change.size() - 1, sealed.size()));
  std::transform(mask.begin(), mask.end(), sealed.begin(), sealed.begin(),
                 [](std::uint8_t a, std::uint8_t b) { return static_cast<std::uint8_t>(a ^ b); });
  Buffer back(text.size(), 0x11);
  if (open_block(key, place, sealed, back)) {
    require(is_zero(mask), "no change is authentic");
    require(back == text, "the text comes back");
  } else {
    require(!is_zero(mask), "an authentic block is opened");
    require(is_zero(back), "what is not authentic is wiped");
  }
}

void check_values(const ContentKey& key, Bytes input) {
  const std::string stored(paes::libcrypto::text_of(input));
  for (const bool is_raw : {false, true}) {
    Features features;
    features.has_raw_base64 = is_raw;
    const auto target = open_link_target(key, stored, features);
    const std::uint64_t length = link_target_length(key, stored, features);
    require(link_target_length(key, stored.size(), features) >= length, "no length is too small");
    // No one but the holder of the key can make a target, or a hole of 4128 bytes in so few.
    require(!target || stored.empty(), "no target is authentic");
    require(stored.empty() || length <= stored.size(), "a target is shorter than its link");
  }
  const auto value = open_attribute(key, input);
  require(!value || input.empty() || is_zero(*value), "no value is authentic");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::unique_ptr<ContentKey> keys[] = {made(ContentCipher::aes_256_gcm),
                                                     made(ContentCipher::xchacha20_poly1305),
                                                     made(ContentCipher::aes_siv)};
  if (size == 0) {
    return 0;
  }
  const ContentKey& key = *keys[data[0] % std::size(keys)];
  const Bytes input(data + 1, size - 1);
  check_lengths(key.layout(), input);
  check_file(key, input);
  check_changed(key, input);
  check_values(key, input);
  return 0;
}
