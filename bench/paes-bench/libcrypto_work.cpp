// SPDX-License-Identifier: Apache-2.0
#include "paes-bench/libcrypto_work.hpp"

#include <fmt/ranges.h>
#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <vector>

#include "cipher/mode/counter.hpp"
#include "core/secret.hpp"
#include "paes-bench/contender.hpp"
#include "paes/error.hpp"

namespace paes::cli {

namespace {

constexpr std::string_view aes = "aes-256-ctr";
constexpr std::string_view chacha20 = "chacha20";
constexpr std::string_view x25519 = "x25519";
constexpr std::string_view algorithms[] = {aes, chacha20, x25519};

constexpr std::size_t key_bytes = 32;  // of each of them
constexpr std::size_t iv_bytes = 16;
constexpr std::size_t chacha20_block_bytes = 64;

using StreamContext = std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)>;
using StreamCipher = std::unique_ptr<EVP_CIPHER, decltype(&EVP_CIPHER_free)>;
using AgreementKey = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using AgreementContext = std::unique_ptr<EVP_PKEY_CTX, decltype(&EVP_PKEY_CTX_free)>;
using AgreementBytes = std::array<std::uint8_t, key_bytes>;

void require(bool done, std::string_view name) {
  if (!done) {
    throw Error(ErrorCode::failure, std::string(name) + ": libcrypto failed");
  }
}

StreamCipher fetch_stream(std::string_view name) {
  const std::string wanted(name);  // libcrypto accepts lower case
  StreamCipher cipher(EVP_CIPHER_fetch(nullptr, wanted.c_str(), nullptr), EVP_CIPHER_free);
  require(cipher != nullptr, name);
  return cipher;
}

CounterBlock counter_at(std::string_view name, Bytes iv, std::uint64_t offset) {
  CounterBlock counter = {};
  std::copy(iv.begin(), iv.end(), counter.bytes);
  if (name == chacha20) {
    std::uint64_t sum = offset / chacha20_block_bytes;
    for (std::size_t i = 0; i < sizeof(std::uint32_t); ++i) {
      sum += counter.bytes[i];
      counter.bytes[i] = static_cast<std::uint8_t>(sum);
      sum >>= 8;
    }
    return counter;
  }
  return add_full_counter(counter, offset / block_bytes, block_bytes);
}

void crypt_with(const EVP_CIPHER* cipher, std::string_view name, Bytes key,
                const CounterBlock& counter, Bytes in, MutableBytes out) {
  const StreamContext context(EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free);
  require(context != nullptr &&
              EVP_EncryptInit_ex2(context.get(), cipher, key.data(), counter.bytes, nullptr) == 1,
          name);
  // EVP counts in int, so long messages go in parts.
  constexpr std::size_t part_bytes = std::size_t{1} << 30;
  for (std::size_t at = 0; at < in.size(); at += part_bytes) {
    int written = 0;
    const auto bytes = static_cast<int>(std::min(part_bytes, in.size() - at));
    require(
        EVP_EncryptUpdate(context.get(), out.data() + at, &written, in.data() + at, bytes) == 1 &&
            written == bytes,
        name);
  }
}

class StreamWork final : public LibcryptoWork {
 public:
  StreamWork(std::string_view name, const LibcryptoWorkSize& size)
      : LibcryptoWork(total_of(name, size)),
        name_(name),
        cipher_(fetch_stream(name)),
        piece_bytes_(size.piece_bytes),
        key_(key_bytes),
        text_(size.message_bytes),
        wanted_(size.message_bytes),
        out_(size.message_bytes) {
    random_bytes(key_);
    random_bytes(iv_);
    // ChaCha20's counter, which no message makes wrap.
    std::fill_n(iv_.begin(), sizeof(std::uint32_t), std::uint8_t{0});
    constexpr std::size_t part_bytes = std::size_t{1} << 24;
    for (std::size_t at = 0; at < text_.view().size(); at += part_bytes) {
      random_bytes(text_.view().subspan(at, std::min(part_bytes, text_.view().size() - at)));
    }
    crypt(0, text_.view(), wanted_.view());
  }

  void run(std::size_t item) override {
    const std::size_t at = item * piece_bytes_;
    const std::size_t bytes = std::min(piece_bytes_, text_.view().size() - at);
    crypt(at, text_.view().subspan(at, bytes), out_.view().subspan(at, bytes));
  }
  void clear() override {
    const MutableBytes out = out_.view();
    std::fill(out.begin(), out.end(), std::uint8_t{0});
  }
  [[nodiscard]] bool is_right() const override {
    return equal_constant_time(out_.view(), wanted_.view());
  }

 private:
  void crypt(std::size_t offset, Bytes in, MutableBytes out) const {
    crypt_with(cipher_.get(), name_, key_, counter_at(name_, iv_, offset), in, out);
  }

