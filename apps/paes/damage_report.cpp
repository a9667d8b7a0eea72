#include "paes/damage_report.hpp"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "paes/error.hpp"
#include "paes/report.hpp"

namespace paes::cli {

namespace {

using nlohmann::ordered_json;

// As --range takes them, both ends included. An empty last chunk has no text.
std::string bytes_of(const stream::Extent& extent, Range range) {
  const Range text = extent.text_of(range);
  const Range file = extent.file_of(range);
  const std::string of_text = text.first == text.end ? std::string("no bytes of the plaintext")
                                                     : fmt::format("bytes {}-{} of the plaintext",
                                                                   text.first, text.end - 1);
  return fmt::format("{}, {}-{} of the file", of_text, file.first, file.end - 1);
}

// Where not all ranges are named it may be.
bool may_include_last_chunk(const stream::Verification& found) {
  return found.damage.more_chunks != 0 || found.damage.ranges.back().end == found.extent.chunks();
}

}  // namespace

void require_authentic(const std::string& name, const stream::Verification& found,
                       bool prints_lines) {
  if (found.is_authentic()) {
    return;
  }
  const stream::Damage& damage = found.damage;
  if (prints_lines && (damage.ranges.size() > 1 || found.is_cut)) {
    for (const Range& range : damage.ranges) {
      print_note("paes: " + name + ": damaged: " + bytes_of(found.extent, range));
    }
  }
  if (found.is_cut) {
    const std::string before =
        damage.is_empty() ? "" : fmt::format("; {} chunks before are damaged", damage.chunks());
    throw Error(ErrorCode::corrupt, name + ": truncated, or bytes were added or lost" + before,
                "get a complete copy");
  }
  const std::uint64_t chunks = damage.chunks();
  std::string text = fmt::format("{}: {} of {} chunks {} damaged, misplaced or forged", name,
                                 chunks, found.extent.chunks(), chunks == 1 ? "is" : "are");
  if (damage.more_chunks != 0) {
    text += fmt::format("; the first {} ranges of them are named, {} more chunks are not",
                        damage.ranges.size(), damage.more_chunks);
  } else if (damage.ranges.size() > 1) {
    text += fmt::format(", in {} ranges", damage.ranges.size());
  } else {
    text += ": " + bytes_of(found.extent, damage.ranges.front());
  }
  throw Error(ErrorCode::corrupt, text,
              may_include_last_chunk(found)
                  ? "the last chunk is damaged where a file was cut or extended: compare its length"
                  : "what lies outside of them opens: paes decrypt --range FIRST-LAST");
}

void add_damage(ordered_json& file, const stream::Verification& found) {
  const stream::Damage& damage = found.damage;
  if (damage.is_empty()) {
    return;
  }
  ordered_json ranges = ordered_json::array();
  for (const Range& range : damage.ranges) {
    const Range of_text = found.extent.text_of(range);
    const Range of_file = found.extent.file_of(range);
    ranges.push_back({{"first_chunk", range.first},
                      {"chunks", range.count()},
                      {"text_offset", of_text.first},
                      {"text_bytes", of_text.end - of_text.first},
                      {"file_offset", of_file.first},
                      {"file_bytes", of_file.end - of_file.first}});
  }
  file["damage"] = {
      {"chunks", damage.chunks()}, {"ranges", ranges}, {"more_chunks", damage.more_chunks}};
}

}  // namespace paes::cli
