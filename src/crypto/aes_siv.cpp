// SPDX-License-Identifier: Apache-2.0
#include "crypto/aes_siv.hpp"

#include <algorithm>
#include <cassert>

#include "core/secret.hpp"
#include "core/secret_heap.hpp"
#include "crypto/default_provider.hpp"

namespace paes::libcrypto {

namespace {

using Cipher = std::unique_ptr<EVP_CIPHER, FreeWith<EVP_CIPHER_free>>;
using Context = std::unique_ptr<EVP_CIPHER_CTX, FreeWith<EVP_CIPHER_CTX_free>>;

constexpr const char* name = "AES-256-SIV";

Context keyed(Bytes key, bool encrypts) {
  static const Cipher cipher =
      fetched<Cipher>(name, [] { return EVP_CIPHER_fetch(own_context(), name, nullptr); });
  Context context(EVP_CIPHER_CTX_new());
  require(context != nullptr && EVP_CipherInit_ex2(context.get(), cipher.get(), key.data(), nullptr,
                                                   encrypts ? 1 : 0, nullptr) == 1,
          name);
  return context;
}

bool update(EVP_CIPHER_CTX* context, Bytes in, std::uint8_t* out) {
  assert(!in.empty() && in.size() <= (std::size_t{1} << 30));
  int written = 0;
  return EVP_CipherUpdate(context, out, &written, in.data(), static_cast<int>(in.size())) == 1;
}

// A context serves one message, because libcrypto can reset it only by setting the key again.
// Copying a keyed context takes a twentieth of the time that a block of 4 KiB takes.
Context copy_after(const Context& keyed, std::span<const Bytes> associated) {
  Context context(EVP_CIPHER_CTX_new());
  require(context != nullptr && EVP_CIPHER_CTX_copy(context.get(), keyed.get()) == 1 &&
              std::all_of(associated.begin(), associated.end(),
                          [&](Bytes string) { return update(context.get(), string, nullptr); }),
          name);
  return context;
}

}  // namespace

struct AesSiv::Contexts {
  explicit Contexts(Bytes key) : seal(keyed(key, true)), open(keyed(key, false)) {}

  Context seal;
  Context open;
};

AesSiv::AesSiv(Bytes key) {
  assert(key.size() == aes_siv_key_bytes);
  const SecretAllocations secret;
  keyed_ = std::make_unique<const Contexts>(key);
}

AesSiv::~AesSiv() = default;

void AesSiv::seal(std::span<const Bytes> associated, Bytes text, MutableBytes tag,
                  MutableBytes sealed) const {
  assert(tag.size() == aes_siv_tag_bytes && sealed.size() == text.size());
  const SecretAllocations secret;
  const Context context = copy_after(keyed_->seal, associated);
  std::uint8_t nothing[aes_siv_tag_bytes];
  int written = 0;
  require(update(context.get(), text, sealed.data()) &&
              EVP_CipherFinal_ex(context.get(), nothing, &written) == 1 &&
              EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_AEAD_GET_TAG,
                                  static_cast<int>(tag.size()), tag.data()) == 1,
          name);
}

bool AesSiv::open(std::span<const Bytes> associated, Bytes tag, Bytes sealed,
                  MutableBytes text) const {
  assert(tag.size() == aes_siv_tag_bytes && text.size() == sealed.size());
  const SecretAllocations secret;
  const Context context = copy_after(keyed_->open, associated);
  auto* const only_read = const_cast<std::uint8_t*>(tag.data());
  require(EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_AEAD_SET_TAG, static_cast<int>(tag.size()),
                              only_read) == 1,
          name);
  // libcrypto reports a wrong tag with the last byte of the text.
  std::uint8_t nothing[aes_siv_tag_bytes];
  int written = 0;
  const bool is_authentic = update(context.get(), sealed, text.data()) &&
                            EVP_CipherFinal_ex(context.get(), nothing, &written) == 1;
  if (!is_authentic) {
    wipe(text);
    ERR_clear_error();
  }
  return is_authentic;
}

}  // namespace paes::libcrypto
