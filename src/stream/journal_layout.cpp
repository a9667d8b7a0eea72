#include "stream/journal_layout.hpp"

#include <algorithm>

#include "format/cobblestone.hpp"
#include "stream/extent.hpp"

namespace paes::stream {

namespace {

constexpr std::uint64_t stripe_text_bytes = stripe_chunks * cobblestone::chunk_text_bytes;

}  // namespace

bool claims_to_be_journal(Bytes first_bytes) noexcept {
  using journal_layout::magic;
  return first_bytes.size() >= magic.size() &&
         std::equal(magic.begin(), magic.end(), first_bytes.begin());
}

std::uint64_t JournalClaims::stripes() const noexcept { return Extent{0, text_bytes}.stripes(); }

void JournalClaims::add_records(std::uint64_t first, Bytes records) noexcept {
  const std::uint64_t end = std::min(stripes(), first + records.size() / sizeof(JournalRecord));
  for (std::uint64_t stripe = first; stripe < end; ++stripe) {
    const Bytes record = records.first(sizeof(JournalRecord));
    records = records.subspan(sizeof(JournalRecord));
    if (std::any_of(record.begin(), record.end(), [](std::uint8_t byte) { return byte != 0; })) {
      complete_text_bytes += std::min(stripe_text_bytes, text_bytes - stripe * stripe_text_bytes);
    }
  }
}

std::optional<JournalClaims> parse_claims(Bytes header) noexcept {
  using namespace journal_layout;
  if (header.size() < sizeof(JournalHeader) || !claims_to_be_journal(header) ||
      header[version_at] != version || load_be32(&header[stripe_at]) != stripe_chunks) {
    return std::nullopt;
  }
  const auto work = static_cast<Work>(header[work_at]);
  const std::uint64_t text_bytes = load_be64(&header[text_bytes_at]);
  if ((work != Work::encrypt && work != Work::decrypt) ||
      text_bytes > cobblestone::max_chunks * cobblestone::chunk_text_bytes) {
    return std::nullopt;
  }
  return JournalClaims{work, text_bytes};
}

}  // namespace paes::stream
