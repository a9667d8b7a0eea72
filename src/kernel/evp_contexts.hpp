// SPDX-License-Identifier: Apache-2.0
// libcrypto's contexts, for the kernels that call it. Each is bound to a key and a purpose and kept
// for later messages, which only set an IV. A careful user of EVP does the same, and libcrypto is
// the rival in every measurement.
//
// A run cannot fail. So one context for each purpose is made with the key, where std::bad_alloc can
// still be thrown. Threads that run side by side need more, which are made when first needed;
// without memory for that, a thread waits until another has finished its run.
#pragma once

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <iterator>
#include <new>
#include <thread>

#include "core/bytes.hpp"
#include "core/secret.hpp"
#include "core/secret_heap.hpp"
#include "kernel/kernel.hpp"

namespace paes {
namespace {  // NOLINT: see kernel.hpp

// The purpose of a context.
enum class EvpPurpose : unsigned {
  seal,
  open,
  ecb_encrypt,
  ecb_decrypt,
  cbc_encrypt,
  cbc_decrypt,
  cfb_encrypt,
  cfb_decrypt,
  ofb,
  ctr,
  xts_encrypt,
  xts_decrypt,
};

// Each purpose's mode, as libcrypto spells it, and direction.
inline constexpr struct {
  const char* mode;
  bool encrypt;
} evp_purposes[] = {{"GCM", true}, {"GCM", false}, {"ECB", true}, {"ECB", false},
                    {"CBC", true}, {"CBC", false}, {"CFB", true}, {"CFB", false},
                    {"OFB", true}, {"CTR", true},  {"XTS", true}, {"XTS", false}};
inline constexpr unsigned evp_purpose_count = std::size(evp_purposes);
static_assert(evp_purpose_count == static_cast<unsigned>(EvpPurpose::xts_decrypt) + 1);

// libcrypto's cipher of that name and mode, or null. If libcrypto could not initialise for lack of
// memory, fetching a cipher would end the program.
[[nodiscard]] inline EVP_CIPHER* fetch_evp_cipher(const char* cipher, const char* mode) noexcept {
  if (OSSL_LIB_CTX_get0_global_default() == nullptr) {
    return nullptr;
  }
  char name[24];
  (void)std::snprintf(name, sizeof name, "%s-%s", cipher, mode);
  return EVP_CIPHER_fetch(nullptr, name, nullptr);
}

// Whether libcrypto has the cipher in all of these modes.
[[nodiscard]] inline bool offers(const char* cipher,
                                 std::initializer_list<const char*> modes) noexcept {
  return std::all_of(modes.begin(), modes.end(), [cipher](const char* mode) {
    EVP_CIPHER* const found = fetch_evp_cipher(cipher, mode);
    EVP_CIPHER_free(found);
    return found != nullptr;
  });
}

// Asks libcrypto and remembers a yes. After a no it asks again: memory may have been short.
template <bool (*ask)() noexcept>
[[nodiscard]] bool is_once_true() noexcept {
  static std::atomic<bool> is_known{false};
  if (!is_known.load(std::memory_order_relaxed) && ask()) {
    is_known.store(true, std::memory_order_relaxed);
  }
  return is_known.load(std::memory_order_relaxed);
}

// Ends the program if a call failed that cannot fail: a context that has a key needs no memory for
// an IV and data. To go on would output wrong bytes.
inline void require(bool done) noexcept {
  if (!done) {
    std::abort();
  }
}

// Contexts that have a key and wait for a message. Each thread first looks where it left its last
// one, on a cache line of its own. If there are more threads than lines, a context that finds no
// room is freed.
class EvpContexts {
 public:
  // `cipher` is the beginning of libcrypto's names ("AES-128", "DES-EDE3") and must outlive this.
  // `key` is the whole key: for XTS, two keys of the cipher. Makes a first context for each of the
  // purposes; callers may take no others. Throws std::bad_alloc.
  EvpContexts(const char* cipher, Bytes key, std::initializer_list<EvpPurpose> purposes)
      : EvpContexts(cipher, key) {
    for (const EvpPurpose purpose : purposes) {
      EVP_CIPHER_CTX* const context = make(purpose);
      if (context == nullptr) {
        throw std::bad_alloc();
      }
      give_back(purpose, context);
    }
  }
  ~EvpContexts() {
    for (Line& line : lines_) {
      for (auto& context : line.context) {
        EVP_CIPHER_CTX_free(context.load());
      }
    }
  }
  EvpContexts(const EvpContexts&) = delete;
  EvpContexts& operator=(const EvpContexts&) = delete;

