// SPDX-License-Identifier: Apache-2.0
// What a journal says without a key: the input is a journal's first bytes, and its records are read
// in two parts, as from a file.
#include <algorithm>

#include "fuzz/property.hpp"
#include "stream/container/extent.hpp"
#include "stream/resume/journal.hpp"

namespace {

using paes::Bytes;
using paes::fuzz::require;
using paes::stream::JournalClaims;
using paes::stream::JournalHeader;
using paes::stream::JournalRecord;

void check_records(const JournalClaims& claims, Bytes records) {
  const std::uint64_t stripe_bytes = paes::stream::stripe_chunks * claims.chunking.text_bytes;
  std::uint64_t written = 0;
  for (std::size_t at = 0; at + sizeof(JournalRecord) <= records.size();
       at += sizeof(JournalRecord)) {
    const Bytes record = records.subspan(at, sizeof(JournalRecord));
    written += std::any_of(record.begin(), record.end(), [](std::uint8_t b) { return b != 0; });
  }
  JournalClaims all = claims;
  all.add_records(0, records);
  require(all.complete_text_bytes <= all.text_bytes, "no more is complete than there is");
  require(all.complete_text_bytes <= written * stripe_bytes, "a record is of one stripe");

  JournalClaims parts = claims;
  const std::size_t first = records.size() / sizeof(JournalRecord) / 2;
  parts.add_records(0, records.first(first * sizeof(JournalRecord)));
  parts.add_records(first, records.subspan(first * sizeof(JournalRecord)));
  require(parts.complete_text_bytes == all.complete_text_bytes, "parts are the whole");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  const Bytes input(data, bytes);
  const auto claims = paes::stream::parse_claims(input);
  if (!claims) {
    return 0;
  }
  require(paes::stream::claims_to_be_journal(input), "who has claims claims to be a journal");
  require(claims->work == paes::stream::JournalKind::encrypt ||
              claims->work == paes::stream::JournalKind::decrypt,
          "there are two kinds of work");
  const paes::Chunking& chunking = claims->chunking;
  require(claims->text_bytes <= chunking.max_chunks * chunking.text_bytes,
          "no text is longer than a payload's");
  require(claims->complete_text_bytes == 0, "a header has no records");
  check_records(*claims, input.subspan(sizeof(JournalHeader)));
  return 0;
}
