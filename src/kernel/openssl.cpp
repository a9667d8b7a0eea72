// The kernel `openssl`: libcrypto's own AES-GCM behind paes' interface, the peer in every
// measurement. A whole message is one chain of EVP calls, as a careful user of libcrypto would
// write it: contexts get their key once, a message sets a new IV only.
#include <openssl/evp.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>

#include "cipher/ghash.hpp"
#include "core/secret.hpp"
#include "kernel/kernel.hpp"
#include "kernel/run_piece.hpp"
#include "mode/gcm.hpp"

namespace paes {

extern const Kernel kernel_openssl;

namespace {

// EVP takes lengths as int: a multiple of the block well within.
constexpr std::size_t step_bytes = std::size_t{1} << 30;
// libcrypto 3's limit for GCM; longer IVs take the path through J0 below.
constexpr std::size_t max_evp_iv_bytes = 128;

enum class Purpose : unsigned { seal, open, ecb };
constexpr unsigned purposes = 3;

// A run cannot fail. Where libcrypto refuses valid arguments, or memory is out, the only other way
// on would hand out wrong bytes.
void require(bool done) noexcept {
  if (!done) {
    std::abort();
  }
}

EVP_CIPHER_CTX* make_context(const RoundKeys& round_keys, Purpose purpose) noexcept {
  static const char* const gcm_names[3] = {"AES-128-GCM", "AES-192-GCM", "AES-256-GCM"};
  static const char* const ecb_names[3] = {"AES-128-ECB", "AES-192-ECB", "AES-256-ECB"};
  const unsigned size = (round_keys.rounds - 10) / 2;
  EVP_CIPHER* const cipher = EVP_CIPHER_fetch(
      nullptr, purpose == Purpose::ecb ? ecb_names[size] : gcm_names[size], nullptr);
  EVP_CIPHER_CTX* const context = EVP_CIPHER_CTX_new();
  // The first words of the schedule are the key (FIPS 197, section 5.2).
  const bool ready = cipher != nullptr && context != nullptr &&
                     EVP_CipherInit_ex2(context, cipher, round_keys.key[0].bytes, nullptr,
                                        purpose == Purpose::open ? 0 : 1, nullptr) == 1 &&
                     (purpose != Purpose::ecb || EVP_CIPHER_CTX_set_padding(context, 0) == 1);
  EVP_CIPHER_free(cipher);  // the context keeps a reference
  if (!ready) {
    EVP_CIPHER_CTX_free(context);
    return nullptr;
  }
  return context;
}

// Contexts with a key, waiting for a message. Each thread looks first where it left its last one,
// on a cache line of its own. One that finds no room, among more threads than slots, is freed.
class ContextPool {
 public:
  ContextPool() = default;
  ~ContextPool() {
    for (auto& row : slots_) {
      for (Slot& slot : row) {
        EVP_CIPHER_CTX_free(slot.context.load());
      }
    }
  }
  ContextPool(const ContextPool&) = delete;
  ContextPool& operator=(const ContextPool&) = delete;

  [[nodiscard]] EVP_CIPHER_CTX* take(Purpose purpose) noexcept {
    const unsigned first = home();
    for (unsigned i = 0; i < slot_count; ++i) {
      std::atomic<EVP_CIPHER_CTX*>& slot = slot_at(purpose, first + i);
      if (slot.load(std::memory_order_relaxed) != nullptr) {
        if (EVP_CIPHER_CTX* const context = slot.exchange(nullptr, std::memory_order_acquire);
            context != nullptr) {
          return context;
        }
      }
    }
    return nullptr;
  }

  void give_back(Purpose purpose, EVP_CIPHER_CTX* context) noexcept {
    const unsigned first = home();
    for (unsigned i = 0; i < slot_count; ++i) {
      EVP_CIPHER_CTX* expected = nullptr;
      if (slot_at(purpose, first + i)
              .compare_exchange_strong(expected, context, std::memory_order_release,
                                       std::memory_order_relaxed)) {
        return;
      }
    }
    EVP_CIPHER_CTX_free(context);
  }

 private:
  static constexpr unsigned slot_count = 32;
  struct alignas(64) Slot {
    std::atomic<EVP_CIPHER_CTX*> context = nullptr;
  };

