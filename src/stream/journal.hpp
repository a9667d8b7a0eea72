// The journal of a run that can be continued: which stripes of an unfinished output are complete
// and synced. It lies beside that output, holds no key and no text, and is authenticated under a
// key that only who opens the file has. A header says what it belongs to; behind it stands one
// record a stripe, so that any thread or rank writes its own at an offset it computes
// (journal_layout.hpp).
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "core/bytes.hpp"
#include "core/secret.hpp"
#include "stream/input.hpp"
#include "stream/journal_layout.hpp"

namespace paes::stream {

// What an unfinished output is the output of.
struct JournalFacts {
  Work work;
  std::uint64_t text_bytes;
  SourceStamp source;  // of an encryption; all zero for decryption, which needs none
  Bytes head;          // of the container up to chunk 0, or the part of it that binds the key
  Bytes settings;      // what else must be the same, for example for whom
};

// Derived by HKDF-SHA256 from the input key and the payload's salt, with a label of its own.
class JournalKey {
 public:
  JournalKey(Bytes input_key, Bytes salt);

  [[nodiscard]] JournalHeader header(const JournalFacts& facts) const;
  [[nodiscard]] JournalRecord record(const JournalHeader& header, std::uint64_t stripe) const;

  // Why a header that was found is not the one that `facts` make: one clause for a note, with
  // `source` as the source's name. Empty when it is.
  [[nodiscard]] std::string difference(const JournalHeader& found, const JournalFacts& facts,
                                       const std::string& source) const;

 private:
  [[nodiscard]] std::array<std::uint8_t, 32> tag(std::uint8_t what, Bytes message) const;

  Secret<std::array<std::uint8_t, 32>> key_;
};

class Journal {
 public:
  // Both descriptors must outlive it: `journal` has the header already, `data` is the unfinished
  // output. `name` is the output's, for errors.
  Journal(const JournalKey& key, const JournalHeader& header, int journal, int data,
          std::string name);
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  // Whether the stripe's record is there; a torn or forged one is not. Any thread.
  [[nodiscard]] bool is_complete(std::uint64_t stripe) const;

  // All of the stripe has been written. Its record follows once the data is synced, here or in a
  // later call, a few seconds later at most as long as calls come. Any thread.
  void complete(std::uint64_t stripe);

  // Syncs the data and writes all records that wait.
  void flush();

  // How many records were written through this object.
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
  bool failed_ = false;    // a sync failed: the system may have dropped the data
  std::mutex waiting_mutex_;
  std::vector<std::uint64_t> waiting_;  // complete, and not known to be synced
  Clock::time_point next_sync_;
  std::atomic<std::uint64_t> recorded_{0};
};

}  // namespace paes::stream
