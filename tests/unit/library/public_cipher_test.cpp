// SPDX-License-Identifier: Apache-2.0
// The public header of the raw modes: known answers, messages and batches beside libcrypto,
// threads, padding, and everything it must refuse.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "kernel/registry.hpp"
#include "message/cipher_name.hpp"
#include "paes/cipher.hpp"
#include "reference.hpp"
#include "varied_bytes.hpp"
#include "without_call.hpp"

namespace paes {
namespace {

using test::varied_bytes;
using Buffer = std::vector<std::uint8_t>;

bool has_automatic_kernel(const CipherName& name) {
  const auto kernels = all_kernels();
  return std::any_of(kernels.begin(), kernels.end(), [&](const Kernel* kernel) {
    return kernel->use == Use::automatic && has_cipher(*kernel, name);
  });
}

Buffer by_libcrypto(const CipherName& name, bool encrypt, Bytes key, Bytes iv, Bytes in) {
  std::string upper = name.name;
  std::transform(upper.begin(), upper.end(), upper.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  return test::reference_crypt(upper, encrypt, key, iv, in);
}

// Every raw mode that libcrypto has; 3DES in counter mode it has not.
std::vector<CipherName> compared_names() {
  std::vector<CipherName> names;
  for (const CipherName& name : all_cipher_names()) {
    if (!name.is_gcm() && name.name != "des-ede3-ctr") {
      names.push_back(name);
    }
  }
  return names;
}

// Only what needs the threads asks for them. No other test has as many.
TEST(PublicCipher, ThreadsThatCannotStartAreAnError) {
  const RawCipher cipher("aes-256-ctr", varied_bytes(32, 1), {.threads = 65});
  const Buffer iv = varied_bytes(16, 2);
  const Buffer text = varied_bytes(std::size_t{1} << 20, 3);
  Buffer out(text.size());
  const std::vector<RawCipher::Message> few(
      2, {iv, Bytes(text).first(16), MutableBytes(out).first(16)});
  const std::string thrown = run_without({SYS_clone, SYS_clone3}, EAGAIN, [&] {
    EXPECT_THROW(cipher.encrypt_batch(few), Error);
    cipher.encrypt(iv, Bytes(text).first(100), MutableBytes(out).first(100));
    std::fill(out.begin(), out.end(), std::uint8_t{0});
    cipher.encrypt(iv, text, out);
  });
  EXPECT_NE(thrown.find("of 65 could be started"), std::string::npos) << thrown;
  EXPECT_EQ(out, Buffer(text.size()));
  cipher.encrypt(iv, text, out);
  cipher.decrypt(iv, out, out);
  EXPECT_EQ(out, text);
}

TEST(PublicCipher, MessagesAndBatchesAsLibcrypto) {
  std::size_t compared = 0;
  for (const CipherName& name : compared_names()) {
    if (!has_automatic_kernel(name)) {
      continue;
    }
    ++compared;
    const Buffer key = varied_bytes(name.key_bytes, 1);
    const RawCipher one(name.name, key);
    const RawCipher three(name.name, key, {.threads = 3});
    EXPECT_EQ(one.kernel(), find_kernel(name, "auto").name);
    const Buffer iv = varied_bytes(one.iv_bytes(), 2);
    // Where blocks wait for each other, bitsliced 3DES computes a whole flight for each.
    const bool is_slow = name.cipher == Cipher::des_ede3 && name.mode != Mode::ecb;
    const std::size_t longest = is_slow ? 4096 + 16 : (std::size_t{3} << 18) + 16;
    for (const std::size_t length : {std::size_t{48}, longest}) {
      const Buffer text = varied_bytes(length, 3);
      const Buffer want = by_libcrypto(name, true, key, iv, text);
      for (const RawCipher* cipher : {&one, &three}) {
        Buffer out(length);
        cipher->encrypt(iv, text, out);
        EXPECT_TRUE(out == want) << name.name << " " << length;
        cipher->decrypt(iv, out, out);
        EXPECT_TRUE(out == text) << name.name << " " << length << ", in place";
      }
    }
    std::vector<Buffer> ivs;
    std::vector<Buffer> texts;
    std::vector<RawCipher::Message> messages;
    for (std::size_t i = 0; i < 40; ++i) {
      ivs.push_back(varied_bytes(one.iv_bytes(), 50 + i));
      texts.push_back(varied_bytes(16 * (i + 1), i));
    }
    std::vector<Buffer> buffers = texts;
    for (std::size_t i = 0; i < texts.size(); ++i) {
      messages.push_back({ivs[i], buffers[i], buffers[i]});
    }
    three.encrypt_batch(messages);
    for (std::size_t i = 0; i < texts.size(); ++i) {
      EXPECT_EQ(buffers[i], by_libcrypto(name, true, key, ivs[i], texts[i])) << name.name << i;
    }
    one.decrypt_batch(messages);
    EXPECT_EQ(buffers, texts) << name.name;
  }
  EXPECT_GE(compared, 17U) << "all of AES";
}

// SP 800-38A, appendix F.5.5: AES-256 in counter mode, the first block.
TEST(PublicCipher, KnownAnswer) {
  const Buffer key = {0x60, 0x3d, 0xeb, 0x10, 0x15, 0xca, 0x71, 0xbe, 0x2b, 0x73, 0xae,
                      0xf0, 0x85, 0x7d, 0x77, 0x81, 0x1f, 0x35, 0x2c, 0x07, 0x3b, 0x61,
                      0x08, 0xd7, 0x2d, 0x98, 0x10, 0xa3, 0x09, 0x14, 0xdf, 0xf4};
  Buffer counter(16);
  for (unsigned i = 0; i < 16; ++i) {
    counter[i] = static_cast<std::uint8_t>(0xf0 + i);
  }
  const Buffer text = {0x6b, 0xc1, 0xbe, 0xe2, 0x2e, 0x40, 0x9f, 0x96,
                       0xe9, 0x3d, 0x7e, 0x11, 0x73, 0x93, 0x17, 0x2a};
  Buffer out(16);
  RawCipher("aes-256-ctr", key).encrypt(counter, text, out);
  EXPECT_EQ(out, (Buffer{0x60, 0x1e, 0xc3, 0x13, 0x77, 0x57, 0x89, 0xa5, 0xb7, 0xa7, 0xf5, 0x04,
                         0xbb, 0xf3, 0xd2, 0x28}));
}

TEST(PublicCipher, PaddingComesAndGoes) {
  const Buffer key = varied_bytes(16, 7);
  const RawCipher cbc("aes-128-cbc", key, {.kernel = "bitslice"});
  const Buffer iv = varied_bytes(16, 8);
  for (std::size_t length = 0; length < 50; ++length) {
    const Buffer text = varied_bytes(length, length);
    Buffer padded = text;
    padded.resize(cbc.padded_bytes(length), static_cast<std::uint8_t>(16 - length % 16));
    Buffer want(padded.size());
    cbc.encrypt(iv, padded, want);
    Buffer sealed(cbc.padded_bytes(length));
    cbc.encrypt_padded(iv, text, sealed);
    EXPECT_EQ(sealed, want);
    Buffer in_place = text;
    in_place.resize(sealed.size());
    cbc.encrypt_padded(iv, Bytes(in_place).first(length), in_place);
    EXPECT_EQ(in_place, want);
    const auto text_bytes = cbc.decrypt_padded(iv, sealed, sealed);
    ASSERT_EQ(text_bytes, length);
    EXPECT_TRUE(std::equal(text.begin(), text.end(), sealed.begin()));
    EXPECT_TRUE(std::all_of(sealed.begin() + static_cast<std::ptrdiff_t>(length), sealed.end(),
                            [](std::uint8_t byte) { return byte == 0; }));
    want.back() ^= 1;
    Buffer out(want.size(), 0x55);
    EXPECT_FALSE(cbc.decrypt_padded(iv, want, out));
    EXPECT_EQ(out, Buffer(out.size())) << "what has no padding must not be left behind";
  }
  Buffer nothing;
  EXPECT_FALSE(cbc.decrypt_padded(iv, nothing, nothing));
}

TEST(PublicCipher, XtsCountsItsUnits) {
  const Buffer key = varied_bytes(64, 9);
  const RawCipher units("aes-256-xts", key,
                        {.kernel = "bitslice", .threads = 2, .unit_bytes = 512});
  const RawCipher whole("aes-256-xts", key, {.kernel = "bitslice"});
  const Buffer text = varied_bytes(512 * 3 + 100, 10);
  Buffer number(16);
  number[0] = 0xff;
  Buffer want(text.size());
  for (std::size_t unit = 0; unit < 4; ++unit) {
    Buffer tweak(16);
    tweak[0] = static_cast<std::uint8_t>(0xff + unit);
    tweak[1] = unit == 0 ? 0 : 1;
    const std::size_t bytes = std::min<std::size_t>(512, text.size() - unit * 512);
    whole.encrypt(tweak, Bytes(text).subspan(unit * 512, bytes),
                  MutableBytes(want).subspan(unit * 512, bytes));
  }
  Buffer out(text.size());
  units.encrypt(number, text, out);
  EXPECT_EQ(out, want);
}

ErrorCode code_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.code;
  }
  return ErrorCode{0};
}

TEST(PublicCipher, RefusesWhatCannotBe) {
  const Buffer bytes(64);
  const auto make = [&](const char* name, std::size_t key_bytes, const char* kernel = "bitslice",
                        std::size_t unit = 0) {
    return code_of([&] {
      const RawCipher cipher(name, Bytes(bytes).first(key_bytes),
                             {.kernel = kernel, .unit_bytes = unit});
    });
  };
  EXPECT_EQ(make("aes-128-cbc", 16), ErrorCode{0});
  EXPECT_EQ(make("aes-128-cbc", 24), ErrorCode::usage) << "a key of another size of AES";
  EXPECT_EQ(make("aes-128-gcm", 16), ErrorCode::usage);
  EXPECT_EQ(make("aes-192-xts", 48), ErrorCode::usage);
  EXPECT_EQ(make("des-ede3-xts", 24), ErrorCode::usage);
  EXPECT_EQ(make("rot13", 16), ErrorCode::usage);
  EXPECT_EQ(make("aes-128-cbc", 16, "no-such-kernel"), ErrorCode::usage);
  EXPECT_EQ(make("aes-128-cbc", 16, "copy"), ErrorCode::usage) << "a row of paes-bench alone";
  EXPECT_EQ(make("aes-128-xts", 32, "bitslice", 15), ErrorCode::usage);

  const RawCipher cbc("aes-128-cbc", varied_bytes(16, 1), {.kernel = "bitslice"});
  const RawCipher ctr("aes-128-ctr", varied_bytes(16, 1), {.kernel = "bitslice"});
  Buffer out(32);
  const Bytes iv = Bytes(bytes).first(16);
  const auto encrypt = [&](const RawCipher& cipher, Bytes with, std::size_t in, std::size_t to) {
    return code_of(
        [&] { cipher.encrypt(with, Bytes(bytes).first(in), MutableBytes(out).first(to)); });
  };
  EXPECT_EQ(encrypt(cbc, iv, 32, 32), ErrorCode{0});
  EXPECT_EQ(encrypt(cbc, iv, 31, 31), ErrorCode::usage);
  EXPECT_EQ(encrypt(ctr, iv, 31, 31), ErrorCode{0});
  EXPECT_EQ(encrypt(ctr, iv, 31, 32), ErrorCode::usage);
  EXPECT_EQ(encrypt(ctr, iv.first(12), 32, 32), ErrorCode::usage);
  EXPECT_EQ(encrypt(ctr, {}, 32, 32), ErrorCode::usage);
  EXPECT_EQ(code_of([&] { ctr.encrypt_padded(iv, Bytes(bytes).first(31), out); }),
            ErrorCode::usage);
  EXPECT_EQ(code_of([&] { cbc.encrypt_padded(iv, Bytes(bytes).first(32), out); }),
            ErrorCode::usage);
  out.assign(32, 0x55);
  const RawCipher::Message messages[] = {{iv, Bytes(bytes).first(16), MutableBytes(out).first(16)},
                                         {iv, Bytes(bytes).first(15), MutableBytes(out).first(15)}};
  EXPECT_EQ(code_of([&] { cbc.encrypt_batch(messages); }), ErrorCode::usage);
  EXPECT_EQ(out, Buffer(32, 0x55)) << "nothing is written then";

  // What a length of -1 becomes. Nothing of the text is read.
  const Bytes endless(bytes.data(), SIZE_MAX);
  EXPECT_EQ(cbc.padded_bytes(SIZE_MAX), SIZE_MAX);
  EXPECT_EQ(code_of([&] { cbc.encrypt_padded(iv, endless, {}); }), ErrorCode::usage);

  const RawCipher equal("aes-256-xts", bytes, {.kernel = "bitslice"});
  EXPECT_EQ(encrypt(equal, iv, 32, 32), ErrorCode::usage) << "equal halves";
  equal.decrypt(iv, Bytes(bytes).first(32), out);  // what others have encrypted so can be read
  EXPECT_EQ(
      encrypt(RawCipher("aes-256-xts", varied_bytes(64, 2), {.kernel = "bitslice"}), iv, 15, 15),
      ErrorCode::usage);
}

}  // namespace
}  // namespace paes
