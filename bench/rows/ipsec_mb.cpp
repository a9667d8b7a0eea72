// SPDX-License-Identifier: Apache-2.0
// Intel's multi-buffer library (intel-ipsec-mb) as a kernel: AES-GCM through its direct API, one
// message per call; ECB, CBC and CTR through its jobs, of which CBC encryption runs many side by
// side. It is the fastest public AES for these processors, so our own kernels are compared with it.
// It exists only for measurements. The library is loaded when first used, so that paes does not
// depend on it. If it was not built with the library's header, the row says so.
#include "kernel/kernel.hpp"

#ifdef PAES_HAS_IPSEC_MB
#include <dlfcn.h>
#include <intel-ipsec-mb.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <new>
#include <utility>

#include "cipher/mode/counter.hpp"
#include "cipher/mode/gcm_blocks.hpp"

namespace paes {

// The library version that the header belongs to: each major version lays its table of functions
// out differently.
#if IMB_VERSION_NUM >= 0x20000
#define PAES_IPSEC_MB "libIPSec_MB.so.2"
#else
#define PAES_IPSEC_MB "libIPSec_MB.so.1"
#endif

extern const Kernel kernel_ipsec_mb;

namespace {

// A manager works on one job or burst at a time.
class Jobs {
 public:
  static constexpr std::size_t most = IMB_MAX_BURST_SIZE;

  Jobs(decltype(&alloc_mb_mgr) allocate, decltype(&init_mb_mgr_auto) start,
       decltype(&free_mb_mgr) free) noexcept
      : free_(free), manager_(allocate(0)) {
    if (manager_ != nullptr) {
      start(manager_, &architecture_);
    }
  }
  ~Jobs() {
    if (manager_ != nullptr) {
      free_(manager_);
    }
  }
  Jobs(const Jobs&) = delete;
  Jobs& operator=(const Jobs&) = delete;

  // Null if there was no memory.
  [[nodiscard]] const IMB_MGR* manager() const noexcept { return manager_; }
  [[nodiscard]] IMB_ARCH architecture() const noexcept { return architecture_; }
  [[nodiscard]] IMB_JOB& job(std::size_t index) noexcept { return jobs_[index]; }

  // Runs the first `count` jobs at once, for counter mode and CBC.
  void run(std::size_t count, IMB_CIPHER_MODE mode, IMB_CIPHER_DIRECTION direction,
           std::size_t key_bytes) noexcept {
    require(IMB_SUBMIT_CIPHER_BURST_NOCHECK(manager_, jobs_, static_cast<std::uint32_t>(count),
                                            mode, direction,
                                            static_cast<IMB_KEY_SIZE_BYTES>(key_bytes)) == count);
  }

  // Runs the first job through the queue. Modes without bursts leave the queue again at once.
  void run_queued() noexcept {
    *IMB_GET_NEXT_JOB(manager_) = jobs_[0];
    const IMB_JOB* const done = IMB_SUBMIT_JOB_NOCHECK(manager_);
    require(done != nullptr && done->status == IMB_STATUS_COMPLETED);
  }

 private:
  // A run cannot fail, and a job that the library refused would leave wrong bytes. The library
  // takes these jobs, and needs no memory for them.
  static void require(bool done) noexcept {
    if (!done) {
      std::abort();
    }
  }

  decltype(&free_mb_mgr) free_ = nullptr;
  IMB_MGR* manager_ = nullptr;
  IMB_ARCH architecture_ = IMB_ARCH_NONE;
  IMB_JOB jobs_[most] = {};
};

// What the library found best for this processor, or why it cannot be used. Kept until the program
// ends: any thread calls its direct functions, without a lock.
struct Library {
  decltype(&alloc_mb_mgr) allocate = nullptr;
  decltype(&init_mb_mgr_auto) start = nullptr;
  decltype(&free_mb_mgr) free = nullptr;
  std::unique_ptr<Jobs> shared;  // for threads that have none of their own
  std::mutex shared_mutex;
  const char* reason = nullptr;

