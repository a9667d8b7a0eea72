// SPDX-License-Identifier: Apache-2.0
// The public header's classes, on top of KeystreamService and Context. They check what a caller may
// get wrong, and in a forked child leave alone what the parent's threads may have been changing.
#include <bit>
#include <cstddef>
#include <cstring>

#include "keystream/engine.hpp"
#include "paes/error.hpp"

namespace paes {

using keystream::abandon;
using keystream::closing_itself;
using keystream::KeystreamService;

namespace {

constexpr unsigned most_workers = 1024;
constexpr unsigned most_window_chunks = 65536;

KeystreamOptions checked(const KeystreamOptions& options) {
  if (options.workers > most_workers) {
    throw Error(ErrorCode::usage, "keystream: more than 1024 workers");
  }
  if (!std::has_single_bit(options.chunk_bytes) || options.chunk_bytes < 512 ||
      options.chunk_bytes > 65536) {
    throw Error(ErrorCode::usage, "keystream: a chunk has 512 to 65536 bytes, a power of two");
  }
  if (options.worker_priority > WorkerPriority::ordinary) {
    throw Error(ErrorCode::usage, "keystream: workers have idle or ordinary priority");
  }
  if (options.device != nullptr && options.workers == 0) {
    throw Error(ErrorCode::usage, "keystream: a device needs a worker to work for");
  }
  return options;
}

template <typename OneContext>
OneContext& still_open(const std::shared_ptr<OneContext>& context) {
  if (context == nullptr) {
    throw Error(ErrorCode::usage, "keystream: the context is closed");
  }
  return *context;
}

void check_window(unsigned chunks, std::int64_t stride) {
  if (chunks > most_window_chunks) {
    throw Error(ErrorCode::usage, "keystream: a window of more than 65536 chunks");
  }
  if (stride == 0) {
    throw Error(ErrorCode::usage, "keystream: a stride of 0 chunks");
  }
}

}  // namespace

std::string_view KeystreamKey::kernel() const noexcept { return key_->kernel().name; }
std::size_t KeystreamKey::block_bytes() const noexcept { return key_->block_size(); }
KeystreamCosts KeystreamKey::costs() const noexcept {
  const keystream::Costs& costs = key_->costs();
  return {costs.ns(keystream::Way::direct), costs.ns(keystream::Way::own),
          costs.ns(keystream::Way::other)};
}

void KeystreamContext::close() noexcept { context_.reset(); }

void KeystreamContext::encrypt(std::uint64_t offset, Bytes in, MutableBytes out) {
  still_open(context_).crypt(Direction::encrypt, offset, in, out);
}

void KeystreamContext::decrypt(std::uint64_t offset, Bytes in, MutableBytes out) {
  still_open(context_).crypt(Direction::decrypt, offset, in, out);
}

void KeystreamContext::prefetch(std::uint64_t offset) { still_open(context_).prefetch(offset); }

void KeystreamContext::mark_used(std::uint64_t offset, std::uint64_t bytes) {
  still_open(context_).mark_used(offset, bytes);
}

KeystreamUse KeystreamContext::use() const { return still_open(context_).use(); }

void SealedContext::close() noexcept { context_.reset(); }

void SealedContext::seal(std::uint64_t message, Bytes aad, Bytes text, MutableBytes ciphertext,
                         MutableBytes tag) {
  still_open(context_).seal(message, aad, text, ciphertext, tag);
}

bool SealedContext::open(std::uint64_t message, Bytes aad, Bytes ciphertext, MutableBytes text,
                         Bytes tag) {
  return still_open(context_).open(message, aad, ciphertext, text, tag);
}

void SealedContext::prefetch(std::uint64_t message) { still_open(context_).prefetch(message); }

void SealedContext::mark_used(std::uint64_t first, std::uint64_t messages) {
  still_open(context_).mark_used(first, messages);
}

KeystreamUse SealedContext::use() const { return still_open(context_).use(); }

KeystreamEngine::KeystreamEngine(const KeystreamOptions& options)
    : engine_(KeystreamService::make(checked(options))) {}
KeystreamEngine::KeystreamEngine(KeystreamEngine&&) noexcept = default;

KeystreamEngine::~KeystreamEngine() {
  if (engine_ != nullptr && !engine_->shared().mark.is_intact()) {
    // As with a context: nothing of it may run in a child.
    abandon(std::move(engine_));
  }
}

KeystreamKey KeystreamEngine::bind(std::string_view cipher, Bytes key,
                                   const KeystreamKeyOptions& options) {
  return KeystreamKey(engine_->bind(cipher, key, options.kernel));
}

KeystreamContext KeystreamEngine::open(const KeystreamKey& key, Bytes first_counter,
                                       const ContextOptions& options) {
  if (first_counter.size() != key.block_bytes()) {
    throw Error(ErrorCode::usage, "counter: not as long as a block of the cipher");
  }
  check_window(options.window_chunks, options.stride);
  CounterBlock counter = {};
  std::memcpy(counter.bytes, first_counter.data(), first_counter.size());
  return KeystreamContext(closing_itself(engine_, engine_->open(key.key_, counter, options)));
}

SealedContext KeystreamEngine::open_sealed(const KeystreamKey& key, Bytes first_nonce,
                                           const SealedOptions& options) {
  keystream::MessageNonce nonce;
  if (first_nonce.size() != sizeof nonce.bytes) {
    throw Error(ErrorCode::usage, "nonce: it has 12 bytes");
  }
  check_window(options.window_messages, options.stride);
  std::memcpy(nonce.bytes, first_nonce.data(), sizeof nonce.bytes);
  return SealedContext(closing_itself(
      engine_, engine_->open(key.key_, std::make_unique<keystream::CountedIvs>(nonce), options)));
}

bool KeystreamEngine::idle(std::chrono::steady_clock::time_point deadline) {
  return engine_->idle(deadline);
}

KeystreamStatistics KeystreamEngine::statistics() const { return engine_->statistics(); }

}  // namespace paes
