// SPDX-License-Identifier: Apache-2.0
#include "cli/clashes.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "cli/output_folders.hpp"
#include "cli/process.hpp"
#include "core/current_error.hpp"
#include "stream/container/file_format.hpp"
#include "stream/file/input.hpp"

namespace paes::cli {

namespace {

std::string with_case(std::string text, int (*change)(int)) {
  std::transform(text.begin(), text.end(), text.begin(), [&](char letter) {
    return static_cast<char>(change(static_cast<unsigned char>(letter)));
  });
  return text;
}

class Clashes {
 public:
  Clashes(std::vector<Outcome>& outcomes, InputKind takes) : outcomes_(outcomes), takes_(takes) {}

  // A name can be the output of one input only.
  void refuse_common_outputs() {
    for (const Outcome& outcome : outcomes_) {
      if (!outcome.has_output()) {
        continue;
      }
      const std::string name = resolved(outcome.output_place, outcome.output);
      const auto [other, is_first] = outputs_.try_emplace(name, &outcome);
      if (!is_first) {
        throw Error(ErrorCode::usage,
                    outcome.output + ": would be the output of both " + other->second->input +
                        " and " + outcome.input,
                    "name each input once, or give one of them another output");
      }
    }
  }

  void keep_inputs() {
    note_what_is_replaced();
    for (Outcome& outcome : outcomes_) {
      if (outcome.status != Status::not_begun || outcome.input == "-") {
        continue;
      }
      const Outcome* const other = replaced_by(outcome);
      if (other != nullptr && !is_skipped(outcome)) {
        throw Error(ErrorCode::usage,
                    outcome.input + ": is an input, and would be the output of " + other->input,
                    "give one of them another output, or a command of its own");
      }
    }
  }

 private:
  struct ReplacedName {
    const Outcome* by;
    std::string name;  // in lower case
  };

  // Names are compared by the folders that they lead to. Those of files mostly lie in one folder,
  // so each is looked up once. A link that the user has named is followed, but none below the top
  // of a tree is.
  [[nodiscard]] std::string resolved(const stream::TreePlace& place, const std::string& path) {
    if (place.tree != nullptr) {
      return in_folder(place.tree->top(), path.substr(place.begin));
    }
    std::error_code error;
    if (std::filesystem::is_symlink(path, error)) {
      const std::filesystem::path target = std::filesystem::weakly_canonical(path, error);
      return error ? path : target.string();
    }
    const std::string file = stream::last_name(path);
    return in_folder(path.substr(0, path.size() - file.size()), file);
  }

  [[nodiscard]] std::string in_folder(const std::string& folder, const std::string& file) {
    const auto [known, is_new] = folders_.try_emplace(folder);
    if (is_new) {
      known->second = resolved_folder(folder);
    }
    return known->second.ends_with('/') ? known->second + file : known->second + "/" + file;
  }

  static bool look_at(const stream::TreePlace& place, const std::string& path,
                      struct stat& status) {
    return place.tree == nullptr ? stat(path.c_str(), &status) == 0
                                 : place.lstat(path, status) == 0;
  }

  void note_what_is_replaced() {
    for (const Outcome& outcome : outcomes_) {
      struct stat status = {};
      if (outcome.has_output() && look_at(outcome.output_place, outcome.output, status) &&
          S_ISREG(status.st_mode)) {
        replaced_.insert(
            {{status.st_dev, status.st_ino},
             ReplacedName{&outcome,
                          with_case(resolved(outcome.output_place, outcome.output), tolower)}});
      }
    }
  }

  // The file whose output takes this input's place. A file of several names keeps what it holds
  // under the others.
  [[nodiscard]] const Outcome* replaced_by(const Outcome& outcome) {
    if (!outcome.was_found()) {
      const auto named = outputs_.find(resolved(outcome.place, outcome.input));
      if (named != outputs_.end() && named->second != &outcome) {
        return named->second;
      }
    }
    struct stat status = {};
    if (replaced_.empty() || !look_at(outcome.place, outcome.input, status)) {
      return nullptr;
    }
    const auto [first, last] = replaced_.equal_range({status.st_dev, status.st_ino});
    const auto found = std::find_if(first, last, [&](const auto& one) {
      return one.second.by != &outcome &&
             (status.st_nlink == 1 ||
              one.second.name == with_case(resolved(outcome.place, outcome.input), tolower));
    });
    return found == last ? nullptr : found->second.by;
  }

  // Whether what was found is skipped, or has failed already.
  [[nodiscard]] bool is_skipped(Outcome& outcome) const {
    if (!outcome.was_found() || takes_ != InputKind::plain) {
      return false;
    }
    try {
      const stream::OpenFolder folder = outcome.place.folder(outcome.input);
      std::optional<stream::Input> input =
          stream::Input::open_regular({outcome.input, folder}, &cancel());
      if (!input) {
        outcome.skip(SkipReason::not_regular);
      } else if (stream::has_whole_head(*input)) {
        outcome.skip(SkipReason::encrypted);
      }
    } catch (...) {
      cancel().check();
      outcome.fail(current_error());
    }
    return outcome.status != Status::not_begun;
  }

  std::vector<Outcome>& outcomes_;
  InputKind takes_;
  std::unordered_map<std::string, std::string> folders_;
  std::unordered_map<std::string, const Outcome*> outputs_;
  std::multimap<std::pair<dev_t, ino_t>, ReplacedName> replaced_;
};

}  // namespace

void settle_clashes(std::vector<Outcome>& outcomes, InputKind takes, bool replaces_outputs) {
  Clashes clashes(outcomes, takes);
  clashes.refuse_common_outputs();
  if (replaces_outputs) {
    clashes.keep_inputs();
  }
}

}  // namespace paes::cli
