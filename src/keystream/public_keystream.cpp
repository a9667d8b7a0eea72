// The public header's classes on top of SpeculativeEngine and Context: check what a caller may get
// wrong, and leave alone in a forked child what the parent's threads may have been in the middle
// of.
#include <bit>
#include <cstring>
#include <vector>

#include "keystream/engine.hpp"
#include "paes/error.hpp"

namespace paes {

using keystream::Context;
using keystream::SpeculativeEngine;

namespace {

constexpr unsigned most_workers = 1024;
constexpr unsigned most_window_chunks = 65536;

const KeystreamOptions& checked(const KeystreamOptions& options) {
  if (options.workers > most_workers) {
    throw Error(ErrorCode::usage, "keystream: more than 1024 workers");
  }
  if (!std::has_single_bit(options.chunk_bytes) || options.chunk_bytes < 512 ||
      options.chunk_bytes > 65536) {
    throw Error(ErrorCode::usage, "keystream: a chunk has 512 to 65536 bytes, a power of two");
  }
  return options;
}

// Never destroyed. Reachable, so that nobody takes it for a leak.
template <typename Object>
void abandon(std::shared_ptr<Object> object) {
  static auto* const abandoned = new std::vector<std::shared_ptr<void>>;
  abandoned->push_back(std::move(object));
}

}  // namespace

std::string_view KeystreamKey::kernel() const noexcept { return key_->kernel().name; }
std::size_t KeystreamKey::block_bytes() const noexcept { return key_->block_size(); }
KeystreamCosts KeystreamKey::costs() const noexcept {
  const keystream::Costs& costs = key_->costs();
  return {costs.direct.ns(), costs.of(keystream::Maker::own).ns(),
          costs.of(keystream::Maker::other).ns()};
}

KeystreamContext::KeystreamContext(std::shared_ptr<SpeculativeEngine> engine,
                                   std::shared_ptr<Context> context) noexcept
    : engine_(std::move(engine)), context_(std::move(context)) {}
KeystreamContext::KeystreamContext(KeystreamContext&&) noexcept = default;

KeystreamContext& KeystreamContext::operator=(KeystreamContext&& other) noexcept {
  if (this != &other) {
    close();
    engine_ = std::move(other.engine_);
    context_ = std::move(other.context_);
  }
  return *this;
}

KeystreamContext::~KeystreamContext() { close(); }

void KeystreamContext::close() noexcept {
  if (context_ == nullptr) {
    return;
  }
  if (!engine_->shared().mark.is_intact()) {
    // A child: the parent's threads, which it lacks, may hold what a close would wait for.
    // Keystream is zero here, and the rest the child never uses.
    abandon(std::move(context_));
    abandon(std::move(engine_));
    return;
  }
  engine_->close(std::move(context_));
  engine_.reset();
}

Context& KeystreamContext::open_context() const {
  if (context_ == nullptr) {
    throw Error(ErrorCode::usage, "keystream: the context is closed");
  }
  return *context_;
}

void KeystreamContext::encrypt(std::uint64_t offset, Bytes in, MutableBytes out) {
  open_context().crypt(Direction::encrypt, offset, in, out);
}

void KeystreamContext::decrypt(std::uint64_t offset, Bytes in, MutableBytes out) {
  open_context().crypt(Direction::decrypt, offset, in, out);
}

void KeystreamContext::prefetch(std::uint64_t offset) { open_context().prefetch(offset); }

void KeystreamContext::mark_used(std::uint64_t offset, std::uint64_t bytes) {
  open_context().mark_used(offset, bytes);
}

KeystreamUse KeystreamContext::use() const { return open_context().use(); }

KeystreamEngine::KeystreamEngine(const KeystreamOptions& options)
    : engine_(SpeculativeEngine::make(checked(options))) {}
KeystreamEngine::KeystreamEngine(KeystreamEngine&&) noexcept = default;

KeystreamEngine::~KeystreamEngine() {
  if (engine_ != nullptr && !engine_->shared().mark.is_intact()) {
    // As in KeystreamContext::close: nothing of it may run in a child.
    abandon(std::move(engine_));
  }
}

KeystreamKey KeystreamEngine::bind(std::string_view cipher, Bytes key, std::string_view kernel) {
  return KeystreamKey(engine_->bind(cipher, key, kernel));
}

KeystreamContext KeystreamEngine::open(const KeystreamKey& key, Bytes first_counter,
                                       const ContextOptions& options) {
  if (first_counter.size() != key.block_bytes()) {
    throw Error(ErrorCode::usage, "counter: not as long as a block of the cipher");
  }
  if (options.window_chunks > most_window_chunks) {
    throw Error(ErrorCode::usage, "keystream: a window of more than 65536 chunks");
  }
  if (options.stride == 0) {
    throw Error(ErrorCode::usage, "keystream: a stride of 0 chunks");
  }
  if (!engine_->shared().mark.is_intact()) {
    throw Error(ErrorCode::failure, "keystream: a forked child cannot use its parent's engine");
  }
  Block counter = {};
  std::memcpy(counter.bytes, first_counter.data(), first_counter.size());
  return {engine_, engine_->open(key.key_, counter, options)};
}

bool KeystreamEngine::idle(std::chrono::steady_clock::time_point deadline) {
  return engine_->idle(deadline);
}

KeystreamStatistics KeystreamEngine::statistics() const { return engine_->statistics(); }

}  // namespace paes
