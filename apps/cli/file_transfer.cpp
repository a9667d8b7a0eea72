// SPDX-License-Identifier: Apache-2.0
#include "cli/file_transfer.hpp"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <utility>

#include "cli/command.hpp"
#include "cli/help_page.hpp"
#include "cli/keyfile.hpp"
#include "cli/process.hpp"
#include "cli/remains.hpp"
#include "cli/report.hpp"
#include "core/current_error.hpp"
#include "core/descriptor.hpp"
#include "core/secret.hpp"
#include "stream/file/create_output.hpp"

namespace paes::cli {

namespace {

using Clock = std::chrono::steady_clock;

// -o FOLDER/ and --output-dir FOLDER are the same.
void take_output_folder(TransferOptions& options) {
  InputOptions& inputs = options.inputs;
  if (options.output.ends_with('/') && inputs.output_folder.empty()) {
    inputs.output_folder = std::exchange(options.output, {});
  }
  refuse(!options.output.empty() && !inputs.output_folder.empty(),
         "output: -o and --output-dir name two places", "leave out one of them");
  refuse(!options.output.empty() && inputs.are_listed(),
         "output: -o names one file, but there may be several inputs",
         "name a folder: --output-dir DIR");
  refuse(inputs.skip_existing && options.overwrite,
         "output: --skip-existing keeps what -f would replace", "leave out one of them");
}

}  // namespace

void TransferOptions::declare_common(CLI::App& app, const std::string& schema) {
  device.declare(app);
  const OptionGroup printed(app, printed_group);
  app.add_flag("-q,--quiet", quiet, "print only errors and warnings");
  app.add_flag("-v,--verbose", verbose, "print kernel, threads, wall time and GB/s");
  app.add_flag("--no-progress", no_progress, "show no progress line");
  app.add_flag("--json", json, "print JSON (docs/schema/" + schema + ".schema.json)");
}

void TransferOptions::declare_output(CLI::App& app) {
  const OptionGroup group(app, files_group);
  app.add_option("-o,--output", output, "where to write; - is standard output")->type_name("FILE");
  app.add_flag("-f,--force", overwrite, "replace an output that exists; write to a terminal");
}

void TransferOptions::declare_resume(CLI::App& app) {
  const OptionGroup group(app, files_group);
  app.add_flag("--resume", resume,
               "keep progress on disk, and continue an interrupted --resume run");
}

FileList settle(TransferOptions& options, InputKind takes, const NameOutput& name_output,
                unsigned other_uses) {
  InputOptions& inputs = options.inputs;
  inputs.replaces_outputs = options.overwrite;
  if (name_output != nullptr) {
    take_output_folder(options);
  }
  refuse(inputs.recursive && options.files.empty() && inputs.list.empty(),
         "recursive: there is no folder to take files from", "name it");
  if (options.files.empty() && inputs.list.empty()) {
    options.files.emplace_back("-");
  }
  const auto from_standard_input = std::count(options.files.begin(), options.files.end(), "-");
  const auto uses_of_files =
      std::count_if(options.files.begin(), options.files.end(),
                    [](const std::string& name) { return name == "-" || is_standard_input(name); });
  refuse_several_uses_of_standard_input(static_cast<unsigned>(uses_of_files) +
                                        inputs.standard_input_uses() + other_uses);
  refuse(from_standard_input != 0 && !inputs.output_folder.empty(),
         "standard input: has no name for a file in " + inputs.output_folder,
         "name its output with -o, in a command of its own");
  refuse(!options.output.empty() && options.files.size() > 1,
         "output: -o names one file, but there are several inputs",
         "name a folder: -o DIR/, leave -o out, or run paes once for each");
  const bool to_standard_output =
      name_output != nullptr &&
      (options.output == "-" || (options.output.empty() && from_standard_input != 0));
  refuse(options.json && to_standard_output,
         "output: --json and the output cannot share standard output", "name the output with -o");
  NameOutput named = name_output;
  if (!options.output.empty()) {
    named = [&options](const std::string&) { return options.output; };
  }
  return collect_inputs(inputs, options.files, takes, named);
}

void run_timed(const TransferOptions& options, const stream::Work& work, Outcome& outcome,
               const std::function<stream::Totals()>& task) {
  outcome.device = name_of(work.device_use);
  outcome.piece_bytes = work.piece_bytes;
  outcome.threads = work.executor.get().threads();
  const Clock::time_point start = Clock::now();
  const stream::Totals totals = task();
  outcome.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  outcome.text_bytes = totals.text_bytes;
  if (options.resume) {
    outcome.more["resumed_bytes"] = totals.kept_text_bytes;
  }
  outcome.status = Status::done;
}

int run_with_files(const char* command, const TransferOptions& options,
                   const std::function<int()>& run) {
  const bool has_default = options.files.empty() && options.inputs.list.empty();
  return run_with_inputs(command, options.json,
                         has_default ? std::vector<std::string>{"-"} : options.files, run);
}

void start_threads(const FileList& list, WorkChooser& chooser) {
  std::optional<std::uint64_t> bytes = 0;
  for (const Outcome& file : list.files) {
    if (file.status != Status::not_begun) {
      continue;
    }
    // What is not a regular file, or an empty one, may be of any length.
    bytes = bytes && file.listed_bytes.value_or(0) != 0 ? std::optional(*bytes + *file.listed_bytes)
                                                        : std::nullopt;
  }
  stream::Work work = chooser.for_input(bytes);
  (void)chooser.start_threads(work, bytes);
}

void refuse_terminal(const stream::Input& input) {
  refuse(input.is_terminal(), input.name() + ": is a terminal", "name the encrypted file");
}

bool is_resumable(const TransferOptions& options, const stream::Input& input,
                  const std::string& output) {
  if (!options.resume) {
    return false;
  }
  refuse(!input.is_regular(), input.name() + ": is not a regular file, which --resume needs");
  refuse(output == "-", "standard output: is not a regular file, which --resume needs",
         "name the output with -o");
  return input.is_seekable();
}

stream::OutputOptions output_options(const TransferOptions& options, const stream::Input& source,
                                     bool encrypts) {
  static stream::RunOutputs written;  // by this process, which runs one command
  const bool may_replace_own =
      options.overwrite && (options.files.size() > 1 || options.inputs.are_listed());
  return {.overwrite = options.overwrite,
          .is_named = !options.output.empty(),
          .source = &source,
          .cancel = &cancel(),
          .warn = print_warning,
          .file = {.permissions =
                       encrypts ? stream::encrypted_mode(source) : stream::decrypted_mode(source),
                   .modified = source.modified(),
                   .written = may_replace_own ? &written : nullptr}};
}

std::unique_ptr<stream::Output> create_output(const TransferOptions& options,
                                              const stream::FilePlace& place,
                                              const stream::Input& source, OutputUse use) {
  stream::OutputOptions made = output_options(options, source, use.encrypts);
  made.file.role = use.is_resumable ? stream::FileRole::resumable
                   : use.is_grouped ? stream::FileRole::grouped
                                    : stream::FileRole::alone;
  made.when_taken = use.when_taken;
  std::unique_ptr<stream::Output> output =
      place.path == "-" ? stream::standard_output(made) : stream::create_output(place, made);
  refuse(output->is_terminal() && !options.overwrite, output->name() + ": is a terminal",
         "name the output with -o, or force it with -f");
  warn_of_abandoned(*output);
  return output;
}

void report_written(const TransferOptions& options, const stream::Output& output,
                    const stream::Totals& totals) {
  if (totals.kept_text_bytes != 0 && !options.quiet) {
    print_note(fmt::format("paes: {}: continued, {} of {} were done before", output.name(),
                           human_bytes(static_cast<double>(totals.kept_text_bytes)),
                           human_bytes(static_cast<double>(totals.text_bytes))));
  }
  if (!output.warning().empty()) {
    print_warning(output.warning());
  }
}

WrittenOutput hand_on(const TransferOptions& options, std::unique_ptr<stream::Output> output,
                      const stream::Totals& totals) {
  report_written(options, *output, totals);
  return output->unnamed() != nullptr ? WrittenOutput{totals, std::move(output)}
                                      : WrittenOutput{totals};
}

std::string verified_text(const TransferOptions& options, const std::string& name,
                          const stream::Verification& found) {
  require_authentic(name, found, !options.json);
  return options.quiet || options.json
             ? ""
             : fmt::format("{}: authentic, {} bytes\n", printable(name), found.extent.text_bytes);
}

}  // namespace paes::cli
