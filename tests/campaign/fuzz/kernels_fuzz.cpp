// SPDX-License-Identifier: Apache-2.0
// Each kernel of this machine against libcrypto, and a message in parts against the message in one
// call. The input chooses kernel, mode, direction, lengths and where the parts begin; what is left
// of it is key, IV and text.
#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "exec/executor.hpp"
#include "fuzz/property.hpp"
#include "kernel/registry.hpp"
#include "message/gcm_message.hpp"
#include "message/raw_key.hpp"
#include "paes/error.hpp"
#include "reference.hpp"

namespace {

using paes::Bytes;
using paes::MutableBytes;
using paes::fuzz::require;
using Buffer = std::vector<std::uint8_t>;

// The input, and zeros when it is used up.
class Choices {
 public:
  explicit Choices(Bytes input) : rest_(input) {}
  std::size_t below(std::size_t limit) {
    const Buffer two = bytes(2);
    return (two[0] + std::size_t{256} * two[1]) % limit;
  }
  Buffer bytes(std::size_t count) {
    Buffer taken(count);
    const std::size_t there = std::min(count, rest_.size());
    std::copy_n(rest_.begin(), there, taken.begin());
    rest_ = rest_.subspan(there);
    return taken;
  }

 private:
  Bytes rest_;
};

std::vector<const paes::Kernel*> kernels() {
  std::vector<const paes::Kernel*> found;
  for (const paes::Kernel* kernel : paes::all_kernels()) {
    if (paes::unavailable_reason(*kernel).empty()) {
      found.push_back(kernel);
    }
  }
  return found;
}

// The message in two or three parts, each with its own position.
Buffer in_parts(const paes::RawKey& key, paes::Direction direction, Bytes iv, Bytes text,
                Choices& choices) {
  Buffer out(text.size());
  paes::RawPosition position = key.start(iv);
  for (std::size_t at = 0; at < text.size();) {
    std::size_t bytes = text.size() - at;
    if (key.mode() != paes::Mode::xts || key.unit_bytes() != 0) {
      const std::size_t steps = 1 + choices.below(40);
      bytes = std::min(bytes, steps * key.step_bytes());
    }
    key.crypt(direction, position, text.subspan(at, bytes), MutableBytes(out).subspan(at, bytes),
              paes::serial_executor(), 1 + choices.below(2048));
    at += bytes;
  }
  return out;
}

void check_raw(const paes::Kernel& kernel, Choices& choices) {
  const auto mode = static_cast<paes::Mode>(choices.below(std::size(paes::modes)));
  const auto direction =
      choices.below(2) == 0 ? paes::Direction::encrypt : paes::Direction::decrypt;
  const bool is_aes = kernel.cipher == paes::Cipher::aes;
  const bool is_xts = mode == paes::Mode::xts;
  const std::size_t keys[] = {16, 24, 32};
  const std::size_t key_bytes = !is_aes  ? 24
                                : is_xts ? std::size_t{32} << choices.below(2)
                                         : keys[choices.below(3)];
  const std::size_t unit = is_xts && choices.below(2) != 0 ? 16 + choices.below(600) : 0;
  Buffer key_value = choices.bytes(key_bytes);
  if (is_xts) {
    key_value[0] = static_cast<std::uint8_t>(key_value[key_bytes / 2] ^ 1);  // two unequal keys
  }
  std::unique_ptr<paes::RawKey> key;
  try {
    key = std::make_unique<paes::RawKey>(kernel.cipher, mode, key_value, kernel, unit);
  } catch (const paes::Error&) {
    return;  // the kernel does not have the mode, or the cipher does not
  }
  const Buffer iv = choices.bytes(key->iv_bytes());
  std::size_t length = choices.below(3000);
  length -= mode == paes::Mode::ecb || mode == paes::Mode::cbc ? length % key->block_size() : 0;
  if (!key->takes(length) || length == 0) {
    return;
  }
  const Buffer parts = choices.bytes(24);
  const Buffer text = choices.bytes(length);
  const Buffer expected =
      paes::test::reference_raw(kernel.cipher, mode, direction, key_value, iv, text, unit);
  Buffer whole(length);
  paes::RawPosition position = key->start(iv);
  key->crypt(direction, position, text, whole, paes::serial_executor(), length);
  require(whole == expected, "a kernel computes what libcrypto does");
  Choices cuts(parts);
  require(in_parts(*key, direction, iv, text, cuts) == expected, "parts make the whole");
}

void check_gcm(const paes::Kernel& kernel, Choices& choices) {
  const std::size_t keys[] = {16, 24, 32};
  const Buffer key_value = choices.bytes(keys[choices.below(3)]);
  const Buffer iv = choices.bytes(choices.below(2) == 0 ? 12 : 1 + choices.below(64));
  const Buffer aad = choices.bytes(choices.below(80));
  const std::size_t length = choices.below(3000);
  const std::size_t cut = 16 * std::min(length / 16, choices.below(200));
  const Buffer text = choices.bytes(length);
  const paes::GcmKey key(key_value, kernel);
  const auto expected = paes::test::reference_seal(key_value, iv, aad, text);
  Buffer out(length);
  std::array<std::uint8_t, 16> tag;
  key.seal(iv, aad, text, out, tag);
  require(out == expected.ciphertext, "a kernel computes libcrypto's ciphertext");
  require(std::equal(tag.begin(), tag.end(), expected.tag.begin()), "and its tag");

  const paes::GcmMessage message(key, iv, aad);
  Buffer back(length);
  const auto last = message.decrypt(cut, Bytes(out).subspan(cut), MutableBytes(back).subspan(cut));
  const auto first = message.decrypt(0, Bytes(out).first(cut), MutableBytes(back).first(cut));
  paes::Tag joined;
  message.tag(message.join(first, last), length, joined);
  require(back == text, "parts make the whole");
  require(std::equal(tag.begin(), tag.end(), joined.bytes), "and its tag");

  require(key.open(iv, aad, out, back, tag), "what was sealed opens");
  tag[choices.below(16)] ^= static_cast<std::uint8_t>(1U << choices.below(8));
  require(!key.open(iv, aad, out, back, tag), "another tag does not open it");
  require(std::all_of(back.begin(), back.end(), [](std::uint8_t byte) { return byte == 0; }),
          "and what it would have been is wiped");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  static const std::vector<const paes::Kernel*> all = kernels();
  Choices choices(Bytes(data, bytes));
  const paes::Kernel& kernel = *all[choices.below(all.size())];
  if (kernel.gcm.seal != nullptr && choices.below(2) == 0) {
    check_gcm(kernel, choices);
  } else {
    check_raw(kernel, choices);
  }
  return 0;
}
