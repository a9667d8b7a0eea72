#include "paes/unfinished.hpp"

#include <fmt/core.h>
#include <sys/stat.h>

#include <vector>

#include "paes/process.hpp"
#include "paes/report.hpp"
#include "stream/input.hpp"
#include "stream/resumable_files.hpp"

namespace paes::cli {

namespace {

bool is_regular(const std::string& path) {
  struct stat status = {};
  return lstat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

bool is_there(const std::string& path) {
  struct stat status = {};
  return lstat(path.c_str(), &status) == 0;
}

std::optional<stream::JournalClaims> read_claims(const std::string& path) {
  std::optional<stream::Input> journal = stream::Input::open_regular(path, &cancel());
  stream::JournalHeader header = {};
  if (!journal || journal->read(header) != header.size()) {
    return std::nullopt;
  }
  std::optional<stream::JournalClaims> claims = stream::parse_claims(header);
  if (!claims) {
    return std::nullopt;
  }
  // A journal has room for all of its records; whatever lies behind them is none.
  constexpr std::size_t records_at_once = 4096;
  std::vector<std::uint8_t> records(records_at_once * sizeof(stream::JournalRecord));
  for (std::uint64_t first = 0; first < claims->stripes(); first += records_at_once) {
    cancel().check();
    const std::size_t got = journal->read(records);
    claims->add_records(first, Bytes(records).first(got));
    if (got != records.size()) {
      break;
    }
  }
  return claims;
}

// The output that this would be the partial file of; empty when it would be none's.
std::string target_of(const std::string& file) {
  const std::size_t ending = stream::partial_path("").size();
  if (file.size() <= ending) {
    return "";
  }
  const std::string target = file.substr(0, file.size() - ending);
  return stream::partial_path(target) == file ? target : "";
}

}  // namespace

std::string Unfinished::progress() const {
  return fmt::format("{} of {} are done",
                     human_bytes(static_cast<double>(claims.complete_text_bytes)),
                     human_bytes(static_cast<double>(claims.text_bytes)));
}

std::string Unfinished::hint() const {
  return "give the command with --resume that was writing it again, to continue, or wait if it "
         "still runs";
}

std::optional<Unfinished> find_unfinished(const std::string& file) {
  if (file == "-") {
    return std::nullopt;
  }
  const std::string target = is_there(file) ? target_of(file) : file;
  if (target.empty() || !is_regular(stream::partial_path(target))) {
    return std::nullopt;
  }
  try {
    if (const auto claims = read_claims(stream::journal_path(target))) {
      return Unfinished{stream::partial_path(target), *claims};
    }
  } catch (const Error&) {
    cancel().check();
    // A journal that cannot be read is not what was asked about.
  }
  return std::nullopt;
}

}  // namespace paes::cli