  static unsigned home() noexcept {
    static std::atomic<unsigned> threads{0};
    thread_local const unsigned number = threads.fetch_add(1, std::memory_order_relaxed);
    return number;
  }
  [[nodiscard]] std::atomic<EVP_CIPHER_CTX*>& slot_at(Purpose purpose, unsigned index) noexcept {
    return slots_[static_cast<unsigned>(purpose)][index % slot_count].context;
  }

  Slot slots_[purposes][slot_count];
};

struct OpensslKeys {
  mutable ContextPool pool;
  RoundKeys round_keys;
  Block h;
};
static_assert(sizeof(OpensslKeys) <= sizeof(KernelKeys));

const OpensslKeys& keys_of(const KernelKeys& keys) noexcept {
  return *reinterpret_cast<const OpensslKeys*>(keys.bytes);
}

// Holds a context for the time of one run.
class Lease {
 public:
  Lease(const OpensslKeys& keys, Purpose purpose) noexcept
      : pool_(keys.pool), purpose_(purpose), context_(pool_.take(purpose)) {
    if (context_ == nullptr) {
      context_ = make_context(keys.round_keys, purpose);
      require(context_ != nullptr);
    }
  }
  ~Lease() { pool_.give_back(purpose_, context_); }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;

  // `out` null: `in` is AAD.
  void update(std::uint8_t* out, const std::uint8_t* in, std::size_t bytes) const noexcept {
    for (std::size_t at = 0; at < bytes; at += step_bytes) {
      const std::size_t step = bytes - at < step_bytes ? bytes - at : step_bytes;
      int written = 0;
      require(EVP_CipherUpdate(context_, out == nullptr ? nullptr : out + at, &written, in + at,
                               static_cast<int>(step)) == 1);
    }
  }

  void start(const ModeState& state) const noexcept {
    if (static_cast<std::size_t>(EVP_CIPHER_CTX_get_iv_length(context_)) != state.iv_bytes) {
      require(EVP_CIPHER_CTX_ctrl(context_, EVP_CTRL_AEAD_SET_IVLEN,
                                  static_cast<int>(state.iv_bytes), nullptr) == 1);
    }
    require(EVP_CipherInit_ex2(context_, nullptr, nullptr, state.iv, -1, nullptr) == 1);
    update(nullptr, state.aad, state.aad_bytes);
  }

  [[nodiscard]] EVP_CIPHER_CTX* context() const noexcept { return context_; }

