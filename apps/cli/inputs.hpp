// SPDX-License-Identifier: Apache-2.0
// Which files a command works on, and where their outputs go: the files that a user names, those
// that a list names (--files-from), and those below a folder (--recursive). All of it is settled
// before the first file is opened, so that two inputs for one output are refused in time.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/encrypted_names.hpp"
#include "cli/keyfile.hpp"
#include "cli/outcome.hpp"
#include "cli/output_folders.hpp"

namespace CLI {
class App;
}

namespace paes::cli {

struct InputOptions {
  void declare(CLI::App& app, bool has_output);

  [[nodiscard]] unsigned standard_input_uses() const { return is_standard_input(list) ? 1 : 0; }
  // Whether files may be taken that the user has not named one by one.
  [[nodiscard]] bool are_listed() const noexcept { return recursive || !list.empty(); }

  bool recursive = false;
  std::string list;  // the file of --files-from
  bool ends_names_with_zero = false;
  std::string output_folder;  // empty: outputs lie beside their inputs
  bool skip_existing = false;
  bool replaces_outputs = false;  // -f
};

// The output's name for an input's. May throw Error(usage).
using NameOutput = std::function<std::string(const std::string& input)>;

// The files of a command, and the folders that their outputs need.
struct FileList {
  // In the order in which they were named and found: to be worked on, skipped, or failed already.
  std::vector<Outcome> files;
  OutputFolders folders;
};

// `name_output` is null if there is no output. Throws Error(usage) for a list that cannot be one
// and for two inputs with one output, and Error(failure) for a list that cannot be read.
[[nodiscard]] FileList collect_inputs(const InputOptions& options,
                                      const std::vector<std::string>& files, InputKind takes,
                                      const NameOutput& name_output);

// Runs a command that has files. `run` throws only before its first file; then the document of
// --json lists all files as not begun.
[[nodiscard]] int run_with_inputs(const char* command, bool json,
                                  const std::vector<std::string>& files,
                                  const std::function<int()>& run);

}  // namespace paes::cli
