// SPDX-License-Identifier: Apache-2.0
#include "stream/resume/journal.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <utility>

#include "age/age_payload.hpp"
#include "core/descriptor.hpp"
#include "crypto/libcrypto.hpp"
#include "paes/error.hpp"
#include "stream/container/extent.hpp"

namespace paes::stream {

namespace {

using namespace journal_layout;

constexpr std::string_view label = "paes journal of an unfinished file, version 1";

constexpr std::size_t tag_bytes = libcrypto::hmac_sha256_bytes;
constexpr std::size_t chunk_unit = 1024;  // what a header counts the text of a chunk in

// The first byte of a tagged message says what it is, so that no tag is valid for another kind.
enum Tagged : std::uint8_t {
  tagged_header = 1,
  tagged_head = 2,
  tagged_settings = 3,
  tagged_stripe
};

// Syncs come often enough that an interruption loses little, and rarely enough that they take a
// small part of the time, whatever the storage.
constexpr auto shortest_pause = std::chrono::milliseconds(50);
constexpr auto longest_pause = std::chrono::seconds(5);
constexpr int pause_per_sync = 4;

[[nodiscard]] Bytes part_of(const JournalHeader& header, std::size_t at, std::size_t bytes) {
  return Bytes(header).subspan(at, bytes);
}

// Null if this version does not write chunks of that length.
[[nodiscard]] const Chunking* chunking_of(Bytes header) noexcept {
  const std::size_t text_bytes =
      chunk_unit * (std::size_t{header[chunk_size_at]} << 8 | header[chunk_size_at + 1]);
  if (text_bytes == 0) {
    return &cobblestone::chunking;
  }
  return text_bytes == age::chunking.text_bytes ? &age::chunking : nullptr;
}

[[nodiscard]] off_t offset_of(std::uint64_t stripe) {
  return static_cast<off_t>(sizeof(JournalHeader) + stripe * sizeof(JournalRecord));
}

}  // namespace

bool claims_to_be_journal(Bytes first_bytes) noexcept {
  return first_bytes.size() >= magic.size() &&
         std::equal(magic.begin(), magic.end(), first_bytes.begin());
}

std::uint64_t JournalClaims::stripes() const noexcept {
  return Extent{0, text_bytes, chunking}.stripes();
}

void JournalClaims::add_records(std::uint64_t first, Bytes records) noexcept {
  const std::uint64_t end = std::min(stripes(), first + records.size() / sizeof(JournalRecord));
  const std::uint64_t stripe_text_bytes = stripe_chunks * chunking.text_bytes;
  for (std::uint64_t stripe = first; stripe < end; ++stripe) {
    const Bytes record = records.first(sizeof(JournalRecord));
    records = records.subspan(sizeof(JournalRecord));
    if (std::any_of(record.begin(), record.end(), [](std::uint8_t byte) { return byte != 0; })) {
      complete_text_bytes += std::min(stripe_text_bytes, text_bytes - stripe * stripe_text_bytes);
    }
  }
}

std::optional<JournalClaims> parse_claims(Bytes header) noexcept {
  if (header.size() < sizeof(JournalHeader) || !claims_to_be_journal(header) ||
      header[version_at] != version || load_be32(&header[stripe_at]) != stripe_chunks) {
    return std::nullopt;
  }
  const Chunking* const chunking = chunking_of(header);
  const auto work = static_cast<JournalKind>(header[work_at]);
  const std::uint64_t text_bytes = load_be64(&header[text_bytes_at]);
  if ((work != JournalKind::encrypt && work != JournalKind::decrypt) || chunking == nullptr ||
      text_bytes > chunking->max_chunks * chunking->text_bytes) {
    return std::nullopt;
  }
  return JournalClaims{work, text_bytes, 0, *chunking};
}

JournalKey::JournalKey(Bytes input_key, Bytes salt) {
  libcrypto::hkdf_sha256(input_key, salt, libcrypto::bytes_of(label), *key_);
}

std::array<std::uint8_t, 32> JournalKey::tag(std::uint8_t what, Bytes message) const {
  std::vector<std::uint8_t> tagged = {what};
  tagged.insert(tagged.end(), message.begin(), message.end());
  return libcrypto::hmac_sha256(*key_, tagged);
}

JournalHeader JournalKey::header(const JournalFacts& facts) const {
  JournalHeader header = {};
  std::uint8_t* const to = header.data();
  std::copy(magic.begin(), magic.end(), to);
  header[version_at] = version;
  header[work_at] = static_cast<std::uint8_t>(facts.work);
  if (facts.chunking.text_bytes != cobblestone::chunk_text_bytes) {
    header[chunk_size_at + 1] = static_cast<std::uint8_t>(facts.chunking.text_bytes / chunk_unit);
  }
  store_be32(to + stripe_at, static_cast<std::uint32_t>(stripe_chunks));
  store_be64(to + text_bytes_at, facts.text_bytes);
  const SourceStamp& source = facts.source;
  const std::uint64_t of_source[] = {source.device,     source.inode,       source.bytes,
                                     source.modified_s, source.modified_ns, source.changed_s,
                                     source.changed_ns};
  for (std::size_t i = 0; i < std::size(of_source); ++i) {
    store_be64(to + source_at + 8 * i, of_source[i]);
  }
  static_assert(source_at + sizeof of_source == head_at);
  std::ranges::copy(tag(tagged_head, facts.head), to + head_at);
  std::ranges::copy(tag(tagged_settings, facts.settings), to + settings_at);
  std::ranges::copy(tag(tagged_header, part_of(header, 0, tag_at)), to + tag_at);
  return header;
}

JournalRecord JournalKey::record(const JournalHeader& header, std::uint64_t stripe) const {
  std::array<std::uint8_t, tag_bytes + 8> message;
  std::copy(header.begin() + tag_at, header.end(), message.begin());
  store_be64(message.data() + tag_bytes, stripe);
  const auto whole = tag(tagged_stripe, message);
  JournalRecord record;
  std::copy_n(whole.begin(), record.size(), record.begin());
  return record;
}

std::string JournalKey::difference(const JournalHeader& found, const JournalFacts& facts,
                                   const std::string& source) const {
  if (!equal_constant_time(tag(tagged_header, part_of(found, 0, tag_at)),
                           part_of(found, tag_at, tag_bytes))) {
    return "its journal is damaged or belongs to another file";
  }
  const JournalHeader wanted = header(facts);
  const auto same = [&](std::size_t from, std::size_t to) {
    return equal_constant_time(part_of(found, from, to - from), part_of(wanted, from, to - from));
  };
  if (!same(0, text_bytes_at)) {
    return "it is of other work or another version";
  }
  if (!same(text_bytes_at, head_at)) {
    return source + " has changed since";
  }
  if (!same(settings_at, settings_at + tag_bytes)) {
    return "it is for other recipients";
  }
  return same(0, found.size()) ? "" : "its beginning is not the one that the journal was made for";
}

Journal::Journal(const JournalKey& key, const JournalHeader& header, int journal, int data,
                 std::string name)
    : key_(key),
      header_(header),
      journal_(journal),
      data_(data),
      name_(std::move(name)),
      next_sync_(Clock::now() + shortest_pause) {}

bool Journal::is_complete(std::uint64_t stripe) const {
  JournalRecord found;
  ssize_t got = 0;
  do {
    got = pread(journal_, found.data(), found.size(), offset_of(stripe));
  } while (got < 0 && errno == EINTR);
  return got == static_cast<ssize_t>(found.size()) &&
         equal_constant_time(found, key_.record(header_, stripe));
}

void Journal::complete(std::uint64_t stripe) {
  {
    const std::lock_guard lock(waiting_mutex_);
    waiting_.push_back(stripe);
    if (Clock::now() < next_sync_) {
      return;
    }
  }
  // A thread that finds another one syncing goes on working: the next sync records its stripe.
  const std::unique_lock lock(sync_mutex_, std::try_to_lock);
  if (lock.owns_lock()) {
    sync_and_record();
  }
}

void Journal::flush() {
  const std::lock_guard lock(sync_mutex_);
  sync_and_record();
}

void Journal::keep() noexcept {
  try {
    flush();
  } catch (...) {
  }
}

void Journal::stop() {
  const std::lock_guard lock(sync_mutex_);
  failed_ = true;
}

// A sync covers only what was complete before it began.
void Journal::sync_and_record() {
  std::vector<std::uint64_t> stripes;
  {
    const std::lock_guard lock(waiting_mutex_);
    stripes.swap(waiting_);
  }
  if (stripes.empty() || failed_) {
    return;
  }
  const Clock::time_point start = Clock::now();
  failed_ = true;  // until proved otherwise
  if (fdatasync(data_) != 0) {
    throw_errno(name_);
  }
  for (const std::uint64_t stripe : stripes) {
    const JournalRecord record = key_.record(header_, stripe);
    // A record is written completely or not at all, because half a record would not be valid.
    if (pwrite(journal_, record.data(), record.size(), offset_of(stripe)) !=
        static_cast<ssize_t>(record.size())) {
      throw_errno(name_ + ": its journal could not be written");
    }
  }
  if (fdatasync(journal_) != 0) {
    throw_errno(name_ + ": its journal could not be synced");
  }
  failed_ = false;
  recorded_.fetch_add(stripes.size());
  const Clock::time_point end = Clock::now();
  const std::lock_guard lock(waiting_mutex_);
  next_sync_ = end + std::clamp<Clock::duration>(pause_per_sync * (end - start), shortest_pause,
                                                 longest_pause);
}

}  // namespace paes::stream