 private:
  ContextPool& pool_;
  Purpose purpose_;
  EVP_CIPHER_CTX* context_;
};

const char* unavailable() {
  const RoundKeys zero = {{}, 14};
  EVP_CIPHER_CTX* const context = make_context(zero, Purpose::open);
  EVP_CIPHER_CTX_free(context);
  return context != nullptr ? nullptr : "libcrypto offers no AES-256-GCM";
}

void release(KernelKeys& keys) noexcept { keys_of(keys).~OpensslKeys(); }

// The first contexts are made here, so that memory that is out shows where it can be reported.
void prepare(const RoundKeys& round_keys, KernelKeys& keys) {
  auto& ready = *new (keys.bytes) OpensslKeys;
  ready.round_keys = round_keys;
  ready.h = {};
  for (const Purpose purpose : {Purpose::seal, Purpose::open, Purpose::ecb}) {
    EVP_CIPHER_CTX* const context = make_context(round_keys, purpose);
    if (context == nullptr) {
      release(keys);
      throw std::bad_alloc();
    }
    ready.pool.give_back(purpose, context);
  }
  Lease(ready, Purpose::ecb).update(ready.h.bytes, ready.h.bytes, block_bytes);
}

// libcrypto's CTR counts in 128 bits, GCM's counter in 32. So the counters are made here and go
// through ECB, as wide as libcrypto likes.
void gctr(const KernelKeys& keys, const ModeState& state, const Piece& piece) noexcept {
  const Lease lease(keys_of(keys), Purpose::ecb);
  std::uint8_t keystream[64 * block_bytes];
  for (std::size_t at = 0; at < piece.bytes; at += sizeof keystream) {
    const std::size_t rest = piece.bytes - at;
    const std::size_t bytes = rest < sizeof keystream ? rest : sizeof keystream;
    const std::uint64_t first = piece.first_block + at / block_bytes;
    for (std::size_t i = 0; i < bytes / block_bytes; ++i) {
      const Block counter = gcm::add_counter(state.counter, first + i);
      std::memcpy(keystream + i * block_bytes, counter.bytes, block_bytes);
    }
    lease.update(keystream, keystream, bytes);
    for (std::size_t i = 0; i < bytes; ++i) {
      piece.out[at + i] = static_cast<std::uint8_t>(piece.in[at + i] ^ keystream[i]);
    }
  }
  wipe(keystream, sizeof keystream);
}

// libcrypto's GMAC takes no starting value, so parts of a hash are paes' own.
void ghash(const KernelKeys& keys, const ModeState&, const Piece& piece) noexcept {
  ghash_update(keys_of(keys).h, *piece.hash, piece.in, piece.bytes / block_bytes);
}

using Gcm = GcmFromParts<gctr, ghash>;

void seal(const KernelKeys& keys, const ModeState& state, const Piece& piece) noexcept {
  if (state.iv_bytes > max_evp_iv_bytes) {
    Gcm::seal(keys, state, piece);
    return;
  }
  const Lease lease(keys_of(keys), Purpose::seal);
  lease.start(state);
  lease.update(piece.out, piece.in, piece.bytes);
  int written = 0;
  require(EVP_CipherFinal_ex(lease.context(), piece.hash->bytes, &written) == 1 &&
          EVP_CIPHER_CTX_ctrl(lease.context(), EVP_CTRL_AEAD_GET_TAG, block_bytes,
                              piece.hash->bytes) == 1);
}

// The interface wants the tag; EVP only says whether the claimed one is right.
void answer(const Lease& lease, const ModeState& state, Block& tag) noexcept {
  std::uint8_t claimed[block_bytes] = {};
  std::memcpy(claimed, state.claimed_tag, state.claimed_tag_bytes);
  int written = 0;
  const bool matches =
      EVP_CIPHER_CTX_ctrl(lease.context(), EVP_CTRL_AEAD_SET_TAG,
                          static_cast<int>(state.claimed_tag_bytes), claimed) == 1 &&
      EVP_CipherFinal_ex(lease.context(), tag.bytes, &written) == 1;
  for (std::size_t i = 0; i < block_bytes; ++i) {
    tag.bytes[i] = static_cast<std::uint8_t>(matches ? claimed[i] : ~claimed[i]);
  }
}

void open(const KernelKeys& keys, const ModeState& state, const Piece& piece) noexcept {
  if (state.iv_bytes > max_evp_iv_bytes) {
    Gcm::open(keys, state, piece);
    return;
  }
  const Lease lease(keys_of(keys), Purpose::open);
  lease.start(state);
  lease.update(piece.out, piece.in, piece.bytes);
  answer(lease, state, *piece.hash);
}

// EVP cannot authenticate without decrypting: the plaintext goes to a scratch buffer and is wiped.
void verify(const KernelKeys& keys, const ModeState& state, const Piece& piece) noexcept {
  if (state.iv_bytes > max_evp_iv_bytes) {
    Gcm::verify(keys, state, piece);
    return;
  }
  const Lease lease(keys_of(keys), Purpose::open);
  lease.start(state);
  std::uint8_t scratch[16384];
  for (std::size_t at = 0; at < piece.bytes; at += sizeof scratch) {
    const std::size_t rest = piece.bytes - at;
    lease.update(scratch, piece.in + at, rest < sizeof scratch ? rest : sizeof scratch);
  }
  answer(lease, state, *piece.hash);
  wipe(scratch, piece.bytes < sizeof scratch ? piece.bytes : sizeof scratch);
}

}  // namespace

const Kernel kernel_openssl = {
    .name = "openssl",
    .cipher = Cipher::aes,
    .use = Use::by_name,
    .summary = "libcrypto's AES-GCM, the peer in measurements",
    .warning = nullptr,
    .needs = {},
    .wants_512_bit = false,
    .lanes = 64,
    .unavailable = unavailable,
    .prepare = prepare_aes<prepare>,
    .release = release,
    .modes = {{nullptr, nullptr, gctr}, {}},
    .gcm = {{ghash, Gcm::encrypt, Gcm::decrypt, seal, open, verify}},
};

}  // namespace paes
