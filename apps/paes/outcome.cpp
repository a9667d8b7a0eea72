#include "paes/outcome.hpp"

#include <fmt/core.h>

#include "paes/report.hpp"

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
    case Status::failed:
      return "failed";
    case Status::done:
      break;
  }
  return "done";
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
      "paes: {}: {} in {:.3f} s, {:.2f} GB/s (kernel {}, {}threads {}, {}, grain {})",
      shown_name(outcome.input), human_bytes(static_cast<double>(outcome.text_bytes)),
      outcome.seconds, gb_per_s(outcome), chooser.kernel().name, device, outcome.threads,
      name_of(chooser.schedule()), outcome.grain_bytes);
}

ordered_json to_json(const Outcome& outcome) {
  ordered_json file = {{"input", outcome.input}};
  if (!outcome.output.empty()) {
    file["output"] = outcome.output;
  }
  file["status"] = name_of(outcome.status);
  if (outcome.error) {
    file["error"] = to_json(*outcome.error);
  }
  if (outcome.status != Status::done) {
    file.update(outcome.more);
    return file;
  }
  file["text_bytes"] = outcome.text_bytes;
  file["seconds"] = outcome.seconds;
  file["gb_per_s"] = gb_per_s(outcome);
  file["threads"] = outcome.threads;
  file["engine"] = outcome.device;
  file.update(outcome.more);
  return file;
}

}  // namespace paes::cli
