// One AES-GCM message in parts (SP 800-38D, sections 7.1 and 7.2): each is encrypted or decrypted
// and hashed alone, in any order and by any thread, and their hashes join to the tag. For messages
// that are not in memory as a whole; GcmKey has the calls for those that are.
#pragma once

#include <map>
#include <mutex>

#include "message/gcm.hpp"

namespace paes {

// Immutable after construction, hence safe to use from any number of threads.
class GcmMessage {
 public:
  // `key` must outlive it. The rules for `iv` and `aad` are GcmKey's.
  GcmMessage(const GcmKey& key, Bytes iv, Bytes aad) noexcept;
  ~GcmMessage();
  GcmMessage(const GcmMessage&) = delete;
  GcmMessage& operator=(const GcmMessage&) = delete;

  // The part that begins `offset` bytes, whole blocks, into the text; only the last part may end
  // with a partial block. `out` has the length of `in`, and is `in` or does not overlap it. The
  // answer is the hash of the ciphertext, which is as secret as a key: wipe it.
  [[nodiscard]] GhashPart encrypt(std::uint64_t offset, Bytes in, MutableBytes out) const noexcept;
  [[nodiscard]] GhashPart decrypt(std::uint64_t offset, Bytes in, MutableBytes out) const noexcept;
  [[nodiscard]] GhashPart hash(Bytes ciphertext) const noexcept;

  // Of two neighbours.
  [[nodiscard]] GhashPart join(const GhashPart& first, const GhashPart& second) const noexcept;
  // Of all parts joined; nothing but GhashPart{} for a text of 0 bytes.
  [[nodiscard]] Block tag(const GhashPart& text, std::uint64_t text_bytes) const noexcept;

 private:
  [[nodiscard]] GhashPart crypt(bool encrypt, std::uint64_t offset, Bytes in,
                                MutableBytes out) const noexcept;

  const GcmKey& key_;
  Block pre_counter_;
  Block aad_hash_;
  std::uint64_t aad_bytes_;
  ModeState state_ = {};
};

// The parts of one message as they come, from any thread and in any order, joined as soon as they
// touch: what is kept does not grow with the message as long as they come in nearly their order.
class GcmParts {
 public:
  explicit GcmParts(const GcmMessage& message) : message_(message) {}
  ~GcmParts();
  GcmParts(const GcmParts&) = delete;
  GcmParts& operator=(const GcmParts&) = delete;

  void add(std::uint64_t number, GhashPart part);
  // When all are there, from number 0 on without a gap.
  [[nodiscard]] Block tag(std::uint64_t text_bytes) const;

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
