// SPDX-License-Identifier: Apache-2.0
// A kernel or a device bound to a key in one cipher, mode and direction. `paes-bench kernel` runs
// and checks it with single messages, with batches of independent messages (if the direction chains
// its blocks), or with one message that all threads share.
#pragma once

#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <variant>
#include <vector>

#include "cipher/mode/gcm_blocks.hpp"
#include "exec/schedule/schedule.hpp"
#include "message/cipher_name.hpp"
#include "message/gcm.hpp"
#include "message/raw_key.hpp"

namespace paes::cli {

enum class BenchDirection { encrypt, decrypt, verify };

struct BenchTask {
  const CipherName* cipher;
  BenchDirection direction;
  std::size_t message_bytes;
  bool is_shared = false;  // all threads work on one message together, in raw modes that allow it
  std::size_t unit_bytes = 0;  // XTS's data units; 0: a message is one
};

// Whether the blocks of a message must follow each other; such a direction is measured on batches.
[[nodiscard]] bool is_chained(const CipherName& cipher, BenchDirection direction) noexcept;
// Whether the kernel has this cipher and direction.
[[nodiscard]] bool can_do(const Kernel& kernel, const CipherName& cipher,
                          BenchDirection direction) noexcept;
// Whether a device could do it: only parallel directions, and not XTS, whose messages are one data
// unit here unless somebody asks for shorter ones.
[[nodiscard]] bool device_can_do(const CipherName& cipher, BenchDirection direction) noexcept;
// How many independent messages the kernel gets at once: as many as it has lanes, or one.
[[nodiscard]] std::size_t messages_at_once(const Kernel& kernel, const BenchTask& task) noexcept;

// Memory that starts on a page, so that the allocator's choice of place favours no kernel.
class PageBuffer {
 public:
  static constexpr std::size_t page_bytes = 4096;

  explicit PageBuffer(std::size_t bytes)
      : memory_(static_cast<std::uint8_t*>(
            ::operator new (whole_pages(bytes), std::align_val_t{page_bytes}))),
        bytes_(bytes) {}
  [[nodiscard]] MutableBytes view() const noexcept { return {memory_.get(), bytes_}; }
  // What a device pins. Nothing else lies in these pages.
  [[nodiscard]] MutableBytes pages() const noexcept { return {memory_.get(), whole_pages(bytes_)}; }

 private:
  static std::size_t whole_pages(std::size_t bytes) noexcept {
    return (bytes + page_bytes - 1) / page_bytes * page_bytes;
  }
  struct Release {
    void operator()(std::uint8_t* memory) const noexcept {
      ::operator delete (memory, std::align_val_t{page_bytes});
    }
  };
  std::unique_ptr<std::uint8_t, Release> memory_;
  std::size_t bytes_;
};

// What one thread works on. Padded on purpose, so that no two threads share a cache line.
struct alignas(128) Lane {  // NOLINT(clang-analyzer-optin.performance.Padding)
  Lane(std::size_t bytes, std::size_t messages)
      : message_bytes(bytes),
        stride_bytes(messages == 1 ? bytes : bytes + batch_gap_bytes),
        plain(stride_bytes * messages),
        cipher(stride_bytes * messages),
        out(stride_bytes * messages),
        ivs(messages) {}

  // Messages a power of two apart would all compete for the same few lines of the cache.
  static constexpr std::size_t batch_gap_bytes = 192;

  [[nodiscard]] MutableBytes message(const PageBuffer& buffer, std::size_t index) const noexcept {
    return buffer.view().subspan(index * stride_bytes, message_bytes);
  }

  std::size_t message_bytes;
  std::size_t stride_bytes;
  PageBuffer plain;
  PageBuffer cipher;  // the kernel's expected output, or its input for decryption
  PageBuffer out;
  std::vector<Block> ivs;  // one per message, in raw modes
  std::uint8_t iv[gcm::standard_iv_bytes] = {};
  Tag tag = {};
  bool authentic = true;
  double cpu_seconds = 0;  // of the last turn
};

// Fills in fresh text and IVs, and for raw modes libcrypto's ciphertext.
void fill(Lane& lane, const BenchTask& task, Bytes key);

class Contender {
 public:
  // `key` and `device` must outlive this. Throws Error(usage) if the kernel cannot do the task, and
  // Error(failure) if the device has no room for the key.
  Contender(const Kernel& kernel, const BenchTask& task, Bytes key, Device* device = nullptr);

  [[nodiscard]] const Kernel& kernel() const noexcept { return kernel_; }
  [[nodiscard]] const Device* device() const noexcept { return device_; }
  [[nodiscard]] const char* name() const noexcept {
    return device_ != nullptr ? device_->name() : kernel_.name;
  }
  [[nodiscard]] std::size_t messages() const noexcept { return messages_; }

  // Runs the lane's message or batch once. The executor's threads share it if the task says so.
  void run(Lane& lane, const Executor& executor) const;

  // Called before and after one run, before anything is timed. `check` compares the output with
  // libcrypto's, and returns what is wrong, or null.
  void before_check(Lane& lane) const;
  [[nodiscard]] const char* check(Lane& lane) const;

 private:
  void run_gcm(const GcmKey& key, Lane& lane) const;
  void run_gcm_on_device(const GcmKey& key, Lane& lane) const;
  void run_raw(const RawKey& key, Lane& lane, const Executor& executor) const;
  [[nodiscard]] const PageBuffer& raw_input(const Lane& lane) const noexcept;

  const Kernel& kernel_;
  BenchTask task_;
  Bytes key_bytes_;
  std::size_t messages_;
  const Device* device_;
  std::variant<GcmKey, RawKey> key_;
};

}  // namespace paes::cli
