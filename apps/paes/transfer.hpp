// What encrypt, decrypt, verify and cipher share: options, one or several files one after the
// other, --resume, messages that name the file, the progress line, the JSON report and the exit
// code.
#pragma once

#include <atomic>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "paes/outcome.hpp"
#include "paes/work.hpp"
#include "stream/container.hpp"
#include "stream/output.hpp"
#include "stream/resume.hpp"

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

  // -v prints the figures, even with -q. -q leaves only errors and warnings besides.
  [[nodiscard]] Notes notes() const noexcept {
    return verbose ? Notes::all : quiet ? Notes::none : Notes::some;
  }
};

// One file's work. `output` is a path, "-", or empty for verify. Gives back the plaintext bytes,
// and with --resume how many of them an earlier run had done.
using FileWork = std::function<stream::ResumedTotals(
    stream::Input& input, const std::string& output, const stream::Options& options)>;

struct Transfer {
  const char* command;
  // The output's name for an input's; null when there is no output. May throw Error(usage).
  std::function<std::string(const std::string& input)> name_output;
  FileWork work;
  std::function<void(nlohmann::ordered_json& document)> more_members = nullptr;
  // Adds members to the JSON of the file that has just failed.
  std::function<void(nlohmann::ordered_json& file)> more_of_failure = nullptr;
};

// Makes standard input the default file, and throws Error(usage) for -o with several files and for
// --json with an output to standard output. `other_uses` counts the other uses of standard input.
void settle(TransferOptions& options, bool has_output, unsigned other_uses);

// Runs all files and returns the exit code. Failures are printed, not thrown. After a signal no
// further file is begun, and the files left are reported as not begun. Unless all files are done
// the exit code is not 0.
[[nodiscard]] int run_transfer(const TransferOptions& options, WorkChooser& chooser,
                               const Transfer& transfer);

// Does the work of one file with `choice`, and notes in `outcome` what came of it and how long it
// took.
void run_timed(const TransferOptions& options, const Choice& choice, const Executor& executor,
               std::atomic<std::uint64_t>* progress, Outcome& outcome,
               const std::function<stream::ResumedTotals(const stream::Options& options)>& work);

// Runs a command that has files. `run` throws only before its first file; then the document of
// --json lists all files as not begun.
[[nodiscard]] int run_with_files(const char* command, const TransferOptions& options,
                                 const std::function<int()>& run);

// Starts as many threads as the largest of the inputs will use. Throws Error(failure) when the
// system does not give them. For a command that creates a file before it opens the first input.
void start_threads(const TransferOptions& options, WorkChooser& chooser);

// Nobody types an encrypted file. Throws Error(usage).
void refuse_terminal(const stream::Input& input);

// Whether --resume was asked for and means anything for this work: an empty file has nothing to
// continue. Throws Error(usage) for an input that is no regular file, and for standard output.
[[nodiscard]] bool is_resumable(const TransferOptions& options, const stream::Input& input,
                                const std::string& output);

// The options with which an output is opened.
[[nodiscard]] stream::OutputOptions output_options(const TransferOptions& options,
                                                   const stream::Input& source, bool encrypts);

// Opens the output; refuses a terminal unless overwriting was asked for.
[[nodiscard]] stream::Output create_output(const TransferOptions& options, const std::string& path,
                                           const stream::Input& source, bool encrypts,
                                           bool resumable = false);

// Reports on a complete output: how much of it an earlier run had done, and its warning, if any.
void report_written(const TransferOptions& options, const stream::Output& output,
                    const stream::ResumedTotals& totals);

// Says that the file is authentic, or throws what require_authentic throws.
void report_verified(const TransferOptions& options, const std::string& name,
                     const stream::Verification& found);

}  // namespace paes::cli