  Library() noexcept {
    void* handle = dlopen(PAES_IPSEC_MB, RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
      reason = PAES_IPSEC_MB " is not installed";
      return;
    }
    const auto version =
        reinterpret_cast<decltype(&imb_get_version)>(dlsym(handle, "imb_get_version"));
    allocate = reinterpret_cast<decltype(&alloc_mb_mgr)>(dlsym(handle, "alloc_mb_mgr"));
    start = reinterpret_cast<decltype(&init_mb_mgr_auto)>(dlsym(handle, "init_mb_mgr_auto"));
    free = reinterpret_cast<decltype(&free_mb_mgr)>(dlsym(handle, "free_mb_mgr"));
    if (version == nullptr || allocate == nullptr || start == nullptr || free == nullptr) {
      reason = PAES_IPSEC_MB " lacks a function of its published interface";
      return;
    }
    // From version to version, the table of functions grows at its end.
    if (version() < IMB_VERSION_NUM) {
      reason = PAES_IPSEC_MB " is older than the header paes was built with";
      return;
    }
    shared = make_jobs();
    if (shared == nullptr) {
      reason = "there is no memory for " PAES_IPSEC_MB;
    } else if (shared->architecture() < IMB_ARCH_SSE) {  // none, or one without SSE
      reason = "the library finds no AES instructions on this processor";
    }
  }

  [[nodiscard]] std::unique_ptr<Jobs> make_jobs() const noexcept {
    std::unique_ptr<Jobs> made(new (std::nothrow) Jobs(allocate, start, free));
    return made != nullptr && made->manager() != nullptr ? std::move(made) : nullptr;
  }
};

Library& library() noexcept {
  // Never destroyed: threads that nobody joins may still be running it when the program ends.
  alignas(Library) static std::byte memory[sizeof(Library)];
  static Library& loaded = *new (memory) Library;
  return loaded;
}

const char* unavailable() { return library().reason; }

// Borrows this thread's jobs for one run. A thread for which there is no memory takes turns with
// others at the jobs that the library came with.
class JobsLease {
 public:
  JobsLease() noexcept {
    thread_local std::unique_ptr<Jobs> own;
    if (own == nullptr) {
      own = library().make_jobs();
    }
    if (own == nullptr) {
      turn_ = std::unique_lock(library().shared_mutex);
    }
    jobs_ = own != nullptr ? own.get() : library().shared.get();
  }
  Jobs* operator->() const noexcept { return jobs_; }

