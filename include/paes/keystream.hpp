// SPDX-License-Identifier: Apache-2.0
// The keystream engine: counter mode (SP 800-38A, section 6.5) and AES-GCM (SP 800-38D) whose
// keystream is computed before the data is there, so that encrypting a small block costs little
// more than an XOR, and sealing it little more than a hash. For file systems and servers. Counter
// mode alone authenticates nothing: prefer SealedContext.
//
//   paes::KeystreamEngine engine({.workers = 1});
//   const paes::KeystreamKey key = engine.bind("aes-256-ctr", key_bytes);
//   paes::KeystreamContext file = engine.open(key, first_counter, {.window_chunks = 16});
//   file.encrypt(offset, text, ciphertext);  // throws where this context has encrypted before
//   file.decrypt(offset, ciphertext, text);
//   engine.idle(deadline);                   // without workers: computes ahead in this thread
//
//   paes::SealedContext log = engine.open_sealed(engine.bind("aes-256-gcm", key_bytes), nonce);
//   log.seal(number, aad, text, ciphertext, tag);
//   if (!log.open(number, aad, ciphertext, text, tag)) { ... forged or damaged ... }
//
// Keystream is a cache over a pure function of the offset: it may be late, but is never wrong. The
// engine measures the costs of computing and of fetching, and computes directly wherever that is
// faster, unless told otherwise.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "paes/error.hpp"
#include "paes/export.h"

