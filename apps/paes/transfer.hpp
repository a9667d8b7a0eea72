// What encrypt, decrypt and verify share: options, one or several files one after the other,
// messages that name the file, the progress line, the JSON report and the exit code.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "paes/work.hpp"
#include "stream/container.hpp"
#include "stream/output.hpp"

namespace paes::cli {

inline constexpr const char* suffix = ".paes";

// FILE.paes for FILE, and back, in the folder where it lies; "-" for "-". The second throws
// Error(usage) for a name without the suffix.
[[nodiscard]] std::string encrypted_name(const std::string& input);
[[nodiscard]] std::string decrypted_name(const std::string& input);

struct TransferOptions {
  void declare_common(CLI::App& app, const std::string& schema);
  void declare_output(CLI::App& app);
  void declare_resume(CLI::App& app);

  std::vector<std::string> files;
  std::string output;  // empty: named after the input
  bool overwrite = false;
  bool quiet = false;
  bool verbose = false;
  bool json = false;
  bool no_progress = false;
  bool resume = false;
  WorkOptions device;

  // -v is for who wants the figures, also beside -q, which is for the rest.
  [[nodiscard]] Notes notes() const noexcept {
    return verbose ? Notes::all : quiet ? Notes::none : Notes::some;
  }
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
  // Of the file that was done last.
  std::function<void(nlohmann::ordered_json& file)> more_of_file = nullptr;
  // Adds to the file that failed last.
  std::function<void(nlohmann::ordered_json& file)> more_of_failure = nullptr;
};

// Defaults and contradictions: standard input when no file is named, -o with several files, --json
// where the output itself goes to standard output. `other_uses` counts what else than the files is
// read from standard input.
void settle(TransferOptions& options, bool has_output, unsigned other_uses);

// Runs all files and returns the exit code. Failures are printed, not thrown. After a signal no
// file is begun any more; those are reported as such, and as long as there is one that was not done
// the exit code is not 0.
[[nodiscard]] int run_transfer(const TransferOptions& options, WorkChooser& chooser,
                               const Transfer& transfer);

// Runs a command that has files, from its options on. What it throws comes before the first of
// them: then the document of --json lists them all as not begun.
[[nodiscard]] int run_with_files(const char* command, const TransferOptions& options,
                                 const std::function<int()>& run);

// Starts as many threads as the largest of the inputs will use. Throws Error(failure) when the
// system does not give them. For what makes a file before the first input is opened.
void start_threads(const TransferOptions& options, WorkChooser& chooser);

// Nobody types an encrypted file. Throws Error(usage).
void refuse_terminal(const stream::Input& input);

// Prints what is not as it should be with an output that is complete.
void warn_about(const stream::Output& output);

// Opens the output; refuses a terminal unless overwriting was asked for.
[[nodiscard]] stream::Output create_output(const TransferOptions& request, const std::string& path,
                                           const stream::Input& source, mode_t permissions,
                                           bool resumable = false);

}  // namespace paes::cli
