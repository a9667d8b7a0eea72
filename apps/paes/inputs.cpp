#include "paes/inputs.hpp"

#include <fts.h>
#include <sys/stat.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <memory>
#include <unordered_map>
#include <utility>

#include "core/current_error.hpp"
#include "paes/process.hpp"
#include "paes/report.hpp"
#include "paes/transfer.hpp"
#include "stream/input.hpp"
#include "stream/permissions.hpp"
#include "stream/temporary.hpp"

namespace paes::cli {

namespace {

constexpr std::size_t max_name_bytes = PATH_MAX - 1;
constexpr std::size_t max_list_bytes = std::size_t{1} << 30;

struct CloseWalk {
  void operator()(FTS* walk) const noexcept { (void)fts_close(walk); }
};

std::string joined(const std::string& folder, const std::string& name) {
  return folder.ends_with('/') ? folder + name : folder + "/" + name;
}

std::string last_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

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
  Collector(const InputOptions& options, Takes takes, const NameOutput& name_output)
      : options_(options), takes_(takes), name_output_(name_output) {
    struct stat status = {};
    if (!options.output_folder.empty() && stat(options.output_folder.c_str(), &status) == 0) {
      output_folder_ = stream::identity_of(status);
    }
  }

  // `below` is the name's place in the output folder.
  void add(const std::string& name, const std::string& below) {
    struct stat status = {};
    const bool is_there = name != "-" && stat(name.c_str(), &status) == 0;
    if (is_there && S_ISDIR(status.st_mode) && options_.recursive) {
      walk(name);
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
    refuse_clashes();
    if (options_.skip_existing) {
      skip_existing();
    }
    return {std::move(outcomes_), std::move(folders_)};
  }

 private:
  void walk(const std::string& top) {
    std::string path = top;
    char* const paths[] = {path.data(), nullptr};
    // A link is followed only if the user has named it.
    const std::unique_ptr<FTS, CloseWalk> entries(fts_open(
        paths, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, [](const FTSENT** a, const FTSENT** b) {
          return std::strcmp((*a)->fts_name, (*b)->fts_name);
        }));
    if (entries == nullptr) {
      throw_errno(top);
    }
    for (;;) {
      cancel().check();
      errno = 0;
      FTSENT* const entry = fts_read(entries.get());
      if (entry == nullptr) {
        break;
      }
      visit(*entries, *entry, top);
    }
    if (errno != 0) {
      throw_errno(top);
    }
  }

  void visit(FTS& entries, FTSENT& entry, const std::string& top) {
    const std::string path = entry.fts_path;
    const std::size_t slashes = path.find_first_not_of('/', top.size());
    const std::string below = slashes == std::string::npos ? "" : path.substr(slashes);
    switch (entry.fts_info) {
      case FTS_D:
        if (entry.fts_level > 0 && output_folder_ &&
            stream::identity_of(*entry.fts_statp) == *output_folder_) {
          (void)fts_set(&entries, &entry, FTS_SKIP);  // what an earlier run has written
        } else if (!options_.output_folder.empty()) {
          folders_.note_mode(joined(options_.output_folder, below),
                             stream::permissions_of(path, *entry.fts_statp));
        }
        break;
      case FTS_DP:
        break;
      case FTS_DNR:
      case FTS_ERR:
      case FTS_NS: {
        Outcome& outcome = outcomes_.emplace_back();
        outcome.input = path;
        outcome.fail({ErrorCode::failure, path + ": " + std::strerror(entry.fts_errno)});
        break;
      }
      default:
        found(entry, path, below);
    }
  }

  void found(const FTSENT& entry, const std::string& path, const std::string& below) {
    Outcome& outcome = outcomes_.emplace_back();
    outcome.input = path;
    outcome.was_found = true;
    if (!S_ISREG(entry.fts_statp->st_mode)) {
      outcome.skip(Skipped::not_regular);
    } else if (stream::is_temporary_name(entry.fts_name)) {
      outcome.skip(Skipped::unfinished);
    } else if (!takes_name(path)) {
      outcome.skip(Skipped::no_suffix);
    } else {
      outcome.listed_bytes = static_cast<std::uint64_t>(entry.fts_statp->st_size);
      name_output_of(outcome, below);
    }
  }

  [[nodiscard]] bool takes_name(const std::string& path) const {
    return takes_ == Takes::plain || format_of_name(path) != nullptr;
  }

  void name_output_of(Outcome& outcome, const std::string& below) {
    if (!name_output_) {
      return;
    }
    try {
      outcome.output = name_output_(
          options_.output_folder.empty() ? outcome.input : joined(options_.output_folder, below));
    } catch (...) {
      outcome.fail(current_error());
    }
  }

  // Outputs are compared by the folders that their names lead to. Those of a folder's files mostly
  // lie in one folder, too, so each is looked up once.
  void refuse_clashes() const {
    std::unordered_map<std::string, std::string> folders;
    const auto resolved = [&folders](const std::string& path) {
      const std::string file = last_name(path);
      const std::string folder = path.substr(0, path.size() - file.size());
      const auto [known, is_new] = folders.try_emplace(folder);
      if (is_new) {
        known->second = resolved_folder(folder);
      }
      return joined(known->second, file);
    };
    std::unordered_map<std::string, const Outcome*> outputs;
    for (const Outcome& outcome : outcomes_) {
      if (outcome.status != Status::not_begun || outcome.output.empty() || outcome.output == "-") {
        continue;
      }
      const auto [other, is_first] = outputs.try_emplace(resolved(outcome.output), &outcome);
      if (!is_first) {
        throw Error(ErrorCode::usage,
                    outcome.output + ": would be the output of both " + other->second->input +
                        " and " + outcome.input,
                    "name each input once, or give one of them another output");
      }
    }
    // With -f it would be replaced. If it was found, that is what an earlier run made of it.
    for (const Outcome& outcome : outcomes_) {
      if (!options_.replaces_outputs || outcome.was_found || outcome.status != Status::not_begun ||
          outcome.input == "-") {
        continue;
      }
      const auto other = outputs.find(resolved(outcome.input));
      if (other != outputs.end() && other->second != &outcome) {
        throw Error(
            ErrorCode::usage,
            outcome.input + ": is an input, and would be the output of " + other->second->input,
            "give one of them another output, or a command of its own");
      }
    }
  }

  void skip_existing() {
    for (Outcome& outcome : outcomes_) {
      struct stat status = {};
      if (outcome.status == Status::not_begun && !outcome.output.empty() && outcome.output != "-" &&
          lstat(outcome.output.c_str(), &status) == 0) {
        outcome.skip(Skipped::exists);
      }
    }
  }

  const InputOptions& options_;
  Takes takes_;
  const NameOutput& name_output_;
  std::optional<stream::FileIdentity> output_folder_;
  OutputFolders folders_;
  std::vector<Outcome> outcomes_;
};

// Where a name of a list lies below the output folder: a list keeps its folders, so that files of
// one name stay apart.
std::string place_of(const std::string& name) {
  const std::string place = name.substr(std::min(name.find_first_not_of('/'), name.size()));
  const std::string parts = "/" + place + "/";
  refuse(parts.find("/../") != std::string::npos, name + ": would lead out of the output folder",
         "leave .. out of the names, or leave out --output-dir");
  return place;
}

}  // namespace

void InputOptions::declare(CLI::App& app, bool has_output) {
  app.add_flag("--recursive", recursive, "take all files below the folders that are named");
  app.add_option("--files-from", list, "take the files that this file names, one a line")
      ->type_name("FILE");
  app.add_flag("-0,--null", ends_names_with_zero, "in that file, a zero byte ends each name");
  if (has_output) {
    app.add_option("--output-dir", output_folder, "write below this folder, made if missing")
        ->type_name("DIR");
    app.add_flag("--skip-existing", skip_existing, "skip files whose outputs exist");
  }
}

FileList collect_inputs(const InputOptions& options, const std::vector<std::string>& files,
                        Takes takes, const NameOutput& name_output) {
  refuse(options.ends_names_with_zero && options.list.empty(),
         "null: tells how the names of --files-from end", "name that list, or leave out -0");
  Collector collector(options, takes, name_output);
  for (const std::string& file : files) {
    collector.add(file, last_name(file));
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
