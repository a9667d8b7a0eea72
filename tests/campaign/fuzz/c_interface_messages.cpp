// SPDX-License-Identifier: Apache-2.0
// AES-GCM and the raw modes, for c_interface_fuzz.
#include <cstring>
#include <string>

#include "fuzz/c_interface_calls.hpp"

namespace paes::fuzz {

namespace {

constexpr const char* kernels[] = {nullptr, "auto", "bitslice", "openssl", "no such kernel"};

using Gcm = Owned<paes_gcm, paes_gcm_free>;
using Cipher = Owned<paes_cipher, paes_cipher_free>;

// `most` because a chained mode takes one block at a time, for which some kernels do as much as for
// hundreds.
std::size_t some_bytes(Decisions& decisions, std::size_t most) {
  return decisions.one_in(8) ? decisions.number(most) : decisions.number(200);
}

// What a batch does is what its messages do one by one.
void check_batch(const paes_cipher* cipher, const Buffer& iv, const Buffer& in, const Buffer& out,
                 bool can) {
  std::vector<Buffer> outs(5, Buffer(in.size(), 0xee));
  std::vector<paes_cipher_message> messages;
  messages.reserve(outs.size());
  for (Buffer& one : outs) {
    messages.push_back({iv.data(), iv.size(), in.data(), one.data(), in.size()});
  }
  const int code = answer(paes_cipher_encrypt_batch(cipher, messages.data(), messages.size()));
  require((code == PAES_OK) == can, "a batch takes what a message takes");
  for (const Buffer& one : outs) {
    require(one == (can ? out : Buffer(in.size(), 0xee)), "a batch is its messages");
  }
  for (std::size_t i = 0; i < outs.size(); ++i) {
    messages[i].in = outs[i].data();
  }
  if (can) {
    require(is_ok(paes_cipher_decrypt_batch(cipher, messages.data(), messages.size())),
            "a batch is decrypted");
    require(outs[4] == in, "a batch comes back");
  }
}

void check_padded(const paes_cipher* cipher, const Buffer& iv, const Buffer& text, bool can,
                  Decisions& decisions) {
  Buffer sealed(paes_cipher_padded_bytes(cipher, text.size()));
  if (!is_ok(paes_cipher_encrypt_padded(cipher, iv.data(), iv.size(), text.data(), text.size(),
                                        sealed.data(), sealed.size()))) {
    require(!can || text.size() < 16, "whole blocks can be padded where they can be encrypted");
    return;
  }
  Buffer again(sealed.size());
  std::size_t bytes = 0;
  require(is_ok(paes_cipher_decrypt_padded(cipher, iv.data(), iv.size(), sealed.data(),
                                           sealed.size(), again.data(), &bytes)),
          "padding is taken away");
  require(bytes == text.size(), "as much as there was");
  again.resize(bytes);
  require(again == text, "a padded text comes back");
  again.resize(sealed.size());
  sealed[decisions.number(sealed.size())] ^= 0x55;
  const int code = answer(paes_cipher_decrypt_padded(cipher, iv.data(), iv.size(), sealed.data(),
                                                     sealed.size(), again.data(), &bytes));
  require(code == PAES_OK || code == PAES_CORRUPT, "padding is right or wrong");
  require(code == PAES_OK ? bytes < sealed.size() : bytes == 0 && is_zero(again),
          "no text where the padding is wrong");
}

}  // namespace

void gcm_step(Decisions& decisions) {
  const Buffer key = pattern(decisions.one_in(8) ? decisions.number(40) : 32, 0, 1);
  const std::size_t kernel = decisions.number(std::size(kernels));
  const paes_gcm_options options = {kernels[kernel], decisions.one_in(16) ? 2U : 0U};
  paes_gcm* made = nullptr;
  if (!is_ok(paes_gcm_new(key.data(), key.size(), &options, &made))) {
    require(made == nullptr, "nothing is made");
    return;
  }
  require(key.size() == 16 || key.size() == 24 || key.size() == 32, "AES has three keys");
  require(kernel != 4, "a kernel that is none");
  const Gcm gcm(made);
  const Buffer iv = pattern(decisions.one_in(2) ? decisions.number(40) : 12, decisions.byte(), 2);
  Buffer aad = pattern(decisions.number(64), 0, 3);
  const Buffer text = pattern(some_bytes(decisions, 40000), 0, 4);
  Buffer out(text.size(), 0xee);
  Buffer tag(decisions.one_in(2) ? decisions.number(18) : 16, 0xee);
  const auto seal = [&](const std::uint8_t* from) {
    return paes_gcm_seal(gcm.get(), iv.data(), iv.size(), aad.data(), aad.size(), from, out.data(),
                         text.size(), tag.data(), tag.size());
  };
  const auto open = [&] {
    return answer(paes_gcm_open(gcm.get(), iv.data(), iv.size(), aad.data(), aad.size(), out.data(),
                                out.data(), out.size(), tag.data(), tag.size()));
  };
  if (!text.empty() && decisions.one_in(8)) {
    is_usage(seal(nullptr));
  }
  const std::size_t bytes = tag.size();
  const bool can = !iv.empty() && (bytes == 4 || bytes == 8 || (bytes >= 12 && bytes <= 16));
  require(is_ok(seal(text.data())) == can, "lengths that the standard allows");
  if (!can) {
    require(out == Buffer(text.size(), 0xee) && tag == Buffer(bytes, 0xee), "nothing is written");
    return;
  }
  Buffer* const changed[] = {nullptr, &out, &tag, &aad};
  Buffer* const change = changed[decisions.number(4)];
  if (change != nullptr && !change->empty()) {
    (*change)[decisions.number(change->size())] ^= 0x10;
    require(open() == PAES_CORRUPT && is_zero(out), "a forgery has no text");
  } else {
    require(open() == PAES_OK && out == text, "a message comes back");
  }
}

void cipher_step(Decisions& decisions) {
  static constexpr struct {
    const char* name;
    std::size_t key_bytes;
  } names[] = {{"aes-128-ecb", 16},  {"aes-192-cbc", 24},  {"aes-256-cfb", 32},
               {"aes-128-ofb", 16},  {"aes-256-ctr", 32},  {"aes-128-xts", 32},
               {"aes-256-xts", 64},  {"des-ede3-ecb", 24}, {"des-ede3-cbc", 24},
               {"des-ede3-cfb", 24}, {"des-ede3-ofb", 24}, {"des-ede3-ctr", 24},
               {"aes-128-gcm", 16},  {"aes-256-cbc", 32},  {"", 16}};
  const auto& name = names[decisions.number(std::size(names))];
  const bool is_odd = decisions.one_in(16);
  const Buffer key = pattern(is_odd ? decisions.number(70) : name.key_bytes, 3, 5);
  paes_cipher_options options = {};
  options.kernel = kernels[decisions.number(std::size(kernels))];
  options.threads = decisions.one_in(16) ? 2 : 0;
  options.unit_bytes = decisions.one_in(4) ? decisions.number(600) : 0;
  paes_cipher* made = nullptr;
  if (!is_ok(paes_cipher_new(name.name, key.data(), key.size(), &options, &made))) {
    require(made == nullptr, "nothing is made");
    return;
  }
  const Cipher cipher(made);
  require(key.size() == name.key_bytes, "a key of the name's length");
  const std::size_t iv_bytes =
      decisions.one_in(16) ? decisions.number(20) : paes_cipher_iv_bytes(cipher.get());
  const Buffer iv = pattern(iv_bytes, 9, 6);
  const Buffer text = pattern(
      decisions.one_in(2) ? some_bytes(decisions, 2000) : some_bytes(decisions, 2000) / 16 * 16, 0,
      7);
  Buffer out(text.size(), 0xee);
  if (!text.empty() && decisions.one_in(8)) {
    is_usage(
        paes_cipher_encrypt(cipher.get(), iv.data(), iv.size(), text.data(), nullptr, text.size()));
  }
  const bool can = is_ok(paes_cipher_encrypt(cipher.get(), iv.data(), iv.size(), text.data(),
                                             out.data(), text.size()));
  if (can) {
    require(iv_bytes == paes_cipher_iv_bytes(cipher.get()), "an IV of the mode's length");
    require(text.size() < 16 || out != text, "a text is encrypted");
    Buffer again = out;
    require(is_ok(paes_cipher_decrypt(cipher.get(), iv.data(), iv.size(), again.data(),
                                      again.data(), again.size())),
            "what was encrypted is decrypted");
    require(again == text, "a text comes back");
  } else {
    require(out == Buffer(text.size(), 0xee), "nothing is written");
  }
  if (decisions.one_in(2)) {
    check_batch(cipher.get(), iv, text, out, can);
  } else {
    check_padded(cipher.get(), iv, text, can && std::strstr(name.name, "bc") != nullptr, decisions);
  }
}

}  // namespace paes::fuzz
