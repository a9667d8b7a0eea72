// SPDX-License-Identifier: Apache-2.0
// The journal of a run that can be continued: which stripes of an unfinished output are complete
// and synced. It lies beside that output, contains neither key nor text, and is authenticated under
// a key that only those who can open the file have. A header says what it belongs to. Then comes
// one record per stripe, which any thread or rank writes at an offset that it computes.
//
//   0    8  magic 89 'P' 'A' 'E' 'S' 'J' 0D 0A        all integers big-endian
//   8    1  version 1
//   9    1  work: 1 encryption, 2 decryption
//   10   2  KiB of text a chunk; zero is 16, a container's
//   12   4  chunks a stripe
//   16   8  bytes of text
//   24  56  the source: device, inode, bytes, mtime s and ns, ctime s and ns; zero for decryption
//   80  32  HMAC-SHA256 of the encrypted file's head
//   112 32  HMAC-SHA256 of the settings
//   144 80  zero
//   224 32  HMAC-SHA256 of all that
//   256     records of 16 bytes: HMAC-SHA256 of header and stripe number, truncated; zero before
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/bytes.hpp"
#include "core/secret.hpp"
#include "format/cobblestone.hpp"
#include "stream/file/input.hpp"

namespace paes::stream {

enum class JournalKind : std::uint8_t { encrypt = 1, decrypt = 2 };

using JournalHeader = std::array<std::uint8_t, 256>;
using JournalRecord = std::array<std::uint8_t, 16>;

namespace journal_layout {

inline constexpr std::array<std::uint8_t, 8> magic = {0x89, 'P', 'A', 'E', 'S', 'J', '\r', '\n'};
inline constexpr std::uint8_t version = 1;

inline constexpr std::size_t version_at = 8;
inline constexpr std::size_t work_at = 9;
inline constexpr std::size_t chunk_size_at = 10;
inline constexpr std::size_t stripe_at = 12;
inline constexpr std::size_t text_bytes_at = 16;
inline constexpr std::size_t source_at = 24;
inline constexpr std::size_t head_at = 80;
inline constexpr std::size_t settings_at = 112;
inline constexpr std::size_t tag_at = 224;

}  // namespace journal_layout

// Whether these bytes claim to be a journal of paes, of any version.
[[nodiscard]] bool claims_to_be_journal(Bytes first_bytes) noexcept;

// None of this is authenticated.
struct JournalClaims {
  JournalKind work;
  std::uint64_t text_bytes;
  std::uint64_t complete_text_bytes = 0;  // of the stripes that have a record
  Chunking chunking = cobblestone::chunking;

  [[nodiscard]] std::uint64_t stripes() const noexcept;
  // Counts the stripes, from `first` on, that have a record in `records` (whole records).
  void add_records(std::uint64_t first, Bytes records) noexcept;
};

// Empty unless these bytes are the header of a journal that this version writes.
[[nodiscard]] std::optional<JournalClaims> parse_claims(Bytes header) noexcept;

// What identifies the work that made an unfinished output.
struct JournalFacts {
  JournalKind work;
  std::uint64_t text_bytes;
  SourceStamp source;  // for an encryption; all zero for decryption, which needs none
  Bytes head;          // the encrypted file up to chunk 0, or the part of it that binds the key
  Bytes settings;      // what else must match, for example the recipients
  Chunking chunking = cobblestone::chunking;
};

// Derived by HKDF-SHA256, with its own label, from the input key and the payload's salt, or from
// the file key and the nonce of an age file.
class JournalKey {
 public:
  JournalKey(Bytes input_key, Bytes salt);

  [[nodiscard]] JournalHeader header(const JournalFacts& facts) const;
  [[nodiscard]] JournalRecord record(const JournalHeader& header, std::uint64_t stripe) const;

  // How `found` differs from the header of `facts`, as a clause for a note that calls the source
  // `source`. Empty if they are the same.
  [[nodiscard]] std::string difference(const JournalHeader& found, const JournalFacts& facts,
                                       const std::string& source) const;

 private:
  [[nodiscard]] std::array<std::uint8_t, 32> tag(std::uint8_t what, Bytes message) const;

  Secret<std::array<std::uint8_t, 32>> key_;
};

class Journal {
 public:
  // Both descriptors must outlive this: `journal` already has the header, `data` is the unfinished
  // output. `name` is the output's, for errors.
  Journal(const JournalKey& key, const JournalHeader& header, int journal, int data,
          std::string name);
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  // Whether the stripe has a valid record, neither torn nor forged. Any thread may call it.
  [[nodiscard]] bool is_complete(std::uint64_t stripe) const;

  // Call it, from any thread, when all of the stripe is written. The record is written once the
  // data is synced: by this call or, within a few seconds if calls keep coming, by a later one.
  void complete(std::uint64_t stripe);

  // Syncs the data and writes all waiting records.
  void flush();
  // Flushes after a failure or signal, without throwing. The next run repeats what is lost.
  void keep() noexcept;
  // Records nothing any more. Call it before somebody else syncs the data: the system tells only
  // them what could not be written, and a sync of this would take it for written.
  void stop();

  // How many records this object has written.
  [[nodiscard]] std::uint64_t recorded() const noexcept { return recorded_.load(); }

 private:
  using Clock = std::chrono::steady_clock;
  void sync_and_record();

  const JournalKey& key_;
  JournalHeader header_;
  int journal_;
  int data_;
  std::string name_;
  std::mutex sync_mutex_;  // held while one thread syncs
  bool failed_ = false;    // a sync failed: the system may have dropped the data; or stop()
  std::mutex waiting_mutex_;
  std::vector<std::uint64_t> waiting_;  // complete, but not known to be synced
  Clock::time_point next_sync_;
  std::atomic<std::uint64_t> recorded_{0};
};

}  // namespace paes::stream
