// SPDX-License-Identifier: Apache-2.0
// What else works on secrets: comparisons, text encodings of keys, EME, X25519 by libcrypto. And
// bcrypt, which is known to look up tables. scrypt is not measured: which places its second half
// reads depends on the passphrase, because that is what scrypt is (RFC 7914, section 5).
#include <array>
#include <memory>
#include <optional>
#include <string>

#include "core/secret.hpp"
#include "crypto/bcrypt_pbkdf.hpp"
#include "crypto/libcrypto.hpp"
#include "encoding/encodings.hpp"
#include "kernel/registry.hpp"
#include "message/gcm.hpp"
#include "timing_subject.hpp"
#include "vault/eme.hpp"

namespace paes::timing {

namespace {

constexpr std::size_t secret_bytes = 32;
using Key = std::array<std::uint8_t, secret_bytes>;
constexpr std::string_view human_part = "AGE-SECRET-KEY-";

// A place for an input, and the functions that put it there and use it.
struct Input {
  explicit Input(std::size_t size) : bytes(size) {}
  [[nodiscard]] std::string_view text() const {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  std::vector<std::uint8_t> bytes;
};

template <typename Run>
Subject on_input(const std::string& group, const std::string& name, std::size_t input_bytes,
                 const Run& run, unsigned share = 1) {
  const auto input = std::make_shared<Input>(input_bytes);
  return {
      .group = group,
      .name = name,
      .input_bytes = input_bytes,
      .make = zeros_or_random,
      .set = [input](Bytes bytes) { std::memcpy(input->bytes.data(), bytes.data(), bytes.size()); },
      .run = [input, run] { run(*input); },
      .share = share};
}

// Two strings that differ in their last byte, and two that differ in their first.
void make_pair(Class which, Random& random, MutableBytes pair) {
  const std::size_t half = pair.size() / 2;
  random.fill(pair.first(half));
  std::memcpy(pair.data() + half, pair.data(), half);
  pair[which == Class::fixed ? pair.size() - 1 : half] ^= 0x55;
}

Subject comparison(const std::string& name, std::size_t bytes, bool (*equal)(Bytes, Bytes)) {
  Subject subject = on_input("comparison", name, 2 * bytes, [equal](const Input& input) {
    const Bytes pair = input.bytes;
    use(equal(pair.first(pair.size() / 2), pair.subspan(pair.size() / 2)));
  });
  subject.make = make_pair;
  return subject;
}

[[gnu::noinline]] bool equal_as_paes_does(Bytes a, Bytes b) { return equal_constant_time(a, b); }
[[gnu::noinline]] bool equal_with_early_exit(Bytes a, Bytes b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] != b[i]) {
      return false;
    }
  }
  return true;
}

// A message whose tag is wrong in its last byte, or in its first.
Subject opening(const Kernel& kernel) {
  struct Message {
    explicit Message(const Kernel& kernel) : key(Key{}, kernel) {
      key.seal(iv, {}, sealed, sealed, tag);
    }
    GcmKey key;
    std::array<std::uint8_t, 12> iv = {};
    std::array<std::uint8_t, 64> sealed = {};
    std::array<std::uint8_t, 64> opened = {};
    std::array<std::uint8_t, 16> tag = {};
  };
  const auto message = std::make_shared<Message>(kernel);
  Subject subject =
      on_input("comparison", "GCM opening with a wrong tag", 16, [message](const Input& input) {
        use(message->key.open(message->iv, {}, message->sealed, message->opened, input.bytes));
      });
  subject.make = [message](Class which, Random&, MutableBytes tag) {
    std::copy(message->tag.begin(), message->tag.end(), tag.begin());
    tag[which == Class::fixed ? tag.size() - 1 : 0] ^= 0x55;
  };
  return subject;
}

// Texts of a key of zeros and of random keys.
template <typename Encode>
auto texts_by(Encode encode) {
  return [encode](Class which, Random& random, MutableBytes text) {
    Key key;
    zeros_or_random(which, random, key);
    encode(key, text);
  };
}

