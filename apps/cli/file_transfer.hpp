// SPDX-License-Identifier: Apache-2.0
// What encrypt, decrypt, verify and cipher share: options, --resume, messages that name the file,
// the JSON report and the exit code. file_run.hpp takes the files one after another, or several at
// a time.
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/inputs.hpp"
#include "cli/outcome.hpp"
#include "cli/work_options.hpp"
#include "stream/container/container_file.hpp"
#include "stream/container/file_format.hpp"
#include "stream/container/payload.hpp"
#include "stream/file/output.hpp"
#include "stream/resume/resume.hpp"

namespace paes::cli {

struct TransferOptions {
  void declare_common(CLI::App& app, const std::string& schema);
  void declare_output(CLI::App& app);
  void declare_resume(CLI::App& app);

  std::vector<std::string> files;
  InputOptions inputs;
  std::string output;  // empty: named after the input
  bool overwrite = false;
  bool quiet = false;
  bool verbose = false;
  bool json = false;
  bool no_progress = false;
  bool resume = false;
  // What the user expects a pipe to bring. It may be wrong: only what is shown, and whether a
  // device is worth measuring, may depend on it.
  std::optional<std::uint64_t> expected_bytes;
  WorkOptions device;

  // -v prints the figures, even with -q. -q leaves only errors and warnings besides.
  [[nodiscard]] Notes notes() const noexcept {
    return verbose ? Notes::all : quiet ? Notes::none : Notes::some;
  }
};

// One file, opened, and how to work on it.
struct FileTask {
  stream::Input& input;
  const stream::FilePlace& output;  // its path is "-" for standard output, and empty for verify
  const stream::Work& work;
  bool is_grouped;  // a new output is left without its name
  Outcome& outcome;
};

struct WrittenOutput {
  // The plaintext bytes, and with --resume how many of them an earlier run had done.
  stream::Totals totals;
  // An output that is complete and has no name yet.
  std::unique_ptr<stream::Output> unnamed = nullptr;
};

struct Transfer {
  const char* command;
  // Null when there is no output.
  NameOutput name_output;
  InputKind takes;
  // Any thread may call it, for several files at the same time.
  std::function<WrittenOutput(const FileTask& task)> work;
  // For the buffers of small files, which are kept from one file to the next. Null: they are not
  // kept.
  stream::Layout (*layout)(const stream::Work& work) = nullptr;
  std::function<void(nlohmann::ordered_json& document)> more_members = nullptr;
  // A grouped output has got its name.
  std::function<void()> has_named = nullptr;
};

// Makes standard input the default file and lists all files. Throws Error(usage) for -o with
// several files, for --json with an output to standard output, for two inputs with one output, and
// for options that contradict each other. `other_uses` counts the other uses of standard input.
[[nodiscard]] FileList settle(TransferOptions& options, InputKind takes,
                              const NameOutput& name_output, unsigned other_uses);

// Does the task of one file, and notes in `outcome` how it was done, what came of it and how long
// it took.
void run_timed(const TransferOptions& options, const stream::Work& work, Outcome& outcome,
               const std::function<stream::Totals()>& task);

// As run_with_inputs. Without files there is standard input.
[[nodiscard]] int run_with_files(const char* command, const TransferOptions& options,
                                 const std::function<int()>& run);

// Starts as many threads as the inputs will use. Throws Error(failure) when the system does not
// give them. For a command that creates a file before it opens the first input.
void start_threads(const FileList& list, WorkChooser& chooser);

// Nobody types an encrypted file. Throws Error(usage).
void refuse_terminal(const stream::Input& input);

// Whether --resume was asked for and means anything for this work: an empty file has nothing to
// continue. Throws Error(usage) for an input that is not a regular file, and for standard output.
[[nodiscard]] bool is_resumable(const TransferOptions& options, const stream::Input& input,
                                const std::string& output);

// The options with which an output is opened.
[[nodiscard]] stream::OutputOptions output_options(const TransferOptions& options,
                                                   const stream::Input& source, bool encrypts);

// How an output is opened, beside what the options say of all.
struct OutputUse {
  bool encrypts;
  bool is_resumable = false;
  bool is_grouped = false;
  const char* when_taken = stream::OutputOptions().when_taken;
};
// Opens the output; refuses a terminal unless overwriting was asked for.
[[nodiscard]] std::unique_ptr<stream::Output> create_output(const TransferOptions& options,
                                                            const stream::FilePlace& place,
                                                            const stream::Input& source,
                                                            OutputUse use);

// Reports on a complete output: how much of it an earlier run had done, and its warning, if any.
void report_written(const TransferOptions& options, const stream::Output& output,
                    const stream::Totals& totals);
// The same, and hands the output on if it has no name yet.
[[nodiscard]] WrittenOutput hand_on(const TransferOptions& options,
                                    std::unique_ptr<stream::Output> output,
                                    const stream::Totals& totals);

// The line that says that the file is authentic, or empty if nobody wants it. Throws what
// require_authentic throws.
[[nodiscard]] std::string verified_text(const TransferOptions& options, const std::string& name,
                                        const stream::Verification& found);

}  // namespace paes::cli