namespace paes {

class Device;

namespace keystream {
class BoundKey;
class CtrContext;
class SealContext;
class KeystreamService;
}  // namespace keystream

inline namespace v0 {

// How an engine's own threads share the processor with others.
enum class WorkerPriority : unsigned {
  // They run only when nothing else needs the processor, and take time from nobody. Hardly any call
  // wakes one: they look for work themselves, five thousand times a second while there is some.
  idle,
  // They compete for the processor like the thread that makes the engine, and every prefetch() of
  // keystream that is not there wakes one that sleeps. This takes the caller some microseconds. For
  // clients that name a chunk just before they wait for its data, and never call idle().
  ordinary,
};

struct KeystreamOptions {
  // The engine's own threads. With 0, everything is computed in the callers' idle().
  unsigned workers = 0;
  // The memory for keystream, keys, contexts and the records of what they have encrypted, together.
  std::size_t budget_bytes = std::size_t{64} << 20;
  // The unit in which keystream is computed and kept: a power of two from 512 to 65536, ideally the
  // size of a request.
  std::size_t chunk_bytes = 4096;
  // A GPU (paes/device.hpp) that workers use for counter mode where it is faster than their kernel.
  // One call makes 32 to 256 consecutive chunks that a window of stride +1 or -1 lacks. It needs at
  // least one worker, and takes 256 chunks of the budget.
  std::shared_ptr<Device> device = nullptr;
  WorkerPriority worker_priority = WorkerPriority::idle;
  // Computes ahead, and uses what is there, even where the engine measures that a request computed
  // directly is faster. For clients that prefer steady work to the fastest requests.
  bool always_ahead = false;
};

struct ContextOptions {
  // How many chunks are kept ready, 0 to 65536, rounded up to a power of two. 0 computes everything
  // directly. An eighth of them, at most 8, is for clients that fall behind others. Each chunk
  // of the window takes 64 bytes of the budget while the context is open, in addition to its
  // keystream.
  unsigned window_chunks = 16;
  std::uint64_t first_chunk = 0;  // where the window begins
  // The distance from a chunk to the next one used; negative towards the beginning, never 0.
  std::int64_t stride = 1;
  int priority = 0;  // higher: computed first, and evicted last
  // How many bytes the counters of this context may encrypt; more are refused. 0: no limit.
  std::uint64_t limit_bytes = 0;
};

// The options of a context for messages of AES-GCM, one per chunk.
struct SealedOptions {
  unsigned window_messages = 16;
  std::uint64_t first_message = 0;
  std::int64_t stride = 1;
  int priority = 0;
  // How many nonces belong to this context; more messages are refused. 0: 2^61 - 1.
  std::uint64_t limit_messages = 0;
};

// How often each way was taken, counted in parts of requests that lie within one chunk.
struct KeystreamUse {
  std::uint64_t own = 0;     // keystream that the caller's thread had computed
  std::uint64_t other = 0;   // keystream that another thread had computed
  std::uint64_t direct = 0;  // no keystream was there
  // of `direct`: the keystream was being computed, or only its beginning was there
  std::uint64_t late = 0;
  // keystream was there but not used: computing is faster or is being timed, or the part begins
  // elsewhere
  std::uint64_t bypassed = 0;
};

struct KeystreamStatistics {
  KeystreamUse use;  // of all contexts, including closed ones
  std::uint64_t filled_chunks = 0;
  std::uint64_t device_chunks = 0;   // of those: by the device
  std::uint64_t evicted_chunks = 0;  // taken from a context before it used them
  std::size_t memory_bytes = 0;      // of the budget
  std::size_t keystream_bytes = 0;   // of those: for keystream
  std::size_t unlocked_bytes = 0;    // of those: what the system refused to lock
  bool is_wiped_in_children = true;  // false: the system does not wipe memory in a forked child
};

struct KeystreamKeyOptions {
  // A name that `paes devices` lists as available, or "auto".
  std::string_view kernel = "auto";
};

// The measured cost of a chunk in nanoseconds; 0 if it is not measured yet.
struct KeystreamCosts {
  double direct_ns = 0;
  double own_ns = 0;    // with keystream that the caller's thread has computed
  double other_ns = 0;  // with keystream that another thread has computed
};

// A key, bound to a cipher and a kernel of an engine. Copies share it.
class PAES_API KeystreamKey {
 public:
  [[nodiscard]] std::string_view kernel() const noexcept;
  // 16 for AES, 8 for 3DES.
  [[nodiscard]] std::size_t block_bytes() const noexcept;
  [[nodiscard]] KeystreamCosts costs() const noexcept;

 private:
  friend class KeystreamEngine;
  explicit KeystreamKey(std::shared_ptr<keystream::BoundKey> key) : key_(std::move(key)) {}
  std::shared_ptr<keystream::BoundKey> key_;
};

// One stream of counters: a file, a log, a disk. Any number of threads may call encrypt, decrypt,
// prefetch and mark_used at the same time. Close or destroy it only after all of them have
// returned.
class PAES_API KeystreamContext {
 public:
  KeystreamContext(KeystreamContext&&) noexcept = default;
  KeystreamContext& operator=(KeystreamContext&&) noexcept = default;
  ~KeystreamContext() = default;  // closes

  // Encrypts `in` into `out` (same length; the same memory or none of it shared) with the keystream
  // from byte `offset` on. Throws Error(usage) if a byte of [offset, offset + size) has been
  // encrypted in this context or marked as used, or lies beyond the limit. Throws Error(failure) if
  // the budget has no room to record it, and in a forked child. Nothing is written then. (If a
  // signal handler forks during the call, the child gets zeros and the Error.)
  void encrypt(std::uint64_t offset, std::span<const std::uint8_t> in, std::span<std::uint8_t> out);
  // Decrypts with keystream that is ready, and records nothing.
  void decrypt(std::uint64_t offset, std::span<const std::uint8_t> in, std::span<std::uint8_t> out);

  // Moves the window so that it begins at the chunk of `offset`. Returns at once, whatever the
  // window's size.
  void prefetch(std::uint64_t offset);
  // Records bytes as encrypted elsewhere. Call it first if a context is opened on existing data.
  void mark_used(std::uint64_t offset, std::uint64_t bytes);

  [[nodiscard]] KeystreamUse use() const;
  // Wipes and releases all that the context holds; chunks that are still being computed follow when
  // they are done. Later calls throw Error(usage).
  void close() noexcept;

 private:
  friend class KeystreamEngine;
  explicit KeystreamContext(std::shared_ptr<keystream::CtrContext> context) noexcept
      : context_(std::move(context)) {}
  std::shared_ptr<keystream::CtrContext> context_;
};

// A row of numbered messages under AES-GCM, each at most the engine's chunk_bytes long: the blocks
// of a disk, the records of a log. Any number of threads may call seal, open, prefetch and
// mark_used at the same time. Close or destroy it only after all of them have returned.
class PAES_API SealedContext {
 public:
  SealedContext(SealedContext&&) noexcept = default;
  SealedContext& operator=(SealedContext&&) noexcept = default;
  ~SealedContext() = default;  // closes

  // Encrypts `text` into `ciphertext` (same length; the same memory or none of it shared) and
  // writes `tag`, whose size chooses the tag length (see Gcm::seal). `aad` may overlap what is
  // written. Throws Error(usage) if a length is out of bounds, or if this message's number has been
  // sealed in this context or marked as used. Throws Error(failure) if the budget has no room to
  // record it, and in a forked child. Nothing is written then. (If a signal handler forks during
  // the call, the child gets zeros and the Error.)
  void seal(std::uint64_t message, std::span<const std::uint8_t> aad,
            std::span<const std::uint8_t> text, std::span<std::uint8_t> ciphertext,
            std::span<std::uint8_t> tag);
  // Decrypts with keystream that is ready, and records nothing. Returns false if the tag does not
  // match; `text` is then all zeros. Pass only tags of the length that you always use: a shorter
  // one is easier to forge. Until it returns, nobody may change the memory that it was given:
  // ciphertext is read to authenticate it and again to decrypt it (paes/gcm.hpp).
  [[nodiscard]] bool open(std::uint64_t message, std::span<const std::uint8_t> aad,
                          std::span<const std::uint8_t> ciphertext, std::span<std::uint8_t> text,
                          std::span<const std::uint8_t> tag);

  // These do what KeystreamContext's do, but count messages.
  void prefetch(std::uint64_t message);
  void mark_used(std::uint64_t first, std::uint64_t messages);
  [[nodiscard]] KeystreamUse use() const;
  void close() noexcept;

 private:
  friend class KeystreamEngine;
  explicit SealedContext(std::shared_ptr<keystream::SealContext> context) noexcept
      : context_(std::move(context)) {}
  std::shared_ptr<keystream::SealContext> context_;
};

// Lives on as long as one of its contexts; its workers end by themselves. Calls may come from any
// thread. In a forked child all but idle() throw Error(failure).
class PAES_API KeystreamEngine {
 public:
  // Throws Error(usage) for options that make no sense, and Error(failure) if the system gives no
  // memory or threads.
  explicit KeystreamEngine(const KeystreamOptions& options = {});
  ~KeystreamEngine();
  KeystreamEngine(KeystreamEngine&&) noexcept;
  KeystreamEngine& operator=(KeystreamEngine&&) = delete;

  // `cipher` is aes-128-ctr, aes-192-ctr, aes-256-ctr or des-ede3-ctr, or for sealed contexts
  // aes-128-gcm, aes-192-gcm or aes-256-gcm. No key may serve both. The first key of each cipher
  // and kernel is measured, which takes the time of eight chunks. 3DES must not encrypt more than
  // 2^20 blocks under one key (SP 800-67, section 3.4). This limit holds for all contexts of a key
  // together; what mark_used records counts, too, and a block that two requests share counts twice.
  [[nodiscard]] KeystreamKey bind(std::string_view cipher, std::span<const std::uint8_t> key,
                                  const KeystreamKeyOptions& options = {});

  // `first_counter` is the counter block of byte 0: one big-endian number, which counts up and
  // wraps. No two contexts of a key may share counters, in this process or any other, unless all
  // but one only decrypt; NonceAllocator provides counters that differ. The window starts to fill
  // at once.
  [[nodiscard]] KeystreamContext open(const KeystreamKey& key,
                                      std::span<const std::uint8_t> first_counter,
                                      const ContextOptions& options = {});

  // `first_nonce` has 12 bytes and is the nonce of message 0. Its last 8 bytes are a big-endian
  // number, to which a message's own number is added, modulo 2^64 (SP 800-38D, section 8.2.1). No
  // two contexts of a key may share nonces, in this process or any other, unless all but one only
  // decrypt; NonceAllocator::allocate_messages provides rows that differ.
  [[nodiscard]] SealedContext open_sealed(const KeystreamKey& key,
                                          std::span<const std::uint8_t> first_nonce,
                                          const SealedOptions& options = {});

  // Computes ahead in this thread until the deadline, or until nothing is left to do. Serves the
  // contexts that this thread used last, by priority; a thread that has used none serves all. If
  // one call is too short for a chunk, several complete it. Returns true if work is left.
  bool idle(std::chrono::steady_clock::time_point deadline);

  [[nodiscard]] KeystreamStatistics statistics() const;

 private:
  std::shared_ptr<keystream::KeystreamService> engine_;
};

}  // namespace v0
}  // namespace paes
