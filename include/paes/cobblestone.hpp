// SPDX-License-Identifier: Apache-2.0
// Cobblestone-128 and -256 (C2SP chunked-encryption v1) in memory: an authenticated stream of any
// length, sealed and opened as it arrives.
//
//   paes::CobblestoneEncryptor encryptor(key);  // paes/keys.hpp; the salt is always random
//   std::vector<std::uint8_t> out(encryptor.update_bytes(text.size()));
//   encryptor.update(text, out);                // any number of times, then finalize
//
//   paes::CobblestoneDecryptor decryptor(key);  // the same calls; only authentic text comes out
//
// `Writer` (paes/file.hpp) makes the same stream under a CobblestoneKey. To decrypt a part of a
// complete stream, use `Reader` with FileSource::callback: it authenticates the last chunk and
// every chunk that a read touches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "paes/error.hpp"
#include "paes/export.h"
#include "paes/keys.hpp"

namespace paes {
inline namespace v0 {

struct CobblestoneOptions {
  // A name that `paes devices` lists as available, or "auto".
  std::string_view kernel = "auto";
  // Threads for calls with much data. 0 means every processor.
  unsigned threads = 1;
};

// Encrypts one stream. Only one thread at a time may use an object. A forked child cannot use its
// parent's, because it would seal other text under the same nonces. After a move, the old object
// may only be destroyed or assigned to.
class PAES_API CobblestoneEncryptor {
 public:
  // Throws Error(usage) for an empty handle and for a kernel that does not run here.
  explicit CobblestoneEncryptor(const CobblestoneKey& key, const CobblestoneOptions& options = {});
  ~CobblestoneEncryptor();
  CobblestoneEncryptor(CobblestoneEncryptor&&) noexcept;
  CobblestoneEncryptor& operator=(CobblestoneEncryptor&&) noexcept;

  // Adds the next bytes of the text. Writes every chunk that they complete (and, in the first call,
  // salt and commitment), and keeps the rest of the text. Returns how many bytes it wrote.
  // `ciphertext` has at least update_bytes(text.size()) bytes and shares no memory with `text`.
  // Throws Error(usage) if it is too small or shares memory, if the text would exceed a stream's 4
  // PiB, and after finalize. Throws Error(failure) if the threads cannot start. Nothing has
  // happened after these errors. Throws Error(failure) in a forked child. If sealing itself fails,
  // every further call throws Error(failure), because no chunk may be sealed twice.
  std::size_t update(std::span<const std::uint8_t> text, std::span<std::uint8_t> ciphertext);
  // How many bytes update would write now. SIZE_MAX if the text is too long, 0 after finalize or a
  // failure.
  [[nodiscard]] std::size_t update_bytes(std::size_t text_bytes) const noexcept;

  // Ends the stream with its last chunk, which always exists. Returns how many bytes it wrote.
  // Throws like update.
  std::size_t finalize(std::span<std::uint8_t> ciphertext);
  // How many bytes finalize would write now; 0 after finalize or a failure.
  [[nodiscard]] std::size_t finalize_bytes() const noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Decrypts one stream. Only authentic text comes out, but only finalize tells whether the stream
// was cut. Only one thread at a time may use an object. After a move, the old object may only be
// destroyed or assigned to. Until a call returns, nobody may change the memory that it was given,
// because a chunk may be read to authenticate it and again to decrypt it (paes/gcm.hpp).
class PAES_API CobblestoneDecryptor {
 public:
  // Throws Error(usage) for an empty handle and for a kernel that does not run here.
  explicit CobblestoneDecryptor(const CobblestoneKey& key, const CobblestoneOptions& options = {});
  ~CobblestoneDecryptor();
  CobblestoneDecryptor(CobblestoneDecryptor&&) noexcept;
  CobblestoneDecryptor& operator=(CobblestoneDecryptor&&) noexcept;

  // Adds the next bytes of the stream. Writes the text of every whole chunk that they complete, and
  // keeps the rest. Returns how many bytes it wrote. `text` has at least
  // update_bytes(ciphertext.size()) bytes and shares no memory with `ciphertext`. Throws
  // Error(usage) if it is too small or shares memory, and after finalize. Throws Error(failure) if
  // the threads cannot start. Nothing has happened after these errors. Throws Error(wrong_key) if
  // the stream was sealed under another key or context, and Error(corrupt) if a chunk is damaged,
  // forged or one too many. All of `text` is then zeros, and every further call throws
  // Error(failure).
  std::size_t update(std::span<const std::uint8_t> ciphertext, std::span<std::uint8_t> text);
  // How many bytes update would write now; 0 after finalize or a failure.
  [[nodiscard]] std::size_t update_bytes(std::size_t ciphertext_bytes) const noexcept;

  // Opens the last chunk. Throws Error(corrupt) if there is none, because the stream was cut;
  // otherwise throws like update.
  std::size_t finalize(std::span<std::uint8_t> text);
  // How many bytes finalize would write now; 0 after finalize or a failure.
  [[nodiscard]] std::size_t finalize_bytes() const noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace v0
}  // namespace paes
