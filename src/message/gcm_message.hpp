// SPDX-License-Identifier: Apache-2.0
// One AES-GCM message in parts (SP 800-38D, sections 7.1 and 7.2). Each part is encrypted or
// decrypted and hashed alone, in any order and by any thread, and the hashes are joined to the tag.
// Use it for messages that are not in memory as a whole, and GcmKey for those that are.
#pragma once

#include <map>
#include <mutex>

#include "cipher/ghash.hpp"
#include "message/gcm.hpp"

namespace paes {

// The GHASH of a contiguous run of blocks, started from zero. Its destructor wipes it: without a
// tag's mask, it gives H away to anyone who knows the ciphertext. Parts join associatively, in
// order, so that threads, ranks and GPUs reduce them alike: hash(A || B) = hash(A) * H^blocks(B) ^
// hash(B).
struct GhashPart {
  HashValue value = {};
  std::uint64_t blocks = 0;

  ~GhashPart() { wipe(value.bytes); }
};

[[nodiscard]] GhashPart combine(const HashSubkey& h, const GhashPart& first,
                                const GhashPart& second) noexcept;

// Immutable after construction, hence safe to use from any number of threads.
class GcmMessage {
 public:
  // `key` must outlive it. `iv` and `aad` follow the rules of GcmKey.
  GcmMessage(const GcmKey& key, Bytes iv, Bytes aad) noexcept;
  ~GcmMessage();
  GcmMessage(const GcmMessage&) = delete;
  GcmMessage& operator=(const GcmMessage&) = delete;

  // Transforms the part that begins at `offset`, a multiple of a block, and returns the hash of its
  // ciphertext. Only the last part may end with a partial block. `out` has the length of `in`, and
  // is `in` or does not overlap it. Whole blocks go to the key's device if it has one that takes
  // them; what the device throws passes through.
  [[nodiscard]] GhashPart encrypt(std::uint64_t offset, Bytes in, MutableBytes out) const;
  [[nodiscard]] GhashPart decrypt(std::uint64_t offset, Bytes in, MutableBytes out) const;
  [[nodiscard]] GhashPart hash(Bytes ciphertext) const;

  // The hash of two neighbouring parts.
  [[nodiscard]] GhashPart join(const GhashPart& first, const GhashPart& second) const noexcept;
  // Computes the tag. `text` is all parts joined, or GhashPart{} for an empty text. Until the
  // message is known to be authentic, its tag is as secret as the parts' hashes.
  void tag(const GhashPart& text, std::uint64_t text_bytes, Tag& tag) const noexcept;

 private:
  [[nodiscard]] GhashPart crypt(bool encrypt, std::uint64_t offset, Bytes in,
                                MutableBytes out) const;
  [[nodiscard]] bool run_on_device(GcmOperation operation, const CounterBlock& counter, Bytes in,
                                   MutableBytes out, HashValue& hash) const;

  const GcmKey& key_;
  CounterBlock pre_counter_;
  bool is_counter_public_;
  HashValue aad_hash_ = {};
  std::uint64_t aad_bytes_;
};

// Collects the parts of one message as they come, from any thread and in any order. It joins them
// as soon as they touch, so that memory does not grow with the message while they come nearly in
// order.
class GcmParts {
 public:
  explicit GcmParts(const GcmMessage& message) : message_(message) {}

  void add(std::uint64_t number, GhashPart part);
  // The hash of the whole text, once all parts from number 0 on are there without a gap.
  [[nodiscard]] GhashPart joined() const;

 private:
  struct Run {
    std::uint64_t end;
    GhashPart part;
  };

  const GcmMessage& message_;
  std::mutex mutex_;
  std::map<std::uint64_t, Run> runs_;  // by the number of their first part
};

}  // namespace paes