  std::string_view name_;
  StreamCipher cipher_;
  std::size_t piece_bytes_;
  SecretBytes key_;
  std::array<std::uint8_t, iv_bytes> iv_ = {};
  PageBuffer text_;
  PageBuffer wanted_;
  PageBuffer out_;
};

// libcrypto's object of a key, which `make` makes from its bytes.
AgreementKey key_from(Bytes bytes, decltype(EVP_PKEY_new_raw_private_key_ex)* make) {
  AgreementKey key(make(nullptr, "X25519", nullptr, bytes.data(), bytes.size()), EVP_PKEY_free);
  require(key != nullptr, x25519);
  return key;
}

AgreementKey new_key() {
  SecretBytes secret(key_bytes);
  random_bytes(secret);
  return key_from(secret, EVP_PKEY_new_raw_private_key_ex);
}

// All that precedes the agreement itself: keys as libcrypto's objects.
AgreementContext prepare(EVP_PKEY* own, EVP_PKEY* peer) {
  AgreementContext context(EVP_PKEY_CTX_new_from_pkey(nullptr, own, nullptr), EVP_PKEY_CTX_free);
  require(context != nullptr && EVP_PKEY_derive_init(context.get()) == 1 &&
              EVP_PKEY_derive_set_peer_ex(context.get(), peer, 0) == 1,
          x25519);
  return context;
}

AgreementBytes agree(EVP_PKEY_CTX* context) {
  AgreementBytes secret = {};
  std::size_t written = secret.size();
  require(EVP_PKEY_derive(context, secret.data(), &written) == 1 && written == secret.size(),
          x25519);
  return secret;
}

class AgreementWork final : public LibcryptoWork {
 public:
  AgreementWork(const LibcryptoWorkSize& size, const Cancel* cancel)
      : LibcryptoWork(total_of(x25519, size)) {
    agreements_.reserve(size.agreements);
    for (std::uint64_t i = 0; i < size.agreements; ++i) {
      stream::check(cancel);
      const AgreementKey own = new_key();
      const AgreementKey peer = new_key();
      const AgreementContext of_peer = prepare(peer.get(), own.get());
      agreements_.push_back({prepare(own.get(), peer.get()), agree(of_peer.get()), {}});
    }
  }

  void run(std::size_t item) override {
    agreements_[item].secret = agree(agreements_[item].context.get());
  }
  void clear() override {
    for (Agreement& one : agreements_) {
      one.secret = {};
    }
  }
  [[nodiscard]] bool is_right() const override {
    return std::all_of(agreements_.begin(), agreements_.end(), [](const Agreement& one) {
      return equal_constant_time(one.secret, one.wanted);
    });
  }

 private:
  struct Agreement {
    AgreementContext context;
    AgreementBytes wanted;
    AgreementBytes secret;
  };
  std::vector<Agreement> agreements_;
};

}  // namespace

std::span<const std::string_view> libcrypto_algorithms() noexcept { return algorithms; }

std::string libcrypto_algorithm_names() { return fmt::format("{}", fmt::join(algorithms, ", ")); }

void check_libcrypto_algorithm(std::string_view name) {
  if (std::find(std::begin(algorithms), std::end(algorithms), name) == std::end(algorithms)) {
    throw Error(ErrorCode::usage, "algorithm: unknown name '" + std::string(name) + "'",
                "there are: " + libcrypto_algorithm_names());
  }
}

LibcryptoWorkTotal total_of(std::string_view name, const LibcryptoWorkSize& size) noexcept {
  if (name == x25519) {
    return {size.agreements, size.agreements * key_bytes};
  }
  return {(size.message_bytes + size.piece_bytes - 1) / size.piece_bytes, size.message_bytes};
}

std::unique_ptr<LibcryptoWork> make_libcrypto_work(std::string_view name,
                                                   const LibcryptoWorkSize& size,
                                                   const Cancel* cancel) {
  // The table's own name is kept, because the caller's may not last.
  const std::string_view kept = *std::find(std::begin(algorithms), std::end(algorithms), name);
  if (kept == x25519) {
    return std::make_unique<AgreementWork>(size, cancel);
  }
  return std::make_unique<StreamWork>(kept, size);
}

void crypt_stream(std::string_view name, Bytes key, Bytes iv, std::uint64_t offset, Bytes in,
                  MutableBytes out) {
  crypt_with(fetch_stream(name).get(), name, key, counter_at(name, iv, offset), in, out);
}

std::array<std::uint8_t, 32> agree_upon_secret(Bytes secret_key, Bytes public_key) {
  const AgreementKey own = key_from(secret_key, EVP_PKEY_new_raw_private_key_ex);
  const AgreementKey peer = key_from(public_key, EVP_PKEY_new_raw_public_key_ex);
  return agree(prepare(own.get(), peer.get()).get());
}

}  // namespace paes::cli
