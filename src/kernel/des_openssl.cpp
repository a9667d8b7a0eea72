// SPDX-License-Identifier: Apache-2.0
// The 3DES kernel `openssl`: libcrypto's own modes of DES-EDE3 as a row of paes (evp_modes.hpp), to
// compare other kernels with.
#include <new>

#include "cipher/des_key.hpp"
#include "kernel/evp_contexts.hpp"
#include "kernel/evp_modes.hpp"
#include "kernel/kernel.hpp"

namespace paes {

namespace {

constexpr const char* cipher_name = "DES-EDE3";

struct OpensslKeys {
  mutable EvpContexts contexts;
};
EvpContexts& contexts_of(const KernelKeys& keys) noexcept {
  return reinterpret_cast<const OpensslKeys*>(keys.bytes)->contexts;
}

// libcrypto has no counter mode for DES-EDE3, so counters go through ECB. It has no GCM or XTS.
bool offers_all_modes() noexcept { return offers(cipher_name, {"ECB", "CBC", "CFB", "OFB"}); }

const char* unavailable() {
  return is_once_true<offers_all_modes>() ? nullptr
                                          : "libcrypto lacks one of the modes of DES-EDE3";
}

void release(KernelKeys& keys) noexcept {
  reinterpret_cast<OpensslKeys*>(keys.bytes)->~OpensslKeys();
}

void prepare(Bytes key, KernelKeys& keys) {
  new (keys.bytes)
      OpensslKeys{{cipher_name,
                   key,
                   {EvpPurpose::ecb_encrypt, EvpPurpose::ecb_decrypt, EvpPurpose::cbc_encrypt,
                    EvpPurpose::cbc_decrypt, EvpPurpose::cfb_encrypt, EvpPurpose::cfb_decrypt,
                    EvpPurpose::ofb}}};
}

}  // namespace

extern const Kernel kernel_des_openssl = {
    .name = "openssl",
    .cipher = Cipher::des_ede3,
    .use = Use::by_name,
    .summary = "libcrypto's DES-EDE3, the peer in measurements",
    .warning =
        "insecure: cache timing: libcrypto computes DES with tables, whose look-ups leak the key",
    .lanes = 64,
    .unavailable = unavailable,
    .prepare = prepare,
    .release = release,
    .modes = EvpModes<des_block_bytes, contexts_of>::runs,
};

}  // namespace paes
