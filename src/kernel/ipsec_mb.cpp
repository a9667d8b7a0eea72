// Intel's multi-buffer library (intel-ipsec-mb) as a kernel: its AES-GCM through the direct API,
// one message a call. The fastest public AES-GCM for these processors, hence the peer that a kernel
// of our own is measured against. It exists only inside `paes bench`. The library is loaded when
// first asked for, so that paes does not depend on it; built without its header, the row says so.
#include "kernel/kernel.hpp"
#include "kernel/prepare_aes.hpp"

#if __has_include(<intel-ipsec-mb.h>)
#include <dlfcn.h>
#include <intel-ipsec-mb.h>

#include <new>

#include "cipher/aes_compute.hpp"
#include "mode/gcm.hpp"

namespace paes {

extern const Kernel kernel_ipsec_mb;

namespace {

// What the library found best for this processor, or why it cannot be used. Kept until the program
// ends: its functions are called without a lock from any thread.
struct Library {
  const IMB_MGR* manager = nullptr;
  const char* reason = nullptr;

  Library() noexcept {
    void* handle = dlopen("libIPSec_MB.so.1", RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
      reason = "libIPSec_MB.so.1 is not installed";
      return;
    }
    const auto version =
        reinterpret_cast<decltype(&imb_get_version)>(dlsym(handle, "imb_get_version"));
    const auto allocate = reinterpret_cast<decltype(&alloc_mb_mgr)>(dlsym(handle, "alloc_mb_mgr"));
    const auto start =
        reinterpret_cast<decltype(&init_mb_mgr_auto)>(dlsym(handle, "init_mb_mgr_auto"));
    if (version == nullptr || allocate == nullptr || start == nullptr) {
      reason = "libIPSec_MB.so.1 lacks a function of its published interface";
      return;
    }
    // The table of functions grows at its end from version to version.
    if (version() < IMB_VERSION_NUM) {
      reason = "libIPSec_MB.so.1 is older than the header paes was built with";
      return;
    }
    IMB_MGR* started = allocate(0);
    IMB_ARCH arch = IMB_ARCH_NONE;
    if (started != nullptr) {
      start(started, &arch);
    }
    if (arch == IMB_ARCH_NONE || arch == IMB_ARCH_NOAESNI) {
      reason = "the library finds no AES instructions on this processor";
      return;
    }
    manager = started;
  }
};

const Library& library() noexcept {
  static const Library loaded;
  return loaded;
}

const char* unavailable() { return library().reason; }

// The five direct functions for one key size.
struct Functions {
  aes_gcm_init_var_iv_t init;
  aes_gcm_enc_dec_update_t encrypt;
  aes_gcm_enc_dec_finalize_t encrypt_end;
  aes_gcm_enc_dec_update_t decrypt;
  aes_gcm_enc_dec_finalize_t decrypt_end;
  aes_gcm_enc_dec_t seal;  // all steps in one call, 96-bit IVs only
  aes_gcm_enc_dec_t open;
};

// Lies in KernelKeys; the library wants its part aligned to 64 bytes, as KernelKeys is.
struct Keys {
  gcm_key_data data;
  ghash_t ghash;
  RoundKeys round_keys;  // for gctr, which the library's direct interface lacks
  Functions functions;
};
static_assert(sizeof(Keys) <= sizeof(KernelKeys));
static_assert(alignof(Keys) <= alignof(KernelKeys));

const Keys& keys_of(const KernelKeys& keys) noexcept {
  return *reinterpret_cast<const Keys*>(keys.bytes);
}

void prepare(const RoundKeys& round_keys, KernelKeys& kernel_keys) {
  // Dispatch hands out only rows that are available: the manager is there.
  const IMB_MGR& m = *library().manager;  // NOLINT(clang-analyzer-core.NullDereference)
  Keys& keys = *new (kernel_keys.bytes) Keys{};
  keys.ghash = m.ghash;
  keys.round_keys = round_keys;
  // The first round keys are the cipher key itself (FIPS 197, section 5.2).
  const std::uint8_t* cipher_key = round_keys.key[0].bytes;
  switch (round_keys.rounds) {
    case 10:
      m.gcm128_pre(cipher_key, &keys.data);
      keys.functions = {m.gcm128_init_var_iv, m.gcm128_enc_update,   m.gcm128_enc_finalize,
                        m.gcm128_dec_update,  m.gcm128_dec_finalize, m.gcm128_enc,
                        m.gcm128_dec};
      break;
    case 12:
      m.gcm192_pre(cipher_key, &keys.data);
      keys.functions = {m.gcm192_init_var_iv, m.gcm192_enc_update,   m.gcm192_enc_finalize,
                        m.gcm192_dec_update,  m.gcm192_dec_finalize, m.gcm192_enc,
                        m.gcm192_dec};
      break;
    default:
      m.gcm256_pre(cipher_key, &keys.data);
      keys.functions = {m.gcm256_init_var_iv, m.gcm256_enc_update,   m.gcm256_enc_finalize,
                        m.gcm256_dec_update,  m.gcm256_dec_finalize, m.gcm256_enc,
                        m.gcm256_dec};
      break;
  }
}

void gctr(const KernelKeys& kernel_keys, const ModeState& state, const Piece& piece) noexcept {
  const Keys& keys = keys_of(kernel_keys);
  for (std::size_t at = 0; at < piece.bytes; at += block_bytes) {
    Block counter = gcm::add_counter(state.counter, piece.first_block + at / block_bytes);
    aes_compute::encrypt_block(keys.round_keys, counter);
    for (std::size_t i = 0; i < block_bytes; ++i) {
      piece.out[at + i] = static_cast<std::uint8_t>(piece.in[at + i] ^ counter.bytes[i]);
    }
  }
}

void ghash(const KernelKeys& keys, const ModeState&, const Piece& piece) noexcept {
  if (piece.bytes != 0) {
    keys_of(keys).ghash(&keys_of(keys).data, piece.in, piece.bytes, piece.hash->bytes, block_bytes);
  }
}

template <bool Encrypt>
void whole_message(const KernelKeys& kernel_keys, const ModeState& state,
                   const Piece& piece) noexcept {
  const Keys& keys = keys_of(kernel_keys);
  const Functions& functions = keys.functions;
  gcm_context_data context;
  if (state.iv_bytes == gcm::standard_iv_bytes) {
    (Encrypt ? functions.seal : functions.open)(&keys.data, &context, piece.out, piece.in,
                                                piece.bytes, state.iv, state.aad, state.aad_bytes,
                                                piece.hash->bytes, block_bytes);
    return;
  }
  functions.init(&keys.data, &context, state.iv, state.iv_bytes, state.aad, state.aad_bytes);
  (Encrypt ? functions.encrypt : functions.decrypt)(&keys.data, &context, piece.out, piece.in,
                                                    piece.bytes);
  (Encrypt ? functions.encrypt_end : functions.decrypt_end)(&keys.data, &context, piece.hash->bytes,
                                                            block_bytes);
}

}  // namespace

const Kernel kernel_ipsec_mb = {
    .name = "ipsec_mb",
    .cipher = Cipher::aes,
    .use = Use::bench_only,
    .summary = "Intel's multi-buffer library, one message a call; the peer to beat",
    .warning = nullptr,
    .needs = Feature::aes,
    .wants_512_bit = false,
    .lanes = 48,  // its widest path hashes 48 blocks at once
    .unavailable = unavailable,
    .prepare = prepare_aes<prepare>,
    .release = nullptr,
    .modes = {{nullptr, nullptr, gctr}, {}},
    .gcm = {{ghash, nullptr, nullptr, whole_message<true>, whole_message<false>, nullptr}},
};

}  // namespace paes

#else

namespace paes {

extern const Kernel kernel_ipsec_mb;

const Kernel kernel_ipsec_mb = {
    .name = "ipsec_mb",
    .cipher = Cipher::aes,
    .use = Use::bench_only,
    .summary = "Intel's multi-buffer library, one message a call; the peer to beat",
    .warning = nullptr,
    .needs = {},
    .wants_512_bit = false,
    .lanes = 1,
    .unavailable = [] { return "built without intel-ipsec-mb.h (Debian package libipsec-mb-dev)"; },
    .prepare = nullptr,
    .release = nullptr,
    .modes = {},
};

}  // namespace paes

#endif
