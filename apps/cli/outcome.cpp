// SPDX-License-Identifier: Apache-2.0
#include "cli/outcome.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <numeric>

#include "cli/command.hpp"
#include "cli/report.hpp"

namespace paes::cli {

using nlohmann::ordered_json;

namespace {

double gb_per_s(const Outcome& outcome) {
  return outcome.seconds > 0 ? static_cast<double>(outcome.text_bytes) / 1e9 / outcome.seconds : 0;
}

const char* name_of(Status status) {
  switch (status) {
    case Status::not_begun:
      return "not-begun";
    case Status::skipped:
      return "skipped";
    case Status::failed:
      return "failed";
    case Status::done:
      break;
  }
  return "done";
}

struct Reason {
  const char* name;  // in JSON
  const char* text;
};

// In the order of SkipReason.
constexpr Reason reasons[] = {{"not-regular", "no regular file"},
                              {"encrypted", "encrypted already"},
                              {"no-suffix", "of another suffix"},
                              {"unfinished", "of an unfinished run"},
                              {"exists", "with an output that exists"}};
static_assert(std::size(reasons) == reasons_to_skip);

const Reason& reason_of(SkipReason why) { return reasons[static_cast<std::size_t>(why)]; }

ordered_json describe(const Outcome& outcome) {
  ordered_json file = {{"input", outcome.input}};
  if (!outcome.output.empty() && outcome.status != Status::not_begun) {
    file["output"] = outcome.output;
  }
  file["status"] = name_of(outcome.status);
  if (outcome.error) {
    file["error"] = to_json(*outcome.error);
  }
  if (outcome.why_skipped) {
    file["reason"] = reason_of(*outcome.why_skipped).name;
  }
  if (outcome.status == Status::done && outcome.threads != 0) {
    file["text_bytes"] = outcome.text_bytes;
    file["seconds"] = outcome.seconds;
    file["gb_per_s"] = gb_per_s(outcome);
    file["threads"] = outcome.threads;
    file["device"] = outcome.device;
  }
  file.update(outcome.more);
  return file;
}

// The device of the first input that did not stay with the CPU, if there is one.
std::string device_of(const std::vector<Outcome>& outcomes) {
  const auto found = std::find_if(outcomes.begin(), outcomes.end(),
                                  [](const Outcome& o) { return o.device != "cpu"; });
  return found == outcomes.end() ? "cpu" : found->device;
}

std::string kernel_of(const Outcome& outcome, const WorkChooser& chooser) {
  return outcome.kernel.empty() ? std::string(chooser.kernel().name) : outcome.kernel;
}

// As --range takes them, both ends included. An empty last chunk has no text.
std::string bytes_of(const stream::Extent& extent, Range range) {
  const Range text = extent.text_of(range);
  const Range file = extent.file_of(range);
  const std::string of_text = text.first == text.end ? std::string("no bytes of the plaintext")
                                                     : fmt::format("bytes {}-{} of the plaintext",
                                                                   text.first, text.end - 1);
  return fmt::format("{}, {}-{} of the file", of_text, file.first, file.end - 1);
}

// True if the last chunk is in the last range, or if not all ranges are named.
bool may_include_last_chunk(const stream::Verification& found) {
  return found.damage.more_chunks != 0 || found.damage.ranges.back().end == found.extent.chunks();
}

}  // namespace

Error about(const Outcome& outcome, const Error& error) {
  const std::string name = shown_name(outcome.input);
  const std::string text = error.what();
  for (const std::string& known : {name, outcome.output, std::string("standard output")}) {
    if (!known.empty() && text.rfind(known + ":", 0) == 0) {
      return error;
    }
  }
  return Error(error.code, name + ": " + text, error.hint);
}

std::string timing_of(const Outcome& outcome, const WorkChooser& chooser) {
  const std::string device = outcome.device == "cpu" ? "" : "device " + outcome.device + ", ";
  return fmt::format(
      "paes: {}: {} in {:.3f} s, {:.2f} GB/s (kernel {}, {}threads {}, {}, piece {})",
      shown_name(outcome.input), human_bytes(static_cast<double>(outcome.text_bytes)),
      outcome.seconds, gb_per_s(outcome), kernel_of(outcome, chooser), device, outcome.threads,
      name_of(chooser.schedule()), outcome.piece_bytes);
}

std::size_t Counts::all_skipped() const noexcept {
  return std::accumulate(std::begin(skipped), std::end(skipped), std::size_t{0});
}

Counts count(const std::vector<Outcome>& outcomes) {
  Counts counts;
  for (const Outcome& outcome : outcomes) {
    counts.done += outcome.status == Status::done ? 1 : 0;
    counts.failed += outcome.status == Status::failed ? 1 : 0;
    counts.not_begun += outcome.status == Status::not_begun ? 1 : 0;
    if (outcome.why_skipped) {
      ++counts.skipped[static_cast<std::size_t>(*outcome.why_skipped)];
    }
    counts.text_bytes += outcome.text_bytes;
  }
  return counts;
}

std::string summary_of(const char* command, const Counts& counts, std::optional<double> seconds) {
  std::string text =
      fmt::format("paes: {}: {} {}", command, counts.done, counts.done == 1 ? "file" : "files");
  if (seconds) {
    const auto bytes = static_cast<double>(counts.text_bytes);
    text += fmt::format(", {} in {:.3f} s, {}/s", human_bytes(bytes), *seconds,
                        human_bytes(*seconds > 0 ? bytes / *seconds : 0));
  }
  if (const std::size_t skipped = counts.all_skipped(); skipped != 0) {
    text += fmt::format("; {} skipped: ", skipped);
    const char* between = "";
    for (std::size_t i = 0; i < reasons_to_skip; ++i) {
      if (counts.skipped[i] != 0) {
        text += fmt::format("{}{} {}", between, counts.skipped[i], reasons[i].text);
        between = ", ";
      }
    }
  }
  if (counts.failed != 0) {
    text += fmt::format("; {} failed", counts.failed);
  }
  if (counts.not_begun != 0) {
    text += fmt::format("; {} not begun", counts.not_begun);
  }
  return text;
}

int exit_code_of(const std::vector<Outcome>& outcomes) {
  if (std::all_of(outcomes.begin(), outcomes.end(), [](const Outcome& o) {
        return o.status == Status::done || o.status == Status::skipped;
      })) {
    return exit_done;
  }
  if (outcomes.size() > 1) {
    return exit_some_failed;
  }
  const std::optional<Error>& error = outcomes.front().error;
  return static_cast<int>(error ? error->code : ErrorCode::failure);
}

void report_not_begun(const std::vector<Outcome>& outcomes) {
  const auto is_left = [](const Outcome& outcome) { return outcome.status == Status::not_begun; };
  const auto first = std::find_if(outcomes.begin(), outcomes.end(), is_left);
  if (first == outcomes.end()) {
    return;
  }
  const auto others = std::count_if(first + 1, outcomes.end(), is_left);
  const bool are_last = others == outcomes.end() - first - 1;
  print_error({ErrorCode::failure,
               shown_name(first->input) + ": interrupted: not begun" +
                   (others == 0   ? ""
                    : !are_last   ? fmt::format(", nor {} others", others)
                    : others == 1 ? ", nor the file after it"
                                  : fmt::format(", nor the {} files after it", others))});
}

ordered_json to_json(const Counts& counts) {
  ordered_json skipped = ordered_json::object();
  for (std::size_t i = 0; i < reasons_to_skip; ++i) {
    skipped[reasons[i].name] = counts.skipped[i];
  }
  return {{"done", counts.done},
          {"failed", counts.failed},
          {"not_begun", counts.not_begun},
          {"skipped", skipped}};
}

ordered_json head_of_document(const char* command, int exit_code, const WorkChooser& chooser,
                              const std::vector<Outcome>& outcomes, std::size_t piece_bytes) {
  return {{"command", command},
          {"exit_code", exit_code},
          {"kernel", outcomes.empty() ? std::string(chooser.kernel().name)
                                      : kernel_of(outcomes.front(), chooser)},
          {"device", device_of(outcomes)},
          {"schedule", name_of(chooser.schedule())},
          {"piece_bytes", piece_bytes}};
}

ordered_json to_json(const std::vector<Outcome>& outcomes) {
  ordered_json files = ordered_json::array();
  for (const Outcome& outcome : outcomes) {
    files.push_back(describe(outcome));
  }
  return files;
}

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
