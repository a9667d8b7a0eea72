// SPDX-License-Identifier: Apache-2.0
// Shows under valgrind memcheck that no branch and no address depends on key or data: both are
// marked undefined, and memcheck reports every decision on an undefined value (A. Langley's
// "ctgrind" idea). What comes out is marked defined again before the program looks at it.
//
//   constant_time KERNEL         key expansion, the raw modes in both directions, alone and in a
//                                batch, and GCM of that kernel; des_KERNEL is one of 3DES
//   constant_time planted-branch, planted-lookup
//                                a dependence on the key that valgrind must report, or the others'
//                                silence would prove nothing
//
// Without valgrind the marks do nothing. Run it as constant_time.sh does.
#include <valgrind/memcheck.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <vector>

#include "cipher/mode/gcm_blocks.hpp"
#include "kernel/registry.hpp"
#include "message/gcm.hpp"
#include "message/raw_key.hpp"
#include "paes/error.hpp"
#include "varied_bytes.hpp"

namespace {

using paes::Bytes;
using paes::MutableBytes;
using paes::test::varied_bytes;
using Buffer = std::vector<std::uint8_t>;

void hide(MutableBytes secret) { VALGRIND_MAKE_MEM_UNDEFINED(secret.data(), secret.size()); }
void reveal(Bytes result) { VALGRIND_MAKE_MEM_DEFINED(result.data(), result.size()); }

Buffer hidden_bytes(std::size_t size, std::uint64_t seed) {
  Buffer bytes = varied_bytes(size, seed);
  hide(bytes);
  return bytes;
}

bool is_same(Bytes a, Bytes b) {
  reveal(a);
  reveal(b);
  return paes::equal_constant_time(a, b);
}

// What opens a message, up to the tag: whether it matches is public, and the branch that tells the
// caller so would be reported. Hence the kernel's operations here in place of GcmKey's functions.
bool opens_again(const paes::Kernel& kernel, const paes::KernelKeys& keys, Bytes iv, Bytes text,
                 Bytes ciphertext, Bytes tag) {
  const paes::CounterBlock j0 =
      paes::gcm::pre_counter_block(iv.first<paes::gcm::standard_iv_bytes>());
  const paes::HashValue no_aad = {};
  paes::WholeMessage whole{.text = {},
                           .iv = iv,
                           .pre_counter = &j0,
                           .is_counter_public = true,
                           .aad = {},
                           .aad_hash = &no_aad};
  Buffer opened(text.size());
  paes::Tag open_tag = {};
  whole.text = {ciphertext.data(), opened.data(), text.size()};
  kernel.gcm.open(keys, whole, open_tag);
  paes::Tag verify_tag = {};
  whole.text.out = nullptr;
  kernel.gcm.verify(keys, whole, verify_tag);

  // The single operations that pieces of a long message use.
  const paes::CounterBlock counter = paes::gcm::add_counter(j0, 1);
  const std::size_t blocks_bytes = text.size() / paes::block_bytes * paes::block_bytes;
  Buffer piece(blocks_bytes);
  paes::HashValue encrypt_hash = {};
  kernel.gcm.encrypt(keys, {{text.data(), piece.data(), blocks_bytes}, &counter, true},
                     encrypt_hash);
  paes::HashValue decrypt_hash = {};
  kernel.gcm.decrypt(keys, {{piece.data(), piece.data(), blocks_bytes}, &counter, true},
                     decrypt_hash);
  return is_same(opened, text) && is_same(open_tag.bytes, tag) && is_same(verify_tag.bytes, tag) &&
         is_same(encrypt_hash.bytes, decrypt_hash.bytes) &&
         is_same(piece, text.first(blocks_bytes));
}

// One message in parts and pieces, then a batch, there and back.
bool run_raw_mode(const paes::Kernel& kernel, paes::Mode mode, std::size_t key_bytes) {
  const Buffer key_data = hidden_bytes(key_bytes, 10);
  const paes::RawKey key(kernel.cipher, mode, key_data, kernel);
  const std::size_t size = key.block_size();
  const Buffer iv = varied_bytes(key.iv_bytes(), 11);
  const std::size_t flight = std::min<std::size_t>(kernel.lanes * size, 2048);
  // A partial block at the end where the mode takes one: stolen from, or cut.
  const std::size_t blocks_bytes = flight + 7 * size;
  const std::size_t text_bytes = blocks_bytes + (key.takes(blocks_bytes + 5) ? 5 : 0);
  const std::size_t first = mode == paes::Mode::xts ? 0 : 3 * size;
  const Buffer text = hidden_bytes(text_bytes, 12);
  Buffer out(text_bytes);
  const auto crypt = [&](paes::Direction direction, Bytes from) {
    paes::RawPosition position = key.start(iv);
    key.crypt(direction, position, from.first(first), MutableBytes(out).first(first),
              paes::serial_executor(), 64);
    key.crypt(direction, position, from.subspan(first), MutableBytes(out).subspan(first),
              paes::serial_executor(), flight);
  };
  crypt(paes::Direction::encrypt, text);
  crypt(paes::Direction::decrypt, Bytes(out));
  Buffer batch[] = {hidden_bytes(size, 13), hidden_bytes(5 * size, 14), hidden_bytes(2 * size, 15)};
  std::vector<paes::RawMessage> messages;
  for (Buffer& message : batch) {
    messages.push_back({iv, message, message});
  }
  key.crypt_batch(paes::Direction::encrypt, messages, paes::serial_executor());
  key.crypt_batch(paes::Direction::decrypt, messages, paes::serial_executor());
  return is_same(out, text) && is_same(batch[1], hidden_bytes(5 * size, 14));
}

bool run_raw_modes(const paes::Kernel& kernel) {
  bool good = true;
  for (const paes::ModeRow& row : paes::modes) {
    const auto mode = static_cast<paes::Mode>(&row - paes::modes);
    if (kernel.cipher == paes::Cipher::des_ede3) {
      good = (mode == paes::Mode::xts || run_raw_mode(kernel, mode, 24)) && good;
    } else if (mode == paes::Mode::xts) {
      good = run_raw_mode(kernel, mode, 32) && run_raw_mode(kernel, mode, 64) && good;
    } else {
      for (const std::size_t key_bytes : {std::size_t{16}, std::size_t{24}, std::size_t{32}}) {
        good = run_raw_mode(kernel, mode, key_bytes) && good;
      }
    }
  }
  return good;
}

// Lengths and IVs are public; key, text and AAD are hidden.
bool run_gcm(const paes::Kernel& kernel) {
  bool good = true;
  for (const std::size_t key_bytes : {std::size_t{16}, std::size_t{24}, std::size_t{32}}) {
    const Buffer key_data = hidden_bytes(key_bytes, 1);
    const paes::GcmKey key(key_data, kernel);
    paes::Secret<paes::KernelKeys> keys;
    kernel.prepare(key_data, *keys);
    const Buffer iv = varied_bytes(12, 2);
    const Buffer long_iv = varied_bytes(61, 3);
    const Buffer aad = hidden_bytes(37, 4);
    const std::size_t flight = std::size_t{kernel.lanes} * paes::block_bytes;
    for (const std::size_t text_bytes : {std::size_t{0}, std::size_t{5}, 3 * flight + 100}) {
      const Buffer text = hidden_bytes(text_bytes, 5);
      Buffer ciphertext(text_bytes);
      Buffer tag(16);
      key.seal(long_iv, aad, text, ciphertext, tag);  // its counters depend on H
      key.seal(iv, {}, text, ciphertext, tag);
      good = opens_again(kernel, *keys, iv, text, ciphertext, tag) && good;
      // The joining of parts.
      key.seal(iv, aad, text, ciphertext, tag, paes::serial_executor(), 64);
    }
  }
  return good;
}

volatile std::uint8_t sink = 0;

void plant_branch() {
  const Buffer key = hidden_bytes(16, 6);
  if ((key[3] & 1) != 0) {
    sink = 1;
  }
}

void plant_lookup() {
  static const Buffer table = varied_bytes(256, 7);
  const Buffer key = hidden_bytes(16, 8);
  sink = table[key[5]];
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view what = argc == 2 ? argv[1] : "";
  if (what == "planted-branch") {
    plant_branch();
    return 0;
  }
  if (what == "planted-lookup") {
    plant_lookup();
    return 0;
  }
  const bool is_des = what.starts_with("des_");
  try {
    const paes::Kernel& kernel = paes::find_kernel(
        is_des ? paes::Cipher::des_ede3 : paes::Cipher::aes, is_des ? what.substr(4) : what);
    // GCM only after the raw modes, so that a report names those first.
    if (!run_raw_modes(kernel) || (!is_des && !run_gcm(kernel))) {
      std::puts("wrong bytes");
      return 1;
    }
  } catch (const paes::Error& error) {
    std::puts(error.what());
    return 77;  // the kernel does not run under valgrind's processor
  }
  std::printf("%s ran\n", argv[1]);
  return 0;
}
