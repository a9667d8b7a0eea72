// SPDX-License-Identifier: Apache-2.0
// Encrypted files: authenticated, seekable, on all cores. They are the files of `paes encrypt`:
// program and library read each other's files.
//
//   paes::encrypt_file("disk.img", "disk.img.paes", {.recipients = {recipient}});
//
//   const paes::Reader disk("disk.img.paes", {.identities = {identity}});
//   disk.read_at(offset, block);  // from any number of threads
//
//   paes::Writer log("log.paes", {.recipients = {recipient}});
//   log.write(record);
//   log.commit();  // the file has its name from here on
//
// A process that writes to pipes, or near the limit of file sizes, should ignore SIGPIPE and
// SIGXFSZ, which then become errors; the library does not change how signals are handled.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "paes/cancel.hpp"
#include "paes/error.hpp"
#include "paes/export.h"
#include "paes/keys.hpp"

namespace paes {

class Device;
struct FileParts;  // the library's own view of a FileSource
namespace stream {
class Source;
}

inline namespace v0 {

// Text is sealed in chunks of this many bytes.
inline constexpr std::size_t file_chunk_bytes = 16384;

struct FileOptions {
  // 0 means every processor; at most 4096. A call for at most one piece runs in the caller's
  // thread. Programs with threads of their own should choose 1.
  unsigned threads = 0;
  // A name that `paes devices` lists as available, or "auto".
  std::string_view kernel = "auto";
  // A GPU (paes/device.hpp). The kernel computes what the device does not take.
  std::shared_ptr<Device> device = nullptr;
  // Bytes that a thread reads and computes at a time: up to 4 MiB, or 16 MiB with a device, rounded
  // up to whole chunks. A callback is asked for at most this much.
  std::size_t piece_bytes = std::size_t{256} << 10;
  // Whether an output may replace an existing file of the same name.
  bool overwrite = false;
  // Stops the work, which then throws Error(failure) and leaves nothing behind. It must outlive a
  // Reader or Writer that uses it.
  const Cancel* cancel = nullptr;
  // Called now and then with the bytes of text that are done and their total (0 if not known, or
  // not yet), from a thread of its own and never twice at a time. If it throws, the work stops and
  // throws that. The last call comes when the output has its name; what that one throws is lost.
  // Reader and Writer make no calls.
  std::function<void(std::uint64_t done_bytes, std::uint64_t total_bytes)> progress = nullptr;
  // Told in one line what may go wrong with an output (little room), what is wrong with a complete
  // one (its mode), and what is left of one that could not be removed; a Writer's destructor may
  // call it, too. If null, nobody is told.
  std::function<void(const std::string& what_why)> warn = nullptr;
};

// Fills `to` with the bytes from `offset` on and returns how many came. If fewer came, it is called
// again for the rest; 0 means that the source ends there, which is an error. What it throws passes
// through. Several threads may call it at a time.
using ReadAt = std::function<std::size_t(std::uint64_t offset, std::span<std::uint8_t> to)>;

// An encrypted file to read, or a text to encrypt.
class PAES_API FileSource {
 public:
  // Each opens the file. Throws Error(failure) "PATH: why" if that fails. For a FIFO, they wait
  // until it has a writer; no Cancel ends that.
  FileSource(const std::string& path);  // NOLINT(google-explicit-constructor): a path is a source
  FileSource(const char* path);         // NOLINT(google-explicit-constructor)
  FileSource(const FileSource&) = default;  // a move copies
  FileSource& operator=(const FileSource&) = default;
  ~FileSource() = default;
  // Reads from where the descriptor stands. The caller keeps the descriptor, and keeps it open as
  // long as this is used. `name` is for errors. The descriptor's own position does not move, except
  // a pipe's.
  [[nodiscard]] static FileSource descriptor(int number, const std::string& name);
  // A source of `bytes` bytes. Its first 8 KiB are read at once.
  [[nodiscard]] static FileSource callback(ReadAt read_at, std::uint64_t bytes,
                                           const std::string& name);

 private:
  friend FileParts;
  explicit FileSource(std::shared_ptr<stream::Source> source) noexcept;
  std::shared_ptr<stream::Source> source_;
};

// Encrypts into a new file, which gets its name once it is complete and synced. Returns the bytes
// of text. Throws Error; nothing is left then, unless only the folder could not be synced, which
// the error says. If `to` is a FIFO, a device or /dev/stdout, it is written to directly and keeps
// what it got.
std::uint64_t PAES_API encrypt_file(const FileSource& from, const std::string& to,
                                    const SealFor& seal_for, const FileOptions& options = {});

// Decrypts into a new file, which gets its name once it is complete and synced. Returns the bytes
// of text. Throws Error(wrong_key) if nothing given opens the file, Error(corrupt) if it is
// damaged, forged or cut, and otherwise like encrypt_file.
std::uint64_t PAES_API decrypt_file(const FileSource& from, const std::string& to,
                                    const OpenWith& open_with, const FileOptions& options = {});

// The result of verify_file.
struct FileVerification {
  // The bytes [first, end) of the text, whose chunks are damaged or forged.
  struct Damaged {
    std::uint64_t first;
    std::uint64_t end;
  };
  bool is_authentic = false;
  std::uint64_t text_bytes = 0;
  std::vector<Damaged> damaged = {};      // at most 100, in order
  std::uint64_t more_damaged_chunks = 0;  // damaged chunks beyond those listed
};

// Authenticates the whole file, and continues after damage. Throws like decrypt_file if it cannot
// begin.
[[nodiscard]] FileVerification PAES_API verify_file(const FileSource& from,
                                                    const OpenWith& open_with,
                                                    const FileOptions& options = {});

// What a file says about itself without a key. None of it is authenticated.
struct FileInfo {
  // A way to open an envelope: "X25519" by an identity, "scrypt" by a passphrase, or another type
  // of age's.
  struct Stanza {
    std::string type;
    unsigned work_factor;  // of scrypt: log2 N; else 0
  };
  unsigned key_bits = 0;
  std::uint64_t text_bytes = 0;
  std::uint64_t payload_offset = 0;  // where the salt begins
  std::vector<Stanza> stanzas = {};
};

// Throws Error(corrupt) if this is not a file of paes or age, or has been cut, and Error(usage) for
// a pipe.
[[nodiscard]] FileInfo PAES_API inspect_file(const FileSource& from);

// A change of who can open a file: some recipients go, others come.
struct RecipientEdit {
  std::vector<Recipient> add = {};
  // Their positions in FileInfo::stanzas.
  std::vector<std::size_t> remove = {};
};

// Replaces a file's recipients. Nobody who could open it can do so afterwards, unless `seal_for`
// names them too; but whoever has read the file before may have kept its key. A container changes
// in place, and its text does not move; a file of age is written anew beside the old one, with the
// same payload, and replaces it. Returns how many recipients the file has now. Throws like
// decrypt_file, Error(usage) for a bare CobblestoneKey, and Error(failure) if the room that
// encrypt_file left is too small, if an interrupted change has left its copy (paes(1), rekey
// --restore), or if a file of age has several hard links. Uses only the options `cancel` and
// `warn`.
std::size_t PAES_API rekey_file(const std::string& path, const OpenWith& open_with,
                                const SealFor& seal_for, const FileOptions& options = {});
// Adds and removes recipients of a file, like rekey_file. Returns how many it has now. Throws like
// rekey_file, and Error(usage) if nobody would be left or if a passphrase would not stay alone.
std::size_t PAES_API change_recipients(const std::string& path, const OpenWith& open_with,
                                       const RecipientEdit& edit, const FileOptions& options = {});

// Reads an encrypted file at any place. Any number of threads may call read_at.
class PAES_API Reader {
 public:
  // Throws like decrypt_file, and Error(usage) for a pipe. Authenticates the last chunk, so that a
  // file that was cut or extended does not open.
  Reader(const FileSource& from, const OpenWith& open_with, const FileOptions& options = {});
  ~Reader();
  Reader(Reader&&) noexcept;
  Reader& operator=(Reader&&) noexcept;

  // The length of the text.
  [[nodiscard]] std::uint64_t size() const noexcept;

  // Fills `to` with the text from `offset` on and returns how many bytes came; fewer come only at
  // the end of the text. Only authentic text comes out: throws Error(corrupt) if a chunk is not
  // authentic, and what the source throws; `to` is then all zeros.
  std::size_t read_at(std::uint64_t offset, std::span<std::uint8_t> to) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Writes an encrypted file, in order or in any order. The file has no name before commit, and a
// Writer destroyed before that leaves nothing behind. After a failure every further call throws,
// because no chunk may be sealed twice. Neither a forked child nor the Writer's own callback may
// use it. After a move, the old Writer may only be destroyed or assigned to.
class PAES_API Writer {
 public:
  // Throws Error like encrypt_file.
  Writer(const std::string& path, const SealFor& seal_for, const FileOptions& options = {});
  // Passes the file to `write`, in order and in one call at a time, but from any thread. Bytes that
  // have been passed cannot be taken back. What `write` throws passes through.
  using Write = std::function<void(std::span<const std::uint8_t> bytes)>;
  Writer(Write write, const SealFor& seal_for, const FileOptions& options = {});
  ~Writer();
  Writer(Writer&&) noexcept;
  Writer& operator=(Writer&&) noexcept;

  // Adds the next bytes of the text. Bytes that do not yet fill a chunk are kept. Not for
  // concurrent callers.
  void write(std::span<const std::uint8_t> text);

  // Writes whole chunks of the text, starting at a multiple of file_chunk_bytes; only the text's
  // end may be part of a chunk. Any number of threads may call it. Each chunk is sealed once:
  // throws Error(usage) if one of them has been written already or lies after the end of the text,
  // and if part of a chunk is not the end. Not for a Writer with a callback, and not after write.
  void write_at(std::uint64_t offset, std::span<const std::uint8_t> text);

  // Seals what is left, syncs the file and gives it its name. Returns the bytes of text. Throws
  // Error(usage) if a chunk is missing or another call is still writing; it may then be called
  // again. After Error(failure) the file does not get its name, unless only its folder could not be
  // synced, which the error says.
  std::uint64_t commit();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace v0
}  // namespace paes
