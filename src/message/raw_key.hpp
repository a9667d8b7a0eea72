// SPDX-License-Identifier: Apache-2.0
// The raw modes of operation (SP 800-38A, SP 800-38E). A key is bound once to a mode and a kernel,
// and to a device if there is one. It encrypts and decrypts messages whole, in parts, or many at
// once. Nothing here is authenticated; GcmKey does that. This is the code that all kernels share:
// the full carry of counters, partial last blocks, ciphertext stealing, the tweaks of data units,
// and copies of the blocks that neighbouring pieces need.
#pragma once

#include <span>

#include "cipher/mode/mode.hpp"
#include "core/secret.hpp"
#include "exec/executor.hpp"
#include "kernel/kernel.hpp"
#include "message/device.hpp"

namespace paes {

// Where a message stands between two parts.
struct RawPosition {
  RawStart next;

  ~RawPosition() {
    if (auto* const before = std::get_if<ChainBlock>(&next); before != nullptr) {
      wipe(before->bytes);  // in OFB it is keystream
    }
  }
};

// One message of a batch. `in` and `out` have equal lengths, and are the same memory or share none.
struct RawMessage {
  Bytes iv;
  Bytes in;
  MutableBytes out;
};

// Limits that the standards set for encryption. Whoever offers encryption checks them. RawKey does
// not, because tests with the standards' own vectors exceed them.

// SP 800-67 Rev. 2, section 3.4: no key bundle encrypts more than 2^20 blocks.
inline constexpr std::uint64_t max_des_blocks = std::uint64_t{1} << 20;

// Whether the key is two equal keys of XTS, for which the mode was not proved secure (FIPS 140-3
// implementation guidance, C.I). Time does not depend on where they differ.
[[nodiscard]] inline bool has_equal_halves(Mode mode, Bytes key) noexcept {
  const std::size_t half = key.size() / 2;
  return row_of(mode).has_units && equal_constant_time(key.first(half), key.subspan(half));
}

// Immutable after construction, hence safe to use from any number of threads.
class RawKey {
 public:
  // `key` has 16, 24 or 32 bytes for AES, 24 for 3DES, and for XTS 32 or 64 (two keys of AES-128 or
  // AES-256). `unit_bytes` is XTS's data unit, at least 16 bytes; 0 makes each message one unit.
  // Throws Error(usage) for other lengths, for XTS with 3DES, and if the kernel lacks the mode.
  RawKey(Cipher cipher, Mode mode, Bytes key, const Kernel& kernel, std::size_t unit_bytes = 0,
         DeviceUse use = {});
  ~RawKey();
  RawKey(RawKey&& other) noexcept;
  RawKey& operator=(RawKey&&) = delete;
  RawKey(const RawKey&) = delete;
  RawKey& operator=(const RawKey&) = delete;

  [[nodiscard]] const Kernel& kernel() const noexcept { return *kernel_; }
  [[nodiscard]] Mode mode() const noexcept { return mode_; }
  [[nodiscard]] const ModeRow& row() const noexcept { return row_of(mode_); }
  [[nodiscard]] std::size_t block_size() const noexcept { return block_bytes_of(kernel_->cipher); }
  // The length of the IV, the first counter block or the first data unit's number; 0 for ECB.
  [[nodiscard]] std::size_t iv_bytes() const noexcept { return row().has_iv ? block_size() : 0; }
  // The length of XTS's data units; 0 if each message is one unit.
  [[nodiscard]] std::size_t unit_bytes() const noexcept { return unit_bytes_; }
  // The length of every part except the last is a multiple of this.
  [[nodiscard]] std::size_t step_bytes() const noexcept {
    return unit_bytes_ != 0 ? unit_bytes_ : block_size();
  }
  // Whether messages can have this length. ECB and CBC take whole blocks (padding.hpp makes them).
  // XTS takes no unit of 1 to 15 bytes and none of more than 2^20 blocks (SP 800-38E, section 4).
  [[nodiscard]] bool takes(std::uint64_t bytes) const noexcept;
  // Whether parts of messages in this direction go to a device when it is free.
  [[nodiscard]] bool has_device(Direction direction) const noexcept {
    return device_[static_cast<unsigned>(direction)] != nullptr;
  }
  // Whether the pieces of one message run in parallel in this direction.
  [[nodiscard]] bool is_parallel(Direction direction) const noexcept {
    return !formula_of(row().operation(direction)).is_chained();
  }
  // Whether at() needs the previous ciphertext block.
  [[nodiscard]] bool needs_before(Direction direction) const noexcept {
    return formula_of(row().operation(direction)).has_before();
  }

  // `iv` has iv_bytes().
  [[nodiscard]] RawPosition start(Bytes iv) const noexcept;
  // Where a message stands `offset` bytes from its beginning, in a parallel direction. `offset` is
  // a multiple of step_bytes(). `before` is the ciphertext block that ends there; it is only read
  // if needs_before() and the offset is not 0.
  [[nodiscard]] RawPosition at(Bytes iv, std::uint64_t offset, Bytes before) const noexcept;

  // Transforms the next part of a message. If there is a device and it takes the part, it computes
  // what it can, and the kernel does the rest. In a parallel direction the executor's threads share
  // that in pieces of about `piece_bytes` bytes. Every part but the last is a multiple of
  // step_bytes(); XTS without units takes the whole message at once. `out` has the length of `in`,
  // and is `in` or does not overlap it.
  void crypt(Direction direction, RawPosition& position, Bytes in, MutableBytes out,
             const Executor& executor, std::size_t piece_bytes) const;

  // Transforms independent messages, each with its own IV and any length that takes() allows. In
  // chained directions, every thread runs as many side by side as the kernel has lanes.
  void crypt_batch(Direction direction, std::span<const RawMessage> messages,
                   const Executor& executor) const;

 private:
  struct Keys {
    KernelKeys kernel;
    KernelKeys tweak;  // XTS: the second key
  };

  // How a part of a message is shared out.
  struct Spread {
    const Executor& executor;
    std::size_t piece_bytes;  // bytes, about, of a piece
    bool bypasses_caches;
  };

  void bind(DeviceUse use, Bytes key);
  std::size_t crypt_on_device(Direction direction, RawPosition& position, Bytes in,
                              MutableBytes out) const;
  void crypt_on_kernel(Direction direction, RawPosition& position, Bytes in, MutableBytes out,
                       const Executor& executor, std::size_t piece_bytes) const;
  void crypt_counter(CounterBlock& counter, Bytes in, MutableBytes out, const Spread& spread) const;
  // `last` is null if the operation does not need the previous block.
  void crypt_pieces(Operation operation, ChainBlock* last, Bytes in, MutableBytes out,
                    const Spread& spread) const;
  void crypt_chains(Operation operation, std::span<const RawMessage> messages,
                    std::span<ChainBlock> feedback) const;
  void crypt_units(Direction direction, UnitNumber& number, Bytes in, MutableBytes out,
                   const Spread& spread) const;
  void crypt_few_units(Direction direction, const UnitNumber& first, Bytes in, MutableBytes out,
                       std::size_t unit_bytes, const Spread& spread) const;
  void crypt_unit(Operation operation, const Tweak& first, Bytes in, MutableBytes out,
                  const Spread& spread) const;
  void steal(Operation operation, const Tweak& tweak, Bytes in, MutableBytes out) const;

  const Kernel* kernel_;
  Mode mode_;
  std::size_t unit_bytes_;
  // by direction; null without a device and in chained directions
  std::unique_ptr<DeviceRaw> device_[2];
  WhenBusy when_busy_;
  Secret<Keys> keys_;
};

}  // namespace paes
