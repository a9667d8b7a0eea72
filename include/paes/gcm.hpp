// SPDX-License-Identifier: Apache-2.0
// AES-GCM (FIPS 197, SP 800-38D) for programs that link paes: any IV and tag length that the
// standard allows, on the best kernel of the machine and as many threads as you like.
//
//   paes::Gcm gcm(key);                        // 16, 24 or 32 bytes
//   gcm.seal(iv, aad, text, ciphertext, tag);  // never the same IV twice under one key
//   if (!gcm.open(iv, aad, ciphertext, text, tag)) { ... forged or damaged ... }
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "paes/error.hpp"
#include "paes/export.h"

namespace paes {
inline namespace v0 {

struct GcmOptions {
  // A name that `paes devices` lists as available, or "auto".
  std::string_view kernel = "auto";
  // Threads for one long message. 0 means every processor.
  unsigned threads = 1;
};

// A key, bound to a kernel. Immutable: one object serves any number of threads.
//
// Until a call returns, nobody may change the memory that it was given. Ciphertext may be read
// twice, to authenticate it and to decrypt it: if another thread or process writes there meanwhile,
// `open` may return text that was never sealed. Copy ciphertext out of shared memory first. `aad`
// may overlap everything that is written.
class PAES_API Gcm {
 public:
  // Throws Error(usage) if the key does not have 16, 24 or 32 bytes, and for a kernel that does not
  // run here.
  explicit Gcm(std::span<const std::uint8_t> key, const GcmOptions& options = {});
  ~Gcm();
  Gcm(Gcm&&) noexcept;
  Gcm& operator=(Gcm&&) noexcept;

  // Encrypts `text` into `ciphertext` (same length; the same memory or none of it shared) and
  // writes `tag`, whose size chooses the tag length: 16, 15, 14, 13 or 12 bytes, or 8 or 4 if you
  // follow SP 800-38D, appendix C. `iv` has 1 to 2^61 - 1 bytes; 12 is best. `text` has at most
  // 2^36 - 32 bytes. Throws Error(usage) if a length is out of bounds, and Error(failure) if the
  // threads for a long message cannot start; nothing is written then.
  void seal(std::span<const std::uint8_t> iv, std::span<const std::uint8_t> aad,
            std::span<const std::uint8_t> text, std::span<std::uint8_t> ciphertext,
            std::span<std::uint8_t> tag) const;

  // Decrypts. Returns false if the tag does not match; `text` is then all zeros. Pass only tags of
  // the length that you always use: a shorter one is easier to forge. Throws like seal.
  [[nodiscard]] bool open(std::span<const std::uint8_t> iv, std::span<const std::uint8_t> aad,
                          std::span<const std::uint8_t> ciphertext, std::span<std::uint8_t> text,
                          std::span<const std::uint8_t> tag) const;

  // The chosen kernel's name, as `paes devices` lists it.
  [[nodiscard]] std::string_view kernel() const noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace v0
}  // namespace paes