void add_encodings(std::vector<Subject>& subjects) {
  const auto as_base64 = texts_by([](const Key& key, MutableBytes text) {
    const std::string encoded = base64::encode(key);
    std::memcpy(text.data(), encoded.data(), text.size());
  });
  const auto as_bech32 =
      texts_by([](const Key& key, MutableBytes text) { bech32::encode(human_part, key, text); });
  const auto as_hexadecimal = texts_by([](const Key& key, MutableBytes text) {
    for (std::size_t i = 0; i < text.size(); ++i) {
      text[i] = static_cast<std::uint8_t>("0123456789abcdef"[key[i / 2] >> (4 - i % 2 * 4) & 15]);
    }
  });
  constexpr unsigned bech32_share = 5;  // microseconds each
  const auto add = [&](const char* name, std::size_t bytes, auto run, auto make) {
    const bool is_slow = std::string_view(name).starts_with("Bech32");
    subjects.push_back(on_input("encodings", name, bytes, run, is_slow ? bech32_share : 1));
    subjects.back().make = make;
    subjects.push_back(with_tables_forgotten(subjects.back()));
  };
  add(
      "Base64 encoding", secret_bytes, [](const Input& input) { use(base64::encode(input.bytes)); },
      zeros_or_random);
  add(
      "Base64 decoding", base64::text_length(secret_bytes),
      [](const Input& input) {
        Key key;
        use(base64::decode(input.text(), key));
        use(key);
      },
      as_base64);
  add(
      "Base64 check", base64::text_length(secret_bytes),
      [](const Input& input) { use(base64::is_canonical(input.text())); }, as_base64);
  add(
      "Bech32 encoding", secret_bytes,
      [](const Input& input) {
        std::array<std::uint8_t, bech32::text_length(human_part)> text;
        bech32::encode(human_part, input.bytes, text);
        use(text);
      },
      zeros_or_random);
  add(
      "Bech32 decoding", bech32::text_length(human_part),
      [](const Input& input) {
        Key key;
        use(bech32::decode(input.text(), human_part, key));
        use(key);
      },
      as_bech32);
  add(
      "hexadecimal decoding", 2 * secret_bytes,
      [](const Input& input) {
        Key key;
        use(hexadecimal::decode(input.text(), key));
        use(key);
      },
      as_hexadecimal);
}

// EME names files, and so works on a few blocks.
void add_eme(std::vector<Subject>& subjects, const Kernel& kernel) {
  constexpr std::size_t tweak_bytes = 16;
  constexpr std::size_t text_bytes = 48;
  struct Cipher {
    std::optional<vault::Eme> eme;
    std::array<std::uint8_t, text_bytes> text = {};
  };
  const auto run = [](const Cipher& cipher, Bytes tweak, MutableBytes text, bool encrypts) {
    encrypts ? cipher.eme->encrypt(tweak, text) : cipher.eme->decrypt(tweak, text);
  };
  for (const bool encrypts : {true, false}) {
    const std::string name = encrypts ? "EME encryption" : "EME decryption";
    const auto keyed = std::make_shared<Cipher>();
    keyed->eme.emplace(Key{}, kernel);
    subjects.push_back(
        on_input("EME", name + ", data", tweak_bytes + text_bytes, [=](Input& input) {
          const MutableBytes both = input.bytes;
          run(*keyed, both.first(tweak_bytes), both.subspan(tweak_bytes), encrypts);
        }));
    subjects.push_back(with_tables_forgotten(subjects.back()));
    const auto by_key = std::make_shared<Cipher>();
    subjects.push_back(on_input(
        "EME", name + ", keys", secret_bytes,
        [=](const Input&) {
          run(*by_key, std::array<std::uint8_t, tweak_bytes>{}, by_key->text, encrypts);
        },
        10));  // each key is an object with pages of its own
    subjects.back().set = [by_key, &kernel](Bytes key) {
      by_key->text = {};
      by_key->eme.emplace(key, kernel);
    };
  }
}

void add_x25519(std::vector<Subject>& subjects) {
  constexpr unsigned share = 50;  // tens of microseconds each
  Key peer_secret = {9};
  Key peer;
  libcrypto::x25519_public_key(peer_secret, peer);
  subjects.push_back(on_input(
      "X25519", "exchange, secret keys", secret_bytes,
      [peer](const Input& input) {
        Key shared;
        // libcrypto does not use the public key of its own side, so any will do.
        use(libcrypto::x25519({input.bytes, peer}, peer, shared));
        use(shared);
      },
      share));
  subjects.push_back(on_input(
      "X25519", "public key of a secret key", secret_bytes,
      [](const Input& input) {
        Key key;
        libcrypto::x25519_public_key(input.bytes, key);
        use(key);
      },
      share));
}

Subject bcrypt() {
  constexpr unsigned share = 20000;  // ten milliseconds each
  Subject subject = on_input(
      "bcrypt", "one round, passphrases", secret_bytes,
      [](const Input& input) {
        Key key;
        age::bcrypt_pbkdf(input.bytes, Key{}, 1, {}, key);
        use(key);
      },
      share);
  subject.expected = Expected::either;
  return subject;
}

}  // namespace

std::vector<Subject> secret_subjects() {
  const Kernel& kernel = best_kernel(Cipher::aes);
  std::vector<Subject> subjects;
  subjects.push_back(
      on_input("no difference", "nothing is done", secret_bytes, [](const Input&) {}));
  subjects.push_back(comparison("16 bytes with an early exit", 16, equal_with_early_exit));
  subjects.back().expected = Expected::apart;
  subjects.push_back(comparison("16 bytes (tags)", 16, equal_as_paes_does));
  subjects.push_back(comparison("32 bytes (commitments)", 32, equal_as_paes_does));
  subjects.push_back(opening(kernel));
  add_encodings(subjects);
  add_eme(subjects, kernel);
  add_x25519(subjects);
  subjects.push_back(bcrypt());
  return subjects;
}

}  // namespace paes::timing
