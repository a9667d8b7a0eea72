// SPDX-License-Identifier: Apache-2.0
// GCM as one message (SP 800-38D): the ciphertext, then the tag of 16 bytes. Encryption writes the
// tag last. Decryption reads twice: for the tag, before anything is written, and again for the
// text. A file can change in between, so each piece is hashed again while it is decrypted, and is
// written only if its hash is the same.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cipher/mode/gcm_blocks.hpp"
#include "message/gcm_message.hpp"
#include "stream/container/container_file.hpp"
#include "stream/transfer/transfer.hpp"

namespace paes::stream {

inline constexpr std::size_t raw_tag_bytes = gcm::max_tag_bytes;

// A pipe cannot be read twice, so its text is kept in memory, and a longer one is refused.
inline constexpr std::size_t max_kept_bytes = std::size_t{64} << 20;

// Throws Error(usage) for a text longer than GCM allows.
void check_gcm_limit(const std::string& name, std::uint64_t text_bytes);
// Throws Error(corrupt) for an input too short for a tag, and what check_gcm_limit throws.
[[nodiscard]] std::uint64_t text_bytes_of_gcm(const std::string& name, std::uint64_t bytes);

// How the text of one message is transferred, in pieces whose hashes join to the tag.
class GcmTransfer {
 public:
  // `piece_bytes` is a multiple of a block: buffer_bytes(work), or what several processes have
  // agreed on. `text_bytes` is empty for a pipe. `key` must outlive this.
  GcmTransfer(std::string name, const GcmKey& key, Bytes iv, Bytes aad, std::size_t piece_bytes,
              std::optional<std::uint64_t> text_bytes);
  ~GcmTransfer();
  GcmTransfer(const GcmTransfer&) = delete;
  GcmTransfer& operator=(const GcmTransfer&) = delete;

  [[nodiscard]] const Layout& layout() const noexcept { return layout_; }
  [[nodiscard]] const GcmMessage& message() const noexcept { return message_; }

  // Both process these pieces of the text, or all pieces of a pipe.
  MovedBytes seal(Source& source, Sink& sink, Range pieces, const Work& work);
  void hash(Source& source, Range pieces, const Work& work);
  // Decrypts and writes the pieces that hash() has read. Throws Error(corrupt) if one has changed.
  void open(Source& source, Sink& sink, const Work& work);

  // The joined hash of the pieces sealed or hashed. It is as secret as a key; its destructor wipes
  // it.
  [[nodiscard]] GhashPart joined() const { return parts_.joined(); }
  // Throws Error(corrupt) unless the joined hash of all pieces yields the tag after the text.
  void check_tag(const Source& source, const GhashPart& all) const;

 private:
  // Processes a piece. `index` counts from this process's first piece, `offset` from the text's
  // start.
  using PieceStep =
      std::function<void(std::size_t index, std::uint64_t offset, MutableBytes piece)>;
  MovedBytes run(Source& source, Sink* sink, Pass pass, const Work& work, const PieceStep& step);

  std::string name_;
  GcmMessage message_;
  GcmParts parts_;
  Layout layout_;
  Range pieces_;                   // sealed or hashed here
  std::vector<HashValue> hashes_;  // one per piece
};

// Both write the whole message and commit the output. `iv` has 12 bytes.
Totals seal_gcm(Input& input, Output& output, const GcmKey& key, Bytes iv, Bytes aad,
                const Work& work);
Totals open_gcm(Input& input, Output& output, const GcmKey& key, Bytes iv, Bytes aad,
                const Work& work);

}  // namespace paes::stream
