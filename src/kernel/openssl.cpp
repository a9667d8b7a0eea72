// SPDX-License-Identifier: Apache-2.0
// The kernel `openssl`: libcrypto's own modes of AES as a row of paes, to compare other kernels
// with. Here are XTS and GCM; evp_modes.hpp has the other raw modes. A whole message is one chain
// of EVP calls, written as a careful user of libcrypto would: contexts get their key once, and a
// message sets only a new IV.
#include <openssl/evp.h>

#include <cstring>
#include <new>

#include "cipher/ghash.hpp"
#include "core/secret.hpp"
#include "kernel/evp_contexts.hpp"
#include "kernel/evp_modes.hpp"
#include "kernel/gcm_from_parts.hpp"
#include "kernel/kernel.hpp"

namespace paes {

namespace {

// libcrypto 3's limit for GCM; longer IVs take the path through J0 below.
constexpr std::size_t max_evp_iv_bytes = 128;

constexpr const char* cipher_names[3] = {"AES-128", "AES-192", "AES-256"};

struct OpensslKeys {
  mutable EvpContexts contexts;
  HashSubkey h;  // only for keys that GCM may use, not for XTS
};
EvpContexts& contexts_of(const KernelKeys& keys) noexcept {
  return keys.as<OpensslKeys>().contexts;
}

bool offers_all_modes() noexcept {
  for (const char* const name : cipher_names) {
    if (!offers(name, {"GCM", "ECB", "CBC", "CFB", "OFB", "CTR"})) {
      return false;
    }
  }
  // There is no XTS with AES-192 (IEEE 1619, section 5.1).
  return offers("AES-128", {"XTS"}) && offers("AES-256", {"XTS"});
}

const char* unavailable() {
  return is_once_true<offers_all_modes>() ? nullptr : "libcrypto lacks one of the modes of AES";
}

void release(KernelKeys& keys) noexcept { keys.as<OpensslKeys>().~OpensslKeys(); }

void prepare(Bytes key, KernelKeys& keys) {
  auto& ready = *new (keys.bytes) OpensslKeys{
      {cipher_names[key.size() / 8 - 2],
       key,
       {EvpPurpose::seal, EvpPurpose::open, EvpPurpose::ecb_encrypt, EvpPurpose::ecb_decrypt,
        EvpPurpose::cbc_encrypt, EvpPurpose::cbc_decrypt, EvpPurpose::cfb_encrypt,
        EvpPurpose::cfb_decrypt, EvpPurpose::ofb, EvpPurpose::ctr}},
      {}};
  EvpLease(ready.contexts, EvpPurpose::ecb_encrypt)
      .update(ready.h.bytes, ready.h.bytes, block_bytes);
}

// libcrypto makes no XTS context that encrypts with two equal keys. Callers have refused such keys.
void prepare_xts(Bytes both_keys, KernelKeys& keys) {
  const std::size_t half = both_keys.size() / 2;
  const char* const cipher = cipher_names[half / 8 - 2];
  if (equal_constant_time(both_keys.first(half), both_keys.subspan(half))) {
    new (keys.bytes) OpensslKeys{{cipher, both_keys, {EvpPurpose::xts_decrypt}}, {}};
  } else {
    new (keys.bytes)
        OpensslKeys{{cipher, both_keys, {EvpPurpose::xts_encrypt, EvpPurpose::xts_decrypt}}, {}};
  }
}

using Modes = EvpModes<block_bytes, contexts_of>;

// A whole data unit in one call, because EVP carries no tweak from one call to the next.
template <EvpPurpose purpose>
void xts_unit(const KernelKeys& keys, const DataUnit& unit) noexcept {
  const EvpLease lease(contexts_of(keys), purpose);
  lease.start(unit.number->bytes);
  lease.update(unit.text);
}

// libcrypto's GMAC takes no starting value, so parts of a hash are paes' own.
using Gcm = GcmFromParts<Modes::ctr, portable_ghash<OpensslKeys>>;

void start(const EvpLease& lease, const WholeMessage& message) noexcept {
  const Bytes iv = message.iv;
  if (static_cast<std::size_t>(EVP_CIPHER_CTX_get_iv_length(lease.context())) != iv.size()) {
    require(EVP_CIPHER_CTX_ctrl(lease.context(), EVP_CTRL_AEAD_SET_IVLEN,
                                static_cast<int>(iv.size()), nullptr) == 1);
  }
  lease.start(iv.data());
  lease.update(nullptr, message.aad.data(), message.aad.size());
}

void seal(const KernelKeys& keys, const WholeMessage& message, Tag& tag) noexcept {
  if (message.iv.size() > max_evp_iv_bytes) {
    return Gcm::seal(keys, message, tag);
  }
  const EvpLease lease(contexts_of(keys), EvpPurpose::seal);
  start(lease, message);
  lease.update(message.text);
  int written = 0;
  require(EVP_CipherFinal_ex(lease.context(), tag.bytes, &written) == 1 &&
          EVP_CIPHER_CTX_ctrl(lease.context(), EVP_CTRL_AEAD_GET_TAG, block_bytes, tag.bytes) == 1);
}

// The interface asks for the tag; EVP only says whether the claimed one is right.
void answer(const EvpLease& lease, Bytes claimed_tag, Tag& tag) noexcept {
  std::uint8_t claimed[block_bytes] = {};
  std::memcpy(claimed, claimed_tag.data(), claimed_tag.size());
  int written = 0;
  const bool matches = EVP_CIPHER_CTX_ctrl(lease.context(), EVP_CTRL_AEAD_SET_TAG,
                                           static_cast<int>(claimed_tag.size()), claimed) == 1 &&
                       EVP_CipherFinal_ex(lease.context(), tag.bytes, &written) == 1;
  for (std::size_t i = 0; i < block_bytes; ++i) {
    tag.bytes[i] = static_cast<std::uint8_t>(matches ? claimed[i] : ~claimed[i]);
  }
}

void open(const KernelKeys& keys, const WholeMessage& message, Tag& tag) noexcept {
  if (message.iv.size() > max_evp_iv_bytes) {
    return Gcm::open(keys, message, tag);
  }
  const EvpLease lease(contexts_of(keys), EvpPurpose::open);
  start(lease, message);
  lease.update(message.text);
  answer(lease, message.claimed_tag, tag);
}

// EVP cannot authenticate without decrypting: the plaintext goes to a scratch buffer and is wiped.
void verify(const KernelKeys& keys, const WholeMessage& message, Tag& tag) noexcept {
  if (message.iv.size() > max_evp_iv_bytes) {
    return Gcm::verify(keys, message, tag);
  }
  const EvpLease lease(contexts_of(keys), EvpPurpose::open);
  start(lease, message);
  const Text& text = message.text;
  std::uint8_t scratch[16384];
  for (std::size_t at = 0; at < text.bytes; at += sizeof scratch) {
    const std::size_t rest = text.bytes - at;
    lease.update(scratch, text.in + at, rest < sizeof scratch ? rest : sizeof scratch);
  }
  answer(lease, message.claimed_tag, tag);
  wipe(scratch, text.bytes < sizeof scratch ? text.bytes : sizeof scratch);
}

}  // namespace

extern const Kernel kernel_openssl = {
    .name = "openssl",
    .cipher = Cipher::aes,
    .use = Use::by_name,
    .summary = "libcrypto's AES, the peer in measurements",
    .lanes = 64,
    .unavailable = unavailable,
    .prepare = prepare,
    .release = release,
    .modes = Modes::runs,
    .gcm = {.hash = portable_ghash<OpensslKeys>,
            .encrypt = Gcm::encrypt,
            .decrypt = Gcm::decrypt,
            .seal = seal,
            .open = open,
            .verify = verify},
    .units = {.prepare = prepare_xts,
              .encrypt = xts_unit<EvpPurpose::xts_encrypt>,
              .decrypt = xts_unit<EvpPurpose::xts_decrypt>},
};

}  // namespace paes
