// What encrypt, decrypt and verify share: options, one or several files one after the other,
// messages that name the file, the progress line, the JSON report and the exit code.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "paes/engine.hpp"
#include "stream/files.hpp"
#include "stream/pipeline.hpp"

namespace paes::cli {

inline constexpr const char* suffix = ".paes";

struct TransferOptions {
  void declare_common(CLI::App& app, const std::string& schema);
  void declare_output(CLI::App& app);

  std::vector<std::string> files;
  std::string output;  // empty: named after the input
  bool overwrite = false;
  bool quiet = false;
  bool verbose = false;
  bool json = false;
  bool no_progress = false;
  EngineOptions engine;
};

// One file's work. `output` is a path, "-", or empty for verify. Gives back the plaintext bytes.
using FileWork = std::function<std::uint64_t(stream::Input& input, const std::string& output,
                                             const stream::Options& options)>;

struct Transfer {
  const char* command;
  // The output's name for an input's; null when there is no output. May throw Error(usage).
  std::function<std::string(const std::string& input)> name_output;
  FileWork work;
  std::function<void(nlohmann::ordered_json& document)> more_members = nullptr;
};

// Defaults and contradictions: standard input when no file is named, -o with several files, --json
// where the output itself goes to standard output. `secret_on_standard_input` says that something
// else is read from there.
void settle(TransferOptions& options, bool has_output, bool secret_on_standard_input);

// Runs all files and returns the exit code. Failures are printed, not thrown.
[[nodiscard]] int run_transfer(const TransferOptions& options, const Engine& engine,
                               const Transfer& transfer);

// Starts as many threads as the largest of the inputs will use. Throws Error(failure) when the
// system does not give them. For what makes a file before the first input is opened.
void start_threads(const TransferOptions& options, const Engine& engine);

// Nobody types an encrypted file. Throws Error(usage).
void refuse_terminal(const stream::Input& input);

// Prints what is not as it should be with an output that is complete.
void warn_about(const stream::Output& output);

// Opens the output; refuses a terminal unless overwriting was asked for.
[[nodiscard]] stream::Output create_output(const std::string& path, const stream::Input& source,
                                           mode_t permissions, bool overwrite);

}  // namespace paes::cli
