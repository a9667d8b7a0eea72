// SPDX-License-Identifier: Apache-2.0
// The formats of encrypted files as rows of one table (formats.def). A row recognises a file by its
// first bytes, reads what stands before the payload, and makes new files. Nothing outside of a row
// asks which format a file has.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "age/armor.hpp"
#include "age/envelope.hpp"
#include "format/container.hpp"
#include "stream/container/payload.hpp"
#include "stream/container/peeked_source.hpp"
#include "stream/container/preamble.hpp"

namespace paes::stream {

struct FileFormat;

// What stands before a payload, parsed; nothing in it is authenticated yet.
class FileHead {
 public:
  virtual ~FileHead() = default;
  FileHead(const FileHead&) = delete;
  FileHead& operator=(const FileHead&) = delete;

  [[nodiscard]] virtual const FileFormat& format() const noexcept = 0;
  [[nodiscard]] virtual std::uint64_t payload_offset() const noexcept = 0;
  // The payload's cipher has a key of this length.
  [[nodiscard]] virtual unsigned key_bits() const noexcept = 0;
  // What opens the file.
  [[nodiscard]] virtual age::Summary summary() const = 0;
  // Opens the payload; a pipe is then left at its first chunk. Throws as age::open does.
  [[nodiscard]] virtual OpenedPayload open(const Source& source,
                                           const age::Credentials& credentials,
                                           const Work& work) const = 0;
  // Null for a file that is no container.
  [[nodiscard]] virtual const Preamble* container() const noexcept { return nullptr; }

 protected:
  FileHead() = default;
};

struct FileFormat {
  const char* name;
  const char* suffix;  // of the files' names
  const Chunking& chunking;
  bool has_shape;             // there is a choice of suites, and of room for recipients
  const char* kernel;         // the one that computes it; empty: the one that was chosen
  const char* why_cpu_alone;  // empty: a device may compute it
  bool is_resumable;          // --resume can continue it
  bool is_rekeyable;          // its recipients can change in place
  bool has_armor;             // may be written as text
  // From max_magic_bytes of the file, or all of it.
  bool (*is_format_of)(Bytes first_bytes) noexcept;
  // A pipe is left at the payload. Throws Error(corrupt).
  std::unique_ptr<FileHead> (*read_head)(PeekedSource& source);
  // Under a fresh key. `shape` is a container's.
  NewPayload (*new_payload)(const age::SealTo& seal_to, const container::Shape& shape,
                            const Work& work);
};

[[nodiscard]] std::span<const FileFormat* const> file_formats() noexcept;
// Throws Error(usage) that lists the names.
[[nodiscard]] const FileFormat& find_format(const std::string& name);
inline constexpr std::size_t max_magic_bytes = age::max_armor_head_bytes;

// The format of a file, armored or not, from its first max_magic_bytes, or all. Null for a file
// that no row recognises.
[[nodiscard]] const FileFormat* format_of(Bytes first_bytes) noexcept;
// Null for a pipe, too: nothing of it may be read yet.
[[nodiscard]] const FileFormat* format_of(const Source& source);

// Whether a file is encrypted, as far as that can be told without a key: everything before its
// payload is as it must be, and so is armor to its end. A text may begin as a format's files do.
// False for a pipe. Throws what reading throws.
[[nodiscard]] bool has_whole_head(Source& source);

// A file that is to be opened, in whatever format, armored or not.
class EncryptedFile {
 public:
  // Reads everything before the payload. `input` must outlive it and not have been read. Throws
  // Error(corrupt) "NAME: ...".
  explicit EncryptedFile(Source& input);
  ~EncryptedFile();

  // The file without armor. Not seekable if it has armor.
  [[nodiscard]] Source& source() const noexcept { return *source_; }
  [[nodiscard]] const FileHead& head() const noexcept { return *head_; }
  [[nodiscard]] bool is_armored() const noexcept { return armored_ != nullptr; }

 private:
  PeekedSource plain_;
  std::unique_ptr<Source> armored_;  // null: the file has no armor
  std::unique_ptr<PeekedSource> source_;
  std::unique_ptr<FileHead> head_;
};

}  // namespace paes::stream
