// AES-GCM messages (SP 800-38D): a key bound once to a kernel, and messages sealed and opened with
// it, whole or in pieces that any executor may run in any order.
#pragma once

#include <vector>

#include "core/secret.hpp"
#include "exec/executor.hpp"
#include "kernel/kernel.hpp"
#include "message/ghash_part.hpp"

namespace paes {

// Immutable after construction, hence safe to use from any number of threads.
class GcmKey {
 public:
  // `key` has 16, 24 or 32 bytes; throws Error(usage) otherwise.
  GcmKey(Bytes key, const Kernel& kernel);
  ~GcmKey();
  GcmKey(GcmKey&& other) noexcept;
  GcmKey& operator=(GcmKey&&) = delete;
  GcmKey(const GcmKey&) = delete;
  GcmKey& operator=(const GcmKey&) = delete;

  [[nodiscard]] const Kernel& kernel() const noexcept { return *kernel_; }

  // IVs of 1 byte or more, tags of 4, 8 or 12 to 16 bytes, text within gcm::max_plaintext_bytes:
  // anything else is the caller's bug here (the public header checks and throws).
  // `out` has the length of `in`, and is `in` or does not overlap it.
  void seal(Bytes iv, Bytes aad, Bytes in, MutableBytes out, MutableBytes tag) const noexcept;
  // False, with `out` wiped, when the tag does not match.
  [[nodiscard]] bool open(Bytes iv, Bytes aad, Bytes in, MutableBytes out,
                          Bytes tag) const noexcept;
  // What open would answer, without decrypting.
  [[nodiscard]] bool verify(Bytes iv, Bytes aad, Bytes in, Bytes tag) const noexcept;

  // The same for one long message, its pieces of `grain` bytes spread over the executor's threads.
  void seal(Bytes iv, Bytes aad, Bytes in, MutableBytes out, MutableBytes tag,
            const Executor& executor, std::size_t grain) const;
  [[nodiscard]] bool open(Bytes iv, Bytes aad, Bytes in, MutableBytes out, Bytes tag,
                          const Executor& executor, std::size_t grain) const;

 private:
  friend class GcmMessage;

  [[nodiscard]] Block pre_counter_block(Bytes iv) const noexcept;
  [[nodiscard]] Block hash_padded(Block value, Bytes data) const noexcept;
  void crypt_whole(GcmOperation operation, Bytes iv, Bytes aad, const std::uint8_t* in,
                   std::uint8_t* out, std::size_t bytes, Bytes claimed_tag,
                   Block& tag) const noexcept;
  void crypt_pieces(bool encrypt, Bytes iv, Bytes aad, Bytes in, MutableBytes out, Block& tag,
                    const Executor& executor, std::size_t grain) const;

  // One object, because each Secret costs pages and four system calls.
  struct Keys {
    KernelKeys kernel;
    Block hash;  // H, for joining parts
  };

  const Kernel* kernel_;
  Secret<Keys> keys_;
};

}  // namespace paes
