// SPDX-License-Identifier: Apache-2.0
// The public header's class on top of GcmKey: checks what a caller may get wrong, and spreads long
// messages over threads.
#include <string>

#include "cipher/mode/gcm_blocks.hpp"
#include "exec/thread_pool.hpp"
#include "kernel/registry.hpp"
#include "message/gcm.hpp"
#include "paes/gcm.hpp"

namespace paes {

namespace {

// Below two pieces, threads cost more than they gain.
constexpr std::size_t piece_bytes = std::size_t{256} << 10;

void check_lengths(Bytes iv, Bytes aad, std::size_t in_bytes, std::size_t out_bytes,
                   std::size_t tag_bytes) {
  if (iv.empty()) {
    throw Error(ErrorCode::usage, "IV: GCM needs at least one byte", "12 bytes are best");
  }
  if (iv.size() > gcm::max_aad_bytes || aad.size() > gcm::max_aad_bytes) {
    throw Error(ErrorCode::usage, "IV or AAD: longer than GCM allows (2^64 - 1 bits)");
  }
  if (in_bytes > gcm::max_plaintext_bytes) {
    throw Error(ErrorCode::usage, "text: longer than GCM allows (2^39 - 256 bits)",
                "split it into messages with IVs of their own");
  }
  if (out_bytes != in_bytes) {
    throw Error(ErrorCode::usage, "output: not as long as the input");
  }
  if (!gcm::is_tag_length(tag_bytes)) {
    throw Error(ErrorCode::usage, "tag: " + std::to_string(tag_bytes) + " bytes",
                "GCM has tags of 16, 15, 14, 13, 12, 8 or 4 bytes");
  }
}

}  // namespace

struct PAES_HIDDEN Gcm::State {
  State(Bytes key_bytes, const GcmOptions& options)
      : key(key_bytes, find_kernel(Cipher::aes, options.kernel)),
        executor(make_thread_pool(options.threads)) {}

  // Whether threads share the work. Starts them if so.
  [[nodiscard]] bool spread(std::size_t bytes) const {
    if (executor->threads() == 1 || bytes < 2 * piece_bytes) {
      return false;
    }
    executor->start();
    return true;
  }

  GcmKey key;
  std::unique_ptr<Executor> executor;
};

Gcm::Gcm(Bytes key, const GcmOptions& options) : state_(std::make_unique<State>(key, options)) {}
Gcm::~Gcm() = default;
Gcm::Gcm(Gcm&&) noexcept = default;
Gcm& Gcm::operator=(Gcm&&) noexcept = default;

std::string_view Gcm::kernel() const noexcept { return state_->key.kernel().name; }

void Gcm::seal(Bytes iv, Bytes aad, Bytes text, MutableBytes ciphertext, MutableBytes tag) const {
  check_lengths(iv, aad, text.size(), ciphertext.size(), tag.size());
  if (state_->spread(text.size())) {
    state_->key.seal(iv, aad, text, ciphertext, tag, *state_->executor, piece_bytes);
  } else {
    state_->key.seal(iv, aad, text, ciphertext, tag);
  }
}

bool Gcm::open(Bytes iv, Bytes aad, Bytes ciphertext, MutableBytes text, Bytes tag) const {
  check_lengths(iv, aad, ciphertext.size(), text.size(), tag.size());
  if (state_->spread(ciphertext.size())) {
    return state_->key.open(iv, aad, ciphertext, text, tag, *state_->executor, piece_bytes);
  }
  return state_->key.open(iv, aad, ciphertext, text, tag);
}

}  // namespace paes
