// SPDX-License-Identifier: Apache-2.0
#include "cli/remains.hpp"

#include <fmt/ranges.h>
#include <sys/stat.h>

#include <filesystem>
#include <map>
#include <mutex>
#include <string_view>
#include <vector>

#include "cli/process.hpp"
#include "cli/report.hpp"
#include "stream/container/preamble_file.hpp"
#include "stream/file/input.hpp"
#include "stream/file/resumable_files.hpp"
#include "stream/file/temporary.hpp"

namespace paes::cli {

namespace {

bool is_there(const stream::FilePlace& place) {
  struct stat status = {};
  return place.lstat(status) == 0;
}

bool is_regular(const stream::FilePlace& place) {
  struct stat status = {};
  return place.lstat(status) == 0 && S_ISREG(status.st_mode);
}

// Quoted for a shell, because users copy the hint and the name may be hostile.
std::string quoted(const std::string& name) {
  constexpr std::string_view plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./,:@%+=-";
  std::string text;
  for (const char c : name) {
    text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  }
  if (text.find_first_not_of(plain) != std::string::npos) {
    text = "'" + text + "'";
  }
  return name.starts_with('-') ? "-- " + text : text;
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
  // Reads at most one record for each stripe; anything after that is not a record.
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

// The folders of outputs that the process has looked into. Several files may be begun at the same
// time.
class LookedInto {
 public:
  // False if another file's output has begun it.
  bool begin(const std::string& folder) {
    const std::lock_guard lock(mutex_);
    return may_have_remains_.try_emplace(folder, true).second;
  }
  void end(const std::string& folder, bool may_have_remains) {
    const std::lock_guard lock(mutex_);
    may_have_remains_[folder] = may_have_remains;
  }
  bool may_have_remains(const std::string& folder) {
    const std::lock_guard lock(mutex_);
    const auto known = may_have_remains_.find(folder);
    return known == may_have_remains_.end() || known->second;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, bool> may_have_remains_;
};

LookedInto& looked_into() {
  static LookedInto folders;
  return folders;
}

// The output that this is the partial file of, judged by its name; empty if none.
std::string target_of(const std::string& file) {
  const std::size_t ending = stream::partial_path("").size();
  if (file.size() <= ending) {
    return "";
  }
  const std::string target = file.substr(0, file.size() - ending);
  return stream::partial_path(target) == file ? target : "";
}

}  // namespace

bool may_have_remains(const stream::Output& output) {
  return looked_into().may_have_remains(output.folder());
}

std::string leftover_hint(const std::string& file) {
  return "its recipients were being changed; to put the old ones back: paes rekey --restore -i "
         "IDENTITY " +
         quoted(file);
}

void warn_of_leftover(const stream::FilePlace& file) {
  if (const std::optional<std::string> leftover = stream::find_leftover(file)) {
    print_warning_with_hint(file.path + ": an interrupted rekey left " + *leftover,
                            leftover_hint(file.path));
  }
}

Error with_leftover_hint(const stream::FilePlace& file, const Error& error) {
  return stream::find_leftover(file) ? Error(error.code, error.what(), leftover_hint(file.path))
                                     : error;
}

std::string UnfinishedOutput::progress() const {
  return fmt::format("{} of {} are done",
                     human_bytes(static_cast<double>(claims.complete_text_bytes)),
                     human_bytes(static_cast<double>(claims.text_bytes)));
}

std::string UnfinishedOutput::hint() const {
  return "give the command with --resume that was writing it again, to continue, or wait if it "
         "still runs";
}

std::optional<UnfinishedOutput> find_unfinished(const std::string& file) {
  if (file == "-") {
    return std::nullopt;
  }
  const std::string target = is_there(file) ? target_of(file) : file;
  if (target.empty() || !is_regular(stream::partial_path(target))) {
    return std::nullopt;
  }
  try {
    if (const auto claims = read_claims(stream::journal_path(target))) {
      return UnfinishedOutput{stream::partial_path(target), *claims};
    }
  } catch (const Error&) {
    cancel().check();
    // The user has not asked about the journal, so one that cannot be read is no error.
  }
  return std::nullopt;
}

void warn_of_partial(const stream::FilePlace& output) {
  if (output.path != "-" && is_there(stream::place_beside(output, ".partial")) &&
      is_there(stream::place_beside(output, ".journal"))) {
    print_warning(stream::place_beside(output, ".partial").path +
                  ": an interrupted run left it, which --resume would have continued");
  }
}

void warn_of_abandoned(const stream::Output& output) {
  const std::string folder = output.folder();
  if (folder.empty() || !looked_into().begin(folder)) {
    return;
  }
  stream::AbandonedFiles found = stream::find_abandoned(output.folder_descriptor());
  looked_into().end(folder, !found.has_none_beside);
  std::vector<std::string>& files = found.files;
  std::erase(files, std::filesystem::path(output.temporary_path()).filename());
  if (files.empty()) {
    return;
  }
  constexpr std::size_t most = 5;
  const std::size_t more = files.size() - std::min(files.size(), most);
  files.resize(files.size() - more);
  std::string names = fmt::format("{}", fmt::join(files, ", "));
  if (more != 0) {
    names += fmt::format(" and {} more", more);
  }
  print_warning_with_hint(
      folder + ": a run that was killed left " + names,
      std::string("delete them, for they may hold decrypted text") +
          (found.may_be_in_use ? ", unless another run is still writing them" : ""));
}

}  // namespace paes::cli