  // Returns a waiting context or a new one; without memory, waits until one is given back.
  [[nodiscard]] EVP_CIPHER_CTX* take(EvpPurpose purpose) noexcept {
    EVP_CIPHER_CTX* context = nullptr;
    while ((context = find(purpose)) == nullptr && (context = make(purpose)) == nullptr) {
      std::this_thread::yield();
    }
    return context;
  }

  void give_back(EvpPurpose purpose, EVP_CIPHER_CTX* context) noexcept {
    const unsigned first = home();
    for (unsigned i = 0; i < line_count; ++i) {
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
  EvpContexts(const char* cipher, Bytes key) noexcept : cipher_(cipher) {
    require(key.size() <= sizeof key_);
    std::memcpy(key_, key.data(), key.size());
  }

  static constexpr unsigned line_count = 32;
  struct alignas(64) Line {
    std::atomic<EVP_CIPHER_CTX*> context[evp_purpose_count] = {};
  };

  [[nodiscard]] EVP_CIPHER_CTX* find(EvpPurpose purpose) noexcept {
    const unsigned first = home();
    for (unsigned i = 0; i < line_count; ++i) {
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

  [[nodiscard]] EVP_CIPHER_CTX* make(EvpPurpose purpose) const noexcept {
    const auto& [mode, encrypt] = evp_purposes[static_cast<unsigned>(purpose)];
    EVP_CIPHER* const cipher = fetch_evp_cipher(cipher_, mode);
    // The context and what it points to hold the key; libcrypto's table of ciphers does not.
    const SecretAllocations secret;
    EVP_CIPHER_CTX* const context = EVP_CIPHER_CTX_new();
    const bool ready =
        cipher != nullptr && context != nullptr &&
        EVP_CipherInit_ex2(context, cipher, key_, nullptr, encrypt ? 1 : 0, nullptr) == 1 &&
        EVP_CIPHER_CTX_set_padding(context, 0) == 1;
    EVP_CIPHER_free(cipher);  // the context keeps its own reference
    if (!ready) {
      EVP_CIPHER_CTX_free(context);
      return nullptr;
    }
    return context;
  }

  static unsigned home() noexcept {
    static std::atomic<unsigned> threads{0};
    thread_local const unsigned number = threads.fetch_add(1, std::memory_order_relaxed);
    return number;
  }
  [[nodiscard]] std::atomic<EVP_CIPHER_CTX*>& slot_at(EvpPurpose purpose, unsigned index) noexcept {
    return lines_[index % line_count].context[static_cast<unsigned>(purpose)];
  }

  Line lines_[line_count];
  const char* cipher_;
  std::uint8_t key_[64];
};

// Borrows a context for one run.
class EvpLease {
 public:
  EvpLease(EvpContexts& contexts, EvpPurpose purpose) noexcept
      : contexts_(contexts), purpose_(purpose), context_(contexts.take(purpose)) {}
  ~EvpLease() { contexts_.give_back(purpose_, context_); }
  EvpLease(const EvpLease&) = delete;
  EvpLease& operator=(const EvpLease&) = delete;

  // Starts a message. The IV has the context's length.
  void start(const std::uint8_t* iv) const noexcept {
    require(EVP_CipherInit_ex2(context_, nullptr, nullptr, iv, -1, nullptr) == 1);
  }

  void update(const Text& text) const noexcept { update(text.out, text.in, text.bytes); }

  // If `out` is null, `in` is AAD.
  void update(std::uint8_t* out, const std::uint8_t* in, std::size_t bytes) const noexcept {
    // EVP takes lengths as int. This is a multiple of the block and fits easily.
    constexpr std::size_t step_bytes = std::size_t{1} << 30;
    for (std::size_t at = 0; at < bytes; at += step_bytes) {
      const std::size_t step = bytes - at < step_bytes ? bytes - at : step_bytes;
      int written = 0;
      require(EVP_CipherUpdate(context_, out == nullptr ? nullptr : out + at, &written, in + at,
                               static_cast<int>(step)) == 1);
    }
  }

  [[nodiscard]] EVP_CIPHER_CTX* context() const noexcept { return context_; }

 private:
  EvpContexts& contexts_;
  EvpPurpose purpose_;
  EVP_CIPHER_CTX* context_;
};

}  // namespace
}  // namespace paes
