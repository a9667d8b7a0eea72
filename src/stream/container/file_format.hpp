// SPDX-License-Identifier: Apache-2.0
// The formats of encrypted files as rows of one table (formats.def). A row recognises a file by its
// first bytes, reads what precedes the payload, and makes new files. Only a row knows which format
// a file has. A file that is a payload alone nobody recognises.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "age/armor.hpp"
#include "age/envelope.hpp"
#include "core/secret.hpp"
#include "format/container.hpp"
#include "stream/container/payload.hpp"
#include "stream/container/peeked_source.hpp"
#include "stream/container/preamble.hpp"
#include "stream/container/rekeying.hpp"

namespace paes::stream {

struct FileFormat;

// What precedes a payload, parsed. None of it is authenticated yet.
class FileHead {
 public:
  virtual ~FileHead() = default;
  FileHead(const FileHead&) = delete;
  FileHead& operator=(const FileHead&) = delete;

  [[nodiscard]] virtual const FileFormat& format() const noexcept = 0;
  [[nodiscard]] virtual std::uint64_t payload_offset() const noexcept = 0;
  // The length of the payload cipher's key.
  [[nodiscard]] virtual unsigned key_bits() const noexcept = 0;
  // Which keys open the file.
  [[nodiscard]] virtual age::Summary summary() const = 0;
  // The key that the payload's keys are derived from. Throws like age::open.
  [[nodiscard]] virtual SecretBytes open_key(const age::Credentials& credentials) const = 0;
  // Opens the payload; a pipe is then at its first chunk. Throws like age::open.
  [[nodiscard]] virtual OpenedPayload open(const Source& source,
                                           const age::Credentials& credentials,
                                           const Work& work) const = 0;
  // Null if the file is not a container.
  [[nodiscard]] virtual const Preamble* container() const noexcept { return nullptr; }
  // The head of a new file with the same payload, for other recipients. Throws as rekey_file does,
  // and Error(usage) if a file of this format is never written anew for that.
  [[nodiscard]] virtual std::vector<std::uint8_t> rekeyed(const Rekeying& rekeying) const;

 protected:
  FileHead() = default;
};

struct FileFormat {
  const char* name;
  const char* suffix;  // of the files' names
  const Chunking& chunking;
  bool has_shape;             // has a choice of suites and room for recipients
  const char* kernel;         // the kernel that computes it; empty: the one chosen
  const char* why_cpu_alone;  // empty: a device may compute it
  bool is_resumable;          // --resume can continue it
  bool is_rekeyed_in_place;   // otherwise another head takes a new file
  bool has_armor;             // may be written as text
  // A payload alone, under a key that its owner keeps (chunk_cipher.hpp): the next three are null.
  [[nodiscard]] bool is_bare() const noexcept { return read_head == nullptr; }
  // Judges by the first max_magic_bytes of the file, or all of it if it is shorter.
  bool (*is_format_of)(Bytes first_bytes) noexcept;
  // Leaves a pipe at the payload. Throws Error(corrupt).
  std::unique_ptr<FileHead> (*read_head)(PeekedSource& source);
  // Makes a payload under a fresh key. `shape` is for containers.
  NewPayload (*new_payload)(const age::SealTo& seal_to, const container::Shape& shape,
                            const Work& work);
};

[[nodiscard]] std::span<const FileFormat* const> file_formats() noexcept;
// Throws Error(usage) that lists the names if there is no such format.
[[nodiscard]] const FileFormat& find_format(const std::string& name);
inline constexpr std::size_t max_magic_bytes = age::max_armor_head_bytes;

// The format of a file, armored or not, judged by its first max_magic_bytes (all of them if it is
// shorter). Null if no row recognises the file.
[[nodiscard]] const FileFormat* format_of(Bytes first_bytes) noexcept;
// The format of a source, or null: also for a pipe, of which nothing may be read yet.
[[nodiscard]] const FileFormat* format_of(const Source& source);

// Whether a file is encrypted, as far as that can be told without a key: everything before its
// payload is valid, and armor is valid to its end. (A text may happen to begin like an encrypted
// file.) False for a pipe. Throws what reading throws.
[[nodiscard]] bool has_whole_head(Source& source);

// An encrypted file to open, in any format, armored or not.
class EncryptedFile {
 public:
  // Reads everything before the payload. `input` must outlive this and must not have been read.
  // Throws Error(corrupt) "NAME: ...".
  explicit EncryptedFile(Source& input);
  ~EncryptedFile();

  // The file without its armor. If it has armor, the source is not seekable.
  [[nodiscard]] Source& source() const noexcept { return *source_; }
  [[nodiscard]] const FileHead& head() const noexcept { return *head_; }
  [[nodiscard]] bool is_armored() const noexcept { return armored_ != nullptr; }

 private:
  PeekedSource plain_;
  std::unique_ptr<Source> armored_;  // null if the file has no armor
  std::unique_ptr<PeekedSource> source_;
  std::unique_ptr<FileHead> head_;
};

}  // namespace paes::stream