 private:
  std::unique_lock<std::mutex> turn_;
  Jobs* jobs_;
};

// The five direct functions for one key size.
struct Functions {
  aes_gcm_init_var_iv_t init;
  aes_gcm_enc_dec_update_t encrypt;
  aes_gcm_enc_dec_finalize_t encrypt_end;
  aes_gcm_enc_dec_update_t decrypt;
  aes_gcm_enc_dec_finalize_t decrypt_end;
  aes_gcm_enc_dec_t seal;  // all steps in one call; only 96-bit IVs
  aes_gcm_enc_dec_t open;
};

// Lies in KernelKeys. The library wants its part aligned to 64 bytes, and KernelKeys is.
struct Keys {
  gcm_key_data data;
  alignas(16) std::uint8_t forward[15 * block_bytes];  // round keys, as the library lays them out
  alignas(16) std::uint8_t inverse[15 * block_bytes];
  std::size_t key_bytes;
  ghash_t ghash;
  Functions functions;
};
static_assert(sizeof(Keys) <= sizeof(KernelKeys));
static_assert(alignof(Keys) <= alignof(KernelKeys));

const Keys& keys_of(const KernelKeys& keys) noexcept {
  return *reinterpret_cast<const Keys*>(keys.bytes);
}

void prepare(Bytes key, KernelKeys& kernel_keys) {
  // Dispatch offers only available rows, so there is a manager.
  const IMB_MGR& m = *library().shared->manager();  // NOLINT(clang-analyzer-core.NullDereference)
  Keys& keys = *new (kernel_keys.bytes) Keys{};
  keys.ghash = m.ghash;
  keys.key_bytes = key.size();
  switch (key.size()) {
    case 16:
      m.keyexp_128(key.data(), keys.forward, keys.inverse);
      m.gcm128_pre(key.data(), &keys.data);
      keys.functions = {m.gcm128_init_var_iv, m.gcm128_enc_update,   m.gcm128_enc_finalize,
                        m.gcm128_dec_update,  m.gcm128_dec_finalize, m.gcm128_enc,
                        m.gcm128_dec};
      break;
    case 24:
      m.keyexp_192(key.data(), keys.forward, keys.inverse);
      m.gcm192_pre(key.data(), &keys.data);
      keys.functions = {m.gcm192_init_var_iv, m.gcm192_enc_update,   m.gcm192_enc_finalize,
                        m.gcm192_dec_update,  m.gcm192_dec_finalize, m.gcm192_enc,
                        m.gcm192_dec};
      break;
    default:
      m.keyexp_256(key.data(), keys.forward, keys.inverse);
      m.gcm256_pre(key.data(), &keys.data);
      keys.functions = {m.gcm256_init_var_iv, m.gcm256_enc_update,   m.gcm256_enc_finalize,
                        m.gcm256_dec_update,  m.gcm256_dec_finalize, m.gcm256_enc,
                        m.gcm256_dec};
      break;
  }
}

// A null `iv` is for ECB. It is read until the job is done.
void describe(IMB_JOB& job, IMB_CIPHER_MODE mode, IMB_CIPHER_DIRECTION direction, const Keys& keys,
              const std::uint8_t* iv, const std::uint8_t* in, std::uint8_t* out,
              std::size_t bytes) noexcept {
  job.cipher_mode = mode;
  job.cipher_direction = direction;
  job.chain_order = direction == IMB_DIR_ENCRYPT ? IMB_ORDER_CIPHER_HASH : IMB_ORDER_HASH_CIPHER;
  job.hash_alg = IMB_AUTH_NULL;
  job.enc_keys = keys.forward;
  job.dec_keys = keys.inverse;
  job.key_len_in_bytes = keys.key_bytes;
  job.iv = iv;
  job.iv_len_in_bytes = iv != nullptr ? block_bytes : 0;
  job.src = in;
  job.dst = out;
  job.cipher_start_src_offset_in_bytes = 0;
  job.msg_len_to_cipher_in_bytes = bytes;
}

// ECB and CBC encryption take jobs of at most 65534 bytes, so longer texts go in parts.
constexpr std::size_t most_job_bytes = 65520;

template <IMB_CIPHER_DIRECTION direction>
void ecb(const KernelKeys& keys, const Piece& piece) noexcept {
  const JobsLease jobs;
  const Text& text = piece.text;
  for (std::size_t at = 0; at < text.bytes; at += most_job_bytes) {
    describe(jobs->job(0), IMB_CIPHER_ECB, direction, keys_of(keys), nullptr, text.in + at,
             text.out + at, std::min(most_job_bytes, text.bytes - at));
    jobs->run_queued();
  }
}

void cbc_decrypt(const KernelKeys& kernel_keys, const Piece& piece) noexcept {
  if (piece.text.bytes != 0) {
    const JobsLease jobs;
    const Keys& keys = keys_of(kernel_keys);
    describe(jobs->job(0), IMB_CIPHER_CBC, IMB_DIR_DECRYPT, keys, piece.before->bytes,
             piece.text.in, piece.text.out, piece.text.bytes);
    jobs->run(1, IMB_CIPHER_CBC, IMB_DIR_DECRYPT, keys.key_bytes);
  }
}

// Takes at most as many messages as a burst has room for, one part of each after the other.
void cbc_encrypt_burst(const Keys& keys, std::span<Chain> messages) noexcept {
  const JobsLease jobs;
  for (std::size_t at = 0;; at += most_job_bytes) {
    std::size_t count = 0;
    for (const Chain& chain : messages) {
      if (at < chain.text.bytes) {
        describe(jobs->job(count++), IMB_CIPHER_CBC, IMB_DIR_ENCRYPT, keys, chain.feedback.bytes,
                 chain.text.in + at, chain.text.out + at,
                 std::min(most_job_bytes, chain.text.bytes - at));
      }
    }
    if (count == 0) {
      return;
    }
    jobs->run(count, IMB_CIPHER_CBC, IMB_DIR_ENCRYPT, keys.key_bytes);
    for (Chain& chain : messages) {
      if (at < chain.text.bytes) {
        const std::size_t end = std::min(at + most_job_bytes, chain.text.bytes);
        std::copy_n(chain.text.out + end - block_bytes, block_bytes, chain.feedback.bytes);
      }
    }
  }
}

void cbc_encrypt(const KernelKeys& keys, std::span<Chain> messages) noexcept {
  for (std::size_t at = 0; at < messages.size(); at += Jobs::most) {
    cbc_encrypt_burst(keys_of(keys),
                      messages.subspan(at, std::min(Jobs::most, messages.size() - at)));
  }
}

// Split where the counter's last 32 bits wrap, because the library does not say how far it carries.
void ctr(const KernelKeys& kernel_keys, const Piece& piece) noexcept {
  const JobsLease jobs;
  const Text& text = piece.text;
  const Keys& keys = keys_of(kernel_keys);
  for (std::size_t at = 0; at < text.bytes;) {
    const CounterBlock counter = gcm::add_counter(*piece.counter, at / block_bytes);
    const std::uint64_t before_wrap = blocks_before_wrap(counter, block_bytes) * block_bytes;
    const std::size_t bytes = std::min<std::uint64_t>(text.bytes - at, before_wrap);
    describe(jobs->job(0), IMB_CIPHER_CNTR, IMB_DIR_ENCRYPT, keys, counter.bytes, text.in + at,
             text.out + at, bytes);
    jobs->run(1, IMB_CIPHER_CNTR, IMB_DIR_ENCRYPT, keys.key_bytes);
    at += bytes;
  }
}

void ghash(const KernelKeys& keys, const std::uint8_t* in, std::size_t bytes,
           HashValue& hash) noexcept {
  if (bytes != 0) {
    keys_of(keys).ghash(&keys_of(keys).data, in, bytes, hash.bytes, block_bytes);
  }
}

template <bool Encrypt>
void whole_message(const KernelKeys& kernel_keys, const WholeMessage& message, Tag& tag) noexcept {
  const Keys& keys = keys_of(kernel_keys);
  const Text& text = message.text;
  const Bytes iv = message.iv;
  const Bytes aad = message.aad;
  const Functions& functions = keys.functions;
  gcm_context_data context;
  if (iv.size() == gcm::standard_iv_bytes) {
    (Encrypt ? functions.seal : functions.open)(&keys.data, &context, text.out, text.in, text.bytes,
                                                iv.data(), aad.data(), aad.size(), tag.bytes,
                                                block_bytes);
    return;
  }
  functions.init(&keys.data, &context, iv.data(), iv.size(), aad.data(), aad.size());
  (Encrypt ? functions.encrypt : functions.decrypt)(&keys.data, &context, text.out, text.in,
                                                    text.bytes);
  (Encrypt ? functions.encrypt_end : functions.decrypt_end)(&keys.data, &context, tag.bytes,
                                                            block_bytes);
}

constexpr ModeRuns mode_runs = ModeRuns{}
                                   .with(Operation::ecb_encrypt, ecb<IMB_DIR_ENCRYPT>)
                                   .with(Operation::ecb_decrypt, ecb<IMB_DIR_DECRYPT>)
                                   .with(Operation::ctr, ctr)
                                   .with(Operation::cbc_encrypt, cbc_encrypt)
                                   .with(Operation::cbc_decrypt, cbc_decrypt);
constexpr GcmRuns gcm_runs = {
    .hash = ghash, .seal = whole_message<true>, .open = whole_message<false>};

}  // namespace

const Kernel kernel_ipsec_mb = {
    .name = "ipsec_mb",
    .cipher = Cipher::aes,
    .use = Use::by_name,
    .summary = "Intel's multi-buffer library, the peer to beat",
    .warning = nullptr,
    .needs = Feature::aes,
    .wants_512_bit = false,
    .lanes = 48,  // its widest path hashes 48 blocks at once
    .unavailable = unavailable,
    .prepare = prepare,
    .release = nullptr,
    .modes = mode_runs,
    .gcm = gcm_runs,
};

}  // namespace paes

#else

namespace paes {

extern const Kernel kernel_ipsec_mb;

const Kernel kernel_ipsec_mb = {
    .name = "ipsec_mb",
    .cipher = Cipher::aes,
    .use = Use::by_name,
    .summary = "Intel's multi-buffer library, the peer to beat",
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
