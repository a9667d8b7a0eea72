// SPDX-License-Identifier: Apache-2.0
// AES-GCM messages (SP 800-38D). A key is bound once to a kernel, and to a device if there is one.
// It seals and opens messages, whole or in pieces that any executor may run in any order.
#pragma once

#include "core/secret.hpp"
#include "exec/executor.hpp"
#include "kernel/kernel.hpp"
#include "message/device.hpp"

namespace paes {

// Immutable after construction, hence safe to use from any number of threads.
class GcmKey {
 public:
  // Throws Error(usage) unless `key` has 16, 24 or 32 bytes. A device serves run_on_device(), and
  // messages in parts: those of GcmMessage and of the calls that take an executor. Everything else
  // uses the kernel.
  GcmKey(Bytes key, const Kernel& kernel, DeviceUse use = {});
  ~GcmKey();
  GcmKey(GcmKey&& other) noexcept;
  GcmKey& operator=(GcmKey&&) = delete;
  GcmKey(const GcmKey&) = delete;
  GcmKey& operator=(const GcmKey&) = delete;

  [[nodiscard]] const Kernel& kernel() const noexcept { return *kernel_; }

  // IVs have at least 1 byte, tags 4, 8 or 12 to 16, and text at most gcm::max_plaintext_bytes. The
  // caller has checked that; the public header checks and throws. `out` has the length of `in`, and
  // is `in` or does not overlap it.
  void seal(Bytes iv, Bytes aad, Bytes in, MutableBytes out, MutableBytes tag) const noexcept;
  // If the tag does not match, returns false and wipes `out`.
  [[nodiscard]] bool open(Bytes iv, Bytes aad, Bytes in, MutableBytes out,
                          Bytes tag) const noexcept;
  // What open() would return, without decrypting.
  [[nodiscard]] bool verify(Bytes iv, Bytes aad, Bytes in, Bytes tag) const noexcept;

  // The first of two steps for a message. It needs no text, so it can run in advance. XORs E(J0)
  // and the text's keystream after it onto `blocks`: whole blocks from number `first_block` on,
  // where number 0 is E(J0).
  void add_mask_and_keystream(Bytes iv, std::uint64_t first_block,
                              MutableBytes blocks) const noexcept;
  // The second step: computes the whole tag of a ciphertext whose E(J0) is `mask`. Until the
  // message is known to be authentic, the tag is a secret.
  void make_tag(Bytes aad, Bytes ciphertext, Bytes mask, Tag& tag) const noexcept;

  // Runs many messages at once, by DeviceGcm's rules. False: compute them with the calls above.
  [[nodiscard]] bool has_device() const noexcept { return device_ != nullptr; }
  [[nodiscard]] bool run_on_device(GcmOperation operation, const GcmMessages& messages) const {
    return device_ != nullptr && device_->run(operation, messages, when_busy_);
  }

  // Seal or open one long message: the executor's threads share its pieces of `piece_bytes` bytes.
  void seal(Bytes iv, Bytes aad, Bytes in, MutableBytes out, MutableBytes tag,
            const Executor& executor, std::size_t piece_bytes) const;
  [[nodiscard]] bool open(Bytes iv, Bytes aad, Bytes in, MutableBytes out, Bytes tag,
                          const Executor& executor, std::size_t piece_bytes) const;

 private:
  friend class GcmMessage;

  // J0. Unless the IV has 96 bits, J0 is a hash under H without a mask, and gives H away: wipe it.
  void make_pre_counter_block(Bytes iv, CounterBlock& counter) const noexcept;
  // Continues `hash` over `data`, whose last block is padded with zeros.
  void hash_padded(HashValue& hash, Bytes data) const noexcept;
  void run_whole(WholeMessageFunction run, Bytes iv, Bytes aad, const Text& text, Bytes claimed_tag,
                 Tag& tag) const noexcept;
  void crypt_pieces(bool encrypt, Bytes iv, Bytes aad, Bytes in, MutableBytes out, Tag& tag,
                    const Executor& executor, std::size_t piece_bytes) const;

  // One object for all, because each Secret costs pages and four system calls.
  struct Keys {
    KernelKeys kernel;
    HashSubkey h;  // for joining parts
  };

  const Kernel* kernel_;
  std::unique_ptr<DeviceGcm> device_;  // null if there is none, or if it has no room for the key
  WhenBusy when_busy_;
  Secret<Keys> keys_;
};

}  // namespace paes
