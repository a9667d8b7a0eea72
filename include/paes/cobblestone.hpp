// SPDX-License-Identifier: Apache-2.0
// Cobblestone-128 and -256 (C2SP chunked-encryption v1) in memory: an authenticated stream of any
// length that is sealed and opened as it comes.
//
//   paes::CobblestoneEncryptor encryptor(key);  // paes/keys.hpp; the salt is always random
//   std::vector<std::uint8_t> out(encryptor.update_bytes(text.size()));
//   encryptor.update(text, out);                // any number of times, then finalize
//
//   paes::CobblestoneDecryptor decryptor(key);  // the same calls; only authentic text comes out
//
// A stream is what `Writer` makes under a CobblestoneKey (paes/file.hpp). To decrypt a part of one
// that is there as a whole, use `Reader` with FileSource::callback. It authenticates the last chunk
// and every chunk that a read touches.
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
  // They work on calls with much data. 0 means every processor.
  unsigned threads = 1;
};

// Encrypts one stream. Each object is for one thread at a time. A forked child cannot use its
// parent's, which would seal other text under the same nonces. An object that was moved from may
// only be destroyed or assigned to.
class PAES_API CobblestoneEncryptor {
 public:
  // Throws Error(usage) for an empty handle and for a kernel that does not run here.
  explicit CobblestoneEncryptor(const CobblestoneKey& key, const CobblestoneOptions& options = {});
  ~CobblestoneEncryptor();
  CobblestoneEncryptor(CobblestoneEncryptor&&) noexcept;
  CobblestoneEncryptor& operator=(CobblestoneEncryptor&&) noexcept;

  // The next bytes of the text. Writes every chunk that they complete, the first call also salt and
  // commitment, and keeps the rest of the text. Returns how many bytes it wrote. `ciphertext` has
  // at least update_bytes(text.size()) bytes and shares no memory with `text`.
  // Throws Error(usage) when it is too small, shares memory, would get more than a stream may have
  // (4 PiB of text), or after finalize, and Error(failure) when the threads cannot start. Nothing
  // has happened then. Throws Error(failure) in a forked child. Should sealing itself fail, every
  // further call throws Error(failure), because no chunk may be sealed twice.
  std::size_t update(std::span<const std::uint8_t> text, std::span<std::uint8_t> ciphertext);
  // What update would write now. For a text too long, SIZE_MAX; after finalize or a
  // failure, 0.
  [[nodiscard]] std::size_t update_bytes(std::size_t text_bytes) const noexcept;

  // Ends the stream with its last chunk, which is always there. Returns how many bytes it wrote.
  // Throws as update does.
  std::size_t finalize(std::span<std::uint8_t> ciphertext);
  // What finalize would write now; after finalize or a failure, 0.
  [[nodiscard]] std::size_t finalize_bytes() const noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Decrypts one stream. Only authentic text comes out, but not before finalize is it certain that
// the stream was not cut. Each object is for one thread at a time. An object that was moved from
// may only be destroyed or assigned to. Until a call returns, nobody may change the memory that it
// was given: a chunk may be read to authenticate it and again to decrypt it (paes/gcm.hpp).
class PAES_API CobblestoneDecryptor {
 public:
  // Throws as CobblestoneEncryptor does.
  explicit CobblestoneDecryptor(const CobblestoneKey& key, const CobblestoneOptions& options = {});
  ~CobblestoneDecryptor();
  CobblestoneDecryptor(CobblestoneDecryptor&&) noexcept;
  CobblestoneDecryptor& operator=(CobblestoneDecryptor&&) noexcept;

  // The next bytes of the stream. Writes the text of every whole chunk that they complete, and
  // keeps the rest. Returns how many bytes it wrote. `text` has at least
  // update_bytes(ciphertext.size()) bytes and shares no memory with `ciphertext`.
  // Throws Error(usage) when it is too small, shares memory, or after finalize, and Error(failure)
  // when the threads cannot start. Nothing has happened then. Throws Error(wrong_key) when the
  // stream has been sealed under another key or context, and Error(corrupt) when a chunk is damaged
  // or forged, or is one too many. All of `text` is zeros then, and every further call throws
  // Error(failure).
  std::size_t update(std::span<const std::uint8_t> ciphertext, std::span<std::uint8_t> text);
  // What update would write now; after finalize or a failure, 0.
  [[nodiscard]] std::size_t update_bytes(std::size_t ciphertext_bytes) const noexcept;

  // Opens the last chunk. Throws Error(corrupt) when there is none, because the stream was cut, and
  // as update does.
  std::size_t finalize(std::span<std::uint8_t> text);
  // What finalize would write now; after finalize or a failure, 0.
  [[nodiscard]] std::size_t finalize_bytes() const noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace v0
}  // namespace paes
