// SPDX-License-Identifier: Apache-2.0
#include "cli/inputs.hpp"

#include <sys/stat.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <filesystem>
#include <memory>
#include <set>
#include <unordered_map>
#include <utility>

#include "cli/clashes.hpp"
#include "cli/encrypted_names.hpp"
#include "cli/help_page.hpp"
#include "cli/process.hpp"
#include "cli/report.hpp"
#include "cli/tree_walk.hpp"
#include "core/current_error.hpp"
#include "stream/file/input.hpp"
#include "stream/file/permissions.hpp"
#include "stream/file/temporary.hpp"

namespace paes::cli {

namespace {

constexpr std::size_t max_name_bytes = PATH_MAX - 1;
constexpr std::size_t max_list_bytes = std::size_t{1} << 30;

// Reads the names of a list a block at a time.
class ListReader {
 public:
  explicit ListReader(const InputOptions& options)
      : name_(shown_name(options.list)),
        end_(options.ends_names_with_zero ? '\0' : '\n'),
        input_(options.list == "-" ? stream::Input::standard_input(&cancel())
                                   : stream::Input::open(options.list, &cancel())) {}

  [[nodiscard]] std::vector<std::string> read() {
    std::vector<std::uint8_t> block(std::size_t{64} << 10);
    for (std::size_t got = block.size(); got == block.size();) {
      got = input_.read(block);
      read_bytes_ += got;
      refuse(read_bytes_ > max_list_bytes, name_ + ": is too long for a list of files",
             "give it in parts");
      std::for_each(block.begin(), block.begin() + static_cast<std::ptrdiff_t>(got),
                    [this](std::uint8_t byte) { take(static_cast<char>(byte)); });
    }
    end_name();
    return std::move(names_);
  }

 private:
  void take(char byte) {
    if (byte == end_) {
      end_name();
      return;
    }
    if (byte == '\0') {
      throw Error(ErrorCode::usage, name_ + ": has a zero byte in a name",
                  "if zero bytes end the names: -0");
    }
    if (last_.size() == max_name_bytes) {
      throw Error(
          ErrorCode::usage,
          name_ + ": has a name of more than " + std::to_string(max_name_bytes) + " bytes",
          end_ == '\0' ? "without -0 each line is a name" : "if zero bytes end the names: -0");
    }
    last_ += byte;
  }

  // In a list, "-" is a file of that name.
  void end_name() {
    if (!last_.empty()) {
      names_.push_back(last_ == "-" ? "./-" : last_);
      last_.clear();
    }
  }

  std::string name_;
  char end_;
  stream::Input input_;
  std::size_t read_bytes_ = 0;
  std::string last_;
  std::vector<std::string> names_;
};

std::vector<Outcome> not_begun(const std::vector<std::string>& files) {
  std::vector<Outcome> outcomes;
  for (const std::string& file : files) {
    outcomes.emplace_back().input = file;
  }
  return outcomes;
}

class Collector {
 public:
  Collector(const InputOptions& options, InputKind takes, const NameOutput& name_output)
      : options_(options), takes_(takes), name_output_(name_output) {
    if (options.output_folder.empty()) {
      return;
    }
    output_tree_ = std::make_shared<stream::Tree>(options.output_folder);
    struct stat status = {};
    if (stat(options.output_folder.c_str(), &status) == 0 && S_ISDIR(status.st_mode)) {
      output_folder_ = stream::identity_of(status);
      output_tree_->open();
    }
  }

  // `below` is the name's place in the output folder, if there is one.
  void add(const std::string& name, const std::string& below) {
    struct stat status = {};
    const bool is_there = name != "-" && stat(name.c_str(), &status) == 0;
    if (is_there && S_ISDIR(status.st_mode) && options_.recursive) {
      take_tree(name);
      return;
    }
    Outcome& outcome = outcomes_.emplace_back();
    outcome.input = name;
    if (is_there && S_ISREG(status.st_mode)) {
      outcome.listed_bytes = static_cast<std::uint64_t>(status.st_size);
    }
    name_output_of(outcome, below);
  }

  [[nodiscard]] FileList take() {
    for (Outcome& outcome : outcomes_) {
      outcome.may_have_leftover =
          takes_ != InputKind::plain &&
          (!outcome.was_found() || folders_with_remains_.contains(folder_of(outcome.input)));
    }
    settle_clashes(outcomes_, takes_, options_.replaces_outputs);
    if (options_.skip_existing) {
      skip_existing();
    }
    stream::Tree::let_all_go();  // what is exchanged from now on is found to be so
    return {std::move(outcomes_), std::move(folders_)};
  }

 private:
  // A link is followed only if the user has named it.
  void take_tree(const std::string& top) {
    const auto tree = std::make_shared<stream::Tree>(top);
    try {
      tree->open();
    } catch (...) {
      Outcome& outcome = outcomes_.emplace_back();
      outcome.input = top;
      outcome.fail(current_error());
      return;
    }
    walk(*tree, [&](const VisitedEntry& visited) { return visit(tree, visited); });
  }

