// SPDX-License-Identifier: Apache-2.0
// Encrypted files: authenticated, seekable, on all cores. They are the files of `paes encrypt`, so
// that the program and the library read what the other has written.
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
// SIGXFSZ, so that both come as errors; the library changes no signal.
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
struct FileParts;  // what the library itself sees of a FileSource
namespace stream {
class Source;
}

inline namespace v0 {

// Text is sealed in chunks of this many bytes.
inline constexpr std::size_t file_chunk_bytes = 16384;

struct FileOptions {
  // 0: every processor; at most 4096. A call for at most one piece runs in the caller's thread.
  // Programs with threads of their own say 1.
  unsigned threads = 0;
  // A name that `paes devices` lists as available, or "auto".
  std::string_view kernel = "auto";
  // A GPU (paes/device.hpp); what it does not take, the kernel computes.
  std::shared_ptr<Device> device = nullptr;
  // What a thread reads and computes at a time: up to 4 MiB, with a device 16 MiB, rounded up to
  // whole chunks. A callback is asked for at most this much.
  std::size_t piece_bytes = std::size_t{256} << 10;
  // Whether an output may replace an existing file of the same name.
  bool overwrite = false;
  // Stops the work, which then throws Error(failure) and leaves nothing. It must outlive a Reader
  // or Writer that has it.
  const Cancel* cancel = nullptr;
  // Called now and then from a thread of its own, never twice at a time, with the bytes of text
  // that are done and their number in all (0: not known, or not yet). If it throws, the work stops
  // and throws that. The last call of work that succeeds comes when the output has its name: what
  // that one throws is lost. Reader and Writer make no calls.
  std::function<void(std::uint64_t done_bytes, std::uint64_t total_bytes)> progress = nullptr;
  // Told in one line what may go wrong with an output before it is written (little room), what is
  // not as it should be with one that is complete (its mode), and what is left of one that could
  // not be removed: for a Writer by its destructor. Null: nobody is told.
  std::function<void(const std::string& what_why)> warn = nullptr;
};

// Fills `to` with the bytes from `offset` on and returns how many came. If fewer come, the rest is
// asked for again; 0 means that the source ends there, which is an error. What it throws passes
// through. Called from several threads at a time.
using ReadAt = std::function<std::size_t(std::uint64_t offset, std::span<std::uint8_t> to)>;

// Where an encrypted file comes from, or a text to encrypt.
class PAES_API FileSource {
 public:
  // Each opens the file, and throws Error(failure) "PATH: why" where that fails. For a FIFO they
  // wait until it has a writer; no Cancel ends that.
  FileSource(const std::string& path);  // NOLINT(google-explicit-constructor): a path is a source
  FileSource(const char* path);         // NOLINT(google-explicit-constructor)
  FileSource(const FileSource&) = default;  // a move copies
  FileSource& operator=(const FileSource&) = default;
  ~FileSource() = default;
  // From where the descriptor stands; it stays the caller's, and open as long as this is used.
  // `name` is for errors. The descriptor's own position is not used, except for a pipe's.
  [[nodiscard]] static FileSource descriptor(int number, const std::string& name);
  // A source of `bytes` bytes. Its first 8 KiB are read now.
  [[nodiscard]] static FileSource callback(ReadAt read_at, std::uint64_t bytes,
                                           const std::string& name);

 private:
  friend FileParts;
  explicit FileSource(std::shared_ptr<stream::Source> source) noexcept;
  std::shared_ptr<stream::Source> source_;
};

// Encrypts into a new file, which gets its name when it is complete and synced. Returns the bytes
// of text. Throws Error; nothing is left then, unless only the folder could not be synced, which
// the error says. A FIFO, a device or /dev/stdout as `to` is written to directly, and keeps what it
// got.
std::uint64_t PAES_API encrypt_file(const FileSource& from, const std::string& to,
                                    const SealFor& seal_for, const FileOptions& options = {});

// The same in the other direction. Throws Error(wrong_key) when nothing given opens the file, and
// Error(corrupt) when it is damaged, forged or cut.
std::uint64_t PAES_API decrypt_file(const FileSource& from, const std::string& to,
                                    const OpenWith& open_with, const FileOptions& options = {});

// What verify_file has found.
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

// Authenticates all of a file, and goes on where it is damaged. Throws as decrypt_file where it
// cannot begin.
[[nodiscard]] FileVerification PAES_API verify_file(const FileSource& from,
                                                    const OpenWith& open_with,
                                                    const FileOptions& options = {});

// What a file says of itself without a key. None of it is authenticated.
struct FileInfo {
  // How an envelope can be opened: "X25519" by an identity, "scrypt" by a passphrase, or by
  // something else that age has.
  struct Stanza {
    std::string type;
    unsigned work_factor;  // of scrypt: log2 N; else 0
  };
  unsigned key_bits = 0;
  std::uint64_t text_bytes = 0;
  std::uint64_t payload_offset = 0;  // where the salt begins
  std::vector<Stanza> stanzas = {};
};

// Throws Error(corrupt) for what is not a file of paes or has been cut, and Error(usage) for a
// pipe.
[[nodiscard]] FileInfo PAES_API inspect_file(const FileSource& from);

// Who can open a file from now on: those who can, without some and with others.
struct RecipientEdit {
  std::vector<Recipient> add = {};
  // Their places in FileInfo::stanzas.
  std::vector<std::size_t> remove = {};
};

// Gives a file other recipients in place: nobody who could open it can, unless `seal_for` names
// them too. The text stays where it is; whoever has read the file before may have kept its key.
// Returns how many recipients the file has now. Throws as decrypt_file, Error(usage) for a bare
// CobblestoneKey and for a file of age, and Error(failure) when the room that encrypt_file left is
// too small, or when an interrupted change has left its copy (paes(1), rekey --restore). Of the
// options it uses `cancel` and `warn`.
std::size_t PAES_API rekey_file(const std::string& path, const OpenWith& open_with,
                                const SealFor& seal_for, const FileOptions& options = {});
// The same for a part of them. Throws Error(usage) as well if nobody would be left, and if a
// passphrase would not stay alone.
std::size_t PAES_API change_recipients(const std::string& path, const OpenWith& open_with,
                                       const RecipientEdit& edit, const FileOptions& options = {});

// Reads an encrypted file at any place. Any number of threads may call read_at.
class PAES_API Reader {
 public:
  // Throws as decrypt_file, and Error(usage) for a pipe. The last chunk is authenticated here, so
  // that a file which was cut or extended does not open.
  Reader(const FileSource& from, const OpenWith& open_with, const FileOptions& options = {});
  ~Reader();
  Reader(Reader&&) noexcept;
  Reader& operator=(Reader&&) noexcept;

  // The bytes of text.
  [[nodiscard]] std::uint64_t size() const noexcept;

  // Fills `to` with the text from `offset` on, and returns how many bytes came: fewer than asked
  // for only at the end of the text. Only authentic text comes out: throws Error(corrupt) where a
  // chunk is not, and what the source throws; `to` is all zeros then.
  std::size_t read_at(std::uint64_t offset, std::span<std::uint8_t> to) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Writes an encrypted file, in order or in any order. It has no name before commit, and a Writer
// that is destroyed without it leaves nothing. After a failure every further call throws, because
// no chunk may be sealed twice. A forked child cannot use its parent's Writer, and neither may a
// callback of it. A Writer that was moved from may only be destroyed or assigned to.
class PAES_API Writer {
 public:
  // Throws Error as encrypt_file does.
  Writer(const std::string& path, const SealFor& seal_for, const FileOptions& options = {});
  // Hands the file to `write`, in order and in one call at a time, but from any thread. Bytes that
  // were handed over cannot be taken back. What `write` throws passes through.
  using Write = std::function<void(std::span<const std::uint8_t> bytes)>;
  Writer(Write write, const SealFor& seal_for, const FileOptions& options = {});
  ~Writer();
  Writer(Writer&&) noexcept;
  Writer& operator=(Writer&&) noexcept;

  // The next bytes of the text. Bytes that do not yet fill a chunk are kept. Not for concurrent
  // callers.
  void write(std::span<const std::uint8_t> text);

  // Whole chunks of the text, from a multiple of file_chunk_bytes on; only the text's end may be a
  // part of a chunk. Any number of threads may call it. Each chunk is sealed once: throws
  // Error(usage) if one of them has been written already or lies after the end of the text, and if
  // a part of a chunk is not the end. Not for a Writer with a callback, nor after write.
  void write_at(std::uint64_t offset, std::span<const std::uint8_t> text);

  // Seals what is left, syncs the file and gives it its name. Returns the bytes of text. Throws
  // Error(usage) if a chunk is missing or another call is still writing; it may be called again
  // then. Throws Error(failure), and the file does not get its name, unless only its folder could
  // not be synced, which the error says.
  std::uint64_t commit();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace v0
}  // namespace paes
