// SPDX-License-Identifier: Apache-2.0
// One AES-GCM message in parts (SP 800-38D, sections 7.1 and 7.2). Each part is encrypted or
// decrypted and hashed alone, in any order and by any thread, and the hashes join to the tag. This
// is for messages that are not in memory as a whole; GcmKey has the calls for those that are.
#pragma once

#include <map>
#include <mutex>

#include "cipher/ghash.hpp"
#include "message/gcm.hpp"

namespace paes {

// The GHASH of a contiguous run of blocks, hashed from zero. Without the mask of a tag it gives H
// away to anyone who knows the ciphertext, so it wipes itself. Parts join in order and
// associatively, so that threads, ranks and GPUs reduce them alike: hash(A || B) =
// hash(A) * H^blocks(B) ^ hash(B).
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
  // `key` must outlive it. The rules for `iv` and `aad` are GcmKey's.
  GcmMessage(const GcmKey& key, Bytes iv, Bytes aad) noexcept;
  ~GcmMessage();
  GcmMessage(const GcmMessage&) = delete;
  GcmMessage& operator=(const GcmMessage&) = delete;

  // The part that begins at `offset`, a multiple of a block; only the last part may end with a
  // partial block. `out` has the length of `in`, and is `in` or does not overlap it. The answer is
  // the hash of the ciphertext. Whole blocks go to the key's device if it has one and it takes
  // them, and what it throws comes out here.
  [[nodiscard]] GhashPart encrypt(std::uint64_t offset, Bytes in, MutableBytes out) const;
  [[nodiscard]] GhashPart decrypt(std::uint64_t offset, Bytes in, MutableBytes out) const;
  [[nodiscard]] GhashPart hash(Bytes ciphertext) const;

  // The hash of two neighbours.
  [[nodiscard]] GhashPart join(const GhashPart& first, const GhashPart& second) const noexcept;
  // The tag; `text` is all parts joined, or GhashPart{} for an empty text. As long as a message is
  // only claimed to be authentic, its tag is as secret as the parts' hashes.
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

// The parts of one message as they come, from any thread and in any order. They are joined as soon
// as they touch, so that memory does not grow with the message while they come in nearly their
// order.
class GcmParts {
 public:
  explicit GcmParts(const GcmMessage& message) : message_(message) {}

  void add(std::uint64_t number, GhashPart part);
  // The hash of the whole text, once all parts are there, from number 0 on without a gap.
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