  [[nodiscard]] Next visit(const std::shared_ptr<stream::Tree>& tree, const VisitedEntry& visited) {
    const std::string path = visited.below.empty() ? tree->top() : tree->path_of(visited.below);
    if (visited.error != 0) {
      Outcome& outcome = outcomes_.emplace_back();
      outcome.input = path;
      outcome.fail({ErrorCode::failure, path + ": " + std::strerror(visited.error)});
    } else if (!S_ISDIR(visited.status.st_mode)) {
      found(tree, path, visited);
    } else if (!visited.below.empty() && output_folder_ &&
               stream::identity_of(visited.status) == *output_folder_) {
      return Next::past_this_folder;  // what an earlier run has written
    } else if (output_tree_ != nullptr) {
      const stream::OpenFolder folder = tree->folder(visited.below);
      folders_.note_mode(
          visited.below,
          stream::permissions_of(folder != nullptr ? folder->number() : -1, visited.status));
    }
    return Next::on;
  }

  void found(const std::shared_ptr<stream::Tree>& tree, const std::string& path,
             const VisitedEntry& visited) {
    Outcome& outcome = outcomes_.emplace_back();
    outcome.input = path;
    outcome.place = {tree, path.size() - visited.below.size()};
    if (stream::is_name_beside(stream::last_name(path))) {
      folders_with_remains_.insert(folder_of(path));
    }
    if (!S_ISREG(visited.status.st_mode)) {
      outcome.skip(SkipReason::not_regular);
    } else if (!takes_name(takes_, path)) {
      outcome.skip(stream::is_temporary_name(stream::last_name(path)) ? SkipReason::unfinished
                                                                      : SkipReason::no_suffix);
    } else {
      outcome.listed_bytes = static_cast<std::uint64_t>(visited.status.st_size);
      name_output_of(outcome, visited.below);
    }
  }

  static std::string folder_of(const std::string& path) {
    return path.substr(0, path.rfind('/') + 1);  // npos + 1 is 0
  }

  void name_output_of(Outcome& outcome, const std::string& below) {
    if (!name_output_) {
      return;
    }
    try {
      if (output_tree_ == nullptr) {
        outcome.output = name_output_(outcome.input);
        outcome.output_place = outcome.place;
      } else {
        outcome.output = name_output_(output_tree_->path_of(below));
        outcome.output_place = {output_tree_, output_tree_->path_of("").size()};
      }
    } catch (...) {
      outcome.fail(current_error());
    }
  }

  void skip_existing() {
    for (Outcome& outcome : outcomes_) {
      struct stat status = {};
      if (outcome.has_output() && outcome.output_place.lstat(outcome.output, status) == 0) {
        outcome.skip(SkipReason::exists);
      }
    }
  }

  const InputOptions& options_;
  InputKind takes_;
  const NameOutput& name_output_;
  std::optional<stream::FileIdentity> output_folder_;
  std::shared_ptr<stream::Tree> output_tree_;  // null if outputs lie beside their inputs
  OutputFolders folders_;
  std::vector<Outcome> outcomes_;
  std::set<std::string> folders_with_remains_;  // where a file is_name_beside() another
};

// Where a name of a list lies below the output folder: a list keeps its folders, so that files of
// one name stay apart.
std::string place_of(const std::string& name) {
  const std::filesystem::path path(name);
  refuse(std::find(path.begin(), path.end(), "..") != path.end(),
         name + ": would lead out of the output folder",
         "leave .. out of the names, or leave out --output-dir");
  return path.relative_path().lexically_normal().string();
}

}  // namespace

void InputOptions::declare(CLI::App& app, bool has_output) {
  const OptionGroup files(app, files_group);
  app.add_flag("--recursive", recursive, "take all files below the folders that are named");
  app.add_option("--files-from", list, "take the files that this file names, one a line")
      ->type_name("FILE");
  app.add_flag("-0,--null", ends_names_with_zero,
               "names in the --files-from file end with NUL instead of a newline");
  if (has_output) {
    app.add_option("--output-dir", output_folder, "write below this folder, made if missing")
        ->type_name("DIR");
    app.add_flag("--skip-existing", skip_existing, "skip files whose outputs exist");
  }
}

FileList collect_inputs(const InputOptions& options, const std::vector<std::string>& files,
                        InputKind takes, const NameOutput& name_output) {
  refuse(options.ends_names_with_zero && options.list.empty(),
         "null: tells how the names of --files-from end", "name that list, or leave out -0");
  if (options.recursive) {
    allow_open_files();  // each folder that is named stays open
  }
  Collector collector(options, takes, name_output);
  for (const std::string& file : files) {
    collector.add(file, stream::last_name(file));
  }
  if (!options.list.empty()) {
    for (const std::string& name : ListReader(options).read()) {
      collector.add(name, options.output_folder.empty() ? name : place_of(name));
    }
  }
  return collector.take();
}

int run_with_inputs(const char* command, bool json, const std::vector<std::string>& files,
                    const std::function<int()>& run) {
  try {
    return run();
  } catch (...) {
    if (json && !has_printed_json()) {
      nlohmann::ordered_json document = failure_document(command, current_error());
      if (!files.empty()) {
        document["files"] = to_json(not_begun(files));
      }
      print_json(document);
    }
    throw;
  }
}

}  // namespace paes::cli
